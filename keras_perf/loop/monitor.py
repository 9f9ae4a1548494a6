"""LoopMonitor: a custom training loop, observed as `fit` is."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import keras
import tensorflow as tf

from keras_perf.backends.on_tensorflow import OnTensorFlow
from keras_perf.callbacks.observing_callback import ObservingCallback
from keras_perf.callbacks.perf_callbacks import Choice, perf_callbacks
from keras_perf.callbacks.steps_recommender import StepsPerExecutionRecommender
from keras_perf.callbacks.windowed_profiler import WindowedProfiler
from keras_perf.cluster.worker_number import includes, place_among_workers
from keras_perf.loop.distribution import as_tf_config
from keras_perf.loop.turns import OUT_OF_DATA, Aside, Call, Turns
from keras_perf.observation.failure_line import warn_of
from keras_perf.observation.of_loop.exchange import TimedExchange
from keras_perf.observation.of_loop.loop import LoopObservation
from keras_perf.records.arguments import require_bool, require_int, require_number
from keras_perf.records.epoch_gap import VALIDATION
from keras_perf.records.observed_backends import NO_LOOPS
from keras_perf.records.text.visible import visible
from keras_perf.report.steps_per_execution import StepsPerExecution


class LoopMonitor:
    """Observes a custom training loop: what `perf_callbacks` does for `fit`, in a `with`.

    The same records, tags, profiler windows, GPU samples and advice. Of several workers each
    writes a run of its own, `perf/worker_<k>`, and the chief the diagnosis.

    Arguments:
        log_dir: the directory that TensorBoard is started on; str or os.PathLike.
        model: the Keras model that is trained.
        strategy: that it is trained under; None for the one under which the model was made.
        steps: optimizer steps of the whole training; None if unknown, and then no
            other number of steps per call is tried.
        first_step: optimizer steps done before, by a training that this one goes on from.
        exchange: times the exchange of gradients among workers, such as `loop.Exchange`.
        function: the `tf.function` that runs the steps; without it, tracing it again is not
            recognised, and no other number of steps per call is tried. It is tried only where the
            function takes the number as a tensor: for another Python number it would be traced
            again, with what Python holds by then, and train another model.
        examples_per_step: training examples in a step of all replicas together.
        fetches_per_step: how many elements of the iterator a step takes: 4 where gradients of
            four are accumulated; 1/16 where an element holds the batches of 16 steps.
        jit_compile: XLA compiles the steps; None if that is not to be said.
        worker: this worker's number, the chief's is 0; None: as TF_CONFIG or `strategy` tells.
        profiler, gpu, gaps, steps_per_execution: as in `perf_callbacks`.

    Raises:
        TypeError, ValueError, OSError: a wrong argument, or `log_dir` cannot be written.

    >>> import keras
    >>> from keras_perf import loop
    >>> model = keras.Sequential([keras.layers.Dense(1)])
    >>> with loop.LoopMonitor("logs/run1", model=model, steps=100) as monitor:
    ...     pass  # while step < 100: with monitor.execution(iterator, 10) as call: ...
    """

    clock: Callable[[], int] = time.perf_counter_ns

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        *,
        model: keras.Model,
        strategy: tf.distribute.Strategy | None = None,
        steps: int | None = None,
        first_step: int = 0,
        exchange: TimedExchange | None = None,
        function: Any = None,
        examples_per_step: float | None = None,
        fetches_per_step: float = 1,
        jit_compile: bool | None = None,
        worker: int | None = None,
        profiler: Choice = True,
        gpu: Choice = True,
        gaps: Choice = True,
        steps_per_execution: Choice = True,
    ) -> None:
        if keras.backend.backend() != "tensorflow":
            raise NotImplementedError(f"keras_perf: {NO_LOOPS}.")
        _require_kinds(model, strategy, exchange, function)
        steps, first_step, worker = _counts(steps, first_step, worker)
        examples_per_step, fetches_per_step = _sizes(examples_per_step, fetches_per_step)
        if jit_compile is not None:
            require_bool("jit_compile", jit_compile)
        if isinstance(gpu, Mapping) and gpu.get("epoch_line"):
            raise ValueError("gpu must be without epoch_line: a custom loop has no epochs.")
        workers = None
        if worker is None:
            told = os.environ.get("TF_CONFIG") or as_tf_config(
                strategy or model.distribute_strategy
            )
            worker, workers = place_among_workers(told)
        self._callbacks = perf_callbacks(
            log_dir,
            profiler=profiler,
            gpu=gpu,
            gaps=gaps,
            steps_per_execution=steps_per_execution,
        )
        self._make = partial(
            LoopObservation,
            model,
            function,
            strategy=strategy or model.distribute_strategy,
            steps=steps,
            first_step=first_step,
            jit_compile=jit_compile,
            examples=examples_per_step,
            fetches_per_step=fetches_per_step,
            exchange=exchange,
            worker=worker,
            workers=workers,
        )
        self._turns = Turns()

    @property
    def observation(self) -> LoopObservation | None:
        """While the `with` runs and nothing has failed; else None."""
        return self._turns.observation

    @property
    def recommendation(self) -> StepsPerExecution | None:
        """After the `with`: what `StepsPerExecutionRecommender.recommendation` is after `fit`."""
        for callback in self._callbacks:
            if isinstance(callback, StepsPerExecutionRecommender):
                return callback.recommendation
        return None

    def __enter__(self) -> LoopMonitor:
        if self._turns.observation is not None:
            # Entered again: the first `with` would never be told its end.
            self._turns.close(aborted=True)
        try:
            observation = self._make(backend=OnTensorFlow(self.clock), clock=self.clock)
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            warn_of(error, "LoopMonitor", "this training is not observed")
            return self
        self._turns.begin(observation)
        try:
            for callback in self._callbacks:
                if _takes_part(callback, observation.worker):
                    callback.observe(observation)
        except BaseException:
            # An interrupt: there is no `__exit__` after an `__enter__` that raises.
            self._turns.close(aborted=True)
            raise
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if kind is not None and issubclass(kind, OUT_OF_DATA):
            # That is how many a loop over its data ends.
            error = None
        self._turns.close(aborted=error is not None, error=error)

    def execution(self, iterator: Any, steps: int, *, left: int | None = None) -> Call:
        """A context manager around one call of the train function, and reading its result.

        Its `steps` says how many steps to run: `steps`, or `left` if that is less, or another
        number up to `left` where that is being tried or applied.

        Arguments:
            iterator: that the function takes its batches from.
            steps: to run in this call.
            left: how many steps may be run in one call at most: until an evaluation, say. None
                is for no more than `steps`.

        What it cannot see: whether the function was called. A call that is left by `continue`, for
        a batch that is not wanted, counts its steps: leave such batches out of the dataset.
        """
        return Call(self._turns, iterator, steps, left)

    def host(self, owner: str) -> Aside:
        """A context manager around the user's own work between two calls: `perf_callbacks/<owner>`.

        Arguments:
            owner: any word; what cannot be seen in it is written out, as it is a part of a tag.
        """
        return Aside(self._turns, visible(owner), between=False)

    def outside(self, owner: str) -> Aside:
        """A context manager around what lies outside of every step, as validation does in `fit`.

        Arguments:
            owner: `evaluation`, `checkpoint`, or any other word.
        """
        if owner == "evaluation":
            owner = VALIDATION
        return Aside(self._turns, visible(owner), between=True)


def _takes_part(callback: ObservingCallback, worker: int | None) -> bool:
    return not isinstance(callback, WindowedProfiler) or includes(callback.workers, worker or 0)


def _counts(
    steps: int | None, first_step: int, worker: int | None
) -> tuple[int | None, int, int | None]:
    if steps is not None:
        steps = require_int("steps", steps, 1, " None is for a number that is not known.")
    first_step = require_int("first_step", first_step, 0, " It is the number of steps done before.")
    if worker is not None:
        worker = require_int("worker", worker, 0, " None is for a training of one worker.")
    return steps, first_step, worker


def _sizes(examples_per_step: float | None, fetches_per_step: float) -> tuple[float | None, float]:
    if examples_per_step is not None:
        remedy = "None leaves examples per second out."
        examples_per_step = require_number(
            "examples_per_step", examples_per_step, above=0, remedy=remedy
        )
    remedy = "It is 1 where each step takes one batch."
    return examples_per_step, require_number(
        "fetches_per_step", fetches_per_step, above=0, remedy=remedy
    )


def _require_kinds(model: Any, strategy: Any, exchange: Any, function: Any) -> None:
    """Raises TypeError unless each is what a loop is made of; all but the model may be None."""
    if not isinstance(model, keras.Model):
        raise TypeError(f"model must be a keras.Model, got {type(model).__name__} {model!r}.")
    if not isinstance(strategy, tf.distribute.Strategy | None):
        raise TypeError(
            f"strategy must be a tf.distribute.Strategy or None, got {type(strategy).__name__}."
        )
    if not isinstance(exchange, TimedExchange | None):
        raise TypeError(
            f"exchange must have pause() and totals(), got {type(exchange).__name__}. None "
            "measures no communication."
        )
    if function is not None and not hasattr(function, "experimental_get_tracing_count"):
        raise TypeError(
            f"function must be a tf.function, got {type(function).__name__}. It is asked how "
            "often it was traced; leave it out for a plain function."
        )
