"""What was tried on the training itself, beside what is advised of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.records.figures import in_ms
from keras_perf.records.run.run_facts import RunFacts
from keras_perf.records.run.tried.advice_trials import AdviceTrials, NotTried, TriedChange


def trial_notes(run: Diagnosed) -> Iterator[str]:
    """The classic pair; what was tried and is not advised; what was not tried."""
    trials = run.facts.advice_trials
    if trials is None:
        return
    if trials.step_ms:
        yield f"Measured after training: {_pair(trials)}"
    others = [each for each in trials.changes if each.id not in run.advised]
    if others:
        shown = ", ".join(map(_told, sorted(others, key=lambda each: -each.gain)))
        yield f"Tried on this training too, and not advised now: {shown}."
    if trials.not_tried:
        yield f"Not tried: {'; '.join(_why_not(trials.not_tried))}."
    if trials.stopped:
        yield f"The trials were ended by {trials.stopped} before all was tried."


def pair_notes(facts: RunFacts) -> Iterator[str]:
    """The classic pair, of what was tried where no training was measured."""
    trials = facts.advice_trials
    if trials is not None and trials.step_ms:
        yield f"Measured on trial: {_pair(trials)}"


def _pair(trials: AdviceTrials) -> str:
    figures = [f"a step {in_ms(trials.step_ms)}"]
    if trials.ready_ms is not None:
        figures.append(f"{in_ms(trials.ready_ms)} on a ready batch")
    if trials.batch_ms is not None:
        figures.append(f"a batch of the input alone {in_ms(trials.batch_ms)}")
    outside = ""
    if trials.outside_ms:
        outside = f", with {in_ms(trials.outside_ms)} of callbacks and Keras's loop in a step"
    return f"{', '.join(figures)}{outside}."


def _why_not(left: Sequence[NotTried]) -> Iterator[str]:
    """Each reason once, behind all that it kept from being tried."""
    kept: dict[str, list[str]] = {}
    for each in left:
        kept.setdefault(f"{each.why}", []).append(f"{each.id} ({each.where})")
    for why, names in kept.items():
        yield f"{', '.join(names)}: {why}"


def _told(each: TriedChange) -> str:
    return f"{each.id} ({each.where}) {each.gain:.2f}× ({each.low:.2f}–{each.high:.2f})"
