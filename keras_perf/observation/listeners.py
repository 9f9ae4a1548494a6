"""Who is told of a training, and what it costs when one of them fails."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from keras_perf.observation.failure_line import warn_of
from keras_perf.observation.listener import Director, Listener, Plan


class Audience:
    """Listeners, each of which is told until it fails or the observation ends."""

    def __init__(self) -> None:
        self._directors: tuple[Director, ...] = ()
        self._listeners: list[Listener] = []
        self._warned: list[Listener] = []

    def add(self, listener: Listener) -> None:
        """Tells `listener` from now on."""
        self._listeners.append(listener)
        if isinstance(listener, Director):
            directors = (*self._directors, listener)
            self._directors = tuple(sorted(directors, key=lambda each: each.asked_last))

    def tell(self, hook: str, *arguments: Any, **named: Any) -> None:
        """Calls a method of every listener; one that fails is told no more."""
        for listener in tuple(self._listeners):
            try:
                getattr(listener, hook)(*arguments, **named)
            except Exception as error:  # noqa: BLE001  monitoring never kills training
                self.fails(listener, error)

    def direct(self, plan: Plan, tell_completed: Callable[[], None]) -> Plan:
        """How the next execution is run.

        Arguments:
            plan: how, unless a director changes it.
            tell_completed: called before a director decides, so that it knows all there is.
        """
        for director in self._directors:
            try:
                if director.wants(plan):
                    tell_completed()
                    plan = director.direct(plan)
            except Exception as error:  # noqa: BLE001  monitoring never kills training
                self.drop(director, error)
        return plan

    def free_steps(self) -> int:
        """How many steps an execution may have, so that no director misses where it begins."""
        return min((each.free_steps() for each in self._directors), default=sys.maxsize)

    def fails(self, listener: Listener, error: Exception) -> None:
        """What a listener was doing has failed.

        A warning that Python was told to make an error (`-W error`) costs no more than that.
        """
        if not isinstance(error, Warning):
            self.drop(listener, error)
        elif listener not in self._warned:
            self._warned.append(listener)
            name = type(listener).__name__
            warn_of(error, name, "what it was about to log is missing; it stays on")

    def drop(self, listener: Listener, error: Exception) -> None:
        """A listener has failed: it is told no more, and gives back what it holds."""
        if listener not in self._listeners:
            return
        self.stop_directing(listener)
        name = type(listener).__name__
        warn_of(error, name, "it is off for the rest of this training, its values are missing")
        self._end(listener, aborted=True)

    def stop_directing(self, listener: Listener) -> None:
        """It is not asked about executions any more, only told."""
        self._directors = tuple(d for d in self._directors if d is not listener)

    def end(self, *, aborted: bool) -> None:
        """Tells each that all is over, in their order, also if one before it is interrupted."""
        in_order = sorted(self._listeners, key=lambda listener: listener.ends_last)
        with ExitStack() as each:
            for listener in reversed(in_order):
                each.callback(self._end, listener, aborted=aborted)

    def _end(self, listener: Listener, *, aborted: bool) -> None:
        """Only once, whatever comes of it."""
        if listener not in self._listeners:
            return
        self._listeners.remove(listener)
        try:
            listener.observation_ends(aborted)
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            warn_of(error, f"ending {type(listener).__name__}", "it may hold on to something")
