"""A dataset as a graph that can be changed and read back, by public operations only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf
from tensorflow.core.framework.function_pb2 import FunctionDef
from tensorflow.core.framework.graph_pb2 import GraphDef
from tensorflow.core.framework.node_def_pb2 import NodeDef

from keras_perf.records.figures import in_mib
from keras_perf.trials.rewriting.functions.changing_operations import DRAWS, changing
from keras_perf.trials.rewriting.functions.written_variables import functions_of, node_of, writes_it
from keras_perf.trials.rewriting.held_arrays import MOST_MIB, held_mib
from keras_perf.trials.rewriting.seed_generators import draw_anew, fix_seeds
from keras_perf.trials.rewriting.written_graph import written_graph
from keras_perf.trials.train_functions.repeated_function import PYTHON


class CannotRewriteError(ValueError):
    """The dataset cannot be written as a graph."""


class PipelineGraph:
    """The stages of a dataset, from its sources to its end.

    Arguments:
        definition: the graph.
        element_spec: of the dataset's elements.
    """

    def __init__(self, definition: GraphDef, element_spec: Any) -> None:
        self.definition, self.element_spec = definition, element_spec

    @classmethod
    def of(cls, dataset: tf.data.Dataset) -> PipelineGraph:
        """The graph of a dataset. What it holds in memory is copied into it.

        Raises:
            CannotRewriteError: TensorFlow cannot write it, or it is too large for a graph (2 GiB).
        """
        if (held := held_mib(dataset)) > MOST_MIB:
            raise CannotRewriteError(
                f"it holds {in_mib(held)} in memory, and a graph at most 2 GiB"
            )
        try:
            definition = written_graph(dataset)
        except Exception as error:
            raise CannotRewriteError(f"{type(error).__name__}: {error}".splitlines()[0]) from error
        graph = cls(definition, dataset.element_spec)
        drawing = [
            stage.attr["f"].func.name
            for stage in graph.stages
            if not all(map(writes_it, graph.changing(stage)))
        ]
        if len(drawing) != len(set(drawing)):
            raise CannotRewriteError(
                "a map that draws random numbers is read twice, and its copies would not share them"
            )
        if draw_anew(definition) and any(s.op.startswith("Repeat") for s in graph.stages):
            raise CannotRewriteError(
                "a shuffle is read twice and repeated, and which reader gets which order is chance"
            )
        return graph

    def copy(self) -> PipelineGraph:
        """One that can be changed alone."""
        definition = GraphDef()
        definition.CopyFrom(self.definition)
        return PipelineGraph(definition, self.element_spec)

    def dataset(self) -> tf.data.Dataset:
        """The dataset that the graph is of now."""
        variant = tf.raw_ops.DatasetFromGraph(graph_def=self.definition.SerializeToString())
        return tf.data.experimental.from_variant(variant, self.element_spec)

    @property
    def batches(self) -> int | None:
        """Of a pass; None where TensorFlow does not know, and where passes do not end."""
        known = int(self.dataset().cardinality())
        return known if known > 0 else None

    def until(self, *stages: str) -> PipelineGraph:
        """The same up to the last of these stages, whose elements are flat tensors then."""
        cut = self.copy()
        end = next(node for node in cut.definition.node if node.op == "_Retval")
        last = [node for node in cut.stages if node.name in stages][-1]
        end.input[0] = last.name
        cut.element_spec = specs_of(last)
        return cut

    def with_fixed_seeds(self) -> PipelineGraph:
        """The same with the same order in every shuffle that has no seed."""
        fixed = self.copy()
        fix_seeds(fixed.definition)
        return fixed

    # -- reading -------------------------------------------------------------------------

    @property
    def stages(self) -> list[NodeDef]:
        """The nodes that are datasets, each after those that it takes its elements from."""
        return [node for node in self.definition.node if "Dataset" in node.op]

    @property
    def is_a_chain(self) -> bool:
        """No stage has two inputs that are datasets, or two readers."""
        names = {node.name for node in self.stages}
        readers = [i for node in self.stages for i in map(node_of, node.input) if i in names]
        several = any(sum(node_of(i) in names for i in node.input) > 1 for node in self.stages)
        return not several and len(readers) == len(set(readers))

    def source(self, stage: NodeDef) -> NodeDef | None:
        """The only stage that this one takes its elements from; None if there are several."""
        names = [node_of(wire) for wire in stage.input]
        found = [each for each in self.stages if each.name in names]
        return found[0] if len(found) == 1 else None

    def readers(self, stage: NodeDef) -> list[NodeDef]:
        """The nodes that take this stage's elements."""
        return [node for node in self.definition.node if stage.name in map(node_of, node.input)]

    def value(self, wire: str) -> Any:
        """Of the constant that an input of a node comes from; None if it is none."""
        for node in self.definition.node:
            if node.name == node_of(wire) and node.op == "Const":
                return tf.make_ndarray(node.attr["value"].tensor)
        return None

    def called(self, stage: NodeDef) -> dict[str, FunctionDef]:
        """The functions of a stage, however far in, by their names."""
        known = {each.signature.name: each for each in self.definition.library.function}
        pending, found = list(functions_of(stage)), dict[str, FunctionDef]()
        while pending:
            name = pending.pop()
            if name in known and name not in found:
                found[name] = known[name]
                for node in found[name].node_def:
                    # A function may be called by its name as an operation.
                    pending.extend((*functions_of(node), node.op))
        return found

    def operations(self, stage: NodeDef) -> set[str]:
        """Types of all operations in those functions."""
        called = self.called(stage)
        return {node.op for each in called.values() for node in each.node_def} - called.keys()

    def changing(self, stage: NodeDef) -> set[str]:
        """Types of operations in its functions whose calls are not alike."""
        return changing(self.operations(stage))

    def seeds(self, stage: NodeDef) -> list[tuple[int, int]]:
        """Of the operations in its functions that draw, those of which somebody has set one."""
        nodes = (node for each in self.called(stage).values() for node in each.node_def)
        found = [(n.attr["seed"].i, n.attr["seed2"].i) for n in nodes if n.op in DRAWS]
        return [seed for seed in found if any(seed)]

    def is_random(self, stage: NodeDef) -> bool:
        """Its functions draw random numbers, or change a state: no call is like another."""
        return bool(self.changing(stage))

    def writes(self, stage: NodeDef) -> bool:
        """Its functions change what the graph has a copy of, as a generator's state."""
        return any(map(writes_it, self.changing(stage)))

    def runs_python(self, stage: NodeDef) -> bool:
        """Its functions call Python."""
        return bool(self.operations(stage) & PYTHON)

    def function(self, stage: NodeDef, attribute: str = "f") -> FunctionDef | None:
        """The function that a map calls, or another stage by another attribute."""
        name = stage.attr[attribute].func.name
        found = (each for each in self.definition.library.function if each.signature.name == name)
        return next(found, None)

    # -- changing ------------------------------------------------------------------------

    def constant(self, name: str, value: Any, dtype: tf.DType) -> str:
        """Adds a constant, before all stages, and returns its name."""
        node = NodeDef(name=self._new(name), op="Const")
        node.attr["dtype"].type = dtype.as_datatype_enum
        node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value, dtype))
        self._insert(0, node)
        return str(node.name)

    def insert_after(self, stage: NodeDef, op: str, name: str, inputs: list[str]) -> NodeDef:
        """A stage of the same elements behind this one; `inputs` are those after the dataset."""
        node = NodeDef(name=self._new(name), op=op, input=[stage.name, *inputs])
        for attribute in ("output_types", "output_shapes"):
            node.attr[attribute].CopyFrom(stage.attr[attribute])
        if not node.attr["output_types"].list.type:
            node.attr["output_types"].CopyFrom(stage.attr["Toutput_types"])
        self._redirect(stage.name, node.name)
        self._insert(1 + self._place(stage), node)
        return node

    def move_behind(self, name: str, other: str) -> NodeDef:
        """Takes a stage out and puts it behind another one, which it then reads.

        Returns:
            The stage, to be given the types and shapes of its place.
        """
        nodes = {node.name: node for node in self.definition.node}
        self._redirect(name, node_of(nodes[name].input[0]))
        self._redirect(other, name)
        nodes[name].input[0] = other
        moved = NodeDef()
        moved.CopyFrom(nodes[name])
        self.definition.node.remove(nodes[name])
        self._insert(1 + self._place(nodes[other]), moved)
        return next(node for node in self.definition.node if node.name == name)

    def add_functions(self, functions: Iterable[FunctionDef]) -> None:
        """Definitions that stages may call from now on."""
        self.definition.library.function.extend(functions)

    def _redirect(self, source: str, target: str) -> None:
        """All that reads the one reads the other."""
        for reader in self.definition.node:
            for place, each in enumerate(reader.input):
                if node_of(each) == source:
                    reader.input[place] = target

    def _place(self, stage: NodeDef) -> int:
        return next(p for p, n in enumerate(self.definition.node) if n.name == stage.name)

    def _insert(self, place: int, node: NodeDef) -> None:
        nodes = list(self.definition.node)
        nodes.insert(place, node)
        del self.definition.node[:]
        self.definition.node.extend(nodes)

    def _new(self, name: str) -> str:
        taken = {node.name for node in self.definition.node}
        return next(
            n for n in (f"{name}/tuned_{k}" for k in range(len(taken) + 1)) if n not in taken
        )


def specs_of(stage: NodeDef) -> tuple[tf.TensorSpec, ...]:
    """The flat tensors of a stage's elements."""
    types = stage.attr["output_types"].list.type or stage.attr["Toutput_types"].list.type
    shapes = stage.attr["output_shapes"].list.shape
    return tuple(
        tf.TensorSpec(tf.TensorShape(shape), tf.as_dtype(kind))
        for kind, shape in zip(types, shapes, strict=True)
    )
