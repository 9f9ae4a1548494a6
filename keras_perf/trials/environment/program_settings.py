"""What a program sets in TensorFlow before it trains, and another process would not know."""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow as tf


@dataclass(frozen=True)
class ProgramSettings:
    """Settings of TensorFlow's.

    Attributes:
        intra_op, inter_op: sizes of its pools of threads; 0 where nobody set them.
        on_gpu: it may use a GPU.
        tensor_float_32: GPUs may multiply float32 with fewer digits.
    """

    intra_op: int
    inter_op: int
    on_gpu: bool
    tensor_float_32: bool

    @classmethod
    def of_this_process(cls) -> ProgramSettings:
        """As they are; TensorFlow starts its devices."""
        return cls(
            tf.config.threading.get_intra_op_parallelism_threads(),
            tf.config.threading.get_inter_op_parallelism_threads(),
            bool(tf.config.list_logical_devices("GPU")),
            tf.config.experimental.tensor_float_32_execution_enabled(),
        )

    def apply(self) -> None:
        """Sets them here, before TensorFlow starts its devices."""
        if self.intra_op:
            tf.config.threading.set_intra_op_parallelism_threads(self.intra_op)
        if self.inter_op:
            tf.config.threading.set_inter_op_parallelism_threads(self.inter_op)
        if not self.on_gpu:
            tf.config.set_visible_devices([], "GPU")
        tf.config.experimental.enable_tensor_float_32_execution(self.tensor_float_32)
