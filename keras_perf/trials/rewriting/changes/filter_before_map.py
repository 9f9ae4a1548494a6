"""A filter moved before a map whose results it does not look at."""

from __future__ import annotations

from tensorflow.core.framework.function_pb2 import FunctionDef
from tensorflow.core.framework.node_def_pb2 import NodeDef

from keras_perf.records.advice_ids import FILTER_BEFORE_MAP
from keras_perf.records.reasons.price import Costs
from keras_perf.trials.rewriting.changes.change import Change, Found, NoLongerPossibleError
from keras_perf.trials.rewriting.changes.stages import is_map, named, present
from keras_perf.trials.rewriting.functions.written_variables import node_of
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph, specs_of


def filters_before_maps(graph: PipelineGraph) -> Found:
    """Where the filter looks only at what the map hands on as it got it."""
    for stage in graph.stages:
        mapped = graph.source(stage) if stage.op == "FilterDataset" else None
        if mapped is None or not is_map(mapped) or len(graph.readers(mapped)) != 1:
            continue
        source, before = graph.source(mapped), graph.function(mapped)
        predicate = graph.function(stage, "predicate")
        if source is None or before is None or predicate is None:
            continue
        if any(graph.is_random(each) or graph.runs_python(each) for each in (stage, mapped)):
            continue
        moved = _of_what_came_before(predicate, before, len(specs_of(source)))
        if moved is not None:
            yield _change(mapped, stage, before.signature.name, moved)


def _change(mapped: NodeDef, stage: NodeDef, function: str, predicate: FunctionDef) -> Change:
    first, second = mapped.name, stage.name

    def apply(graph: PipelineGraph) -> None:
        present(graph, second, "FilterDataset")
        was = present(graph, first)
        source = graph.source(was)
        alone = [each.name for each in graph.readers(was)] == [second]
        if source is None or not alone or was.attr["f"].func.name != function:
            raise NoLongerPossibleError("another change parted the map and the filter")
        graph.move_behind(first, second).ClearField("experimental_type")
        moved = present(graph, second)
        del moved.attr["output_types"].list.type[:], moved.attr["output_shapes"].list.shape[:]
        for spec in specs_of(source):
            moved.attr["output_types"].list.type.append(spec.dtype.as_datatype_enum)
            moved.attr["output_shapes"].list.shape.append(spec.shape.as_proto())
        moved.ClearField("experimental_type")
        moved.attr["predicate"].func.name = predicate.signature.name
        graph.add_functions([predicate])

    where = f"{named(stage)} before {named(mapped)}"
    code = f"filter(…).{named(mapped)}"
    costs = Costs.NOT_CALLED.of()
    return Change(
        FILTER_BEFORE_MAP,
        where,
        code,
        costs,
        apply=apply,
        stages=(second,),
        stage_after=first,
    )


def _of_what_came_before(
    predicate: FunctionDef, before: FunctionDef, elements: int
) -> FunctionDef | None:
    """The predicate of what the map got; None if it looks at what the map made of it."""
    inputs = [each.name for each in before.signature.input_arg[:elements]]
    outputs = [_origin(before, each.name) for each in before.signature.output_arg]
    used = {wire for node in predicate.node_def for wire in node.input} | {*predicate.ret.values()}
    renamed: dict[str, str] = {}
    for argument, origin in zip(predicate.signature.input_arg, outputs, strict=False):
        if argument.name in used:
            if origin not in inputs:
                return None
            renamed[argument.name] = f"before_the_map_{inputs.index(origin)}"
    moved = FunctionDef()
    moved.CopyFrom(predicate)
    moved.signature.name = f"{predicate.signature.name}_before_{before.signature.name}"
    captured = list(predicate.signature.input_arg)[len(outputs) :]
    del moved.signature.input_arg[:]
    for place, argument in enumerate(before.signature.input_arg[:elements]):
        moved.signature.input_arg.add(name=f"before_the_map_{place}", type=argument.type)
    moved.signature.input_arg.extend(captured)
    moved.ClearField("arg_attr")
    moved.ClearField("resource_arg_unique_id")
    for node in moved.node_def:
        for place, wire in enumerate(node.input):
            node.input[place] = renamed.get(wire, wire)
    for name, wire in predicate.ret.items():
        moved.ret[name] = renamed.get(wire, wire)
    return moved


def _origin(function: FunctionDef, output: str) -> str:
    """Where a result comes from, past operations that hand it on."""
    nodes = {node.name: node for node in function.node_def}
    wire = function.ret[output]
    while (node := nodes.get(node_of(wire))) is not None and node.op == "Identity":
        wire = node.input[0]
    return str(wire)
