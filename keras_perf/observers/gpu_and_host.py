"""GPUs and host in the background: what the callback and `sample_gpus` have in common."""

from __future__ import annotations

from collections.abc import Callable

from keras_perf.observers.asking import answers, unwarned
from keras_perf.observers.container.quota_reader import QuotaReader
from keras_perf.observers.nvml.cuda_order import Seen
from keras_perf.observers.nvml.reader import NvmlReader
from keras_perf.observers.sensors.core_wait import core_waits
from keras_perf.observers.sensors.disk_and_network import DiskAndNetworkReader
from keras_perf.observers.sensors.host import HostReader
from keras_perf.observers.sensors.interpreter_wait import InterpreterReader
from keras_perf.observers.sensors.sampler import BackgroundSampler
from keras_perf.observers.sensors.sensor import AbsentError, Reader, SensorError
from keras_perf.observers.sensors.started_by_python import child_processes, python_threads
from keras_perf.records.phase import Phase
from keras_perf.records.run.run_facts import GpuFacts, RunFacts
from keras_perf.records.text.error_line import error_line


class GpuHostSampler:
    """Samples until `stop`; without a GPU the host only.

    Arguments:
        interval_s: seconds between two samples.
        warn: is given one line on each thing that is missing.
        absent: is given the line of a machine that has no GPU.
        seen: what the framework says of its GPUs.
        phase: what training is doing now.
        after_sample: called in the sampler's thread after each sample.

    Attributes:
        facts: what the driver tells of the GPUs.
        not_known: name → reason of what would be among them, but could not be asked.
    """

    def __init__(
        self,
        interval_s: float,
        warn: Callable[[str], None],
        seen: Seen | None = None,
        *,
        absent: Callable[[str], None],
        phase: Phase = Phase.BETWEEN,
        after_sample: Callable[[], None] = lambda: None,
    ) -> None:
        self.facts = GpuFacts()
        self.not_known: dict[str, str] = {}
        self._gpus = _opened(warn, absent, seen)
        readers: list[Reader] = [HostReader(warn)]
        if self._gpus is not None:
            self.facts = _facts(self._gpus, self.not_known)
            if self._gpus.doubt:
                warn(f"keras_perf: {self._gpus.doubt}.")
            readers.append(self._gpus)
        readers += [python_threads(), child_processes(), core_waits()]
        readers += [DiskAndNetworkReader(), InterpreterReader(), QuotaReader()]
        self._sampler = BackgroundSampler(
            readers, interval_s, warn, phase=phase, after_sample=after_sample
        )
        self._sampler.start()

    def enter(self, phase: Phase) -> None:
        """Training does this from now on."""
        self._sampler.enter(phase)

    def take(self, steps: int, examples_per_step: float | None) -> dict[str, float]:
        """The scalars since the last call, in which so many steps were trained."""
        values, training_s = self._sampler.take()
        # What others' GPUs take is no part of a step.
        of_steps = 0 if self.facts.gpus_unused else steps
        return values | energy(values, training_s, of_steps, examples_per_step)

    def gpus(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """The beginning of its tags, its name and what it does not tell, of each GPU."""
        gpus = self.facts.gpus
        if self._gpus is None or not gpus:
            return []
        missing = self._gpus.unsupported()
        return [(tag, name, tuple(missing[tag])) for tag, name in gpus.items()]

    def stop(self) -> None:
        """Ends the thread and gives NVML back; safe to call twice."""
        self._sampler.stop()


def _opened(
    warn: Callable[[str], None], absent: Callable[[str], None], seen: Seen | None
) -> NvmlReader | None:
    """The GPUs; None, with a line, if there are none or they cannot be asked."""
    try:
        return unwarned(NvmlReader, warn, seen)
    except Exception as error:  # noqa: BLE001  monitoring never kills training
        what = str(error) if isinstance(error, SensorError) else error_line(error)
        none = isinstance(error, AbsentError) and not (seen and (seen.visible or seen.chosen))
        tell = absent if none else warn
        tell(f"keras_perf: {what}, so CPU and memory are sampled without a GPU.")
        return None


def _facts(gpus: NvmlReader, not_known: dict[str, str]) -> GpuFacts:
    def memory_total_mib() -> float | None:
        try:
            return gpus.memory_total_mib()
        except SensorError:
            # It is a setting of the driver's, not a failure.
            return None

    found = answers(
        {
            "gpus": gpus.describe,
            "gpus_unused": lambda: gpus.unused,
            "gpu_memory_total_mib": memory_total_mib,
            "gpu_persistence": gpus.persistence,
        },
        not_known,
    )
    return RunFacts().told(found)[0].gpu


def energy(
    values: dict[str, float], training_s: float, steps: int, examples_per_step: float | None
) -> dict[str, float]:
    """Joules of an interval from its mean power, in all, for a step and for an example."""
    found = {}
    for tag, watts in values.items():
        gpu, _, name = tag.rpartition("/")
        if name != "mean_power_w":
            continue
        joules = watts * training_s
        found[f"{gpu}/energy_j"] = joules
        if steps > 0:
            found[f"{gpu}/energy_per_step_j"] = joules / steps
            if examples_per_step:
                found[f"{gpu}/energy_per_example_j"] = joules / steps / examples_per_step
    return found
