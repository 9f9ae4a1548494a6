"""A step that its input and what lies beside computing both keep as long as it is."""

from __future__ import annotations

from dataclasses import replace

from keras_perf.advise.gains.of_a_part import WORTHWHILE, parts_of
from keras_perf.advise.situation import Situation
from keras_perf.records.figures import in_ms
from keras_perf.records.interval import part_name

CLEARLY = 1.15
"""A step of which less is left is not bound by its computation."""

BESIDE_COMPUTING = "callback-bound", "dispatch-bound"


def held_by_two(situation: Situation) -> str:
    """Why no part alone is worth removing where the input and others are, together; "" elsewhere.

    Batches are prefetched, and the pipeline makes one in the time of a step: without the rest of
    the step its input would take as long, and without its input the rest.
    """
    model = situation.model
    as_long = model.produce_ms * WORTHWHILE >= model.step_ms
    if not (model.prefetched and as_long and situation.input_measured):
        return ""
    names = [part for verdict in BESIDE_COMPUTING for part in parts_of(verdict, situation)]
    without = replace(model.with_rest(dict.fromkeys(names, 0.0)), stages={}, cpu_ms=0.0)
    every = situation.steps_between_hooks
    awake = without.awake(model.rest.get("callbacks", 0.0), 0.0, every=every)
    gain, at_best = (model.step_ms / max(1e-9, each.step_ms) for each in (without, awake))
    if gain < CLEARLY:
        return ""
    besides = f", {at_best:.2f}× if that also speeds up computing" if at_best > gain else ""
    largest = max(names, key=lambda name: model.rest.get(name, 0.0))
    return (
        f"the input pipeline takes {in_ms(model.produce_ms)} for a batch, and meanwhile the rest "
        f"of a step {in_ms(model.rest_ms)}, {in_ms(model.rest.get(largest, 0.0))} of it "
        f"{part_name(largest)}: shortening one alone gains next to nothing. Without both, a step "
        f"would be {gain:.2f}× as fast{besides}."
    )
