"""Several calls of a train function as one, made of the trace that exists."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from keras_perf.records.reasons.why_no_steps import WhyNoSteps
from keras_perf.trials.train_functions.train_function import (
    TrainFunction,
    inner_function,
    iterated_function,
)

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

    Raises:
        LookupError: it is neither; see `iterated_function`.
    """

    def __init__(self, function: TrainFunction) -> None:
        self._inner: Any = iterated_function(function)
        self._prepared: Callable[[], Any] = _nothing
        self._concrete: Any = None
        self.differs: str | None = None
        self._loop: Any = None

    def prepare(self, iterator: Any) -> None:
        """Makes ready for this iterator.

        A call with an iterator that nothing was traced for would trace now, and so does this.
        """
        if iterator is self._prepared():
            return
        concrete = self._inner.get_concrete_function(iterator)
        if concrete is not self._concrete:
            self._loop, self._concrete = _looped(concrete), concrete
            self.differs = _how_it_differs(concrete)
            if self.differs is None:
                self._loop.get_concrete_function(iterator, tf.TensorSpec((), tf.int32))
        # Weak: an iterator that is over must let go of its pipeline.
        self._prepared = weakref.ref(iterator)

    def run(self, iterator: Any, calls: int) -> Any:
        """The calls' logs, each a tensor with a row a call; the iterator is prepared."""
        return self._loop(iterator, tf.constant(calls))

    @property
    def concrete(self) -> Any:
        """The trace that a call runs; the iterator is prepared."""
        return self._concrete

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


def _looped(concrete: Any) -> Any:
    logs = logs_of(concrete)
    optional = isinstance(concrete.structured_outputs, tf.experimental.Optional)

    def loop(iterator: Any, calls: tf.Tensor) -> Any:
        def call(number: tf.Tensor, rows: list[tf.TensorArray]) -> Any:
            result = concrete(iterator)
            found = tf.nest.flatten(result.get_value() if optional else result)
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


def logs_of(concrete: Any) -> Any:
    """What a call returns, as tensors or their specifications."""
    outputs = concrete.structured_outputs
    return outputs.element_spec if isinstance(outputs, tf.experimental.Optional) else outputs


def _how_it_differs(concrete: Any) -> str | None:
    operations = operations_of(concrete)
    if any(_keeps_a_random_state(name) for name in operations):
        return WhyNoSteps.RANDOM_NUMBERS.of()
    if any(name.startswith("Write") and name.endswith("Summary") for name in operations):
        return WhyNoSteps.SUMMARIES.of()
    if operations & PYTHON:
        return WhyNoSteps.PYTHON.of()
    logs = tf.nest.flatten(logs_of(concrete))
    if not logs or not all(map(_is_number, logs)):
        return WhyNoSteps.LOGS.of()
    return None


def draws_from_a_state(function: TrainFunction, iterator: Any) -> bool:
    """Its steps draw random numbers, such as `tf.random`'s, from a state of their own."""
    inner = inner_function(function)
    if inner is None:
        return False
    return any(map(_keeps_a_random_state, operations_of(inner.get_concrete_function(iterator))))


def operations_of(concrete: Any) -> set[str]:
    """Types of the operations of a concrete function and of those that it calls."""
    definition = concrete.graph.as_graph_def()
    nodes = [*definition.node, *(n for f in definition.library.function for n in f.node_def)]
    return {node.op for node in nodes}


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
