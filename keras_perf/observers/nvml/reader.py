"""Reads NVIDIA GPUs through NVML. The one place that knows `pynvml`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from keras_perf.observers.nvml.binding import known, number_of
from keras_perf.observers.nvml.cuda_order import Seen, cuda_uuids, select
from keras_perf.observers.nvml.device import Device
from keras_perf.observers.nvml.listing import Gpu, list_gpus
from keras_perf.observers.sensors.reopening import PersistentReader
from keras_perf.observers.sensors.sensor import AbsentError, SensorError, Values

UNUSED = (
    "the framework uses no GPU: those of the machine are sampled, numbered in NVML's order, and "
    "left out of the diagnosis"
)
NO_DRIVER = "NVML_ERROR_LIBRARY_NOT_FOUND", "NVML_ERROR_DRIVER_NOT_LOADED"


class NvmlReader:
    """Samples of every GPU that this process uses, under the framework's index.

    Where it uses none, of all.

    A GPU that stops answering is tried again with pauses that double, by its UUID, so that none
    ever stands under another's index; the values of the others go on.

    Arguments:
        warn: told in one line of what has stopped answering, once of each GPU or value.
        seen: what the framework in this process says of its GPUs.
        cuda: gives the UUIDs of the GPUs that CUDA shows this process, in CUDA's order.
        clock: monotonic seconds.

    Attributes:
        unused: the framework uses none of the machine's GPUs; all are sampled.
        doubt: what is missing, or why a GPU's number may be wrong; empty where all is certain.

    Cannot see: how much of the GPU a kernel uses (before Hopper).

    Raises:
        AbsentError: no driver or no GPU.
        SensorError: the driver does not answer, or shows this process none of its GPUs.
    """

    def __init__(
        self,
        warn: Callable[[str], None],
        seen: Seen | None = None,
        cuda: Callable[[], tuple[str, ...]] = cuda_uuids,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        try:
            import pynvml
        except ImportError as error:
            raise AbsentError("the package nvidia-ml-py is not installed") from error
        self._nvml, self._warn, self._clock = pynvml, warn, clock
        self._devices: dict[int, Device] = {}
        self._readers: dict[int, PersistentReader] = {}
        self._told: set[str] = set()
        self._news: dict[str, list[str]] = {}
        try:
            with self._listing() as listed:
                self._choose(listed, seen, cuda)
        except BaseException:
            self.close()
            raise

    @contextlib.contextmanager
    def _listing(self) -> Iterator[dict[str, Gpu]]:
        """NVML is started for as long; each GPU that is opened meanwhile starts it for itself."""
        nvml = self._nvml
        try:
            nvml.nvmlInit()
        except nvml.NVMLError as error:
            if number_of(error) in known(nvml, *NO_DRIVER):
                raise AbsentError("no NVIDIA driver is visible to this process") from error
            raise SensorError(f"NVML does not start ({error})") from error
        try:
            yield list_gpus(nvml)
        except nvml.NVMLError as error:
            raise SensorError(f"NVML cannot list the GPUs ({error})") from error
        finally:
            with contextlib.suppress(nvml.NVMLError):
                nvml.nvmlShutdown()

    def _choose(
        self, listed: dict[str, Gpu], seen: Seen | None, cuda: Callable[[], tuple[str, ...]]
    ) -> None:
        if not listed:
            raise AbsentError("no NVIDIA GPU is visible to this process")
        self.unused = seen is not None and not seen.chosen
        if self.unused:
            found, self.doubt = dict(enumerate(listed)), UNUSED
        else:
            found, self.doubt = select(listed, seen, cuda)
        if not found:
            raise SensorError(self.doubt or "no NVIDIA GPU is visible to this process")
        for index, uuid in found.items():
            device = self._devices[index] = self._open(index, listed[uuid])
            reopen = partial(self._reopen, index)
            lost = partial(self._lost, index)
            self._readers[index] = PersistentReader(device, reopen, lost, self._clock)

    def _open(self, index: int, gpu: Gpu) -> Device:
        return Device(self._nvml, gpu, partial(self._failed, index), self._clock)

    def _reopen(self, index: int) -> Device:
        uuid = self._devices[index].gpu.uuid
        with self._listing() as listed:
            if uuid not in listed:
                raise SensorError(f"NVML does not list {uuid}")
            self._devices[index] = self._open(index, listed[uuid])
        return self._devices[index]

    def describe(self) -> dict[str, str]:
        """Name and UUID by tag prefix, for the run's text."""
        return {f"gpu/{i}": f"{d.gpu.name} {d.gpu.uuid}" for i, d in self._devices.items()}

    def unsupported(self) -> dict[str, list[str]]:
        """What was asked and is not supported, by tag prefix; complete after the first sample."""
        return {f"gpu/{i}": sorted(d.unsupported) for i, d in self._devices.items()}

    def persistence(self) -> dict[str, bool]:
        """Whether persistence mode is on, by tag prefix, for those that tell."""
        told = {f"gpu/{i}": device.persistence() for i, device in self._devices.items()}
        return {prefix: on for prefix, on in told.items() if on is not None}

    def memory_total_mib(self) -> float:
        """Memory of the first GPU.

        Raises:
            SensorError: NVML does not tell.
        """
        try:
            return next(iter(self._devices.values())).memory_total_mib()
        except self._nvml.NVMLError as error:
            raise SensorError(f"NVML does not tell the GPU's memory ({error})") from error

    def read(self) -> Values:
        """One sample. What a device does not support, and what has stopped answering, is absent."""
        values = {
            f"gpu/{index}/{tag}": value
            for index, reader in self._readers.items()
            for tag, value in reader.read().items()
        }
        if self._news:
            failures = [f"({why}) for {', '.join(what)}" for why, what in self._news.items()]
            self._news.clear()
            self._warn(
                f"keras_perf: NVML stopped answering {', '.join(failures)}; these values are "
                "missing until it answers again."
            )
        return values

    def _lost(self, index: int, error: SensorError) -> None:
        gpu = self._devices[index].gpu
        self._news.setdefault(str(error), []).append(f"gpu/{index} {gpu.name} {gpu.uuid}")

    def _failed(self, index: int, tags: Sequence[str], why: str) -> None:
        names = [name for tag in tags if (name := f"gpu/{index}/{tag}") not in self._told]
        if names:
            self._told.update(names)
            self._news.setdefault(why, []).extend(names)

    def close(self) -> None:
        """Frees what NVML gave; safe to call twice."""
        for reader in self._readers.values():
            reader.close()
