"""Are the figures read from a GPU right? Compares them with other tools, on a real one.

    make test-gpu        or        python benchmarks/on_a_gpu/gpu_readings.py [--seconds 10]

What: under a load that is busy for 0, 25, 50 and 100 % of the time, utilization against
`nvidia-smi` over the same seconds (within 10 points), and so is GPM's share of the time in which
anything is computed; energy from the counter against the power that was polled (within 5 %);
memory, power, temperature, clock, PCIe lanes and throttling against `nvidia-smi` under full load;
on Hopper and newer, activity of the tensor cores, near zero for elementwise work and high for a
large bfloat16 matrix product, of the multiprocessors, near zero asleep, and of the memory, high in
a copy; resident warps are no larger a share than busy multiprocessors; where the vendor's figures
of the GPU are known, tensor cores and memory also against what the product computes and the copy
moves of them (within 15 points). What goes over PCIe is held against what is copied to the GPU and
from it (from 10 % less to 50 % more: headers go with it). Also that every metric of the table is
read or named as not supported, that CUDA says which GPUs are ours, and that a hundred starts and
ends leave no file open. What a sample takes of the real driver is printed, and of each load all
that was read.

How: the load is made with PyTorch, JAX or TensorFlow, the first that finds a GPU, on the first
GPU that this process sees. Beside it only nvidia-ml-py is needed (`pip install --no-deps .`).
A check that fails leaves the others to go on; of each framework that is not installed, or finds no
GPU, a line says so. What is printed also goes, line by line, to benchmarks/results/, and as a table
to <gpu>-<date>.json there, where --json names no other file. Exits with 1 if a figure is
wrong, and with 77, in one line, where there is no GPU or nothing to load it with.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from typing import NamedTuple

import gpu_checks
import result
from gpu_checks import Checked, Checks, Say, check
from gpu_loads import Load, Work, load, run

from keras_perf.analyse.hardware.gpu_peaks import peak_of
from keras_perf.observers.nvml.reader import NvmlReader
from keras_perf.observers.sensors.sampler import BackgroundSampler
from keras_perf.observers.sensors.sensor import SensorError
from keras_perf.records.metrics.gpu_metrics import SAMPLED
from keras_perf.records.phase import Phase

INTERVAL_S = 0.2
SETTLE_S = 2.0
"""NVML's utilization looks back for up to a second, and power is averaged by the driver."""

POINTS = 10.0
ENERGY_SHARE = 0.05
NO_TENSOR_PCT, MUCH_TENSOR_PCT = 2.0, 30.0
NO_SM_PCT, MUCH_SM_PCT = 5.0, 50.0
MUCH_DRAM_PCT = 30.0
RECKONED_POINTS = 15.0
TRANSFERRED = (0.9, 1.5)
"""Of what is copied, so much goes over PCIe: small packets have large headers."""
MOST_WARPS = 0.6
"""Of busy multiprocessors, in a product: few warps fit, as each holds many registers."""
SPAN_POINTS = 1.0
"""Two figures of one span."""
AS_THE_TOOL = {
    "memory_used_mib": 64.0,
    "power_w": 20.0,
    "temperature_c": 3.0,
    "sm_clock_mhz": 60.0,
    "pcie_lanes": 0.0,
    "pcie_max_lanes": 0.0,
    "pcie_generation": 0.0,
    "pcie_max_generation": 0.0,
}
"""How far a mean may lie from that of nvidia-smi, which looks at other moments."""
SHARES = (0.0, 0.25, 0.5, 1.0)
ASKED_S = 2.5
"""After so long everything has been asked: what changes rarely is asked every two seconds."""
SAMPLES = 50
STARTS = 100

TABLE = [metric.tag.rpartition("/")[2] for metric in SAMPLED]
MAY_BE_ABSENT = {"process_memory_used_mib", "other_processes", "other_memory_used_mib"}
"""Where NVML knows this process by another number, as in a container."""

