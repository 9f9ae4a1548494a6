"""What to know about the other fits of a directory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from statistics import median

from keras_perf.analyse.summary import Summary
from keras_perf.analyse.training import Training, seconds_apart
from keras_perf.read.fits import Fit
from keras_perf.records.figures import counted, in_s
from keras_perf.records.run.ending import How

HOW_TO_CHOOSE = (
    "keras-perf report LOGDIR --fits lists them, --fit ID shows one "
    "(kp.list_fits(log_dir), kp.diagnose(log_dir, fit=ID))."
)


SHOWN = 5
"""So many are named; a loop may call `fit` thousands of times."""

OFTEN, LOOKED_AT = 5, 20
"""So many fits of one program are a loop that calls it, and so many of them are looked at."""

BY_HAND_S, UNEVEN = 30.0, 10.0
"""In a notebook, fits so far apart are called by somebody's hand, and anywhere where one comes so
many times as late as the others, or they are of different kinds."""

MOSTLY = 0.5
"""Steps that take less of the time from one begin to the next are not what it goes into."""


def fit_notes(training: Training) -> Iterator[str]:
    """A sentence or two each: which fit this is, what is newer, who wrote at the same time.

    What it cannot see: that other machines' clocks differ, by which two seem to overlap.
    """
    shown, others = training.fit, _others(training)
    if not others:
        return
    this = shown.identity
    count = "1 other fit wrote" if len(others) == 1 else f"{len(others)} other fits wrote"
    yield (
        f"This is {this.name}, started {this.started_at} by {this.writer}. {count} into this "
        f"directory: {HOW_TO_CHOOSE}"
    )
    newer = [fit for fit in others if training.fits.index(fit) > training.fits.index(shown)]
    if calls := [fit for fit in newer if fit.facts.calls_only]:
        yield f"Newer, and of evaluate or predict, not of a training: {_named(calls)}."
    yield from passed_over(training)
    if fuller := [fit for fit in newer if fit.steps]:
        yield f"Newer than what is shown: {_named(fuller)}."
    for fit in others:
        # Of its own process there may be hundreds, and their times are read from their files.
        if not _same_process(fit, shown) and seconds_apart(fit, shown) < 0:
            yield (
                f"{this.name} ({this.writer}) and {fit.identity.name} ({fit.identity.writer}) "
                "wrote into this directory at the same time, and took time from each other if on "
                "one machine: give each training a log_dir of its own."
            )


def called_often(training: Training, summary: Summary) -> Iterator[str]:
    """A sentence where a program calls `fit` again and again, whose steps take little of its time.

    What it cannot see: what the program does between two of them, such as loading the next data.
    """
    shown, facts = training.fit, summary.facts
    fits = [fit for fit in training.fits if not fit.tried and _same_process(fit, shown)]
    begins_s = [fit.identity.started for fit in fits]
    gaps_s = [later - one for one, later in itertools.pairwise(begins_s)]
    over = facts.ending is not None and facts.ending.how is How.DONE
    if len(fits) < OFTEN or min(gaps_s) <= 0 or not (over and summary.steps):
        return
    every_s, between_ms = median(gaps_s), sum(summary.outside.values())
    by_hand = shown.identity.program in ("notebook", "interactive") and every_s > BY_HAND_S
    by_hand |= max(gaps_s) > UNEVEN * every_s
    if facts.settings.in_a_loop or by_hand:
        return
    # Each file is read for it.
    looked_at = [fit.facts for fit in fits[-LOOKED_AT:]]
    steps, longest = facts.length.steps, max(each.length.steps for each in looked_at)
    most_s = max(steps, longest) * (summary.step_ms + between_ms) / 1e3
    if most_s <= MOSTLY * every_s and not any(each.calls_only for each in looked_at):
        spent_s = steps * summary.step_ms / 1e3
        yield (
            f"fit was called {len(fits)} times, as a rule every {in_s(every_s)}, of which the "
            f"{counted(steps, 'step')} of one take {in_s(spent_s)}: the rest is the "
            "beginning and the end of each, and what the program does in between. If they train "
            "one model, one fit over all of the data begins once: give it a generator or a dataset "
            "that goes through the parts, and steps_per_epoch for an epoch to be one of them."
        )


def passed_over(training: Training) -> Iterator[str]:
    """A sentence on newer fits that have nothing to show; none where the newest is shown."""
    newer = training.fits[training.fits.index(training.fit) + 1 :] if _others(training) else ()
    nothing_to_show = [fit for fit in newer if not (fit.steps or fit.tried or fit.facts.calls_only)]
    if nothing_to_show:
        yield (
            f"Newer, but without a measured step, and therefore not what is shown: "
            f"{_named(nothing_to_show)}. Training ended within the warm-up there, still runs, or "
            "had no StepGapDetector among its callbacks."
        )


def _others(training: Training) -> list[Fit]:
    """All but the one that is shown and what only tried something."""
    return [fit for fit in training.fits if fit is not training.fit and not fit.tried]


def _named(fits: Sequence[Fit]) -> str:
    """The newest of them."""
    shown = fits if len(fits) <= SHOWN + 1 else fits[-SHOWN:]
    left = len(fits) - len(shown)
    names = [f"{fit.identity.name} of {fit.identity.started_at}{_ended(fit)}" for fit in shown]
    return ", ".join([f"{left:,} others"] * bool(left) + names)


def _ended(fit: Fit) -> str:
    ending = fit.facts.ending
    return f", ended by {ending.error}" if ending is not None and ending.error else ""


def _same_process(fit: Fit, other: Fit) -> bool:
    one, another = fit.identity, other.identity
    return (one.host, one.process) == (another.host, another.process)
