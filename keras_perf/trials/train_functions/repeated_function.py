"""Several calls of a train function as one, made of the trace that exists."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from keras_perf.records.reasons.why_no_steps import WhyNoSteps
from keras_perf.trials.train_functions.keras_function import step_on_batch, takes_batches
from keras_perf.trials.train_functions.traced_step import (
    TracedStep,
    accepts,
    existing_step,
    require_batches_as_fetched,
    require_repeatable,
    traced_step,
    usual_step,
)
from keras_perf.trials.train_functions.train_function import TrainFunction

PYTHON = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}
"""Operations that run Python code: tf.numpy_function, tf.py_function, from_generator."""


class RepeatedFunction:
    """Runs the steps of several calls in one, with the results that the calls would have had.

    The longer function is built around the concrete function that a call runs. No code of the
    user's is traced again, which would read what Python holds by now (a layer frozen since, an
    annealed rate) and train another model. One trace, of a loop around the existing one, serves
    every number of calls.

    Arguments:
        function: Keras's train function, or a `tf.function` of an iterator.

    Attributes:
        differs: in what the steps would not be those of single calls, or None; after `prepare`.
        ends_early: it leaves batches of another shape than the first one's to Keras.

    Raises:
        LookupError: it is neither; see `require_repeatable`. `prepare` raises it where a step does
            not take batches as they are fetched.
    """

    def __init__(self, function: TrainFunction) -> None:
        require_repeatable(function)
        self._function = function
        self._prepared: Callable[[], Any] = _nothing
        self._step: TracedStep | None = None
        self.differs: str | None = None
        self._loop: Any = None
        self.ends_early = False

    def prepare(self, iterator: Any) -> None:
        """Makes ready for this iterator.

        A call with an iterator that nothing was traced for would trace now, and so does this.
        Where a call traces for its batch alone, the loop runs what was traced for the first one.
        """
        if iterator is self._prepared():
            return
        step = self._step_for(iterator)
        if step is None:
            self._step, self.differs = None, WhyNoSteps.OTHER_SHAPES.of()
            return
        if step != self._step:
            self.ends_early = step.takes_batch and not accepts(step.concrete, iterator.element_spec)
            self._loop, self._step = (_ending_early if self.ends_early else _looped)(step), step
            self.differs = _how_it_differs(step)
            if self.differs is None:
                self._loop.get_concrete_function(iterator, tf.TensorSpec((), tf.int32))
        # Weak: an iterator that is over must let go of its pipeline.
        self._prepared = weakref.ref(iterator)

    def _step_for(self, iterator: Any) -> TracedStep | None:
        if not takes_batches(self._function):
            return traced_step(self._function, iterator)
        require_batches_as_fetched(self._function, iterator)
        return usual_step(self._function, iterator) or existing_step(self._function, iterator)

    def run(self, iterator: Any, calls: int) -> Any:
        """The calls' logs, each a tensor with a row a call; the iterator is prepared."""
        found = self._loop(iterator, tf.constant(calls))
        return self._to_the_end(iterator, calls, *found) if self.ends_early else found

    def _to_the_end(
        self, iterator: Any, calls: int, rows: Any, done: tf.Tensor, batch: tf.experimental.Optional
    ) -> Any:
        """Keras's own function takes the batch that the loop could not, and those after it."""
        if int(done) == calls:
            return rows
        self.differs = WhyNoSteps.OTHER_SHAPES.of()
        single = [step_on_batch(self._function)(batch.get_value())]
        single += [self._function(iterator) for _ in range(int(done) + 1, calls)]
        return tf.nest.map_structure(
            lambda row, *logs: tf.concat([row[:done], tf.stack(logs)], axis=0), rows, *single
        )

    @property
    def step(self) -> TracedStep:
        """What a call runs; the iterator is prepared."""
        assert self._step is not None
        return self._step

    @property
    def traces(self) -> int:
        """How often a loop was traced."""
        return 0 if self._loop is None else int(self._loop.experimental_get_tracing_count())


def _nothing() -> None:
    """In place of a reference to an iterator."""