TOOL = {
    "utilization.gpu": "utilization_pct",
    "memory.used": "memory_used_mib",
    "power.draw": "power_w",
    "temperature.gpu": "temperature_c",
    "clocks.sm": "sm_clock_mhz",
    "pcie.link.width.current": "pcie_lanes",
    "pcie.link.width.max": "pcie_max_lanes",
    "pcie.link.gen.current": "pcie_generation",
    "pcie.link.gen.max": "pcie_max_generation",
    "clocks.max.sm": "max_sm_clock_mhz",
}
"""What nvidia-smi is asked for, and our name of it."""

THROTTLING = {
    0x4: "throttled_power_cap_pct",
    0x60: "throttled_thermal_pct",
    0x80: "throttled_power_brake_pct",
    0x8: "throttled_hardware_pct",
}
"""Reasons that nvidia-smi tells as bits, and our share of the time in which one holds."""
REASONS = "clocks_event_reasons.active"
THROTTLING_POINTS = 25.0
"""Each asks a few times a second."""


# -- readings ----------------------------------------------------------------------------


class Readings(NamedTuple):
    """Means over a load, by our names."""

    ours: dict[str, float]
    tools: dict[str, float]
    """nvidia-smi's; empty where it cannot be asked."""
    per_s: float
    """How often the load's work was done in a second."""


def readings(work: Work, share: float, seconds: float, uuid: str) -> Readings:
    """Of a load, once it has settled."""
    run(work, share, SETTLE_S)
    sampler = BackgroundSampler([NvmlReader(print)], INTERVAL_S, print, phase=Phase.TRAINING)
    lines: list[str] = []
    over = threading.Event()
    tool = threading.Thread(target=nvidia_smi, args=(uuid, lines, over))
    sampler.start()
    tool.start()
    try:
        begin = time.monotonic()
        times = run(work, share, seconds)
        took_s = time.monotonic() - begin
        values = sampler.take().values
    finally:
        over.set()
        tool.join()
        sampler.stop()
    ours = {tag.removeprefix("gpu/0/"): v for tag, v in values.items() if tag.startswith("gpu/0/")}
    return Readings(ours, means(lines), times / took_s)


def nvidia_smi(uuid: str, lines: list[str], over: threading.Event) -> None:
    """Asks the tool again and again: what it prints in a loop of its own may stay in a buffer."""
    while not over.wait(0.1):
        if figures := asked(uuid, ",".join(TOOL)):
            lines.append(f"{figures},{asked(uuid, REASONS)}")


def asked(uuid: str, what: str, of: str = "gpu") -> str:
    """Its answer; "" where it has none, as a driver that does not know the question."""
    query = ["nvidia-smi", "-i", uuid, f"--query-{of}={what}", "--format=csv,noheader,nounits"]
    try:
        return subprocess.check_output(query, text=True).strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def means(lines: list[str]) -> dict[str, float]:
    """Of what nvidia-smi printed; what it does not tell, as [N/A], is absent."""
    found: dict[str, list[float]] = {}
    for line in lines:
        words = line.split(",")
        for name, word in zip(TOOL.values(), words, strict=False):
            with contextlib.suppress(ValueError):
                found.setdefault(name, []).append(float(word))
        with contextlib.suppress(ValueError):
            held = int(words[-1], 16)
            for mask, name in THROTTLING.items():
                found.setdefault(name, []).append(100.0 * bool(held & mask))
    return {name: statistics.fmean(values) for name, values in found.items() if values}


# -- checks ------------------------------------------------------------------------------


