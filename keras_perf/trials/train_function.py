"""Keras's own train function for another number of steps per execution."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import keras
import numpy as np
import tensorflow as tf

TrainFunction = Callable[[Any], Any]


class TrainFunctionAt:
    """The function that `fit` would call with `steps_per_execution=steps`.

    The model keeps its own. Each `run` with an iterator does that many training steps, fewer at
    the end of the data, and returns the logs.
    """

    def __init__(self, model: keras.Model, steps: int) -> None:
        self._model, self._steps = model, steps
        self._graph: Any = None
        kept = model.train_function
        with self._at_that_length():
            try:
                model.make_train_function(force=True)
                self._function: TrainFunction = model.train_function
            finally:
                model.train_function = kept

    def run(self, iterator: Any) -> Any:
        """One execution; the first one compiles, with XLA, and traces if nobody did before."""
        with self._at_that_length():
            return self._function(iterator)

    def run_to_its_end(self, iterator: Any) -> None:
        """One execution, and its logs read as Keras reads them, which waits for the device."""
        for value in tf.nest.flatten(self.run(iterator)):
            np.asarray(value)

    def trace(self, iterator: Any) -> None:
        """Traces for such iterators, without running a step.

        Raises:
            LookupError: the `tf.function` in Keras's train function is not found; it lies in
                the closure, which is private to Keras.
        """
        graph_function = inner_function(self._function)
        if graph_function is None:
            raise LookupError("no tf.function in Keras's train function")
        with self._at_that_length():
            self._graph = graph_function.get_concrete_function(iterator).graph

    @property
    def variables(self) -> tuple[tf.Variable, ...]:
        """Every variable that the traced steps use, whoever made it; none before `trace`."""
        return () if self._graph is None else tuple(self._graph.variables)

    @property
    def draws_random_numbers(self) -> bool:
        """The traced steps hold random operations with a state of their own (`tf.random.*`)."""
        if self._graph is None:
            return False
        definition = self._graph.as_graph_def()
        nodes = [*definition.node, *(n for f in definition.library.function for n in f.node_def)]
        return any(_keeps_a_random_state(name) for name in {node.op for node in nodes})

    @contextmanager
    def _at_that_length(self) -> Iterator[None]:
        # Keras reads the attribute when the function is made and when it is traced.
        usual = self._model.steps_per_execution
        self._model.steps_per_execution = self._steps
        try:
            yield
        finally:
            self._model.steps_per_execution = usual


def _keeps_a_random_state(operation: str) -> bool:
    """An operation with a seed and a state of its own, such as `tf.random.uniform` runs."""
    function = getattr(tf.raw_ops, operation, None)
    if function is None or operation.startswith("Stateless"):
        return False
    return "seed" in inspect.signature(function).parameters


def inner_function(function: Any) -> Any | None:
    """The `tf.function` itself, or the one in the closure of Keras's train function, or None."""
    if hasattr(function, "experimental_get_tracing_count"):
        return function
    for cell in getattr(function, "__closure__", None) or ():
        if hasattr(cell.cell_contents, "experimental_get_tracing_count"):
            return cell.cell_contents
    return None
