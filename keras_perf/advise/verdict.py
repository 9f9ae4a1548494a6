"""Which part of the step is the bottleneck."""

from __future__ import annotations

from keras_perf.advise.gains.compiling import gain_without_compiling
from keras_perf.advise.gains.of_a_part import (
    WORTHWHILE,
    bound_between_epochs,
    gain_beside,
    gain_on_a_ready_batch,
    gains,
    parts_of,
    saved_ms_of,
    speed_up,
)
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import INSIDE, StepModel
from keras_perf.advise.told_of_trial import may_be_dispatch
from keras_perf.analyse.cpu_share import NOTICED
from keras_perf.analyse.summary import ENOUGH_STEPS, Summary
from keras_perf.observers.steps_trial.steps_to_try import LONG_STEP_MS
from keras_perf.records.figures import in_ms, in_percent
from keras_perf.records.interval import part_name

SHORT_EXECUTION_MS = 5.0
"""Entering and leaving a train function costs up to about a millisecond: in a shorter execution it
may be what matters."""

USUAL_DISPATCH_MS = 0.5
"""Of an execution, where it was not measured: 0.45 to 0.9 ms on a shared server CPU."""

DISTURBED = 2.5
"""Steps that take so many times as long as the quickest tenth do something else than compute."""

CLEARLY_MORE = 1.05
"""A step's speed-up is so many times that of the whole training where much lies between epochs."""

NOTICEABLY = 1.01
"""A speed-up that is so many times another one is told beside it."""

SHORT_EPOCH = 4
"""An epoch of fewer executions leaves none between whose begins the wait could be read."""


def verdict_of(situation: Situation) -> tuple[str, str]:
    """The verdict, and a sentence that says why."""
    summary = situation.summary
    if summary.steps < ENOUGH_STEPS:
        return "inconclusive", (
            f"only {summary.steps} steps were measured after warm-up, at least {ENOUGH_STEPS} "
            "are needed: train longer."
        )
    found = gains(situation)
    verdict = max(found, key=lambda name: found[name])
    if bound_between_epochs(situation.model, found[verdict]):
        spent = situation.model.outside["epoch_callbacks"]
        who = "between epochs callbacks take"
        if situation.facts.settings.in_a_loop:
            who = "outside of the steps the loop's own work takes"
        return "callback-bound", (
            f"{who} {in_ms(spent)} for each step of "
            f"{in_ms(summary.step_ms)}; without, training would be "
            f"{speed_up(spent, situation.model.training_ms):.2f}× as fast."
        )
    if verdict == "input-bound" and found[verdict] >= WORTHWHILE and (tried := _tried(situation)):
        faster = _faster(verdict, found[verdict], situation)
        return verdict, f"{tried}{faster} without its input."
    if verdict == "input-bound" and situation.interpreter_ms and found[verdict] >= WORTHWHILE:
        return verdict, (
            f"Python code of the input pipeline holds the interpreter for "
            f"{in_ms(situation.interpreter_ms)} of each step of {in_ms(summary.step_ms)}. Entering "
            f"and leaving the train function waits for it, which shows as compute; without, "
            f"{_faster(verdict, found[verdict], situation)}."
        )
    if not situation.input_measured and _mostly_idle(situation, found[verdict]):
        return "input-bound", (
            f"for at least {in_ms(situation.idle_ms)} of each step of {in_ms(summary.step_ms)} "
            f"training waited while no thread of the process computed. The input wait itself "
            f"could not be measured: {_why_no_wait(summary)}."
        )
    if verdict == "input-bound" and _dispatch_may_be_more(summary, found[verdict]):
        return "inconclusive", may_be_dispatch(summary)
    if found[verdict] >= WORTHWHILE:
        return verdict, _because(verdict, found[verdict], situation) + _about_waiting(situation)
    if waiting := _about_waiting(situation):
        of_its_own = f"no other part of this worker's step is worth {in_percent(WORTHWHILE - 1)}."
        return "compute-bound", of_its_own + waiting
    if not situation.input_measured:
        return "inconclusive", f"the input wait could not be measured: {_why_no_wait(summary)}."
    quickest_ms = situation.model.undisturbed_ms
    if quickest_ms is not None and _inside_ms(situation.model) > DISTURBED * quickest_ms:
        return "inconclusive", (
            f"steps spend {in_ms(_inside_ms(situation.model))} in the train function, and the "
            f"quickest tenth of them no more than {in_ms(quickest_ms)}: {_who_slows(situation)}"
        )
    if "dispatch" in summary.parts or summary.facts.settings.run_eagerly:
        return "compute-bound", (
            f"{_nothing_else(situation)}: what remains is the model's own computation."
        )
    if _short(summary):
        return "inconclusive", may_be_dispatch(summary)
    return "compute-bound", (
        f"{_nothing_else(situation)}: what remains is the model's own computation and dispatch, "
        "which was not measured."
    )


def _who_slows(situation: Situation) -> str:
    """What may make some steps so much longer than the quickest ones."""
    taken = 1 - situation.share_of_cores
    if taken > NOTICED:
        return (
            f"other processes used {in_percent(taken)} of the CPUs meanwhile, which may be what "
            "slows the others. Train again without them."
        )
    return (
        "something unrecognised slows the others; it is unlikely to be the model. A trace of such "
        "steps (WindowedProfiler) may show it."
    )


