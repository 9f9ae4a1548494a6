"""Which settings of the environment are tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from keras_perf.records.reasons.price import Costs

ONEDNN = "TF_ENABLE_ONEDNN_OPTS"


@dataclass(frozen=True)
class EnvironmentSetting:
    """A variable that is set before Python starts.

    Attributes:
        id: of the advice.
        variable: its name.
        value: what it is set to.
        costs: what it takes beside time.
    """

    id: str
    variable: str
    value: str
    costs: str = ""

    @property
    def code(self) -> str:
        """How one would set it."""
        return f"export {self.variable}={self.value}  # before Python starts"


def possible_settings(
    environ: Mapping[str, str], cores: int, threads: Mapping[str, int], *, on_gpu: bool
) -> Iterator[EnvironmentSetting]:
    """Those that differ from what is set.

    Arguments:
        environ: the environment of this process.
        cores: that it may use.
        threads: sizes of the pools `intra_op` and `inter_op` as the program set them, 0 where it
            did not; what a program sets, the environment does not change.
        on_gpu: the training runs on a GPU.
    """
    if on_gpu and environ.get("TF_GPU_THREAD_MODE", "global") == "global":
        yield EnvironmentSetting("gpu-thread-mode", "TF_GPU_THREAD_MODE", "gpu_private")
    half = str(max(1, cores // 2))
    costs = {
        "intra_op": Costs.ONE_OPERATION.of(cores=int(half), all=cores),
        "inter_op": Costs.OPERATIONS.of(cores=int(half), all=cores),
    }
    for pool, price in costs.items():
        variable = f"TF_NUM_{pool.replace('_', '').upper()}_THREADS"
        if not threads.get(pool) and environ.get(variable, str(cores)) != half:
            yield EnvironmentSetting(f"{pool.replace('_', '-')}-threads", variable, half, price)
    if not on_gpu:
        off = environ.get(ONEDNN, "1") == "0"
        id = "enable-onednn" if off else "disable-onednn"
        yield EnvironmentSetting(id, ONEDNN, "1" if off else "0", Costs.ROUNDING.of())
