"""What JAX tells of its tracing and compiling."""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import jax

from keras_perf.observers.steps.overlapping import OverlappingTimeline

COMPILING = "/jax/core/compile/"
"""Events of `jax.monitoring` that begin so tell how long something was traced or compiled."""

BY_XLA = COMPILING + "backend_compile_duration"
"""The last one of each compilation; those before it trace."""


MOST_NESTED = 1000
"""So many spans are remembered, to be found inside another."""


class TracingTime:
    """Seconds of spans, of which each is told when it ends; one inside another counts once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spans: deque[tuple[float, float]] = deque(maxlen=MOST_NESTED)
        self.seconds = 0.0

    def add(self, end_s: float, spent_s: float) -> None:
        """It ended now, and took so long; those that began since are inside it."""
        begin_s = end_s - spent_s
        with self._lock:
            while self._spans and self._spans[-1][0] >= begin_s:
                self.seconds -= self._spans.pop()[1]
            self._spans.append((begin_s, spent_s))
            self.seconds += spent_s


_listening: weakref.WeakKeyDictionary[OverlappingTimeline, Callable[[], int]] = (
    weakref.WeakKeyDictionary()
)
_changing = threading.Lock()
_traced = TracingTime()
_registered = False


def traced_s() -> float:
    """Seconds that JAX has traced Python functions since the first training was observed."""
    return _traced.seconds


def listen(timeline: OverlappingTimeline, clock: Callable[[], int]) -> None:
    """Tells the timeline from now on of what JAX compiles."""
    global _registered
    if not _registered:
        # Once in a process: a listener that is taken back is told only by the newest of JAX.
        jax.monitoring.register_event_duration_secs_listener(_heard)
        _registered = True
    with _changing:
        _listening[timeline] = clock


def listen_no_more(timeline: OverlappingTimeline) -> None:
    """Tells it no more."""
    with _changing:
        _listening.pop(timeline, None)


def _heard(event: str, duration: float, **_: Any) -> None:
    if not event.startswith(COMPILING):
        return
    if event != BY_XLA:
        _traced.add(time.monotonic(), duration)
    with _changing:
        told = list(_listening.items())
    for timeline, clock in told:
        now = clock()
        timeline.compiled(now - round(duration * 1e9), now, ends=event == BY_XLA)
