"""What a training must not lose, and what its replicas must not share or must agree on."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

import keras
import tensorflow as tf

from keras_perf.loop.distribution import Distribution

EXIT_SAVED = 42
"""Exit code after a stop that was asked for: all is saved, start again to go on."""


class Checkpoints:
    """Model, optimizer and step: saved by the chief, restored by all workers.

    A checkpoint is complete or not there: TensorFlow's `CheckpointManager` names a new one only
    once its files are written. The place in the data is the step: the dataset is shuffled with a
    seed, and `.skip(step)` goes there. Variables are saved in their order in the model, because
    TensorFlow's own way through a Keras 3 model leaves out the state of random numbers.

    Arguments:
        directory: seen by all workers; local, or of any kind that `tf.io.gfile` knows.
        distribution: where the training runs.
        model, optimizer: both built.
        keep: how many of the newest stay.

    Attributes:
        step: optimizer steps done; a `tf.Variable` that the loop counts up.
        statistics: the model's, averaged before each save.
    """

    def __init__(
        self,
        directory: str,
        distribution: Distribution,
        model: keras.Model,
        optimizer: keras.optimizers.Optimizer,
        *,
        keep: int = 3,
    ) -> None:
        self._distribution, self._model = distribution, model
        self.statistics = MovingStatistics(model, distribution)
        with tf.device("CPU:0"):
            self.step = tf.Variable(0, dtype=tf.int64, trainable=False)
        self._checkpoint = tf.train.Checkpoint(
            model=[v.value for v in model.variables],
            optimizer=[v.value for v in optimizer.variables],
            step=self.step,
        )
        self._manager = tf.train.CheckpointManager(self._checkpoint, directory, max_to_keep=keep)

    def restore(self) -> int:
        """Goes back to the newest checkpoint, if there is one; the step to go on from.

        Raises:
            ValueError: it is of another model or optimizer.
            RuntimeError: the workers do not see the same checkpoint.
        """
        newest = self._manager.latest_checkpoint
        if newest is not None:
            try:
                self._checkpoint.restore(newest).assert_consumed()
            except (AssertionError, ValueError) as error:
                raise ValueError(
                    f"The checkpoint must be of this model and optimizer, got {newest!r} "
                    f"({str(error).splitlines()[0]}). Give another directory, or remove this one."
                ) from error
        step = self._distribution.agreed(int(self.step), "step in their newest checkpoint")
        split_seeds(self._model, self._distribution)
        if newest is not None and self._distribution.is_chief:
            print(f"Goes on after step {step}, from {newest}.")
        return step

    def save(self) -> None:
        """Saves the present step. All workers call it; they go on when it is written."""
        self.statistics.average()
        if self._distribution.is_chief:
            self._manager.save(checkpoint_number=int(self.step))
        self._distribution.agreed(int(self.step), "step when they save")


def split_seeds(model: keras.Model, distribution: Distribution) -> None:
    """Gives each replica random numbers of its own, so that dropout masks differ.

    Keras gives every replica a copy of one seed. The state of a `keras.random.SeedGenerator` is
    a pair (seed, how many were drawn); the replica's number is added to the seed. The chief's
    first replica keeps it, and it alone is in a checkpoint: call this after each restore.

    What it does not reach: random numbers without a seed generator in a layer of the model.
    """
    first = distribution.rank * (distribution.replicas // distribution.workers)
    for state in seed_states(model):
        for place, copy in enumerate(distribution.strategy.experimental_local_results(state)):
            own = tf.cast(tf.stack([first + place, 0]), copy.dtype)
            copy.assign(copy + own)


def seed_states(model: keras.Model) -> list[Any]:
    """The variables of the seed generators in a model's layers, as TensorFlow's."""
    named = [v for v in model.variables if v.path.endswith("seed_generator_state")]
    return [v.value for v in named]


class MovingStatistics:
    """Gives every replica the mean of all replicas' moving statistics, in one collective.

    Each replica's BatchNormalization moves its own; a checkpoint holds the chief's alone. With
    `synchronized=True` they are equal already. To be averaged before they are used or saved.
    """

    def __init__(self, model: keras.Model, distribution: Distribution) -> None:
        floats = [v for v in model.non_trainable_variables if v.dtype.startswith("float")]
        self._variables = [] if distribution.replicas == 1 else [v.value for v in floats]
        self._strategy = distribution.strategy
        self._average = tf.function(self._in_one_collective)

    def average(self) -> None:
        """All workers call it."""
        if self._variables:
            self._average()

    def _in_one_collective(self) -> None:
        def assign() -> None:
            context = tf.distribute.get_replica_context()
            own = [tf.identity(v) for v in self._variables]
            means = context.all_reduce(tf.distribute.ReduceOp.MEAN, own)
            for variable, mean in zip(self._variables, means, strict=True):
                variable.assign(mean)

        self._strategy.run(assign)


class StopOnSignal:
    """Notes SIGTERM for the time of a `with`; the loop stops at the end of a step.

    To be made after the strategy: that of several workers takes SIGTERM for itself. Python gives
    signals to its main thread alone: in another one, such as Ray Train's, none is noted.

    Attributes:
        asked: SIGTERM has come.
    """

    def __init__(self) -> None:
        self.asked = False
        self._before: Any = None

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.asked = True

    def __enter__(self) -> StopOnSignal:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGTERM, self._note) or signal.SIG_DFL
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)
