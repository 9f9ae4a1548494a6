"""What could not be measured, and where its time is."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.advise.rules.input.python_input import parallel_input
from keras_perf.advise.rules.input.waiting_workers import workers_compute
from keras_perf.advise.told_of_trial import told_of_trial
from keras_perf.analyse.summary import ENOUGH_STEPS, Summary
from keras_perf.observers.steps_trial.steps_to_try import LONG_STEP_MS
from keras_perf.records.advice_ids import PARALLEL_INPUT, RAISE_STEPS_PER_EXECUTION
from keras_perf.records.figures import in_ms
from keras_perf.records.run.ending import How
from keras_perf.records.run.inference import FIT
from keras_perf.records.run.run_facts import RunFacts
from keras_perf.records.run.settings import SAMPLE_GPUS, TRAIN_ON_BATCH

WAITING = 0.25
"""Of a step; where it waits for more, the split leaves dispatch in compute."""

OWN_WORK = 0.1
"""Of a step; a loop's own work that takes more is worth a name."""

WORTH_WORKERS = 0.02
"""Share of a step that it may wait for input before anybody asks what workers would gain."""


def _of_several(summary: Summary) -> str:
    """Why several steps per execution do not show their dispatch; "" where they would."""
    number = summary.facts.settings.steps_per_execution
    if number == 2:
        return ": two steps per execution do not show it"
    if number > 2 and summary.parts.get("input_wait", 0.0) > WAITING * summary.step_ms:
        return ", since steps that wait for input do not show it"
    if number > 2 and summary.step_ms > LONG_STEP_MS:
        return ", since steps are too long for it to be told from their differences"
    return ""


def not_measured_notes(run: Diagnosed) -> Iterator[str]:
    """Of the input wait, of Python's input, of dispatch."""
    summary, facts = run.summary, run.facts
    kind = facts.input.input_kind
    if "input_wait" not in summary.parts:
        where = "inside compute"
        if facts.settings.fetches_outside:
            where = "in other host work"
        elif facts.settings.in_a_loop and kind == "generator":
            where = "inside compute, or in other host work"
        yield f"Input wait could not be measured and is {where}."
        if kind == "PyDataset":
            yield (
                "With PyDataset workers, the time to make a batch and the queue's fill cannot be "
                "seen. A trace of early steps finds the queue full and shows less waiting than "
                "later steps have. A short training with workers=1 shows the wait without them."
            )
    own_ms = summary.parts.get("other_host", 0.0)
    fetching = facts.settings.fetches_outside
    if facts.settings.in_a_loop and own_ms > OWN_WORK * summary.step_ms and not fetching:
        yield (
            f"The loop's own work between two calls takes {in_ms(own_ms)} of a step: `with "
            'monitor.host("print")` around parts of it names them, and `with '
            'monitor.outside("evaluation")` takes what comes now and then out of the steps.'
        )
    may_wait = summary.parts.get("input_wait", summary.step_ms) > WORTH_WORKERS * summary.step_ms
    known = run.verdict == "input-bound" and workers_compute(run.situation)
    unseen = kind in ("PyDataset", "generator") and not known
    enough = summary.steps >= ENOUGH_STEPS
    if unseen and enough and may_wait and PARALLEL_INPUT not in run.advised:
        yield _of_pythons_input(run)
    yield from _of_dispatch(run)


def _of_dispatch(run: Diagnosed) -> Iterator[str]:
    """That it was not measured; or what was tried of it, and is not advised."""
    summary, settings, trial = run.summary, run.facts.settings, run.facts.trial
    if "dispatch" not in summary.parts:
        why = "." if trial is None else f"; {told_of_trial(trial, summary)}"
        call_ms = settings.call_ms
        most = "" if call_ms is None else f", at most {in_ms(call_ms)} of a step"
        yield f"Dispatch was not measured and is inside compute{most}{_of_several(summary)}{why}"
    elif trial is not None and RAISE_STEPS_PER_EXECUTION not in run.advised:
        setting = "Steps per call" if settings.in_a_loop else "steps_per_execution"
        hidden = ""
        more = trial.steps_per_execution > settings.steps_per_execution and not trial.applied
        if run.verdict == "input-bound" and more:
            hidden = " While steps wait for their input, that is predicted to gain less than 2%."
        yield f"{setting}: {told_of_trial(trial, summary)}{hidden}"


def _of_pythons_input(run: Diagnosed) -> str:
    """What others that make its batches would gain, where that is not advised."""
    kind, others = run.facts.input.input_kind, parallel_input(run.situation)
    what = f"a {kind}"
    if run.facts.settings.in_a_loop:
        what = "what is no iterator of a tf.data.Dataset"
    if others is None:
        return (
            f"Input comes from {what}, which nothing can look into: the gain from workers, "
            "or from a tf.data pipeline in its place, cannot be predicted."
        )
    return (
        f'"{others.title}" is not advised: the whole training is predicted to become less than '
        f"2% faster. What a tf.data pipeline gains in place of the {kind} cannot be predicted."
    )


def why_no_step(facts: RunFacts) -> str:
    """A sentence on a run without a measured step."""
    if facts.calls_only:
        return "no training was measured here; the table shows what the calls took."
    if facts.tried_alone and facts.ending is None:
        return "no training was measured here; what was tried beside one is."
    if facts.settings.driver == SAMPLE_GPUS:
        return "no step was measured: sample_gpus samples the GPUs and the host, and no steps."
    if facts.settings.driver == TRAIN_ON_BATCH:
        return (
            "no step was measured: each had an iterator of its own, as in a loop of "
            "train_on_batch, where nothing tells what steps wait for. Train with model.fit; with "
            "TensorFlow a loop of your own is observed with LoopMonitor."
        )
    short = facts.inference.get(FIT)
    if short is not None and short.calls > 1:
        return f"no step was measured: each of {short.calls:,} fits ended within its warm-up."
    by = f" by {facts.ending.error}" if facts.ending is not None and facts.ending.error else ""
    nothing_yet = facts.ending is None and not facts.versions
    if nothing_yet or (facts.ending is not None and facts.ending.how is How.RUNNING):
        return (
            "no step was measured: training has not come behind its warm-up yet, was killed within "
            f"it, or had {'gaps=False' if facts.settings.in_a_loop else 'no StepGapDetector'}."
        )
    within = f"no step was measured: training ended within the warm-up{by}"
    if facts.settings.in_a_loop:
        more = "which some calls take: more calls, of fewer steps each, show steps"
        return f"{within}, {more}; or LoopMonitor was given gaps=False."
    return f"{within}, or StepGapDetector was not among the callbacks."
