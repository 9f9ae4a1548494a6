"""What a program sets in TensorFlow before it trains, and another process would not know."""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow as tf


@dataclass(frozen=True)
class ProgramSettings:
    """Settings of TensorFlow's.

    Attributes:
        intra_op, inter_op: sizes of its pools of threads; 0 where nobody set them.
        gpus: those that it may use, by their places among all that TensorFlow finds.
        tensor_float_32: GPUs may multiply float32 with fewer digits.
    """

    intra_op: int
    inter_op: int
    gpus: list[int]
    tensor_float_32: bool

    @classmethod
    def of_this_process(cls) -> ProgramSettings:
        """As they are."""
        visible = tf.config.get_visible_devices("GPU")
        found = tf.config.list_physical_devices("GPU")
        return cls(
            tf.config.threading.get_intra_op_parallelism_threads(),
            tf.config.threading.get_inter_op_parallelism_threads(),
            [place for place, gpu in enumerate(found) if gpu in visible],
            tf.config.experimental.tensor_float_32_execution_enabled(),
        )

    @property
    def on_gpu(self) -> bool:
        """It may use one."""
        return bool(self.gpus)

    def apply(self) -> None:
        """Sets them here, before TensorFlow starts its devices."""
        if self.intra_op:
            tf.config.threading.set_intra_op_parallelism_threads(self.intra_op)
        if self.inter_op:
            tf.config.threading.set_inter_op_parallelism_threads(self.inter_op)
        found = tf.config.list_physical_devices("GPU")
        tf.config.set_visible_devices([found[place] for place in self.gpus], "GPU")
        tf.config.experimental.enable_tensor_float_32_execution(self.tensor_float_32)
