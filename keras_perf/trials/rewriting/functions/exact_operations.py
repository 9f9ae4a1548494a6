"""Operations that give an element the same bits alone and as part of a batch."""

from __future__ import annotations

import tensorflow as tf
from tensorflow.core.framework.function_pb2 import FunctionDef
from tensorflow.core.framework.node_def_pb2 import NodeDef

from keras_perf.trials.rewriting.functions.written_variables import node_of

_MOVE = """
    Const Identity IdentityN NoOp StopGradient EnsureShape Reshape ExpandDims Squeeze Transpose
    ReverseV2 Slice StridedSlice GatherV2 GatherNd Pack Unpack ConcatV2 Split SplitV Tile
    BroadcastTo Fill ZerosLike OnesLike Shape ShapeN Size Rank Range OneHot Pad Select SelectV2
    DepthToSpace SpaceToDepth MatrixDiag MatrixBandPart"""
_COMPARE = """
    Equal NotEqual Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr LogicalNot IsNan IsInf
    IsFinite Bucketize ArgMax ArgMin All Any Max Min"""
_ROUND_ONCE = """
    Add AddV2 Sub Mul RealDiv Div DivNoNan MulNoNan FloorDiv FloorMod TruncateDiv TruncateMod Mod
    Neg Abs Sign Square SquaredDifference Maximum Minimum ClipByValue Floor Ceil Round Rint Relu
    Relu6 BitwiseAnd BitwiseOr BitwiseXor Invert LeftShift RightShift Cast"""
_ROUND_INTEGERS_NEVER = "Sum Prod Cumsum Cumprod"
_PARSE = "DecodeCSV ParseSingleExample ParseExampleV2"
_STRINGS = """
    DecodeRaw AsString StringLower StringUpper StringToNumber StringLength StaticRegexReplace
    StaticRegexFullMatch StringToHashBucketFast LookupTableFindV2"""

ONE_BY_ONE = frozenset(_STRINGS.split())
"""Those that TensorFlow's `vectorized_map` does not know, and that can be given a batch."""

EXACT = frozenset(" ".join((_MOVE, _COMPARE, _ROUND_ONCE, _PARSE, _STRINGS)).split())
"""Sums, products of matrices and functions such as Exp are not among them: how they round depends
on where in a tensor an element lies. Nor are operations with a state: Assert, ReadVariableOp. Nor
those that `vectorized_map` of TensorFlow 2.21 gets wrong: PadV2 pads with zeros whatever it is
given, Roll takes a negative axis from the wrong end."""

OF_INTEGERS = frozenset(_ROUND_INTEGERS_NEVER.split())


SAME_LENGTH = frozenset(("Cast", "Identity"))


def is_exact(node: NodeDef, function: FunctionDef) -> bool:
    """It is one of these operations, as this function asks for it."""
    if node.op == "Squeeze" and not node.attr["squeeze_dims"].list.i:
        # Of a batch of one element the batch's axis would go as well.
        return False
    if node.op == "Cast" and node.attr["Truncate"].b:
        # `vectorized_map` casts without it, and rounds.
        return False
    if node.op == "DecodeCSV" and node.attr["na_value"].s:
        # `vectorized_map` leaves it out.
        return False
    if node.op == "DecodeRaw" and not _has_one_length(node, function):
        # It refuses strings of several lengths in one call.
        return False
    whole = node.op in OF_INTEGERS and tf.as_dtype(node.attr["T"].type).is_integer
    return node.op in EXACT or bool(whole)


def _has_one_length(node: NodeDef, function: FunctionDef) -> bool:
    """All that takes its result fails unless that has so many numbers."""
    if node.name in map(node_of, function.ret.values()):
        return False
    readers = [each for each in function.node_def if node.name in map(node_of, each.input)]
    return bool(readers) and all(
        _says_a_number(each, function)
        or (each.op in SAME_LENGTH and _has_one_length(each, function))
        for each in readers
    )


def _says_a_number(node: NodeDef, function: FunctionDef) -> bool:
    """It gives a tensor a shape without an unknown axis."""
    if node.op == "EnsureShape":
        return bool(tf.TensorShape(node.attr["shape"].shape).is_fully_defined())
    if node.op != "Reshape":
        return False
    shapes = [e for e in function.node_def if e.name == node_of(node.input[1]) and e.op == "Const"]
    return any((tf.make_ndarray(e.attr["value"].tensor) >= 0).all() for e in shapes)
