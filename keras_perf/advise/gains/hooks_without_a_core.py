"""Hooks that may have taken no time of their own: others had the core they ran on."""

from __future__ import annotations

from keras_perf.advise.situation import Situation
from keras_perf.analyse.cpu_share import crowded

RARELY = 3
"""A hook that works in one of so many calls, or fewer, may work in none."""

BACK_AFTER_MS = 10.0
"""A thread that loses its core has it back by then: beside two busy processes it took 3.4 to 5 ms
on average, in one of 9 to 16 calls of a hook that does no more than ask the system for a time."""


def may_have_waited_for_a_core(situation: Situation) -> dict[str, float]:
    """Milliseconds a step, by owner, of hooks whose time lies in a few short waits.

    Empty where other processes left the cores alone.
    """
    summary = situation.summary
    if not crowded(summary):
        return {}
    hooks = summary.facts.hooks
    return {
        owner: spent_ms
        for owner, spent_ms in summary.owners.items()
        if owner in hooks
        and hooks[owner].every >= RARELY
        and each_time_ms(situation, owner) <= BACK_AFTER_MS
    }


def each_time_ms(situation: Situation, owner: str) -> float:
    """What a hook takes when it works."""
    spent_ms, calls = situation.summary.owners[owner], situation.facts.hooks[owner]
    return spent_ms * situation.summary.steps / calls.working
