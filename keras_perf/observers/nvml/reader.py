"""Reads NVIDIA GPUs through NVML. The one place that knows `pynvml`."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from keras_perf.observers.nvml.cuda_order import Gpu, Seen, select
from keras_perf.observers.nvml.device import Device
from keras_perf.observers.nvml.listing import Handle, Listing, list_gpus
from keras_perf.observers.sensors.reopening import PersistentReader
from keras_perf.observers.sensors.sensor import SensorError, Values


class NvmlReader:
    """Samples of every GPU that this process uses, under the framework's index.

    A GPU that stops answering is tried again with pauses that double, by its UUID, so that none
    ever stands under another's index; the values of the others go on.

    Arguments:
        warn: told in one line of what has stopped answering, once of each GPU or value.
        environ: where `CUDA_VISIBLE_DEVICES` and `CUDA_DEVICE_ORDER` are looked up.
        seen: what the framework in this process says of its GPUs.
        clock: monotonic seconds.

    Attributes:
        doubt: why a GPU's number may be wrong; empty where it is certain.

    Cannot see: how much of the GPU a kernel uses (before Hopper).

    Raises:
        SensorError: no driver, no GPU, or none visible to this process.
    """

    def __init__(
        self,
        warn: Callable[[str], None],
        environ: Mapping[str, str] = os.environ,
        seen: Seen | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        try:
            import pynvml
        except ImportError as error:
            raise SensorError("the package nvidia-ml-py is not installed") from error
        self._nvml, self._warn, self._clock = pynvml, warn, clock
        self._devices: list[Device] = []
        self._readers: list[PersistentReader] = []
        self._told: set[str] = set()
        self._news: dict[str, list[str]] = {}
        try:
            with self._listing() as listing:
                self._choose(listing, environ, seen)
        except BaseException:
            self.close()
            raise

    @contextlib.contextmanager
    def _listing(self) -> Iterator[Listing]:
        """NVML is started for as long; each GPU that is opened meanwhile starts it for itself."""
        nvml = self._nvml
        try:
            nvml.nvmlInit()
        except nvml.NVMLError as error:
            raise SensorError(f"NVML does not start ({error})") from error
        try:
            yield list_gpus(nvml)
        except nvml.NVMLError as error:
            raise SensorError(f"NVML cannot list the GPUs ({error})") from error
        finally:
            with contextlib.suppress(nvml.NVMLError):
                nvml.nvmlShutdown()

    def _choose(self, listing: Listing, environ: Mapping[str, str], seen: Seen | None) -> None:
        selection = select(listing.gpus, environ, seen, listing.silent)
        self.doubt = selection.doubt
        for index, gpu in enumerate(selection.gpus):
            device = self._open(index, gpu, listing.handles[gpu.uuid])
            self._devices.append(device)
            reopen = partial(self._reopen, index)
            lost = partial(self._lost, index)
            self._readers.append(PersistentReader(device, reopen, lost, self._clock))
        if not self._devices and listing.gpus and seen is not None and not seen.chosen:
            count = len(listing.gpus)
            raise SensorError(f"the framework uses none of the {count} GPUs of this machine")
        if not self._devices:
            raise SensorError("no NVIDIA GPU is visible to this process")

    def _open(self, index: int, gpu: Gpu, handle: Handle) -> Device:
        return Device(self._nvml, gpu, handle, partial(self._failed, index), self._clock)

    def _reopen(self, index: int) -> Device:
        gpu = self._devices[index].gpu
        with self._listing() as listing:
            if gpu.uuid not in listing.handles:
                raise SensorError(f"NVML does not list {gpu.uuid}")
            self._devices[index] = self._open(index, gpu, listing.handles[gpu.uuid])
        return self._devices[index]

    def describe(self) -> dict[str, str]:
        """Name and UUID by tag prefix, for the run's text."""
        return {f"gpu/{i}": f"{d.gpu.name} {d.gpu.uuid}" for i, d in enumerate(self._devices)}

    def unsupported(self) -> dict[str, list[str]]:
        """What was asked and is not supported, by tag prefix; complete after the first sample."""
        return {f"gpu/{i}": sorted(d.unsupported) for i, d in enumerate(self._devices)}

    def persistence(self) -> dict[str, bool]:
        """Whether persistence mode is on, by tag prefix, for those that tell."""
        told = {f"gpu/{i}": device.persistence() for i, device in enumerate(self._devices)}
        return {prefix: on for prefix, on in told.items() if on is not None}

    def memory_total_mib(self) -> float:
        """Memory of the first GPU.

        Raises:
            SensorError: NVML does not tell.
        """
        try:
            return self._devices[0].memory_total_mib()
        except self._nvml.NVMLError as error:
            raise SensorError(f"NVML does not tell the GPU's memory ({error})") from error

    def read(self) -> Values:
        """One sample. What a device does not support, and what has stopped answering, is absent."""
        values = {
            f"gpu/{index}/{tag}": value
            for index, reader in enumerate(self._readers)
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
        for reader in self._readers:
            reader.close()
