"""Why nothing is advised for an input that training waits for."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from keras_perf.advise.as_written import where
from keras_perf.advise.cache_place import FEWEST_PASSES, WORTH_KEEPING, best_place
from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.advise.rules.all_rules import known_of
from keras_perf.advise.rules.input.batching import example_map
from keras_perf.advise.situation import Situation
from keras_perf.analyse.stage_paces import stage_paces
from keras_perf.records.advice_ids import BATCH_BEFORE_MAP
from keras_perf.records.figures import in_ms, in_us

MOSTLY = 0.5
"""Of the pipeline's work: a map that does less of it is not what it waits for."""

MADE_IN_PYTHON = "generator", "PyDataset"
"""Kinds of input of which tf.data has no stages to tell of."""


def slow_input_notes(run: Diagnosed) -> Iterator[str]:
    """A sentence, where the verdict is the input and no advice is on it."""
    situation = run.situation
    if run.verdict != "input-bound" or input_is_advised(run.advised):
        return
    if situation.facts.input.input_kind == "arrays":
        unknown = ", and how long each of its stages takes was not recorded"
        yield (
            f"Keras makes these batches of arrays in memory{'' if situation.paces else unknown}: "
            "larger batches are fetched less often."
        )
        return
    if not situation.paces:
        yield from _without_stages(situation)
        return
    if situation.facts.input.hidden:
        yield (
            "Nothing is advised on the input: tf.data shows only the stage that hands batches to "
            f"devices, not those of your own pipeline.{_untried(situation)}"
        )
        return
    slowest = [pace for pace in stage_paces(situation.facts) if pace.sets_the_pace]
    takes = f", {slowest[0].name} takes {in_ms(slowest[0].ms)}" if slowest else ""
    yield (
        f"No change to the pipeline is predicted to gain 2%{_in_this_training(situation)}: of its "
        f"{in_ms(situation.able_ms)} per batch, on the threads that it has{takes}."
        f"{_in_more_passes(situation)}{_untried(situation)} Less work per example, examples "
        "prepared once and stored, or other machines for the input (tf.data service) help in any "
        f"case.{_in_batches(situation)}{_about_python(situation)}"
    )


def _in_batches(situation: Situation) -> str:
    """That a map may be called for batches, where most of a call is its own work: to be tried."""
    found, trials = example_map(situation), situation.facts.advice_trials
    if trials is not None and any(each.id == BATCH_BEFORE_MAP for each in trials.changes):
        return ""
    if found is None or found.call_ms * found.calls < MOSTLY * situation.able_ms:
        return ""
    return (
        f" {found.name} is called {found.calls:.0f} times a batch, {in_us(found.call_ms)} each: "
        "where its operations take many examples at once, as Keras's layers for images and text "
        "do, which draw for each of them, dataset.batch(n).map(f) may take less."
    )


def _without_stages(situation: Situation) -> Iterator[str]:
    """Why nothing is advised where tf.data told of none."""
    if situation.own_dataset and _one_execution_an_epoch(situation):
        yield (
            "Nothing is advised on the input: an epoch is a single execution, within which "
            "tf.data cannot be asked for its stages. Fewer steps per execution let it report "
            "them, and so does dataset.repeat() with steps_per_epoch, for longer epochs."
        )
    elif situation.own_dataset:
        yield (
            "Nothing is advised on the input: tf.data reported none of its stages. "
            "It reports them with options.autotune.enabled at its default and TensorFlow 2.18 "
            "or newer."
        )
    elif situation.facts.input.input_kind in MADE_IN_PYTHON:
        yield (
            "Nothing is advised on the input: of other threads or processes for it no gain is "
            "predicted. Less work per example, and examples prepared once and stored, help in "
            "any case."
        )


def _one_execution_an_epoch(situation: Situation) -> bool:
    epoch_steps = situation.facts.length.epoch_steps
    at_once = situation.facts.settings.steps_per_execution
    return epoch_steps is not None and 1 < epoch_steps <= at_once


def _in_this_training(situation: Situation) -> str:
    place = best_place(situation.facts)
    if not _kept_ms(situation) or place is None or place.passes is None:
        return ""
    return " in this training, which does not go through its data twice"


def _in_more_passes(situation: Situation) -> str:
    """What a cache would save of a training that goes through its data more than once."""
    kept_ms, place = _kept_ms(situation), best_place(situation.facts)
    if not kept_ms or place is None:
        return ""
    if place.passes is None:
        return (
            f" How long a pass through the data is, repeat() hides: from the second one on "
            f"{place.call}.cache() in front of it saves {in_ms(kept_ms)} of each batch, if the "
            f"memory is there for all of them.{where(place.written)}"
        )
    return (
        f" In more passes {place.call}.cache() would save {in_ms(kept_ms)} of each batch "
        f"from the second one on.{where(place.written)}"
    )


def _kept_ms(situation: Situation) -> float:
    """What a cache would save of a batch; 0 where it has a second pass, or has no place."""
    place = best_place(situation.facts)
    if place is None or not situation.own_dataset:
        return 0.0
    if place.passes is not None and place.passes >= FEWEST_PASSES:
        return 0.0
    saved_ms = sum(situation.paces[name] for name in place.saved)
    return saved_ms if saved_ms > WORTH_KEEPING * situation.model.step_ms else 0.0


def _untried(situation: Situation) -> str:
    if situation.facts.advice_trials is not None or not situation.own_dataset:
        return ""
    measures = "kp.tune_input(dataset)" if situation.facts.settings.in_a_loop else "try_advice"
    return f" {measures} measures what changes gain."


def _about_python(situation: Situation) -> str:
    if not situation.runs_python:
        return ""
    return (
        " TensorFlow's operations, or NumPy's on whole arrays, in place of Python code let "
        "threads share the work."
    )


def input_is_advised(advised: Collection[str]) -> bool:
    """Some advice is on the input."""
    return any(known_of(id).on == "input" for id in advised)
