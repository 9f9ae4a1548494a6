"""Time of hooks in which they may have waited for a core, and done nothing."""

from __future__ import annotations

from keras_perf.analyse.cpu_share import held_back, is_throttled
from keras_perf.analyse.summary import Summary
from keras_perf.records.owners import COLLECTOR


def may_have_waited_ms(summary: Summary) -> dict[str, float]:
    """Milliseconds a step, by owner, of rare short calls: see `HookCalls.held` and `stopped`.

    Empty where other processes left the cores alone, and no quota of CPU time was used up.
    """
    if not held_back(summary):
        return {}
    throttled, hooks = is_throttled(summary), summary.facts.hooks
    shares = {name: told.stopped if throttled else told.held for name, told in hooks.items()}
    return {
        owner: spent_ms * shares[owner]
        for owner, spent_ms in summary.owners.items()
        if owner != COLLECTOR and shares.get(owner)
    }
