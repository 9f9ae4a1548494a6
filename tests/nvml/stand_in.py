"""Builds the stand-ins for NVIDIA's libraries, puts one under the real `pynvml`, and scripts it."""

from __future__ import annotations

import contextlib
import ctypes
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pynvml

from keras_perf.observers import gpu_and_host
from keras_perf.observers.nvml.reader import NvmlReader

NAME = "libnvidia-ml.so.1"
SOURCES = {NAME: "stand_in.c", "libcuda.so.1": "stand_in_cuda.c"}
CUDA_VARIABLE = "STAND_IN_CUDA"


def compiler() -> str | None:
    """The system's C compiler, if there is one."""
    return shutil.which("cc")


def build(folder: Path) -> Path:
    """Compiles the libraries into a folder, under NVIDIA's names; the path of NVML's."""
    command = [compiler() or "cc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    for name, source in SOURCES.items():
        file = Path(__file__).with_name(source)
        subprocess.run([*command, "-o", str(folder / name), str(file)], check=True)
    return folder / NAME


class StandIn:
    """Scripts the devices of a library that `build` has made."""

    def __init__(self, path: Path) -> None:
        self.library = ctypes.CDLL(str(path))
        self.library.stand_in_add.restype = ctypes.c_void_p
        self._uuids: list[str] = []
        self._cut: set[int] = set()
        self.library.stand_in_reset()

    def add(
        self, uuid: str, name: str = "NVIDIA H200", *, parent: int = -1, instance: int = 0
    ) -> int:
        """A whole GPU, or a MIG instance of one; its number among all of them."""
        self.library.stand_in_add(name.encode(), uuid.encode(), parent, instance)
        self._uuids.append(uuid)
        self._cut.add(parent)
        return len(self._uuids) - 1

    def cuda(self) -> tuple[str, ...]:
        """What CUDA would show: all of them, a GPU that is cut through its instances."""
        left = [uuid for number, uuid in enumerate(self._uuids) if number not in self._cut]
        return tuple(uuid.partition("-")[2] for uuid in left)

    def set(self, device: int = 0, **fields: float) -> None:
        """Values of one device, in NVML's units."""
        for name, value in fields.items():
            assert not self.library.stand_in_set(device, name.encode(), ctypes.c_double(value))

    def gpm(self, metric: int, value: float, device: int = 0) -> None:
        """A GPM metric by its id; a negative value is one that the device lacks."""
        self.library.stand_in_gpm(device, metric, ctypes.c_double(value))

    def buffer(self, *values: int, device: int = 0) -> None:
        """The driver has put these into its own buffer of utilization."""
        for value in values:
            self.library.stand_in_buffer(device, value)

    def process(self, pid: int, mib: int | None, device: int = 0) -> None:
        """A process that computes there; None for memory that the driver does not tell."""
        size = 2**64 - 1 if mib is None else mib * 2**20
        self.library.stand_in_process(device, pid, ctypes.c_ulonglong(size))

    def fail(self, function: str, code: int, device: int = -1) -> None:
        """From now on this function returns an error; for a device, "*" is all that it is asked."""
        self.library.stand_in_fail(function.encode(), code, device)

    def heal(self) -> None:
        """Nothing fails any more."""
        self.library.stand_in_heal()

    def restart(self) -> None:
        """The driver begins anew: nothing answers until all have shut NVML down."""
        self.library.stand_in_restart()

    @property
    def failed_calls(self) -> int:
        """How many calls have returned a scripted error."""
        return int(self.library.stand_in_failed_calls())

    @property
    def users(self) -> int:
        """How often it was started and not shut down."""
        return int(self.library.stand_in_users())

    @property
    def open_samples(self) -> int:
        """GPM samples that nobody has freed."""
        return int(self.library.stand_in_open_samples())


@contextlib.contextmanager
def under_pynvml(path: Path) -> Iterator[StandIn]:
    """The real binding loads this library, through its own loader; CUDA shows the same GPUs."""
    scripted = StandIn(path)
    loader, library = pynvml.CDLL, pynvml.nvmlLib
    pointers = dict(pynvml._nvmlGetFunctionPointer_cache)

    def load(name: str) -> ctypes.CDLL:
        assert name == NAME
        return ctypes.CDLL(str(path))

    pynvml.CDLL, pynvml.nvmlLib = load, None
    pynvml._nvmlGetFunctionPointer_cache.clear()
    gpu_and_host.NvmlReader = partial(NvmlReader, cuda=scripted.cuda)
    try:
        yield scripted
    finally:
        gpu_and_host.NvmlReader = NvmlReader
        pynvml.CDLL, pynvml.nvmlLib = loader, library
        pynvml._nvmlGetFunctionPointer_cache.clear()
        pynvml._nvmlGetFunctionPointer_cache.update(pointers)
