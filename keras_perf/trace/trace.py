"""What a trace shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pandas as pd

from keras_perf.files.any_path import AnyPath
from keras_perf.records.figures import in_percent
from keras_perf.report.text.forms import Form, Told
from keras_perf.report.text.html_form import Html
from keras_perf.showing.colours import PART_COLOURS
from keras_perf.trace.file.xplane import host_of
from keras_perf.trace.file.xprof import properties, table, xprof_tool
from keras_perf.trace.several_hosts import host_means, slowest_host
from keras_perf.trace.step_frame import PARTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LABELS = {
    "input_wait_ms": "input wait",
    "execution_ms": "execution",
    "python_ms": "Python",
    "gap_ms": "gap",
    "kernel_ms": "kernels",
    "kernels": "number of kernels",
    "kernel_mean_ms": "mean kernel",
    "kernel_launch_delay_ms": "launch to begin of kernel",
    "copy_to_device_ms": "copies to device",
    "copy_to_host_ms": "copies to host",
    "compiled_ratio": "steps that XLA compiled in",
    "compile_ms": "compiling, in execution",
    "retraced_ratio": "steps that a function was traced in",
    "retracing_ms": "tracing, in Python",
    "collective_ms": "collectives",
    "exchange_ms": "collectives alone on a GPU",
    "exchange_wait_ms": "of them waiting for the last GPU",
    "device_idle_in_step_ms": "device idle in step",
    "device_idle_between_steps_ms": "device idle between steps",
    "waits_for_launch_ms": "device waits for launches",
    "waits_for_cpu_operation_ms": "device waits for the CPU's operations",
    "layout_change_ms": "changes of layout",
    "unfused_normalization_ms": "unfused batch normalization",
    "tensor_core_eligible_pct": "tensor cores could, %",
    "tensor_core_pct": "tensor cores did, %",
}

_COLOURS = (
    ("input_wait_ms", PART_COLOURS["input_wait"]),
    ("execution_ms", PART_COLOURS["compute"]),
    ("python_ms", PART_COLOURS["dispatch"]),
    ("gap_ms", PART_COLOURS["other_host"]),
)
"""Of the parts of a traced step, as near to those of the split as there are."""


@dataclass(frozen=True)
class Trace(Told):
    """What a trace of TensorFlow's profiler shows of its steps.

    `means` are per step, over the steps after which there was another; the parts
    `input_wait_ms`, `execution_ms`, `python_ms` and `gap_ms` add up to `step_ms`. Of several
    hosts they are the mean of the hosts', and `steps` and `executions` count those of all.
    `steps_from` is `markers`, or `functions` where nobody marked steps.
    """

    paths: tuple[AnyPath, ...]
    """Its files, one a host."""
    hosts: tuple[str, ...]
    """Those that trained."""
    steps: int
    executions: int
    steps_from: str
    means: Mapping[str, float]
    errors: tuple[str, ...] = field(repr=False)
    frame: pd.DataFrame = field(repr=False, compare=False)
    cpu_operations: Mapping[str, float] = field(default_factory=dict)
    """Beside a GPU: types of operations of the steps that ran on the CPU, with their milliseconds
    per step, the longest first; of the first host."""

    def to_frame(self) -> pd.DataFrame:
        """A row a step; the columns are those of `keras_perf.trace.step_frame.trace_frame`.

        Of several hosts there is a row per step and host, and a column `host`.
        """
        return self.frame.copy()

    @property
    def path(self) -> AnyPath:
        """The file; of several hosts the first one's."""
        return self.paths[0]

    def __str__(self) -> str:
        return super().__str__().rstrip()

    def _repr_html_(self) -> str:
        bar = {_LABELS[name]: (self.means.get(name, 0.0), colour) for name, colour in _COLOURS}
        return str(self._told(Html([bar])))

    def plot(self) -> Figure:
        """A figure: each traced step's time, its parts stacked.

        Of several hosts the steps of one follow those of the other. The last step of each
        execution holds the gap behind it.
        """
        from keras_perf.showing.figures import stacked_steps

        shown = self.frame.dropna(subset=["step_ms"])
        parts = {
            _LABELS[name]: (shown[name].fillna(0.0).tolist(), colour) for name, colour in _COLOURS
        }
        return stacked_steps(self._title(), parts)

    def _told(self, form: Form) -> Form:
        form.paragraph(self._title())
        form.table(*self._table())
        if len(self.hosts) > 1:
            form.table(*self._host_table())
        form.notes(self._notes())
        return form

    def operations(self) -> pd.DataFrame:
        """The operations by xprof, the most expensive first.

        Returns:
            `where` (Host or Device), `type`, `operation`, `occurrences`, `total_ms` and
            `self_ms` over the whole trace.

        Raises:
            RuntimeError: xprof is not installed, or fails.
        """
        # The first table counts idle time as an operation.
        found = table(xprof_tool(self.paths, "framework_op_stats")[1])
        return pd.DataFrame(
            {
                "where": found["host_or_device"],
                "type": found["type"],
                "operation": found["operation"],
                "occurrences": found["occurrences"].astype(int),
                "total_ms": found["total_time"] / 1e3,
                "self_ms": found["total_self_time"] / 1e3,
            }
        ).sort_values("self_ms", ascending=False, ignore_index=True)

    def kernels(self) -> pd.DataFrame:
        """The GPU's kernels, with xprof's columns; empty without a GPU.

        Raises:
            RuntimeError: xprof is not installed, or fails.
        """
        return table(xprof_tool(self.paths, "kernel_stats"))

    def memory(self) -> pd.DataFrame:
        """Peak memory by allocator, as xprof's memory profile has it; empty without a GPU.

        Of several hosts it is the first one's.

        Returns:
            `allocator`, `peak_mib` and `capacity_mib`.

        Raises:
            RuntimeError: xprof is not installed, or fails.
        """
        profile = xprof_tool(self.paths[:1], "memory_profile")["memoryProfilePerAllocator"]
        rows = [
            (
                allocator,
                int(found["profileSummary"]["peakStats"]["peakBytesInUse"]) / 2**20,
                int(found["profileSummary"]["memoryCapacity"]) / 2**20,
            )
            for allocator, found in profile.items()
        ]
        return pd.DataFrame(rows, columns=["allocator", "peak_mib", "capacity_mib"])

    def xprof_verdict(self) -> str:
        """What xprof itself says of the bottleneck; without marked steps it cannot tell.

        Raises:
            RuntimeError: xprof is not installed, or fails.
        """
        return properties(xprof_tool(self.paths, "overview_page")).get("input_conclusion", "")

    def _title(self) -> str:
        several = f" of {len(self.hosts)} hosts" if len(self.hosts) > 1 else ""
        return (
            f"{self.steps} traced steps in {self.executions} executions{several}, "
            f"{self._step_ms():.3f} ms a step"
        )

    def _step_ms(self) -> float:
        return sum(self.means.get(part, 0.0) for part in PARTS)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        step = self._step_ms()
        rows = [
            [_LABELS[name], f"{value:.3f}", in_percent(value / step) if name in PARTS else ""]
            for name, value in self.means.items()
            if name in _LABELS
        ]
        return ["part of a step", "ms", "share"], rows

    def _host_table(self) -> tuple[list[str], list[list[str]]]:
        means = host_means(self.frame)
        columns = [name for name in ("step_ms", *PARTS, "collective_ms") if name in means]
        rows = [
            [str(host), *(f"{value:.3f}" for value in row)]
            for host, row in zip(means.index, means[columns].to_numpy(), strict=True)
        ]
        return ["host, ms a step", *(_LABELS.get(name, "step") for name in columns)], rows

    def _slowest(self) -> str:
        found = slowest_host(host_means(self.frame))
        return (
            f"The slowest host is {found.host}: {found.own_ms:.3f} ms a step outside of "
            f"collectives, the others {found.others_ms:.3f} ms. Most of that is "
            f"{_LABELS[found.part]}, {found.more_ms:+.3f} ms."
        )

    def _notes(self) -> list[str]:
        notes = [
            "Traced steps include the profiler's own cost, and the gap includes whatever ran "
            "between two executions: callbacks, validation, the end of an epoch."
        ]
        if self.steps_from == "functions":
            waited = "each call of the tf.function that waited for input most is an execution"
            notes.append(f"No step markers: {waited}, validation's too.")
        if "gap_ms" not in self.means:
            notes.append("One execution only: what lies between executions is not known.")
        if len(self.hosts) > 1:
            notes.append(self._slowest())
        idle = [host_of(path) for path in self.paths if host_of(path) not in self.hosts]
        notes += [f"No step in the trace of host {host}." for host in idle]
        return [*notes, *(f"The profiler said: {error}" for error in self.errors)]


def trace_scalars(trace: Trace) -> dict[str, float]:
    """Tag → mean, for TensorBoard: `trace/step_time_ms`, `trace/input_wait_ms` and so on.

    Arguments:
        trace: a trace that was read.
    """
    renamed = {"step_ms": "step_time_ms"}
    return {f"trace/{renamed.get(name, name)}": value for name, value in trace.means.items()}
