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
    """Adds this one to the model's others; how many that are.

    0 of what is no `fit`, or had no step.
    """
    recording, facts = observation.recording, observation.recording.facts
    is_fit = observation.settings()["driver"]() == "fit"
    if not is_fit or facts.start_up is None or facts.outside is None:
        return 0
    steps_per_execution, kind = observation.steps_per_execution, observation.input_kind
    fit = replace(
        _as_a_call(facts.start_up, facts.outside, steps_per_execution),
        examples=_examples(facts.length.examples_per_step, facts.outside.warmup_steps),
        steps_per_execution=steps_per_execution,
        input_kind=kind,
    )
    together = fit.after(_SO_FAR.get(observation.model))
    _SO_FAR[observation.model] = together
    recording.facts = replace(facts, inference={**facts.inference, FIT: together})
    return together.calls


def _examples(per_step: float | None, steps: int) -> float | None:
    return None if per_step is None else per_step * steps


def _as_a_call(start_up: StartUp, outside: OutsideSteps, steps_per_execution: int) -> Inference:
    """Its steps, and what it takes to come to them; steps of one that traced are its compiling.

    What it cannot see: what `fit` does before `on_train_begin` and after `on_train_end`.
    """
    steps = outside.warmup_steps
    compile_s = outside.warmup_s if start_up.tracing_s else 0.0
    parts_s = {
        # The first epoch's iterator is made before the first step.
        "starting": max(start_up.before_first_step_s, outside.epoch_rest_s),
        "compute": outside.warmup_s - compile_s,
        "callbacks": sum(outside.epoch_callbacks_s.values()),
        "compile": compile_s,
    }
    spent_s = sum(parts_s.values())
    executions = -(-steps // steps_per_execution)
    return Inference(1, executions, steps, spent_s, parts_s, first_s=spent_s)
