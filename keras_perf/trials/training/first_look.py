"""The training as it is, its input alone, and its step alone, before anything is tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from keras_perf.records.reasons.why_not_tried import EndedBy
from keras_perf.trials.measuring.in_turn import LEAST_SLICES
from keras_perf.trials.measuring.side_by_side import EndlessPipeline
from keras_perf.trials.rewriting.admission import kept_already
from keras_perf.trials.rewriting.changes import Change
from keras_perf.trials.training.budget import Budget
from keras_perf.trials.training.input_pace import InputPace
from keras_perf.trials.training.running import RunningTraining
from keras_perf.trials.training.setup import Setup
from keras_perf.trials.training.trier import Trier

EXECUTIONS = 4 * LEAST_SLICES
"""Of two trainings in turn, in each slice one that is counted and one before it."""


class TooSlowError(Exception):
    """No two trainings can be compared in the time there is."""


@dataclass(frozen=True)
class FirstLook:
    """What was seen.

    Attributes:
        present: the training as it is.
        keeps: a cache that it has.
        not_kept: why that was not filled; "" where it was, or there is none.
        pace: what the input costs a step.
    """

    present: RunningTraining
    keeps: Change | None
    not_kept: str
    pace: InputPace


def first_look(
    trier: Trier, setup: Setup, clock: Callable[[], float], *, one_shape: bool
) -> FirstLook:
    """Looks at all three; raises `TooSlowError` where no time is enough for that.

    Arguments:
        trier: measures; learns how long the input alone takes for a batch.
        setup: the training as it is.
        clock: seconds.
        one_shape: the ready batch stands for all.
    """
    trier.say("the input alone")
    alone = EndlessPipeline(setup.dataset(), clock)
    trier.batch_ms = trier.filling_ms = alone.batch_ms()
    present = RunningTraining(setup, trier.functions, clock)
    trier.feed = present.feed
    keeps, not_kept = kept_already(setup.graph), ""
    if keeps is not None:

        def take(batches: int) -> None:
            alone.take(batches)
            present.feed.take(batches)

        not_kept = trier.kept(keeps, setup, setup, take).why_not
        trier.batch_ms = alone.batch_ms()
    trier.say("the training as it is")
    step_ms, budget_s = trier.settle(present), trier.budget.seconds
    if (needed_s := EXECUTIONS * setup.steps * step_ms / 1e3) > budget_s:
        raise TooSlowError(EndedBy.TOO_SLOW.of(needed_s=needed_s, budget_s=budget_s))
    trier.say("steps on a ready batch")
    ready = RunningTraining(replace(setup, ready=True), trier.functions, clock)
    seconds = Budget.for_a_pair(trier.budget.left_s, 8)
    pair = trier.pair(present, ready, seconds)
    return FirstLook(present, keeps, not_kept, InputPace(pair, trier.outside_ms, one_shape))