class Bench:
    """The loads, each run once; a check that needs one runs it.

    Arguments:
        made: the load.
        seconds: of each.
        gpu: its model, and its UUID.
        say: prints and keeps a line.
    """

    def __init__(self, made: Load, seconds: float, gpu: tuple[str, str], say: Say) -> None:
        self._load, self._seconds, self._say = made, seconds, say
        self._model, self._uuid = gpu
        self._taken: dict[tuple[str, float], Readings] = {}

    def readings(self, kind: str, share: float) -> Readings:
        """Of a load's work, busy for that share of the time."""
        if (kind, share) not in self._taken:
            work = getattr(self._load, kind)
            found = readings(work, share, self._seconds, self._uuid)
            self._taken[kind, share] = found
            for whose, values in (("ours", found.ours), ("nvidia-smi's", found.tools)):
                told = {name: round(values[name], 2) for name in TABLE if name in values}
                self._say(f"      {kind} {share:.0%}, {whose}: {json.dumps(told)}")
        return self._taken[kind, share]

    def every_metric(self) -> Checked:
        """Each metric of the table is read, or named as not supported."""
        reader = NvmlReader(print)
        try:
            read: set[str] = set()
            end = time.monotonic() + ASKED_S
            while time.monotonic() < end:
                read |= {tag.removeprefix("gpu/0/") for tag in reader.read()}
                time.sleep(INTERVAL_S)
            missing = set(reader.unsupported()["gpu/0"])
        finally:
            reader.close()
        lost = set(TABLE) - read - missing - MAY_BE_ABSENT
        yield f"metrics: {len(read)} read, not supported: {sorted(missing)}", not lost
        if lost:
            yield f"neither read nor named: {sorted(lost)}", False

    def order(self) -> Checked:
        """CUDA says which GPUs are ours, and NVML lists them all."""
        reader = NvmlReader(print)
        reader.close()
        yield f"order: {reader.doubt or 'as CUDA says'}", not reader.doubt

    def utilization(self, share: float) -> Checked:
        """Against nvidia-smi."""
        found = self.readings("product", share)
        ours, theirs = found.ours["utilization_pct"], found.tools["utilization_pct"]
        line = f"busy {share:4.0%}: utilization {ours:5.1f}%, nvidia-smi {theirs:5.1f}%"
        yield line, abs(ours - theirs) <= POINTS
        if (computing := found.ours.get("graphics_active_pct")) is not None:
            line = (
                f"busy {share:4.0%}: computing {computing:5.1f}% by GPM, nvidia-smi {theirs:5.1f}%"
            )
            yield line, abs(computing - theirs) <= POINTS

    def as_the_tool(self) -> Checked:
        """What else nvidia-smi tells, under full load."""
        found = self.readings("product", 1.0)
        for name, apart in AS_THE_TOOL.items():
            if name not in found.tools:
                yield f"{name}: nvidia-smi does not tell", None
                continue
            ours, theirs = found.ours[name], found.tools[name]
            yield f"{name}: {ours:.1f}, nvidia-smi {theirs:.1f}", abs(ours - theirs) <= apart

    def process(self) -> Checked:
        """Memory of this process, where nvidia-smi knows it by the number that it has here."""
        lines = asked(self._uuid, "pid,used_memory", of="compute-apps").splitlines()
        told = dict(line.split(", ", 1) for line in lines if ", " in line)
        ours = self.readings("product", 1.0).ours.get("process_memory_used_mib")
        theirs = told.get(str(os.getpid()), "")
        if ours is None or not theirs.isdigit():
            yield "process_memory_used_mib: not told, as in a container", None
            return
        line = f"process_memory_used_mib: {ours:.0f}, nvidia-smi {theirs}"
        yield line, abs(ours - float(theirs)) <= AS_THE_TOOL["memory_used_mib"]

    def throttling(self) -> Checked:
        """The share of the time in which the power or the heat held the clocks down, likewise."""
        found = self.readings("product", 1.0)
        for name in THROTTLING.values():
            if name not in found.tools:
                yield f"{name}: nvidia-smi does not tell", None
                continue
            ours, theirs = found.ours[name], found.tools[name]
            line = f"{name}: {ours:.0f}%, nvidia-smi {theirs:.0f}%"
            yield line, abs(ours - theirs) <= THROTTLING_POINTS

    def energy(self) -> Checked:
        """Against power, summed up: ours, and nvidia-smi's."""
        found = self.readings("product", 1.0)
        counted = found.ours["mean_power_w"]
        for whose, values in (("polled", found.ours), ("by nvidia-smi", found.tools)):
            if "power_w" not in values:
                yield f"power {whose}: it does not tell", None
                continue
            line = (
                f"power: {counted:.1f} W by the energy counter, {values['power_w']:.1f} W {whose}"
            )
            yield line, abs(counted / values["power_w"] - 1) <= ENERGY_SHARE

    def tensor_cores(self) -> Checked:
        """Idle in elementwise work, busy in a product."""
        high = self.readings("product", 1.0).ours.get("tensor_active_pct")
        if high is None:
            yield "no GPM on this GPU: activity of the tensor cores is not checked", None
            return
        low = self.readings("elementwise", 1.0).ours["tensor_active_pct"]
        line = f"tensor cores: {low:.1f}% in elementwise work, {high:.1f}% in a matrix product"
        yield line, low <= NO_TENSOR_PCT and high >= MUCH_TENSOR_PCT

    def multiprocessors(self) -> Checked:
        """Busy in a product, idle while the process sleeps; warps are resident where they are."""
        busy, asleep = self.readings("product", 1.0).ours, self.readings("product", 0.0).ours
        if "sm_active_pct" not in busy:
            yield "no GPM on this GPU: activity of the multiprocessors is not checked", None
            return
        low, high = asleep["sm_active_pct"], busy["sm_active_pct"]
        line = f"multiprocessors: {low:.1f}% asleep, {high:.1f}% in a matrix product"
        yield line, low <= NO_SM_PCT and high >= MUCH_SM_PCT
        yield from self._occupancy(busy, self.readings("elementwise", 1.0).ours, asleep)

    @staticmethod
    def _occupancy(
        product: dict[str, float], elementwise: dict[str, float], asleep: dict[str, float]
    ) -> Checked:
        """Of few warps in a product, of many in elementwise work: never above what is busy."""
        name = "occupancy_pct"
        if name not in product:
            yield "occupancy: this GPU does not tell", None
            return
        least, few, many = asleep[name], product[name], elementwise[name]
        line = f"occupancy: {least:.1f}% asleep, {few:.1f}% in a product, {many:.1f}% elementwise"
        within = (
            few <= MOST_WARPS * product["sm_active_pct"]
            and many <= elementwise["sm_active_pct"] + SPAN_POINTS
        )
        yield line, least <= NO_SM_PCT < min(few, many) and within

    def memory_bandwidth(self) -> Checked:
        """Busy in a copy, more than in a product, which reads each number many times."""
        high = self.readings("copy", 1.0).ours.get("dram_bandwidth_pct")
        if high is None:
            yield "no GPM on this GPU: activity of its memory is not checked", None
            return
        low = self.readings("product", 1.0).ours["dram_bandwidth_pct"]
        line = f"memory: {low:.1f}% in a matrix product, {high:.1f}% in a copy"
        yield line, low < high and high >= MUCH_DRAM_PCT

    def transfers(self) -> Checked:
        """What goes over PCIe, against what is copied to the GPU and from it."""
        mib = 2 * self._load.size**2 / 2**20
        for kind, name in (
            ("upload", "pcie_received_mib_per_sec"),
            ("download", "pcie_sent_mib_per_sec"),
        ):
            found = self.readings(kind, 1.0)
            if not {name, "sm_active_pct"} <= found.ours.keys():
                yield f"{name}: not told, or of moments only, as without GPM", None
                continue
            ours, copied, (least, most) = found.ours[name], mib * found.per_s, TRANSFERRED
            line = f"{name}: {ours:,.0f}, {copied:,.0f} are copied"
            yield line, least * copied <= ours <= most * copied

    def reckoned(self) -> Checked:
        """Tensor cores and memory against what the loads compute and move a second.

        As shares of the most that the vendor names: of tensor cores at the clock that they had.
        """
        product, copy = self.readings("product", 1.0), self.readings("copy", 1.0)
        peak, clock = peak_of(self._model), product.tools.get("max_sm_clock_mhz")
        if peak is None or clock is None or "tensor_active_pct" not in product.ours:
            yield "activity as reckoned: the vendor's figures, its clock or GPM are missing", None
            return
        size, slower = self._load.size, product.ours["sm_clock_mhz"] / clock
        most_per_s = peak.flops["bfloat16"] * slower
        for what, name, found, share in (
            ("tensor cores", "tensor_active_pct", product, 2 * size**3 / most_per_s),
            ("memory", "dram_bandwidth_pct", copy, 4 * size**2 / peak.bytes),
        ):
            ours, used = found.ours[name], 100 * share * found.per_s
            line = f"{what}: {ours:.1f}% busy, {used:.1f}% of what the vendor names was used"
            yield line, abs(ours - used) <= RECKONED_POINTS
        asleep = self.readings("product", 0.0).ours
        tensor, memory = asleep["tensor_active_pct"], asleep["dram_bandwidth_pct"]
        line = f"asleep: tensor cores {tensor:.1f}%, memory {memory:.1f}%"
        yield line, max(tensor, memory) <= NO_TENSOR_PCT

    def cost(self) -> Checked:
        """Of a sample, by this driver; a figure that nothing is held against."""
        reader = NvmlReader(print)
        try:
            waited, worked = [], []
            for _ in range(SAMPLES):
                begin, cpu = time.perf_counter(), time.thread_time()
                reader.read()
                waited.append(1e3 * (time.perf_counter() - begin))
                worked.append(1e3 * (time.thread_time() - cpu))
                time.sleep(0.02)
        finally:
            reader.close()
        middle, longest = statistics.median(waited), max(waited)
        yield (
            f"a sample takes {middle:.2f} ms (longest {longest:.1f} ms), of them "
            f"{statistics.median(worked):.2f} ms CPU",
            True,
        )

    def starts(self) -> Checked:
        """Starting and ending leave nothing open."""
        NvmlReader(print).close()
        before, begin = open_files(), time.monotonic()
        for _ in range(STARTS):
            NvmlReader(print).close()
        took = 1e3 * (time.monotonic() - begin) / STARTS
        line = f"{STARTS} starts and ends, {took:.0f} ms each: {before} files open before, "
        yield f"{line}{open_files()} after", open_files() <= before

    def all(self) -> Checks:
        """The checks by name, the most telling ones first."""
        yield "metrics", self.every_metric
        yield "order", self.order
        for share in SHARES:
            yield f"utilization {share:.0%}", lambda share=share: self.utilization(share)
        yield "energy", self.energy
        yield "as nvidia-smi", self.as_the_tool
        yield "process", self.process
        yield "throttling", self.throttling
        yield "tensor cores", self.tensor_cores
        yield "multiprocessors", self.multiprocessors
        yield "memory", self.memory_bandwidth
        yield "transfers", self.transfers
        yield "reckoned", self.reckoned
        yield "cost", self.cost
        yield "starts", self.starts


def open_files() -> int:
    """Of this process."""
    return len(os.listdir("/proc/self/fd"))


def main() -> int:
    """Compares, prints, and keeps what it prints."""
    parser = result.parser(__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each load")
    arguments = parser.parse_args()
    seconds = arguments.seconds
    try:
        gpu = gpu_checks.first_gpu()
    except SensorError as error:
        return gpu_checks.no_gpu(error)
    try:
        made = load()
    except RuntimeError as error:
        print(f"Nothing to load the GPU with: PyTorch, JAX or TensorFlow must find it ({error}).")
        return result.NOTHING_TO_MEASURE

    def work(say: Say) -> bool:
        for why in made.skipped:
            say(f"skip  {why}")
        return check(Bench(made, seconds, gpu, say).all(), say)

    how = f"load by {made.made_with}, {seconds:g} s each"
    return gpu_checks.compare("gpu_readings", gpu[0], how, work, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
