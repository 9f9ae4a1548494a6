"""Which settings of the environment are tried."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from keras_perf.records.advice_ids import (
    DISABLE_ONEDNN,
    ENABLE_ONEDNN,
    GPU_THREAD_MODE,
    ONE_INTER_OP_THREAD,
)
from keras_perf.records.reasons.price import Costs

INTER_OP = "TF_NUM_INTEROP_THREADS"
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
        return f"export {self.variable}={shlex.quote(self.value)}  # before Python starts"


def named_settings(environment: Any, environment_s: float | None) -> list[EnvironmentSetting]:
    """Those that a caller names, each tried alone, with its name as the id.

    Arguments:
        environment: names and values of variables; None for none.
        environment_s: seconds for trying them.

    Raises:
        TypeError: it is no mapping of str to str.
        ValueError: a name is none, or there are no seconds.
    """
    if environment is None:
        return []
    if not isinstance(environment, Mapping):
        got = type(environment).__name__
        raise TypeError(f"environment must be a dict of names and values, got {got}.")
    for name, value in environment.items():
        if not (isinstance(name, str) and isinstance(value, str)):
            raise TypeError(
                f"environment must hold str only, got {name!r}: {value!r}. Put numbers in quotes."
            )
        if not name or "=" in name or "\0" in name + value:
            raise ValueError(f"environment must hold names of variables, got {name!r}.")
    if environment and environment_s is None:
        raise ValueError(
            "environment must be given with the seconds to try it for, got environment_s=None. "
            "Give environment_s=60."
        )
    return [EnvironmentSetting(name, name, value) for name, value in environment.items()]


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
        yield EnvironmentSetting(GPU_THREAD_MODE, "TF_GPU_THREAD_MODE", "gpu_private")
    half = str(max(1, cores // 2))
    costs = {
        "intra_op": Costs.ONE_OPERATION.of(cores=int(half), all=cores),
        "inter_op": Costs.OPERATIONS.of(cores=int(half), all=cores),
    }
    for pool, price in costs.items():
        variable = f"TF_NUM_{pool.replace('_', '').upper()}_THREADS"
        if not threads.get(pool) and environ.get(variable, str(cores)) != half:
            yield EnvironmentSetting(f"{pool.replace('_', '-')}-threads", variable, half, price)
    if not threads.get("inter_op") and "1" not in (half, environ.get(INTER_OP, str(cores))):
        price = Costs.OPERATIONS.of(cores=1, all=cores)
        yield EnvironmentSetting(ONE_INTER_OP_THREAD, INTER_OP, "1", price)
    if not on_gpu:
        off = environ.get(ONEDNN, "1") == "0"
        id = ENABLE_ONEDNN if off else DISABLE_ONEDNN
        yield EnvironmentSetting(id, ONEDNN, "1" if off else "0", Costs.ROUNDING.of())
