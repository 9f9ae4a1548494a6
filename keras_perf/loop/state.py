"""What a training must not lose, and what its replicas must not share or must agree on."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import keras
import tensorflow as tf

from keras_perf.loop.all_reduce import sum_over_replicas
from keras_perf.loop.distribution import Distribution


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
        same: what must not change between a training and the one that goes on from it, such as
            the batch size, in which the place in the data is counted; written as JSON.
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
        same: Mapping[str, Any] | None = None,
        keep: int = 3,
    ) -> None:
        self._distribution, self._model = distribution, model
        self.statistics = MovingStatistics(model, distribution)
        with tf.device("CPU:0"):
            self.step = tf.Variable(0, dtype=tf.int64, trainable=False)
            about = _described(model, optimizer) | dict(same or {})
            self._about = tf.Variable(json.dumps(about), trainable=False)
        self._checkpoint = tf.train.Checkpoint(
            model=[v.value for v in model.variables],
            optimizer=[v.value for v in optimizer.variables],
            step=self.step,
            about=self._about,
        )
        self._manager = tf.train.CheckpointManager(self._checkpoint, directory, max_to_keep=keep)

    def restore(self) -> int:
        """Goes back to the newest checkpoint, if there is one; the step to go on from.

        Raises:
            ValueError: it is of another model or optimizer, something that must be the same is
                not, or it cannot be read.
            RuntimeError: the workers do not see the same checkpoint, or have not been started
                alike.
        """
        about = zlib.crc32(self._about.numpy())
        self._distribution.agreed(about, "model, optimizer and settings (shown as a checksum)")
        newest = self._newest()
        if newest is not None:
            self._require_same(newest)
            self._checkpoint.restore(newest).assert_consumed()
        step = self._distribution.agreed(int(self.step), "step in their newest checkpoint")
        split_seeds(self._model, self._distribution)
        if newest is not None and self._distribution.is_chief:
            print(f"Goes on after step {step}, from {newest}.")
        return step

    def _newest(self) -> str | None:
        """That is there: the manager's list names those that somebody has removed, too."""
        paths = reversed(self._manager.checkpoints)
        return next((path for path in paths if tf.io.gfile.exists(f"{path}.index")), None)

    def _require_same(self, newest: str) -> None:
        """Looks before anything is restored, because TensorFlow takes what fits by its place."""
        try:
            found = tf.train.load_checkpoint(newest).get_tensor(_ABOUT)
            there = json.loads(found.decode())
        except Exception as error:
            raise ValueError(
                f"The newest checkpoint must be one of Checkpoints' that can be read, got "
                f"{newest!r} ({error}). Remove it to go on from the one before, or give another "
                "directory."
            ) from error
        for name, here in json.loads(self._about.numpy().decode()).items():
            if there.get(name) != here:
                raise ValueError(
                    f"A training must go on with the same {name}, got {_short(here)}, and "
                    f"{_short(there.get(name))} in {newest!r}. Change it back, or give another "
                    "directory."
                )

    def save(self) -> None:
        """Saves the present step. All workers call it; they go on when it is written."""
        self.statistics.average()
        if self._distribution.is_chief:
            path = self._manager.save(checkpoint_number=int(self.step))
            print(f"Saved after step {int(self.step)}: {path}")
        self._distribution.agreed(int(self.step), "step when they save")


_ABOUT = "about/.ATTRIBUTES/VARIABLE_VALUE"


def _described(model: keras.Model, optimizer: keras.optimizers.Optimizer) -> dict[str, Any]:
    """What model and optimizer are: not their names, which count up with each that is made."""
    inner = getattr(optimizer, "inner_optimizer", None)
    kinds = [type(each).__name__ for each in (optimizer, inner) if each is not None]
    return {
        "model": [[v.name, list(v.shape), str(v.dtype)] for v in model.variables],
        "optimizer": [*kinds, len(optimizer.variables)],
    }


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


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
    """Gives every replica the mean of all replicas' moving statistics.

    Each replica's BatchNormalization moves its own; a checkpoint holds the chief's alone. With
    `synchronized=True` they are equal already. To be averaged before they are used or saved.
    What is equal everywhere, such as frozen weights, keeps its bits: the mean is taken of the
    differences from the first replica's values, in a second collective.
    """

    def __init__(self, model: keras.Model, distribution: Distribution) -> None:
        floats = [v for v in model.non_trainable_variables if v.dtype.startswith("float")]
        self._variables = [] if distribution.replicas == 1 else [v.value for v in floats]
        self._strategy = distribution.strategy
        self._average = tf.function(self._in_graph)

    def average(self) -> None:
        """All workers call it."""
        if self._variables:
            self._average()

    def _in_graph(self) -> None:
        def assign() -> None:
            context = tf.distribute.get_replica_context()
            is_first = context.replica_id_in_sync_group == 0
            own = [tf.identity(v) for v in self._variables]
            of_first = sum_over_replicas([tf.where(is_first, v, tf.zeros_like(v)) for v in own])
            away = sum_over_replicas([v - f for v, f in zip(own, of_first, strict=True)])
            for variable, first, difference in zip(self._variables, of_first, away, strict=True):
                variable.assign(first + difference / self._strategy.num_replicas_in_sync)

        self._strategy.run(assign)
