"""What a training step multiplies, from the graph that it ran in."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from keras_perf.observation.facts.flops.counted import Counted, NotCountedError
from keras_perf.observation.facts.flops.counting import StepGraph
from keras_perf.observation.input_model import InputModel
from keras_perf.records.run.step_work import NotCounted, StepWork
from keras_perf.trials.train_functions.keras_function import takes_batches
from keras_perf.trials.train_functions.traced_step import may_take, most_general, traces_of


class WorkQuestion:
    """Asked each time that facts are written, it counts once, when training has ended.

    Attributes:
        due: training has ended.
        several: the train function was made anew; how often each ran is not known.
    """

    def __init__(self) -> None:
        self.due = self.several = False
        self._signature: Any | None = None
        self._found: StepWork | None = None

    def was_fed(self, pipeline: InputModel | None) -> None:
        """Of the traces that a function may have, training ran the one for such iterators."""
        if self._signature is None and pipeline is not None:
            self._signature = _signature_of(pipeline.iterator)

    def asked(self, function: Any, **how: Any) -> StepWork | None:
        """What a step multiplies; None before the end. Arguments as of `step_work`."""
        if self.due and self._found is None:
            self._found = StepWork(not_counted=NotCounted.TRACES)
            if not self.several:
                self._found = step_work(function, self._signature, **how)
        return self._found


def _signature_of(iterator: Any) -> Any | None:
    """What a `tf.function` sees of it; None of what is no iterator of TensorFlow's."""
    try:
        return tf.type_spec_from_value(iterator)
    except TypeError:
        return None


def step_work(
    function: Any,
    signature: Any | None,
    *,
    examples: float | None,
    replicas: int,
    batches_per_step: float,
    steps_per_call: int,
) -> StepWork:
    """Counts it, without running the function or tracing it again.

    Arguments:
        function: what was trained with: Keras's train function or a `tf.function`.
        signature: of the iterator that it was called with, of which it has one trace; None for
            a function of which there must be only one.
        examples: in a step of all replicas, on average; None if unknown.
        replicas: of the model.
        batches_per_step: how often a step asks the iterator for an element.
        steps_per_call: steps of a call, which counts for a function that is given its batch.
    """
    if function is None:
        return StepWork(not_counted=NotCounted.NO_FUNCTION)
    traces, takes_batch = traces_of(function), takes_batches(function)
    if takes_batch:
        traces = most_general([each for each in traces if may_take(each, signature)])
    elif signature is not None:
        traces = [each for each in traces if each.structured_input_signature[0] == (signature,)]
    if len(traces) != 1:
        return StepWork(not_counted=NotCounted.TRACES if traces else NotCounted.EAGER)
    # Of an element that holds several steps, the first axis is not that of examples.
    sized = examples if batches_per_step >= 1 else None
    size = None if sized is None else sized / replicas / batches_per_step
    try:
        counted = _count_mean(StepGraph(traces[0], takes_batch=takes_batch), size)
    except NotCountedError as error:
        unknown_size = size is None and error.why is NotCounted.SHAPE
        return StepWork(not_counted=NotCounted.BATCH_SIZE if unknown_size else error.why)
    given_each = not counted.batches and batches_per_step >= 1
    if given_each and max(batches_per_step, steps_per_call) > 1 and not takes_batch:
        # A loop in Python may call it for each batch, or give it several.
        return StepWork(not_counted=NotCounted.CALLS)
    times = batches_per_step if counted.batches else 1 / steps_per_call
    return StepWork(
        {kind: times * flops for kind, flops in counted.flops.items() if flops},
        times * counted.bytes,
        tuple(sorted(counted.passed_over)),
    )


def _count_mean(graph: StepGraph, size: float | None) -> Counted:
    """For batches of this many examples on average, whose number may be no whole one.

    The mean of what batches take is what the mean batch takes if it grows in proportion to them,
    from wherever it begins.
    """
    if size is None or size.is_integer():
        return graph.count(None if size is None else int(size))
    less, more = math.floor(size), math.ceil(size)
    smaller, larger, largest = (graph.count(each) for each in (less, more, 2 * more))
    for kind, flops in larger.flops.items():
        grown = flops + more * (flops - smaller.flops[kind])
        if not math.isclose(grown, largest.flops[kind], rel_tol=1e-9):
            raise NotCountedError(NotCounted.SHAPE)
    mean = Counted(batches=larger.batches)
    mean.add(smaller, more - size)
    mean.add(larger, size - less)
    return mean
