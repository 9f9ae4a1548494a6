"""The sentences that say why a verdict is what it is, or stand beside it."""

from __future__ import annotations

from keras_perf.advise.gains.compiling import gain_without_compiling
from keras_perf.advise.gains.of_a_part import (
    WORTHWHILE,
    gain_beside,
    gain_on_a_ready_batch,
    parts_of,
    saved_ms_of,
    speed_up,
    takes_more_than_an_execution,
)
from keras_perf.advise.situation import Situation
from keras_perf.advise.verdict.because import Because
from keras_perf.advise.verdict.undecided import why_no_wait
from keras_perf.observers.steps_trial.steps_to_try import LONG_STEP_MS
from keras_perf.records.figures import in_ms, in_percent
from keras_perf.records.interval import part_name

CLEARLY_MORE = 1.05
"""A step's speed-up is so many times that of the whole training where much lies between epochs."""

NOTICEABLY = 1.01
"""A speed-up that is so many times another one is told beside it."""

NO_STEPS = {
    "validation": "validation takes",
    "epoch_rest": "Keras's own work between epochs takes",
}
"""What no verdict names, which is of steps and callbacks."""

NOTED = 0.05
"""Of what hooks take, less than this share is not said to be uncertain."""


def between_epochs(situation: Situation) -> str:
    """What callbacks, or a loop's own work, take outside of the steps."""
    summary, spent = situation.summary, situation.model.outside["epoch_callbacks"]
    who = "between epochs callbacks take"
    if situation.facts.settings.in_a_loop:
        who = "outside of the steps the loop's own work takes"
    return (
        f"{who} {in_ms(spent)} for each step of "
        f"{in_ms(summary.step_ms)}; without, training would be "
        f"{speed_up(spent, situation.model.training_ms):.2f}× as fast."
    )


def of_the_interpreter(situation: Situation, gain: float) -> Because:
    """That the input's Python code is in training's way."""
    return Because(
        f"Python code of the input pipeline holds the interpreter for "
        f"{in_ms(situation.interpreter_ms)} of each step of {in_ms(situation.summary.step_ms)}.",
        f"Entering and leaving the train function waits for it, which shows as compute; without, "
        f"{_faster('input-bound', gain, situation)}.",
    )


def of_idling(situation: Situation) -> Because:
    """That nothing computed, where the input wait itself is not known."""
    summary = situation.summary
    return Because(
        f"for at least {in_ms(situation.idle_ms)} of each step of {in_ms(summary.step_ms)} "
        "training waited while no thread of the process computed.",
        f"The input wait itself could not be measured: {why_no_wait(summary)}.",
    )


def of_making(situation: Situation, gain: float) -> Because:
    """That making batches is in training's way, which hardly waits, or of which nobody knows."""
    waits = situation.summary.parts.get("input_wait")
    about_waiting = (
        f"The input wait itself could not be measured: {why_no_wait(situation.summary)}."
        if waits is None
        else f"A step waits for its batch for {in_ms(waits)} only."
    )
    return Because(
        f"{_making(situation)}, takes cores that computing needs; without, "
        f"{_faster('input-bound', gain, situation)}.",
        about_waiting,
    )


def of_trials(situation: Situation, gain: float) -> str:
    """The step beside one on a ready batch, where both were measured; "" elsewhere."""
    trials = situation.facts.advice_trials
    if trials is None or gain_on_a_ready_batch(situation) is None:
        return ""
    return (
        f"tried on this training: a step takes {in_ms(trials.step_ms)}, and "
        f"{in_ms(trials.ready_ms)} where its batch is ready; if every batch were, "
        f"{_faster('input-bound', gain, situation)}."
    )


def of_a_part(verdict: str, gain: float, situation: Situation) -> Because:
    """What the part takes, what a step or training would be without, and who is waited for."""
    summary = situation.summary
    shared = ""
    if verdict == "input-bound":
        what, spent = "input wait", summary.parts.get("input_wait", 0.0)
        if gain * (summary.step_ms - spent) > WORTHWHILE * summary.step_ms:
            if summary.step_ms < WORTHWHILE * (summary.step_ms - spent):
                return of_making(situation, gain)
            shared = f"Meanwhile {_making(situation)}, takes cores that computing needs."
    elif verdict == "eager-bound":
        what, spent = "operations run one by one from Python", summary.parts.get("compute", 0.0)
    elif verdict == "communication-bound":
        what, spent = "the exchange of gradients", summary.wire_ms
    else:
        names = parts_of(verdict, situation)
        spent = sum(summary.parts.get(name, 0.0) for name in names)
        what = " and ".join(map(part_name, names))
        if verdict == "compile-bound" and summary.facts.input.shapes_differ:
            shared = (
                "No more can be had: each length that is left still compiles once, and without "
                "XLA a step may compute for longer."
            )
    without = "compiled" if verdict == "eager-bound" else "without"
    waited = situation.model.rest.get("hooks_for_a_core", 0.0)
    if verdict == "callback-bound" and waited > NOTED * spent:
        without = f"{in_ms(waited)} of them may be waiting for a core; without the rest"
    faster = _faster(verdict, gain, situation)
    beside, if_so = gain_beside(situation, verdict)
    if beside > NOTICEABLY * gain:
        faster += f"; a step {beside:.2f}× if {if_so}"
    more = " ".join(filter(None, (shared, about_waiting(situation))))
    return Because(f"{in_ms(spent)} of each step; {without}, {faster}.", more, what)