def each_calls_logs(stacked: Any) -> Iterator[Any]:
    """What `run` has returned, call by call, read: waits for the device."""
    rows = [np.asarray(leaf) for leaf in tf.nest.flatten(stacked)]
    for number in range(len(rows[0])):
        yield tf.nest.pack_sequence_as(stacked, [row[number] for row in rows])


def _looped(step: TracedStep) -> Any:
    logs = step.logs

    def loop(iterator: Any, calls: tf.Tensor) -> Any:
        def call(number: tf.Tensor, rows: list[tf.TensorArray]) -> Any:
            found = tf.nest.flatten(step(iterator))
            kept = [row.write(number, log) for row, log in zip(rows, found, strict=True)]
            return number + 1, kept

        rows = [
            tf.TensorArray(log.dtype, calls, element_shape=log.shape)
            for log in tf.nest.flatten(logs)
        ]
        # One at a time: else the data's error would cancel what the step before it still does.
        _, rows = tf.while_loop(
            lambda number, _: number < calls,
            call,
            [tf.constant(0), rows],
            parallel_iterations=1,
        )
        return tf.nest.pack_sequence_as(logs, [row.stack() for row in rows])

    return tf.function(loop, autograph=False)


def _ending_early(step: TracedStep) -> Any:
    """Also returns how many calls it has made, and a batch of other shapes that it has fetched."""
    logs = step.logs

    def loop(iterator: Any, calls: tf.Tensor) -> Any:
        spec = iterator.element_spec

        def call(number: tf.Tensor, _: Any, __: Any, rows: list[tf.TensorArray]) -> Any:
            batch = iterator.get_next()
            taken = step.takes(batch)
            found = tf.cond(
                taken,
                lambda: tf.nest.flatten(step.on(batch)),
                lambda: [tf.zeros(log.shape, log.dtype) for log in tf.nest.flatten(logs)],
            )
            left = tf.cond(
                taken,
                lambda: tf.experimental.Optional.empty(spec),
                lambda: tf.experimental.Optional.from_value(batch),
            )
            kept = [row.write(number, log) for row, log in zip(rows, found, strict=True)]
            return number + tf.cast(taken, tf.int32), taken, left, kept

        rows = [
            tf.TensorArray(log.dtype, calls, element_shape=log.shape)
            for log in tf.nest.flatten(logs)
        ]
        done, _, left, rows = tf.while_loop(
            lambda number, taken, *_: taken & (number < calls),
            call,
            [tf.constant(0), tf.constant(True), tf.experimental.Optional.empty(spec), rows],
            parallel_iterations=1,
        )
        return tf.nest.pack_sequence_as(logs, [row.stack() for row in rows]), done, left

    return tf.function(loop, autograph=False)


def _how_it_differs(step: TracedStep) -> str | None:
    operations = step.operations
    if any(_keeps_a_random_state(name) for name in operations):
        return WhyNoSteps.RANDOM_NUMBERS.of()
    if any(name.startswith("Write") and name.endswith("Summary") for name in operations):
        return WhyNoSteps.SUMMARIES.of()
    if operations & PYTHON:
        return WhyNoSteps.PYTHON.of()
    logs = tf.nest.flatten(step.logs)
    if not logs or not all(map(_is_number, logs)):
        return WhyNoSteps.LOGS.of()
    return None


def draws_from_a_state(function: TrainFunction, iterator: Any) -> bool:
    """Its steps draw random numbers, such as `tf.random`'s, from a state of their own."""
    step = traced_step(function, iterator)
    return step is not None and any(map(_keeps_a_random_state, step.operations))


def _is_number(log: Any) -> bool:
    if getattr(log, "shape", None) != ():
        return False
    return bool(log.dtype.is_floating or log.dtype.is_integer or log.dtype.is_bool)


def _keeps_a_random_state(operation: str) -> bool:
    """An operation with a seed and a state of its own, such as `tf.random.uniform` runs."""
    function = getattr(tf.raw_ops, operation, None)
    # cuDNN's recurrent layers have a seed for a dropout that Keras leaves at 0.
    if function is None or operation.startswith(("Stateless", "CudnnRNN")):
        return False
    return "seed" in inspect.signature(function).parameters
