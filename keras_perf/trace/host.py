"""What the host's threads did, as far as a step is made of it, in one pass over a trace."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from keras_perf.trace.cover import Ticks
from keras_perf.trace.file.xplane import Line, LineEvents, Plane, XSpace
from keras_perf.trace.host_operations import CpuOperations, Executor, OnThread, joined
from keras_perf.trace.input_waits import Fetches, Fetching, fetched_by, of_steps, waits_of
from keras_perf.trace.spans import Spans, spans_of

_EXECUTION = re.compile(r"EagerKernelExecute|PjitFunction\(train_step\)")
"""TensorFlow's name, and on JAX that of Keras's compiled step."""
_STEP_NUMBER, _FUNCTION_CALL = "step_num", "tf_function_call"
"""Statistics of a step marker, and of the call of a `tf.function`."""
_TRACED = "traced-"
"""What the latter's value begins with where the function was traced for the call."""
_CORRELATION = "correlation_id"
_COLLECTIVE = re.compile(r"(^|[/:])(Collective(Reduce|Gather)|NcclAllReduce)")
_COMPILES = re.compile(
    r"(Cpu|Gpu)Compiler::(RunBackend|CompileLegacyCpuExecutable)$|XlaCompile(Backend)?:|HLO passes "
)
"""Seen in traces on a CPU, once for each compilation: `CpuCompiler::RunBackend` and passes over the
HLO (TensorFlow 2.20 and 2.21), `CpuCompiler::CompileLegacyCpuExecutable` (2.18), none (2.16). The
others are XLA's annotations on a GPU, of which none was traced."""


@dataclass(frozen=True)
class Markers(Spans):
    """Step markers of one name; `counted` are those that xprof counts too."""

    number: Ticks
    counted: bool


@dataclass(frozen=True)
class PythonLine:
    """A thread that marked steps or called a `tf.function`.

    `traced` are those of its calls for which the function was traced.
    """

    name: str
    markers: dict[str, Markers]
    calls: dict[str, Spans]
    traced: Spans
    executions: Spans
    runs: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Host:
    """What was found; times in picoseconds since the first line began.

    `waits` are all waits for input, `fetched` the begins of those that brought a batch,
    `compilations` what XLA does when it compiles (several events each, of any thread),
    `launches` the begins of calls into the driver by their correlation id, which a trace names by
    the kernel that they launch. `operations` are looked for beside GPUs only.
    """

    lines: tuple[PythonLine, ...]
    waits: Spans
    fetched: Ticks
    collectives: Spans
    compilations: Spans
    launches: dict[int, int] = field(repr=False)
    operations: tuple[OnThread, ...] = field(default=(), repr=False)
    loops: bool = False

    def cpu_operations(self, line: PythonLine) -> CpuOperations:
        """Operations on the CPU of the functions that this thread calls.

        The input pipeline's functions are called by other threads.
        """
        return joined([thread.of(line.runs) for thread in self.operations])


def read_host(space: XSpace) -> Host:
    """Everything of the host's that a step is made of."""
    lines: list[PythonLine] = []
    fetches: list[Fetches] = []
    collectives: list[LineEvents] = []
    compilations: list[LineEvents] = []
    launches: dict[int, int] = {}
    operations: list[OnThread] = []
    loops = False
    for plane in space.host_planes:
        # Keras and tf.range put the steps of one execution into a while loop.
        loops = loops or any(name.startswith("while/") for name in plane.event_names.values())
        collective_ids = plane.ids(_COLLECTIVE.search)
        executor, fetching = Executor(plane), Fetching(plane)
        compiling_ids = plane.ids(_COMPILES.match)
        for line in plane.lines():
            fetches.append(fetching.on_thread(line.events))
            collectives.append(line.events.named(collective_ids))
            compilations.append(line.events.named(compiling_ids))
            if space.gpu_planes:
                calls = _launches(plane, line.events)
                launches |= calls
                at = np.array(list(calls.values()), dtype=np.int64)
                operations.append(executor.operations(line.events, at))
            python = _python_line(plane, line, executor)
            if python is not None:
                lines.append(python)
            # The next line is decoded before this name is bound to it.
            del line
    fetches = of_steps(fetches)
    return Host(
        tuple(lines),
        waits_of(fetches),
        fetched_by(fetches),
        spans_of(*collectives),
        spans_of(*compilations),
        launches,
        tuple(operations),
        loops,
    )


def _launches(plane: Plane, events: LineEvents) -> dict[int, int]:
    """Begins of the calls into the driver, by their correlation id.

    All events of one name have statistics of the same names.
    """
    ids, first = np.unique(events.name_id, return_index=True)
    names = [
        i
        for i, at in zip(ids, first, strict=True)
        if _CORRELATION in plane.stats(events.encoded[at])
    ]
    calls = events.named(np.array(names, dtype=np.int64))
    told = (int(plane.stats(encoded).get(_CORRELATION, 0)) for encoded in calls.encoded)
    return dict(zip(told, calls.begin.tolist(), strict=True))


def _python_line(plane: Plane, line: Line, executor: Executor) -> PythonLine | None:
    """The line, if something on it is a step marker or the call of a `tf.function`."""
    events = line.events
    markers: dict[str, Markers] = {}
    calls: dict[str, Spans] = {}
    traced: list[LineEvents] = []
    # Events of one name have statistics of the same names, but for a user's function, which may be
    # called as steps are.
    for name_id, first in zip(*np.unique(events.name_id, return_index=True), strict=True):
        if not plane.stats(events.encoded[first]).keys() & {_STEP_NUMBER, _FUNCTION_CALL}:
            continue
        name = plane.event_names.get(int(name_id), "")
        these = events.where(events.name_id == name_id)
        told = [plane.stats(encoded) for encoded in these.encoded]
        if (marks := np.array([_STEP_NUMBER in names for names in told])).any():
            markers[name] = _markers(plane, these.where(marks))
        if (is_call := np.array([_FUNCTION_CALL in names for names in told])).any():
            calls[name] = spans_of(these.where(is_call))
            how = [str(names.get(_FUNCTION_CALL, "")) for names in told]
            traced.append(these.where(np.array([each.startswith(_TRACED) for each in how])))
    if not markers and not calls:
        return None
    executions = events.named(plane.ids(_EXECUTION.fullmatch))
    runs = frozenset(executor.runs_of(events))
    return PythonLine(line.name, markers, calls, spans_of(*traced), spans_of(executions), runs)


def _markers(plane: Plane, events: LineEvents) -> Markers:
    told = [plane.stats(encoded) for encoded in events.encoded]
    order = np.argsort(events.begin, kind="stable")
    number = np.array([int(stats[_STEP_NUMBER]) for stats in told], dtype=np.int64)
    counted = any("_r" in stats for stats in told)
    return Markers(events.begin[order], events.end[order], number[order], counted)
