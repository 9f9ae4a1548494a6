"""Which changes of a training are tried, in which order, and which are not."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from keras_perf.records.reasons.why_not_tried import WhyNotTried
from keras_perf.records.run.tried.advice_trials import WORTHWHILE, NotTried
from keras_perf.trials.rewriting.admission import COMPARED
from keras_perf.trials.rewriting.allowed import Allowed
from keras_perf.trials.rewriting.changes import Change, NotDone, possible_changes
from keras_perf.trials.rewriting.shuffle_buffers import smaller_buffers
from keras_perf.trials.training.changes import of_training
from keras_perf.trials.training.input_pace import InputPace
from keras_perf.trials.training.running import RunningTraining
from keras_perf.trials.training.setup import Setup
from keras_perf.trials.training.training_change import TrainingChange, of_pipeline
from keras_perf.trials.training.trier import CHECKING, Trier

MINOR = 0.2
"""An input that alone takes less than this share of a step is not what makes the step long."""

QUICK = 0.01
"""No change of an input could pay that alone takes less than this share of a step."""

QUICK_HOOKS = WORTHWHILE - 1
"""Nor one of hooks that take less."""


def which_changes(
    trier: Trier,
    setup: Setup,
    present: RunningTraining,
    pace: InputPace,
    *,
    allowed: Allowed,
    cache_dir: Path | None,
    not_kept: str,
) -> list[TrainingChange]:
    """All that are possible; of the input only where it costs something.

    Arguments:
        trier: is told what is left out, and why.
        setup: the training as it is.
        present: it, running.
        pace: what the input costs it.
        allowed: what may change of the elements.
        cache_dir: where a cache may keep elements.
        not_kept: why the cache that is there was not filled; "" where it was, or there is none.
    """
    step_ms = pace.pair.before_ms
    of_input = [of_pipeline(each) for each in _of_input(trier, setup, allowed, cache_dir)]
    why = not_kept and WhyNotTried.CACHE_NOT_FILLED.of(why=not_kept)
    if pace.is_free:
        why = WhyNotTried.INPUT_IS_FREE.of()
    elif trier.batch_ms < QUICK * step_ms:
        why = WhyNotTried.INPUT_IS_QUICK.of(share_pct=100 * QUICK)
    if why:
        for change in of_input:
            rewriting = change.rewriting
            if rewriting and not rewriting.in_place_of and rewriting.folder is None:
                trier.leaves_out(change, why)
        of_input = []
    possible = of_training(setup, step_ms)
    of_step = [each for each in possible if not isinstance(each, NotDone)]
    if _hooks_share(setup, present, pace) < QUICK_HOOKS:
        for change in (each for each in of_step if each.of_hooks):
            trier.leaves_out(change, WhyNotTried.HOOKS_ARE_QUICK.of(share_pct=100 * QUICK_HOOKS))
        of_step = [each for each in of_step if not each.of_hooks]
    _not_done(trier, (each for each in possible if isinstance(each, NotDone)))
    # Where lengths differ and the input is quick, the step is slow for what they cost.
    slow_input = pace.one_shape or trier.batch_ms > MINOR * step_ms
    found = [*of_input, *of_step] if slow_input else [*of_step, *of_input]
    if pace.outside_ms > step_ms:
        # Callbacks and Keras's loop take most of a step: first which of them does.
        found.sort(key=lambda each: not each.of_hooks)
    return found


def _hooks_share(setup: Setup, present: RunningTraining, pace: InputPace) -> float:
    """Of a step; where trials call no hooks, all that is outside counts as theirs."""
    if setup.keras_loop:
        return present.hooks_s / present.executed_s
    return pace.outside_ms / (pace.pair.before_ms + pace.outside_ms)


def _of_input(trier: Trier, setup: Setup, allowed: Allowed, cache_dir: Path | None) -> list[Change]:
    """The most promising first."""
    rewritings, left = possible_changes(setup.graph, allowed, cache_dir)
    _not_done(trier, left)
    within_s = CHECKING * trier.budget.seconds
    _not_done(trier, smaller_buffers(setup.graph, look_at=COMPARED, within_s=within_s))
    return sorted(rewritings, key=lambda each: -each.promise)


def _not_done(trier: Trier, left: Iterable[NotDone]) -> None:
    for each in left:
        trier.not_tried.append(NotTried(id=each.id, where=each.where, why=each.why))


def is_likely(change: TrainingChange) -> bool:
    """It is tried unless time is over, not only where there is no room in a better place."""
    rewriting = change.rewriting
    return rewriting is None or not (rewriting.in_place_of or rewriting.folder)
