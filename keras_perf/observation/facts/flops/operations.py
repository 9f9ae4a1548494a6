"""Floating-point operations of one operation, from its shapes.

Counted are operations that multiply and add along an axis: products of matrices, convolutions,
recurrent layers of cuDNN. A multiplication with its addition is two, also where one factor is
padding. Everything else (activations, normalisation, optimizer) counts 0, as in PaLM's "model
FLOPs utilization" (Chowdhery et al. 2022, appendix B, arXiv:2204.02311).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Shape = tuple[int | None, ...] | None
"""None for an axis of unknown length, or for an unknown number of axes."""

Formula = Callable[[Sequence[Shape], Sequence[Shape], Mapping[str, Any]], float]


class UnknownShapeError(ValueError):
    """An axis that the count needs is not known."""


def flops_of(
    op: str, inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Mapping[str, Any]
) -> float:
    """Floating-point operations.

    Arguments:
        op: one of `COUNTED`.
        inputs: their shapes.
        outputs: the same.
        attributes: of the operation, by name; bools, texts as bytes, numbers.

    Raises:
        UnknownShapeError: an axis is not known.
    """
    return COUNTED[op](inputs, outputs, attributes)


def elements(shape: Shape) -> int:
    """How many a tensor of this shape has.

    Raises:
        UnknownShapeError: an axis is not known.
    """
    return math.prod(_known(shape))


def _known(shape: Shape) -> tuple[int, ...]:
    if shape is None or None in shape:
        raise UnknownShapeError
    return tuple(axis for axis in shape if axis is not None)


def _last(shape: Shape, places: int) -> tuple[int, ...]:
    if shape is None or len(shape) < places:
        raise UnknownShapeError
    return _known(shape[len(shape) - places :])


def _product(left: str, right: str) -> Formula:
    """Of (batches of) matrices; `left` and `right` name the attributes that transpose them."""

    def flops(inputs: Sequence[Shape], outputs: Sequence[Shape], given: Mapping[str, Any]) -> float:
        a, b = inputs[:2]
        rows, summed = _last(a, 2)[:: -1 if given.get(left) else 1]
        _, columns = _last(b, 2)[:: -1 if given.get(right) else 1]
        batches = outputs[0] if outputs[0] is None else outputs[0][:-2]
        return 2.0 * elements(batches) * rows * summed * columns

    return flops


def _einsum(
    inputs: Sequence[Shape], _outputs: Sequence[Shape], attributes: Mapping[str, Any]
) -> float:
    """Of two factors. What is summed in one of them alone is summed before they are multiplied."""
    terms, _, result = attributes["equation"].decode().replace(" ", "").partition("->")
    if len(inputs) < 2:
        return 0.0
    labelled = [_labelled(t, s) for t, s in zip(terms.split(","), inputs, strict=True)]
    first, second = labelled
    shared = first.keys() & second.keys()
    if not any(label not in result for label in shared if label.isalpha()):
        return 0.0
    kept = {label for label in first | second if label in shared or label in result}
    kept |= {label for label in first | second if not label.isalpha()}
    # An axis of an ellipsis may be 1 in one of them, and stand for all of the other's.
    lengths = [max(first.get(label, 1), second.get(label, 1)) for label in kept]
    return 2.0 * math.prod(lengths)


def _labelled(term: str, shape: Shape) -> dict[str, int]:
    """Length of each axis; those of an ellipsis are called by their place from its end."""
    sizes = _known(shape)
    before, dots, after = term.partition("...")
    hidden = len(sizes) - len(before) - len(after)
    names = [*before, *(str(place) for place in range(hidden, 0, -1) if dots), *after]
    return dict(zip(names, sizes, strict=True))


def _convolution(result: str, kernel: str, axes: slice = slice(-1)) -> Formula:
    """A product with the kernel for each element of what the layer gives.

    Arguments:
        result: where the shape of the layer's result, or of its gradient, is found.
        kernel: the same of the kernel.
        axes: of the kernel, those that are summed over: all but that of output channels.
    """

    def flops(inputs: Sequence[Shape], outputs: Sequence[Shape], _: Mapping[str, Any]) -> float:
        shapes = {"out": outputs[0], **{f"in{place}": s for place, s in enumerate(inputs)}}
        return 2.0 * elements(shapes[result]) * math.prod(_known(shapes[kernel])[axes])

    return flops


_SPATIAL = slice(2)
"""A depthwise convolution has a kernel for each channel: its height and width count."""

_GATES = {b"lstm": 4, b"gru": 3}


def _cudnn(times: int) -> Formula:
    """Recurrent layers: input (time, batch, features), state (layers × directions, batch, units).

    Arguments:
        times: how often as many as in the forward pass.
    """

    def flops(inputs: Sequence[Shape], _: Sequence[Shape], attributes: Mapping[str, Any]) -> float:
        steps, batch, features = _last(inputs[0], 3)
        stacked, _batch, units = _last(inputs[1], 3)
        directions = 2 if attributes.get("direction") == b"bidirectional" else 1
        layers = stacked // directions
        columns = layers * units + features + (layers - 1) * directions * units
        gates = _GATES.get(attributes.get("rnn_mode", b"lstm"), 1)
        return 2.0 * times * steps * batch * directions * gates * units * columns

    return flops


COUNTED: Mapping[str, Formula] = {
    "MatMul": _product("transpose_a", "transpose_b"),
    "BatchMatMul": _product("adj_x", "adj_y"),
    "BatchMatMulV2": _product("adj_x", "adj_y"),
    "BatchMatMulV3": _product("adj_x", "adj_y"),
    "Einsum": _einsum,
    "XlaEinsum": _einsum,
    "Conv": _convolution("out", "in1"),
    "Conv2D": _convolution("out", "in1"),
    "Conv2DBackpropInput": _convolution("in2", "in1"),
    "Conv2DBackpropFilter": _convolution("in2", "out"),
    "Conv3D": _convolution("out", "in1"),
    "Conv3DBackpropInputV2": _convolution("in2", "in1"),
    "Conv3DBackpropFilterV2": _convolution("in2", "out"),
    "DepthwiseConv2dNative": _convolution("out", "in1", _SPATIAL),
    "DepthwiseConv2dNativeBackpropInput": _convolution("in2", "in1", _SPATIAL),
    "DepthwiseConv2dNativeBackpropFilter": _convolution("in2", "out", _SPATIAL),
    "CudnnRNN": _cudnn(1),
    "CudnnRNNV2": _cudnn(1),
    "CudnnRNNV3": _cudnn(1),
    "CudnnRNNBackprop": _cudnn(2),
    "CudnnRNNBackpropV2": _cudnn(2),
    "CudnnRNNBackpropV3": _cudnn(2),
}

_NOT_COUNTED = (
    "BatchFFT",
    "BatchIFFT",
    "BatchMatrix",
    "Cholesky",
    "CSRSparseMatrix",
    "Dilation2D",
    "EagerPyFunc",
    "FFT",
    "IFFT",
    "IRFFT",
    "RFFT",
    "Lu",
    "MatrixExponential",
    "MatrixInverse",
    "MatrixLogarithm",
    "MatrixSolve",
    "MatrixSquareRoot",
    "MatrixTriangularSolve",
    "PyFunc",
    "Qr",
    "Quantized",
    "SelfAdjointEig",
    "SparseMatMul",
    "SparseMatrix",
    "SparseTensorDenseMatMul",
    "Svd",
    "UniformQuantized",
    "XlaCallModule",
    "XlaConv",
    "XlaCustomCall",
    "XlaDot",
)


def may_multiply(op: str) -> bool:
    """It is not counted, although it computes more than a pass over its elements, or may do so."""
    return op.startswith(_NOT_COUNTED)