def _faster(verdict: str, gain: float, situation: Situation) -> str:
    """By how much, and of what; of compiling, which no steady step does, of the training only."""
    whole = speed_up(saved_ms_of(gain, situation.model), situation.model.training_ms)
    if verdict == "compile-bound":
        whole = gain_without_compiling(situation)
        if gain > CLEARLY_MORE * whole or situation.model.compiling_share < 1:
            return f"the whole training, start-up included, would be {whole:.2f}× as fast"
        gain = min(gain, whole)
    if gain <= CLEARLY_MORE * whole:
        return f"training would be {gain:.2f}× as fast"
    return f"a step would be {gain:.2f}× as fast, the whole training {whole:.2f}×"


def about_waiting(situation: Situation) -> str:
    """A sentence, where a worker waits for slower ones for a noticeable part of its step."""
    waits = situation.model.rest.get("peer_wait", 0.0)
    step = situation.summary.step_ms
    if step < WORTHWHILE * (step - waits):
        return ""
    who = "it waits for slower workers"
    if situation.facts.settings.workers <= 1:
        who = "GPUs wait for the slowest of them to exchange gradients"
    return f"For {in_ms(waits)} of each step {who}."


def mostly_outside(situation: Situation) -> str:
    """A sentence, where most of the training is what no verdict names; "" elsewhere."""
    model, in_a_loop = situation.model, situation.facts.settings.in_a_loop
    for part, takes in NO_STEPS.items():
        share = model.outside.get(part, 0.0) / model.training_ms
        if share > 1 / 2 and not (in_a_loop and part == "epoch_rest"):
            return f"Most of the training is no part of a step: {takes} {in_percent(share)} of it."
    return ""


def worth_its_cores(situation: Situation) -> bool:
    """Making batches takes so much of all cores that computing may gain from its end."""
    if gain_on_a_ready_batch(situation) is not None:
        return False
    step_ms, cores = situation.summary.step_ms, situation.model.own_share * situation.model.cores
    return step_ms >= WORTHWHILE * (step_ms - situation.work_beside_ms / cores)


def _making(situation: Situation) -> str:
    if situation.making_ms:
        return f"making batches, {in_ms(situation.making_ms)} of CPU time each"
    return f"the pipeline's work, up to {in_ms(situation.work_beside_ms)} of CPU time a batch"


def nothing_else(situation: Situation) -> str:
    """That nothing is to be gained beside computing, and why not by the input where it shows."""
    summary = situation.summary
    whatever = {
        "input_wait": "the input wait of {}, which is the fetching of ready batches",
        "dispatch": "dispatch of {}, which more steps per execution did not reduce",
    }
    if summary.step_ms > LONG_STEP_MS:
        whatever["dispatch"] = (
            "dispatch of {}, of which more steps per execution save little in steps this long"
        )
    elif summary.facts.trial is None or not summary.facts.trial.trials:
        whatever["dispatch"] = "dispatch of {}, behind which other work goes on"
        if takes_more_than_an_execution(situation):
            whatever["dispatch"] = (
                "dispatch of {}, more than an execution can cost: computing of its last step is "
                "in it"
            )
    shown = [
        told.format(in_ms(summary.parts[part]))
        for part, told in whatever.items()
        if summary.step_ms >= WORTHWHILE * (summary.step_ms - summary.parts.get(part, 0.0))
    ]
    if worth_its_cores(situation):
        shown.append(f"{_making(situation)}, on cores that computing may need")
    but = f", but for {', and '.join(shown)}" if shown else ""
    return f"{no_other_part('a step')}{but}"


def no_other_part(of: str) -> str:
    """That the removal of none is worthwhile, without a full stop."""
    return f"no other part's removal would make {of} {in_percent(WORTHWHILE - 1)} faster"