def _tried(situation: Situation) -> str:
    """The step beside one on a ready batch, where both were measured; "" elsewhere."""
    trials = situation.facts.advice_trials
    if trials is None or gain_on_a_ready_batch(situation) is None:
        return ""
    return (
        f"tried on this training: a step takes {in_ms(trials.step_ms)}, and "
        f"{in_ms(trials.ready_ms)} where its batch is ready; so "
    )


def _nothing_else(situation: Situation) -> str:
    """That nothing is to be gained beside computing, and why not by the input where it shows."""
    summary = situation.summary
    whatever = {
        "input_wait": "the input wait of {}, which is the fetching of ready batches",
        "dispatch": "dispatch of {}, which more steps per execution did not reduce",
    }
    if summary.step_ms > LONG_STEP_MS:
        whatever["dispatch"] = (
            "dispatch of {}, of which more steps per execution save little where steps are so long"
        )
    shown = [
        told.format(in_ms(summary.parts[part]))
        for part, told in whatever.items()
        if summary.step_ms >= WORTHWHILE * (summary.step_ms - summary.parts.get(part, 0.0))
    ]
    but = f" but {' and '.join(shown)}" if shown else ""
    return f"no other part is worth {in_percent(WORTHWHILE - 1)}{but}"


def _mostly_idle(situation: Situation, other_gain: float) -> bool:
    """Waiting, for what can only be input, costs more than anything that was measured."""
    step_ms, idle_ms = situation.summary.step_ms, situation.idle_ms
    from_workers = situation.facts.input.input_kind == "PyDataset"
    return from_workers and idle_ms > step_ms / 2 and step_ms > other_gain * (step_ms - idle_ms)


def _about_waiting(situation: Situation) -> str:
    """A sentence, where a worker waits for slower ones for a noticeable part of its step."""
    waits = situation.model.rest.get("peer_wait", 0.0)
    step = situation.summary.step_ms
    if step < WORTHWHILE * (step - waits):
        return ""
    return f" For {in_ms(waits)} of each step it waits for slower workers."


def _why_no_wait(summary: Summary) -> str:
    epoch_steps = summary.facts.length.epoch_steps or 0
    if 0 < epoch_steps < SHORT_EPOCH * summary.facts.settings.steps_per_execution:
        return (
            f"epochs of {epoch_steps} steps are too short for it; dataset.repeat() with "
            "steps_per_epoch makes fewer, longer ones"
        )
    if not summary.facts.settings.tries_steps:
        return "only with steps_per_execution=1 it is known whether the device waited for a batch"
    if summary.facts.input.input_kind == "PyDataset":
        return "with PyDataset workers, Keras turns off what measures it"
    return (
        "tf.data kept no model of this pipeline; leave options.autotune.enabled at its default, "
        "and use TensorFlow 2.18 or newer"
    )


def _inside_ms(model: StepModel) -> float:
    return sum(model.rest.get(part, 0.0) for part in INSIDE)


def _short(summary: Summary) -> bool:
    """Entering and leaving the train function may be what an execution's time goes into."""
    steps_at_once = summary.facts.settings.steps_per_execution
    return summary.step_ms * steps_at_once < SHORT_EXECUTION_MS


def _dispatch_may_be_more(summary: Summary, gain: float) -> bool:
    """It was not measured, and as much as is usual of it would be worth more than this."""
    if "dispatch" in summary.parts or summary.facts.settings.run_eagerly or not _short(summary):
        return False
    steps_at_once = summary.facts.settings.steps_per_execution
    usual_ms = min(USUAL_DISPATCH_MS / steps_at_once, summary.parts.get("compute", 0.0))
    return gain * (summary.step_ms - usual_ms) < summary.step_ms


def _because(verdict: str, gain: float, situation: Situation) -> str:
    summary = situation.summary
    shared = ""
    if verdict == "input-bound":
        what, spent = "input wait", summary.parts.get("input_wait", 0.0)
        if gain * (summary.step_ms - spent) > WORTHWHILE * summary.step_ms:
            shared = (
                f" The pipeline's work, {in_ms(situation.able_ms)} a batch, takes cores that "
                "computing needs."
            )
    elif verdict == "eager-bound":
        what, spent = "operations run one by one from Python", summary.parts.get("compute", 0.0)
    elif verdict == "communication-bound":
        what, spent = "the exchange of gradients", summary.wire_ms
    else:
        names = parts_of(verdict, situation)
        spent = sum(summary.parts.get(name, 0.0) for name in names)
        what = " and ".join(map(part_name, names))
        if verdict == "compile-bound" and summary.facts.input.shapes_differ:
            shared = " No more can be had: each length that is left still compiles once."
    without = "compiled" if verdict == "eager-bound" else "without"
    faster = _faster(verdict, gain, situation)
    beside, if_so = gain_beside(situation, verdict)
    if beside > NOTICEABLY * gain:
        faster += f"; a step {beside:.2f}× if {if_so}"
    return f"{what}: {in_ms(spent)} of each step; {without}, {faster}.{shared}"


def _faster(verdict: str, gain: float, situation: Situation) -> str:
    """By how much, and of what; of compiling, which no steady step does, of the training only."""
    whole = speed_up(saved_ms_of(gain, situation.model), situation.model.training_ms)
    if verdict == "compile-bound":
        whole = gain_without_compiling(situation)
        if gain > CLEARLY_MORE * whole:
            return f"the whole training, start-up included, would be {whole:.2f}× as fast"
        gain = min(gain, whole)
    if gain <= CLEARLY_MORE * whole:
        return f"training would be {gain:.2f}× as fast"
    return f"a step would be {gain:.2f}× as fast, the whole training {whole:.2f}×"
