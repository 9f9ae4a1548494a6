"""FLOPs of one operation, from shapes that a test can multiply in its head."""

from __future__ import annotations

import pytest

from keras_perf.observation.facts.flops.operations import (
    UnknownShapeError,
    flops_of,
    may_multiply,
)


@pytest.mark.parametrize(
    ("left", "right", "transposed"),
    [((2, 3), (3, 5), ()), ((3, 2), (3, 5), ("a",)), ((2, 3), (5, 3), ("b",))],
)
def test_a_product_of_matrices_adds_a_product_for_each_element(left, right, transposed):
    given = {f"transpose_{side}": side in transposed for side in "ab"}
    assert flops_of("MatMul", [left, right], [(2, 5)], given) == 2 * 2 * 3 * 5


def test_a_batch_of_matrices_counts_each_also_where_one_factor_is_broadcast():
    assert flops_of("BatchMatMulV2", [(7, 4, 2, 3), (4, 3, 5)], [(7, 4, 2, 5)], {}) == (
        2 * 7 * 4 * 2 * 3 * 5
    )
    adjoint = {"adj_y": True}
    assert flops_of("BatchMatMulV2", [(2, 3), (5, 3)], [(2, 5)], adjoint) == 2 * 2 * 3 * 5


@pytest.mark.parametrize(
    ("equation", "shapes", "expected"),
    [
        ("ij,jk->ik", [(2, 3), (3, 5)], 2 * 2 * 3 * 5),
        ("aecd,abcd->acbe", [(2, 6, 3, 4), (2, 5, 3, 4)], 2 * 2 * 3 * 5 * 6 * 4),
        ("...x,xy->...y", [(7, 4, 3), (3, 5)], 2 * 7 * 4 * 3 * 5),
        ("...ij,...jk->...ik", [(7, 2, 3), (1, 3, 5)], 2 * 7 * 2 * 3 * 5),
        # What is summed in one factor alone is summed first.
        ("ijx,jk->ik", [(2, 3, 9), (3, 5)], 2 * 2 * 3 * 5),
        # No sum, no matrix product.
        ("ij,ij->ij", [(2, 3), (2, 3)], 0),
        ("i,j->ij", [(2,), (3,)], 0),
        ("ij->ji", [(2, 3)], 0),
    ],
)
def test_an_einsum_counts_every_combination_of_its_labels(equation, shapes, expected):
    given = {"equation": equation.encode()}
    assert flops_of("Einsum", shapes, [None], given) == expected


def test_a_convolution_and_both_its_gradients_count_the_same():
    # 8 × 8 images of 3 channels, a kernel of 3 × 3, stride 2, to 16 channels.
    image, kernel, result = (4, 8, 8, 3), (3, 3, 3, 16), (4, 4, 4, 16)
    expected = 2 * 4 * 4 * 4 * 16 * 3 * 3 * 3
    assert flops_of("Conv2D", [image, kernel], [result], {}) == expected
    assert flops_of("Conv2DBackpropInput", [(4,), kernel, result], [image], {}) == expected
    assert flops_of("Conv2DBackpropFilter", [image, (4,), result], [kernel], {}) == expected


def test_groups_multiply_with_their_own_channels_only():
    grouped = (3, 3, 2, 16)
    assert flops_of("Conv2D", [(1, 4, 4, 8), grouped], [(1, 4, 4, 16)], {}) == (
        2 * 4 * 4 * 16 * 3 * 3 * 2
    )


def test_a_depthwise_convolution_multiplies_with_one_kernel_a_channel():
    image, kernel, result = (4, 8, 8, 3), (3, 3, 3, 2), (4, 8, 8, 6)
    expected = 2 * 4 * 8 * 8 * 6 * 3 * 3
    depthwise = "DepthwiseConv2dNative"
    assert flops_of(depthwise, [image, kernel], [result], {}) == expected
    assert flops_of(f"{depthwise}BackpropInput", [(4,), kernel, result], [image], {}) == expected
    assert flops_of(f"{depthwise}BackpropFilter", [image, (4,), result], [kernel], {}) == expected


def test_three_dimensions_count_as_two_do():
    assert flops_of("Conv3D", [(1, 4, 4, 4, 2), (2, 2, 2, 2, 5)], [(1, 3, 3, 3, 5)], {}) == (
        2 * 27 * 5 * 8 * 2
    )


@pytest.mark.parametrize(("mode", "gates"), [(b"lstm", 4), (b"gru", 3), (b"rnn_tanh", 1)])
def test_cudnn_counts_input_and_state_of_each_gate(mode, gates):
    shapes = [(7, 4, 6), (1, 4, 5)]
    forward = 2 * 7 * 4 * gates * 5 * (6 + 5)
    given = {"rnn_mode": mode, "direction": b"unidirectional"}
    assert flops_of("CudnnRNNV3", shapes, [None], given) == forward
    assert flops_of("CudnnRNNBackpropV3", shapes, [None], given) == 2 * forward


def test_a_second_layer_of_cudnn_reads_both_directions_of_the_first():
    given = {"rnn_mode": b"gru", "direction": b"bidirectional"}
    first, second = 6 + 5, 2 * 5 + 5
    assert flops_of("CudnnRNNV3", [(7, 4, 6), (4, 4, 5)], [None], given) == (
        2 * 7 * 4 * 2 * 3 * 5 * (first + second)
    )


@pytest.mark.parametrize(
    ("op", "inputs", "outputs"),
    [
        ("MatMul", [(None, 3), (3, 5)], [(None, 5)]),
        ("MatMul", [None, (3, 5)], [None]),
        ("BatchMatMulV2", [(7, 2, 3), (3, 5)], [None]),
        ("Conv2D", [(4, None, None, 3), (3, 3, 3, 16)], [(4, None, None, 16)]),
    ],
)
def test_nothing_is_said_of_shapes_that_are_not_known(op, inputs, outputs):
    with pytest.raises(UnknownShapeError):
        flops_of(op, inputs, outputs, {})


@pytest.mark.parametrize("op", ["Svd", "EagerPyFunc", "XlaDotV2", "SparseTensorDenseMatMul"])
def test_what_may_multiply_and_is_not_counted_is_known(op):
    assert may_multiply(op)


@pytest.mark.parametrize("op", ["AddV2", "Relu", "ReadVariableOp", "MatMul", "Softmax"])
def test_a_pass_over_elements_is_not_among_them(op):
    assert not may_multiply(op)
