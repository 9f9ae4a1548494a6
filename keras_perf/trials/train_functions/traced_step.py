"""What a call of a train function runs: its trace, and how that gets its batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from keras_perf.trials.train_functions.keras_function import (
    inner_function,
    is_of_keras,
    is_traced,
    takes_batches,
)


@dataclass(frozen=True)
class TracedStep:
    """Of one call on an iterator.

    Attributes:
        concrete: its trace.
        takes_batch: of the iterator's next batch, and not of the iterator.
    """

    concrete: Any
    takes_batch: bool = False

    def __call__(self, iterator: Any) -> Any:
        """Fetches, runs the step, and returns its logs."""
        if self.takes_batch:
            return self.on(iterator.get_next())
        result = self.concrete(iterator)
        return result.get_value() if self._optional else result

    def on(self, batch: Any) -> Any:
        """Runs the step on a batch that it takes, and returns its logs."""
        return self.concrete(batch)

    def takes(self, batch: Any) -> tf.Tensor:
        """The batch has the shapes that it was traced for."""
        pairs = zip(tf.nest.flatten(taken_by(self.concrete)), tf.nest.flatten(batch), strict=True)
        there = ((one, its) for one, its in pairs if its is not None)
        alike = [tf.reduce_all(tf.shape(its) == one.shape) for one, its in there]
        return tf.reduce_all(alike)

    @property
    def _optional(self) -> bool:
        return isinstance(self.concrete.structured_outputs, tf.experimental.Optional)

    @property
    def logs(self) -> Any:
        """What a call returns, as tensors or their specifications."""
        outputs = self.concrete.structured_outputs
        return outputs.element_spec if self._optional else outputs

    @property
    def operations(self) -> set[str]:
        """Types of its operations, and of those of the functions that it calls."""
        return operations_of(self.concrete)


def operations_of(concrete: Any) -> set[str]:
    """Types of the operations of a concrete function and of those that it calls."""
    definition = concrete.graph.as_graph_def()
    nodes = [*definition.node, *(n for f in definition.library.function for n in f.node_def)]
    return {node.op for node in nodes}


def require_repeatable(function: Any) -> None:
    """It is a `tf.function` of an iterator, or calls one and does nothing else.

    Raises:
        LookupError: it is none of Keras's, or Keras's is made otherwise.
    """
    if not is_traced(function) and not is_of_keras(function):
        raise LookupError("no tf.function of Keras's in the train function")


def require_keras_function(function: Any) -> None:
    """Raises LookupError where it is not Keras's own, whose steps per execution are Keras's."""
    require_repeatable(function)
    if is_traced(function):
        raise LookupError("the model makes its train function itself")


def traces_of(function: Any) -> list[Any]:
    """What a train function was traced for so far, the newest last.

    Private: no public name leads to what a `tf.function` has traced without its arguments. Where
    it is missing, traces are costed by their usual size, and trials outside of `fit` trace anew.
    """
    found: list[Any] = getattr(inner_function(function), "_list_all_concrete_functions", list)()
    return found


def existing_step(function: Any, iterator: Any) -> TracedStep | None:
    """What a call with this iterator runs without tracing, whatever batch comes; None if unknown.

    Keras from 3.16 on traces a step for the shape of its first batch. Where the iterator may give
    others, that trace is none for them.
    """
    if not takes_batches(function):
        wanted = (tf.type_spec_from_value(iterator),)
        traces = (t for t in traces_of(function) if t.structured_input_signature[0] == wanted)
        return next(map(TracedStep, traces), None)
    spec = iterator.element_spec
    for trace in reversed(traces_of(function)):
        if accepts(trace, spec):
            return TracedStep(trace, takes_batch=True)
    return None


def usual_step(function: Any, iterator: Any) -> TracedStep | None:
    """What a call runs whose batch is like the first one; None where shapes were not fixed then.

    A first call that makes variables is traced once more without, and that trace runs from then on.
    """
    spec = iterator.element_spec
    found = [trace for trace in traces_of(function) if _is_one_of(spec, taken_by(trace))]
    alike = [trace for trace in found if taken_by(trace) == taken_by(found[0])]
    return TracedStep(alike[-1], takes_batch=True) if alike else None


def require_batches_as_fetched(function: Any, iterator: Any) -> None:
    """Raises LookupError where Keras calls the step with something else, as for optional parts."""
    if not any(_alike(taken_by(trace), iterator.element_spec) for trace in traces_of(function)):
        raise LookupError("its step does not take batches as the iterator gives them")


def _is_one_of(spec: Any, taken: Any) -> bool:
    """A batch of fixed shapes is one that the iterator may give."""
    if not _alike(taken, spec):
        return False
    pairs = zip(tf.nest.flatten(taken), tf.nest.flatten(spec), strict=True)
    return all(
        one is None or (_is_fixed(one) and one.is_compatible_with(its)) for one, its in pairs
    )


def _is_fixed(spec: Any) -> bool:
    return isinstance(spec, tf.TensorSpec) and spec.shape.is_fully_defined()


def _alike(one: Any, other: Any) -> bool:
    try:
        tf.nest.assert_same_structure(one, other)
    except (TypeError, ValueError):
        return False
    return True


def most_general(traces: list[Any]) -> list[Any]:
    """Those of steps on batches whose shapes no later one takes too."""
    return [
        trace
        for place, trace in enumerate(traces)
        if not any(accepts(later, taken_by(trace)) for later in traces[place + 1 :])
    ]


def may_take(trace: Any, iterator_spec: Any | None) -> bool:
    """A step's trace takes batches of such an iterator, whatever their size; True if not known."""
    # Private: a signature tells what its iterator gives in no other way.
    spec = getattr(iterator_spec, "_element_spec", None)
    return spec is None or _alike(taken_by(trace), spec)


def taken_by(trace: Any) -> Any:
    """The specification of the batch that the trace of a step takes."""
    [taken] = trace.structured_input_signature[0]
    return taken


def accepts(trace: Any, spec: Any) -> bool:
    """The trace of a step runs on every batch of this specification."""
    taken = taken_by(trace)
    if not _alike(taken, spec):
        return False
    pairs = zip(tf.nest.flatten(taken), tf.nest.flatten(spec), strict=True)
    return all(
        its is None or (hasattr(one, "is_subtype_of") and one.is_subtype_of(its))
        for its, one in pairs
    )


def traced_step(function: Any, iterator: Any) -> TracedStep | None:
    """What a call runs, traced now if nothing was for this iterator; None where it runs eagerly."""
    inner = inner_function(function)
    if inner is None:
        return None
    if not takes_batches(function):
        return TracedStep(inner.get_concrete_function(iterator))
    if (found := existing_step(function, iterator)) is not None:
        return found
    return TracedStep(inner.get_concrete_function(iterator.element_spec), takes_batch=True)
