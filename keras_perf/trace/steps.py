"""Where the steps of a trace begin and end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keras_perf.trace.cover import Ticks
from keras_perf.trace.host import Host, PythonLine
from keras_perf.trace.spans import Spans


@dataclass(frozen=True)
class Steps:
    """Steps in their order, in columns; times in picoseconds.

    A step is inside its execution from `begin` to `end`; then comes the gap until `next_begin`,
    which is empty between two steps of one execution. The last has none: `next_begin` is its
    `end`. `origin` says how they were found: `markers` or `functions`.
    """

    number: Ticks
    execution: Ticks
    begin: Ticks
    end: Ticks
    next_begin: Ticks
    line: PythonLine
    origin: str


def find_steps(host: Host) -> Steps | None:
    """The steps of the thread that trains, or None if no thread seems to.

    By step markers where there are some: those that xprof counts before others, then those that
    took longest. Without markers, an execution is a call of the `tf.function` that waited for
    input most, or, where none did, took longest; a wait just before a call belongs to it. An
    execution that waited for input and got none, because the data were at their end, is none.
    """
    marked = [(line, found) for line in host.lines for found in line.markers.values()]
    if marked:
        line, markers = max(marked, key=lambda pair: (pair[1].counted, _length(pair[1])))
        chosen = _with_data(host, markers)
        return _cut(host, line, markers.where(chosen), markers.number[chosen], "markers")
    called = [(line, found) for line in host.lines for found in line.calls.values()]
    if not called:
        return None
    line, calls = max(called, key=lambda pair: (_waiting(host, pair[1]), _length(pair[1])))
    calls = _with_wait_before(host, calls)
    return _cut(host, line, calls.where(_with_data(host, calls)), None, "functions")


def _length(spans: Spans) -> int:
    return int((spans.end - spans.begin).sum())


def _waiting(host: Host, spans: Spans) -> int:
    return int(host.waits.cover.within(spans.begin, spans.end).sum())


def _with_data(host: Host, spans: Spans) -> NDArray[np.bool_]:
    """All but those that only found the end of the data."""

    def holds(at: Ticks) -> NDArray[np.bool_]:
        return np.searchsorted(at, spans.begin) < np.searchsorted(at, spans.end)

    fetched = holds(host.fetched)
    return fetched | ~holds(host.waits.begin) | ~fetched.any()


def _with_wait_before(host: Host, calls: Spans) -> Spans:
    """A loop of one's own fetches its batch before it calls the function."""
    if not len(host.waits.begin):
        return calls
    wait = np.searchsorted(host.waits.begin, calls.begin) - 1
    begin = host.waits.begin[wait]
    earlier = np.append(np.iinfo(np.int64).min, calls.end[:-1])
    return Spans(np.where((wait >= 0) & (begin >= earlier), begin, calls.begin), calls.end)


def _cut(host: Host, line: PythonLine, found: Spans, number: Ticks | None, origin: str) -> Steps:
    """Executions into steps: one of several steps is cut where it fetches the next batch."""
    count = len(found.begin)
    execution = np.searchsorted(found.begin, host.fetched, side="right") - 1
    inside = (execution >= 0) & (host.fetched < found.end[execution])
    fetched, execution = host.fetched[inside], execution[inside]
    nth = np.arange(len(execution)) - np.searchsorted(execution, execution)
    if host.loops or _counts_several(number):
        each = _fetches_a_step(np.bincount(execution, minlength=count), number)
        cuts = (nth > 0) & (nth % each == 0)
    else:
        cuts = np.zeros(len(fetched), dtype=bool)
    executions = np.concatenate([np.arange(count), execution[cuts]])
    begin = np.concatenate([found.begin, fetched[cuts]])
    order = np.lexsort((begin, executions))
    executions, begin = executions[order], begin[order]
    last = np.append(np.diff(executions) > 0, True)
    following = np.append(begin[1:], found.end[-1])
    return Steps(
        _numbers(executions, number),
        executions,
        begin,
        np.where(last, found.end[executions], following),
        following,
        line,
        origin,
    )


def _counts_several(number: Ticks | None) -> bool:
    """By the markers' numbers most executions have several steps, without a loop in a graph too."""
    if number is None or len(number) < 2:
        return False
    return bool(np.percentile(np.diff(number), 50, method="lower") > 1)


def _fetches_a_step(fetches: Ticks, number: Ticks | None) -> int:
    """With several replicas each fetches its own part of a batch."""
    if number is None:
        return 1
    steps = np.diff(number)
    known = steps > 1
    return max(1, round(float(np.median(fetches[:-1][known] / steps[known])))) if known.any() else 1


def _numbers(execution: Ticks, number: Ticks | None) -> Ticks:
    """The markers' numbers, where they count steps; else counted from 0."""
    count = np.arange(len(execution))
    if number is None:
        return count
    first = np.searchsorted(execution, execution)
    numbers = number[execution] + count - first
    several = len(execution) > len(number)
    # Keras's TensorBoard callback numbers executions; so may others.
    counts_steps = not several or bool(np.any(np.diff(number) > 1))
    return numbers if counts_steps else count
