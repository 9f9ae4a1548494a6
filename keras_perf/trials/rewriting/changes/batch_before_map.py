"""Batches made before a map, whose function then takes a whole batch at once."""

from __future__ import annotations

import tensorflow as tf
from tensorflow.core.framework.function_pb2 import FunctionDef
from tensorflow.core.framework.node_def_pb2 import NodeDef

from keras_perf.records.advice_ids import BATCH_BEFORE_MAP
from keras_perf.records.reasons.price import Costs
from keras_perf.records.reasons.why_not_tried import WhyNotTried
from keras_perf.trials.rewriting.changes.change import (
    Change,
    Found,
    NoLongerPossibleError,
    NotDone,
)
from keras_perf.trials.rewriting.changes.stages import (
    BATCHES,
    function_name,
    is_map,
    leaves_errors_out,
    named,
    present,
)
from keras_perf.trials.rewriting.functions.batched_function import CannotBatchError, batched
from keras_perf.trials.rewriting.functions.exact_operations import ONE_BY_ONE
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph, specs_of


def batches_before_maps(graph: PipelineGraph) -> Found:
    """Of the maps right before a batch as many as can be given one, the last ones first."""
    for batch in graph.stages:
        stage = graph.source(batch) if batch.op in BATCHES else None
        steps: list[_Step] = []
        why = ""
        while stage is not None and is_map(stage) and not why:
            try:
                steps.append(_Step(graph, stage))
            except CannotBatchError as error:
                why = error.why
                if not steps:
                    yield NotDone(BATCH_BEFORE_MAP, named(stage), why)
            stage = graph.source(stage)
        if steps:
            yield _change(batch, steps)


def _change(batch: NodeDef, steps: list[_Step]) -> Change:
    name = batch.name

    def apply(graph: PipelineGraph) -> None:
        for step in steps:
            step.move(graph, name)

    inside = [step.code for step in reversed(steps)]
    return Change(
        BATCH_BEFORE_MAP,
        ".".join(step.where for step in reversed(steps)),
        ".".join(["batch(…)", *inside]),
        Costs.WHOLE_BATCHES.of(),
        apply=apply,
        stages=(name,),
        stage_after=steps[0].name,
        promise=1,
    )


class _Step:
    """A map that goes behind the batch.

    Raises:
        CannotBatchError: its function cannot be given a batch, or its elements not be put into one.
    """

    def __init__(self, graph: PipelineGraph, stage: NodeDef) -> None:
        self.name, self.where = stage.name, named(stage)
        source, function = graph.source(stage), graph.function(stage)
        if source is None or function is None or len(graph.readers(stage)) != 1:
            raise CannotBatchError(WhyNotTried.SEVERAL_READERS.of())
        if leaves_errors_out(graph):
            raise CannotBatchError(WhyNotTried.ERRORS_LEFT_OUT.of())
        elements = specs_of(source)
        if any(not s.shape.is_fully_defined() or s.dtype == tf.variant for s in elements):
            raise CannotBatchError(WhyNotTried.SHAPES_DIFFER.of())
        wires = stage.input[1 : 1 + len(stage.attr["Targuments"].list.type)]
        arguments = function.signature.input_arg[len(elements) :]
        captured = [
            _captured(graph, wire, tf.as_dtype(argument.type))
            for wire, argument in zip(wires, arguments, strict=True)
        ]
        self._old = function.signature.name
        self._new, self._library = batched(function, elements, captured)
        self.code = _code(function_name(stage) or "f", function)

    def move(self, graph: PipelineGraph, batch: str) -> None:
        """Puts it behind the batch of this name."""
        stage, first = present(graph, self.name), present(graph, batch)
        source = graph.source(stage)
        alone = graph.readers(stage) == [first]
        if source is None or not alone or stage.attr["f"].func.name != self._old:
            raise NoLongerPossibleError(f"another change parted {self.name} and {batch}")
        many = specs_of(first)[0].shape[0]
        types = [spec.dtype.as_datatype_enum for spec in specs_of(source)]
        shapes = [tf.TensorShape([many, *spec.shape]) for spec in specs_of(source)]
        moved = graph.move_behind(self.name, batch)
        first = present(graph, batch)
        for attribute in ("output_types", "output_shapes"):
            moved.attr[attribute].CopyFrom(first.attr[attribute])
            first.attr[attribute].list.Clear()
        first.attr["output_types"].list.type.extend(types)
        first.attr["output_shapes"].list.shape.extend(shape.as_proto() for shape in shapes)
        for each in (first, moved):
            each.ClearField("experimental_type")
        moved.attr["f"].func.name = self._new
        graph.add_functions(self._library)


def _captured(graph: PipelineGraph, wire: str, dtype: tf.DType) -> tf.TensorSpec:
    if dtype in (tf.resource, tf.variant):
        return tf.TensorSpec([], dtype)
    value = graph.value(wire)
    return tf.TensorSpec(None if value is None else value.shape, dtype)


def _code(name: str, function: FunctionDef) -> str:
    if any(node.op in ONE_BY_ONE for node in function.node_def):
        return f"map({name} of a batch)"
    return f"map(lambda *batch: tf.vectorized_map(lambda each: {name}(*each), batch))"
