"""Why nothing is advised for a callback that takes much of a training, and is rare already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from keras_perf.advise.as_written import at
from keras_perf.advise.situation import Situation
from keras_perf.records.owners import COLLECTOR


def callback_notes(situation: Situation) -> Iterator[str]:
    """A sentence, where the one that takes longest is rare already."""
    facts, steps_ms = situation.facts, situation.summary.owners
    epochs_s = facts.outside.epoch_callbacks_s if facts.outside is not None else {}
    between = situation.model.outside.get("epoch_callbacks", 0.0)
    in_epochs = between > situation.model.rest.get("callbacks", 0.0)
    owner = _longest(epochs_s if in_epochs else steps_ms)
    if not owner:
        return
    calls, unit = facts.hooks.get(owner), "epochs" if in_epochs else "calls"
    if calls is None or calls.period < 2:
        return
    working = max(1, round(calls.working))
    yield (
        f"{owner}{at(facts.hook_sources.get(owner))} did nearly all of its work in {working} of "
        f"{calls.times} {unit}: if it were rarer still, a training of this length would hardly "
        "reach it. What remains is less work in it; a longer training has it as rarely."
    )


def _longest(owners: Mapping[str, float]) -> str:
    found = {name: spent for name, spent in owners.items() if name != COLLECTOR}
    return max(found, key=lambda name: found[name], default="")
