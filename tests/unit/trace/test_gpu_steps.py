"""What in the steps of a GPU's trace is no computing: exact figures, from planes built by hand.

Names are those of public traces of TensorFlow on GPUs, and of its sources.
"""

from __future__ import annotations

import pytest
from built_trace import BuiltPlane, fetch, marker, runs, write

import keras_perf as kp
from keras_perf.trace.kernel_kinds import changes_layout, unfused_normalization

TRAINING, PIPELINE = 11, 22
"""Ids of calls of functions."""

ADAM = "void tensorflow::functor::ApplyAdamKernel<float>(int, float*, float*)"
SWAPS = "void tensorflow::functor::SwapDimension1And2InTensor3UsingTiles<unsigned int, 1024>"
SHUFFLES = "void tensorflow::functor::ShuffleInTensor3Simple<float, 2, 1, 0, false>"
CUDNN = "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true>"
CONVOLUTION = "volta_scudnn_128x64_relu_interior_nn_v1"


def function_run(begin, end, run=TRAINING):
    return ("FunctionRun", begin, end, {"id": run})


def process(begin, end, run=TRAINING):
    return ("ExecutorState::Process", begin, end, {"id": run})


def launch(begin, end, correlation):
    return (ADAM, begin, end, {"correlation_id": correlation})


def kernel(begin, end, *, name=ADAM, operation="Adam/update:ResourceApplyAdam", correlation=0):
    return (name, begin, end, {"correlation_id": correlation, "tf_op": operation})


def host(*threads):
    """Two marked steps of 10 ms, each with one call of a function, and an empty gap."""
    plane = BuiltPlane("/host:CPU").line(
        "python",
        *(marker(0, 0, 10), function_run(1, 2), runs(1, 9)),
        *(marker(1, 10, 20), function_run(11, 12), runs(11, 19)),
    )
    for number, events in enumerate(threads):
        plane.line(f"tf_Compute/{number}", *events)
    return plane


def trace(tmp_path, plane, *kernels):
    gpu = BuiltPlane("/device:GPU:0").line("Stream #13(Compute)", *kernels)
    return kp.read_trace(write(tmp_path, plane, gpu))


def first(found, column):
    return pytest.approx(found.to_frame()[column].iloc[0])


def test_a_device_that_idles_while_the_host_executes_waits_for_launches(tmp_path):
    found = trace(tmp_path, host(), kernel(2, 3), kernel(5, 7), kernel(8.5, 9.5))
    # Of the execution from 1 to 9.
    assert first(found, "waits_for_launch_ms") == 1 + 2 + 1.5


def test_waiting_for_input_is_no_waiting_for_launches(tmp_path):
    plane = host([fetch(1, 4, id=TRAINING)])
    found = trace(tmp_path, plane, kernel(4, 9))
    assert first(found, "waits_for_launch_ms") == 0
    assert first(found, "input_wait_ms") == 3


def test_a_busy_device_waits_for_nothing_however_slow_the_host(tmp_path):
    plane = host([process(1, 8), ("Unique:Unique", 2, 7)])
    found = trace(tmp_path, plane, kernel(0.5, 9.5))
    assert first(found, "waits_for_launch_ms") == 0
    assert first(found, "waits_for_cpu_operation_ms") == 0


def test_an_operation_on_the_cpu_that_the_device_waits_for_is_told_with_its_type(tmp_path):
    thread = [process(1, 8), ("model/unique/Unique:Unique", 2, 6), ("Where:Where", 6, 7)]
    found = trace(tmp_path, host(thread), kernel(1, 3), kernel(7, 9))
    assert first(found, "waits_for_cpu_operation_ms") == 4
    assert first(found, "waits_for_launch_ms") == 0
    assert found.cpu_operations == {"Unique": 2.0, "Where": 0.5}


def test_operations_outside_of_the_steps_are_none_of_theirs(tmp_path):
    thread = [process(1, 8), ("model/unique/Unique:Unique", 2, 6)]
    later = [process(21, 38), ("model/unique/Unique:Unique", 22, 36)]
    found = trace(tmp_path, host(thread, later), kernel(1, 3), kernel(7, 9))
    assert found.cpu_operations == {"Unique": 2.0}


def test_a_kernel_of_one_dnn_is_an_operation_as_well(tmp_path):
    thread = [process(1, 8), ("model/dense/MatMul:_MklMatMul", 2, 6)]
    found = trace(tmp_path, host(thread), kernel(1, 2))
    assert found.cpu_operations == {"_MklMatMul": 2.0}


