"""Operations that give, or do, something else from call to call."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import tensorflow as tf
from tensorflow.core.framework.graph_pb2 import GraphDef

from keras_perf.trials.train_functions.repeated_function import PYTHON

_ALIKE = """
    VarHandleOp ReadVariableOp VarIsInitializedOp If While Case StatefulPartitionedCall XlaLaunch
    Assert Print PrintV2 CheckNumerics CheckNumericsV2 HashTableV2 AnonymousHashTable
    LookupTableFind LookupTableFindV2 LookupTableSizeV2 LookupTableExportV2 MutableHashTableV2
    AnonymousSeedGenerator DummySeedGenerator AnonymousMemoryCache DummyMemoryCache
    DummyIterationCounter"""

HARMLESS = PYTHON | frozenset(_ALIKE.split())
"""Operations that have a state for TensorFlow, and yet the same result whichever call comes first.
What Python code and variables do is asked apart."""

_DRAWS = """
    RandomUniform RandomUniformInt RandomStandardNormal RandomGamma RandomPoisson RandomPoissonV2
    TruncatedNormal ParameterizedTruncatedNormal Multinomial RandomShuffle RandomCrop
    SampleDistortedBoundingBox SampleDistortedBoundingBoxV2"""

DRAWS = frozenset(_DRAWS.split())
"""Operations whose only state is how far they have drawn, which calls at once may share."""

WITH_A_STATE_OF_THEIR_OWN = ("TensorArray", "TensorList")
"""Beginnings of operations on a state that begins and ends with the call."""


def changing(operations: Iterable[str]) -> set[str]:
    """Those of these types whose calls are not alike: they draw, count, write, take from a queue.

    Datasets inside of a function are not among them, except one of random numbers.
    """
    return {each for each in operations if _changes(each)}


@cache
def _changes(operation: str) -> bool:
    if operation in HARMLESS or operation.startswith(WITH_A_STATE_OF_THEIR_OWN):
        return False
    if "Dataset" in operation:
        return operation.startswith("RandomDataset")
    return _has_state(operation)


def _has_state(operation: str) -> bool:
    """As TensorFlow has it registered; of what it does not know, too."""
    definition = GraphDef()
    definition.node.add(name="one", op=operation)
    with tf.Graph().as_default():
        told = tf.compat.v1.train.export_meta_graph(graph_def=definition)
    found = {each.name: each.is_stateful for each in told.meta_info_def.stripped_op_list.op}
    return bool(found.get(operation, True))
