"""What a kernel does, told by its name and by the operation that launched it.

Names are those of traces of TensorFlow on GPUs (public ones, of 2020 and 2021) and of its sources:
`-TransposeNHWCToNCHW-LayoutOptimizer` of generic_layout_optimizer_transposer.cc, kernels named
`…InTensor3…` of conv_2d_gpu.h, `nchwToNhwcKernel` of cuDNN; `batchnorm` is the scope that
`tf.nn.batch_normalization` opens, which is what Keras 3 calls.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

NO_KERNEL = re.compile("Memcpy|Memset")
TO_DEVICE, TO_HOST = re.compile("MemcpyH2D"), re.compile("MemcpyD2H")
COLLECTIVE = re.compile("nccl|rccl", re.IGNORECASE)
TENSOR_CORE = re.compile(
    r"[a-z](884|8816|8832|1684|1688|16816|16832)|[hiqw]g?mma|xmma|tensorop|nvjet", re.IGNORECASE
)
"""Shapes and names of matrix instructions in names of cuBLAS's, cuDNN's and CUTLASS's kernels."""

_ELIGIBLE = re.compile(
    r"MatMul|Conv[23]D|DepthwiseConv2d|CudnnRNN|Einsum|XlaDot|gemm|^dot|(^|cudnn-)conv(olution|\b)"
)
"""Types of TensorFlow's operations, and names of XLA's, that tensor cores can do."""

_LAST = re.compile("/|(?<!:):(?!:)")
"""Between an operation's scopes and its type; a kernel's name in C++ has colons in pairs."""

_GRAPH = "command_buffer"
"""XLA's name for what becomes a CUDA graph."""

_LAYOUT_KERNEL = re.compile("nchwToNhwc|nhwcToNchw", re.IGNORECASE)
_SWAPPING_KERNEL = re.compile(r"(SwapDimension\d+And\d+|Shuffle)InTensor3")
"""It serves any transpose: inside of these operations it changes the layout of their operands."""
_OF_A_LAYOUT = re.compile("Conv|Pool|FusedBatchNorm|BiasAdd")
_OPTIMIZER = "LayoutOptimizer"

_NORMALIZATION = re.compile(r"([^/]+)/(batchnorm|moments)/")


def operation_of(kernel: str, stats: Mapping[str, object]) -> str:
    """The operation that launched a kernel, `model/dense/MatMul:MatMul`; "" where nobody tells.

    XLA's own name of it, `dot.3`, goes before: beside it `tf_op` names what launched the whole
    module, the outermost annotation (cupti_collector.cc of XLA). Of a CUDA graph, as JAX launches
    whole steps on an H200, XLA names the graph only; its kernels bear the operations' names. Traces
    before TensorFlow 2.5 tell it by another name.
    """
    of_xla = str(stats.get("hlo_op") or "")
    if of_xla.startswith(_GRAPH):
        return kernel
    return of_xla or str(stats.get("tf_op") or stats.get("level 0") or "")


def tensor_cores_could(operation: str) -> bool:
    """It multiplies matrices: by the operation's type, or XLA's name of it."""
    return _ELIGIBLE.search(_LAST.split(operation)[-1]) is not None


def changes_layout(kernel: str, operation: str) -> bool:
    """It only brings data from channels last to channels first, or back.

    What it cannot see: transposes of a model's own, and those that XLA puts into fusions.
    """
    if _LAYOUT_KERNEL.search(kernel) or _OPTIMIZER in operation:
        return True
    type_ = operation.rpartition(":")[2]
    return bool(_SWAPPING_KERNEL.search(kernel) and _OF_A_LAYOUT.search(type_))


def unfused_normalization(operations: Sequence[str]) -> list[bool]:
    """Which operations are pieces of a batch normalization, one kernel or more each.

    The moments of another layer, as of a layer normalization, are not.
    """
    found = [_NORMALIZATION.search(operation) for operation in operations]
    layers = {match[1] for match in found if match and match[2] == "batchnorm"}
    return [match is not None and match[1] in layers for match in found]