@pytest.mark.parametrize(
    "thread",
    [
        # The input pipeline's, in a function of its own, on the same thread.
        [process(0, 1), process(2, 7, PIPELINE), ("DecodeJpeg:DecodeJpeg", 3, 6)],
        # One that launches a kernel is the GPU's.
        [process(2, 7), ("model/dense/MatMul:MatMul", 3, 6), launch(5.9, 5.95, 1)],
        # These wait, or call others.
        [process(2, 7), ("IteratorGetNext/_6:_Send", 3, 4), ("while:While", 4, 5)],
        [process(2, 7), ("loss/_8:_HostRecv", 3, 6)],
        [process(2, 7), ("Partitioned:StatefulPartitionedCall", 3, 6)],
        [process(2, 7), ("IteratorGetNext:IteratorGetNext", 3, 6)],
        [process(2, 7), ("cluster:_XlaRun", 3, 6)],
        # No operations at all.
        [process(2, 7), ("EagerExecute: __inference_f", 3, 6), ("Iterator::Model::Map", 3, 6)],
        [("Unique:Unique", 3, 6)],
    ],
)
def test_what_is_no_operation_of_the_step_on_the_cpu_is_not_told(tmp_path, thread):
    found = trace(tmp_path, host(thread), kernel(1, 2))
    assert found.cpu_operations == {}
    assert first(found, "waits_for_cpu_operation_ms") == 0


def test_without_a_gpu_no_operation_is_on_the_wrong_device(tmp_path):
    thread = [process(1, 8), ("Unique:Unique", 2, 6)]
    found = kp.read_trace(write(tmp_path, host(thread)))
    assert found.cpu_operations == {}
    assert "waits_for_cpu_operation_ms" not in found.means


@pytest.mark.parametrize(
    ("name", "operation", "changes"),
    [
        (SWAPS, "model/conv2d/Conv2D-0-TransposeNHWCToNCHW-LayoutOptimizer:Transpose", True),
        (SHUFFLES, "model/conv2d/Conv2D:Conv2D", True),
        (CUDNN, "gradient_tape/model/conv2d/Conv2D/Conv2DBackpropFilter:Conv2D", True),
        (CUDNN, "", True),
        (SWAPS, "model/permute/transpose:Transpose", False),
        (CONVOLUTION, "model/conv2d/Conv2D:Conv2D", False),
        ("void tensorflow::BiasNCHWKernel<float>", "model/conv2d/BiasAdd:BiasAdd", False),
        (ADAM, "Adam/update:ResourceApplyAdam", False),
    ],
)
def test_changes_of_layout_are_told_by_names(tmp_path, name, operation, changes):
    assert changes_layout(name, operation) == changes
    found = trace(tmp_path, host(), kernel(1, 3, name=name, operation=operation), kernel(4, 5))
    assert first(found, "layout_change_ms") == (2 if changes else 0)


@pytest.mark.parametrize(
    ("kernel_name", "eligible"),
    [
        ("gemm_fusion_dot_10", 100.0),
        ("void cutlass::Kernel2<cutlass_80_simt_sgemm_nn>(cutlass_80::Params)", 100.0),
        ("loop_add_fusion", 0.0),
    ],
)
def test_of_a_cuda_graph_a_kernel_tells_its_operation_by_its_own_name(
    tmp_path, kernel_name, eligible
):
    stats = {"correlation_id": 1, "hlo_op": "command_buffer_1", "tf_op": "XlaModule:"}
    found = trace(tmp_path, host(), (kernel_name, 1, 3, stats))
    assert first(found, "tensor_core_eligible_pct") == eligible


BATCH = "StatefulPartitionedCall/sequential_1/batch_normalization_1"


def test_the_pieces_of_a_batch_normalization_are_told_by_their_scope(tmp_path):
    gradient = "StatefulPartitionedCall/gradient_tape/sequential_1/batch_normalization_1"
    layer = "StatefulPartitionedCall/sequential_1/layer_normalization_1"
    operations = {
        f"{BATCH}/moments/mean:Mean": True,
        f"{BATCH}/batchnorm/mul_1:Mul": True,
        f"{gradient}/moments/truediv:RealDiv": True,
        f"{layer}/moments/mean:Mean": False,
        "sequential/batch_normalization_2/FusedBatchNormV3:FusedBatchNormV3": False,
        "sequential_1/dense_1/MatMul:MatMul": False,
    }
    assert unfused_normalization(list(operations)) == list(operations.values())
    kernels = (kernel(i, i + 1, operation=name) for i, name in enumerate(operations))
    found = trace(tmp_path, host(), *kernels)
    assert first(found, "unfused_normalization_ms") == 3


def test_an_older_trace_names_the_operation_otherwise(tmp_path):
    older = (ADAM, 1, 3, {"correlation_id": 1, "level 0": f"{BATCH}/batchnorm/mul:Mul"})
    assert first(trace(tmp_path, host(), older), "unfused_normalization_ms") == 2
