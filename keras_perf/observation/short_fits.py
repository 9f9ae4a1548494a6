"""Fits that are over before a step is measured, as in a loop that calls `fit` for each batch."""

from __future__ import annotations

import weakref
from dataclasses import replace

import keras

from keras_perf.observation.observed_training import ObservedTraining
from keras_perf.records.run.inference import FIT, Inference
from keras_perf.records.run.times.outside_steps import OutsideSteps
from keras_perf.records.run.times.start_up import StartUp

_SO_FAR: weakref.WeakKeyDictionary[keras.Model, Inference] = weakref.WeakKeyDictionary()
"""Of each model, whatever callbacks observed its fits."""


def record_short_fit(observation: ObservedTraining) -> int:
    """Adds this one to the model's others, whoever asks first; how many that are.

    0 of what is no `fit`, had no step, or had captured or tried ones.
    """
    recording, facts = observation.recording, observation.recording.facts
    if FIT in facts.inference:
        return facts.inference[FIT].calls
    outside, start_up = facts.outside, facts.start_up
    is_fit = observation.settings()["driver"]() == "fit"
    if not is_fit or start_up is None or outside is None:
        return 0
    if outside.profiled_s or outside.trial_s:
        return 0
    earlier, per_step = _SO_FAR.get(observation.model), facts.length.examples_per_step
    fit = replace(
        _as_a_call(start_up, outside, is_first=earlier is None),
        examples=None if per_step is None else per_step * outside.warmup_steps,
        steps_per_execution=observation.steps_per_execution,
        input_kind=observation.input_kind,
    )
    together = _SO_FAR[observation.model] = fit.after(earlier)
    recording.facts = replace(facts, inference={**facts.inference, FIT: together})
    return together.calls


def is_worth_a_line(calls: int) -> bool:
    """The first, the tenth, the hundredth: a loop may call `fit` thousands of times."""
    return str(calls).strip("0") == "1"


def _as_a_call(start_up: StartUp, outside: OutsideSteps, *, is_first: bool) -> Inference:
    """Its steps, and what it takes to come to them and to end them.

    Keras makes an iterator for each epoch, and another one as it ends. What comes before the first
    step is that, as far as it takes as long; the rest of it are hooks. What a model's first fit
    takes for its steps is tracing, compiling and making them ready.

    What it cannot see: what `fit` does before `on_train_begin` and after `on_train_end`.
    """
    traced_s = start_up.tracing_s or 0.0
    compile_s = outside.warmup_s if is_first else min(traced_s, outside.warmup_s)
    ending_s = outside.epoch_rest_s
    begins_s = min(start_up.before_first_step_s, ending_s / max(1, outside.epoch_gaps))
    parts_s = {
        "starting": begins_s + ending_s,
        "compute": outside.warmup_s - compile_s,
        "callbacks": sum(outside.epoch_callbacks_s.values()),
        "compile": compile_s,
    }
    spent_s, steps = sum(parts_s.values()), outside.warmup_steps
    traces = int(traced_s > 0 and not is_first)
    return Inference(1, steps, steps, spent_s, parts_s, first_s=spent_s, traces=traces)
