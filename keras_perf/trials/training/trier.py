"""One change, measured on top of a training that runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from keras_perf.records.reasons.why_not_tried import WhyNotTried
from keras_perf.records.run.tried.advice_trials import NotTried, TriedChange
from keras_perf.records.text.error_line import error_line
from keras_perf.trials.measuring.in_turn import LEAST_SLICES, Pair, in_turn
from keras_perf.trials.measuring.own_iterator import Feed
from keras_perf.trials.measuring.progress import Progress
from keras_perf.trials.rewriting.admission import filled, reason_against
from keras_perf.trials.rewriting.changes import Change, NoLongerPossibleError
from keras_perf.trials.rewriting.keeping import Kept
from keras_perf.trials.training.budget import Budget, Making
from keras_perf.trials.training.recorded_change import as_tried
from keras_perf.trials.training.running import SLICE_S, RunningTraining, TrainFunctions
from keras_perf.trials.training.setup import Setup
from keras_perf.trials.training.training_change import TrainingChange

CLEARLY_SLOWER = 0.97
"""Of a change that is slower than this no more is measured."""

CHECKING = 0.03
"""Share of the time that comparing a stage's elements may last."""

QUICK = 0.5
"""A batch that comes in such a share of what the input alone takes for one lay ready."""

Measured = tuple[TriedChange, RunningTraining]


@dataclass
class Trier:
    """Makes changes and measures them.

    Arguments:
        functions: where train functions come from.
        budget: the time there is.
        outside_ms: milliseconds of a step that trials do not run.
        progress: told what is tried.
        clock: seconds.

    Attributes:
        batch_ms: milliseconds of a batch of the input as it is.
        filling_ms: likewise before a cache that it has was filled.
        feed: of the input as it is, whose batches take so long.
        making: learns what it takes to make a train function.
        not_tried: what could not be measured, and why.
    """

    functions: TrainFunctions
    budget: Budget
    outside_ms: float
    progress: Progress
    clock: Callable[[], float] = time.perf_counter
    batch_ms: float = 0.0
    feed: Feed | None = None
    filling_ms: float = 0.0
    making: Making = field(default_factory=Making)
    not_tried: list[NotTried] = field(default_factory=list)

    def say(self, what: str) -> None:
        """What is tried from now on."""
        self.progress.tries(what, max(0.0, self.budget.left_s))

    def leaves_out(self, change: TrainingChange | Change, why: str) -> None:
        """It is not measured."""
        self.not_tried.append(NotTried(id=change.id, where=change.where, why=why))

    def tries_after_all(self, change: TrainingChange) -> None:
        """What was left out."""
        what = change.id, change.where
        self.not_tried = [each for each in self.not_tried if (each.id, each.where) != what]

    def too_long(
        self,
        change: TrainingChange,
        on: Setup,
        beside: RunningTraining,
        left_s: float,
        *,
        made: bool = False,
    ) -> str:
        """Why it is not begun; "" where it fits into what is left, its compiling included.

        What was `made` already is not compiled again. The training with it is taken to need as long
        for a slice as the one `beside`, and settles before.
        """
        needed_s = (1 + 2 * LEAST_SLICES) * beside.slice_s
        compiled = on.jit_compile if change.jit_compile is None else change.jit_compile
        if not made and (change.traces or (compiled and change.new_shapes)):
            needed_s += self.making.takes_s(compiled=compiled)
        if needed_s < left_s:
            return ""
        return WhyNotTried.TOO_LONG.of(
            needed_s=needed_s, left_s=max(0.0, left_s), budget_s=self.budget.seconds
        )

    def tried(
        self,
        change: TrainingChange,
        on: Setup,
        beside: RunningTraining,
        seconds: float,
        *,
        after: Collection[str] = (),
        keeps: Change | None = None,
        whole_ms: float | None = None,
    ) -> Measured | None:
        """What a change gains, and the training with it; None where it cannot be made.

        Arguments:
            change: to make.
            on: the setup that it is made of.
            beside: the training of that setup.
            seconds: for the pair.
            after: ids of the changes that are in the setup.
            keeps: one of them that keeps what a pass makes, which another input keeps anew.
            whole_ms: milliseconds of a step with all that is outside, where the pair runs some of
                it.
        """
        self.say(f"{change.id} ({change.where})")
        try:
            made = change.made(on)
            why = self._against(change.rewriting, on, made)
            if not why:
                feed = beside.feed if made.input == on.input else None
                changed = RunningTraining(made, self.functions, self.clock, feed)
                kept = self._kept_anew(change.rewriting, keeps, on, made, changed)
                why = kept.why_not
            if not why:
                pair = self.pair(beside, changed, seconds)
                outside_ms = self.outside_ms
                if whole_ms is not None:
                    outside_ms = max(0.0, whole_ms - pair.before_ms)
                tried = as_tried(change, pair, outside_ms, tuple(after))
                if change.rewriting is not None and change.rewriting.keeps:
                    tried = replace(tried, costs=kept.added_to(tried.costs))
                return tried, changed
        except NoLongerPossibleError:
            return None
        except Exception as error:  # noqa: BLE001  what TensorFlow, Keras or the user's code raises
            why = error_line(error)
        self.leaves_out(change, why)
        return None

    def pair(self, one: RunningTraining, other: RunningTraining, seconds: float) -> Pair:
        """Two trainings in turn; with the same input they take batches from one pipeline.

        What the slower one has left there is nothing that the quicker one would find in a training
        of its own.
        """
        shares = one.feed is other.feed

        def slice_ms(training: RunningTraining) -> float:
            if shares and one.feed is self.feed:
                one.feed.take_ready(QUICK * self.batch_ms / 1e3, SLICE_S)
            return training.step_ms()

        with one.feed.held() if shares else nullcontext():
            self.settle(other)
            # Slices that have begun are finished.
            seconds = min(seconds, self.budget.left_s - 2 * one.slice_s)
            return in_turn(
                lambda: slice_ms(one),
                lambda: slice_ms(other),
                seconds=seconds,
                hopeless=CLEARLY_SLOWER,
                clock=self.clock,
            )

    def settle(self, training: RunningTraining) -> float:
        """Until it goes its usual way; what making it took is learned. A step's milliseconds."""
        step_ms = training.settle()
        self.making.took(training.making_s, compiled=training.compiles)
        return step_ms

    def _against(self, rewriting: Change | None, on: Setup, made: Setup) -> str:
        if rewriting is None:
            return ""
        return reason_against(rewriting, on.graph, made.graph, CHECKING * self.budget.seconds)

    def kept(self, keeps: Change, on: Setup, made: Setup, take: Callable[[int], object]) -> Kept:
        """What a change keeps, after a whole pass that `take` takes; or why it cannot be kept."""
        return filled(
            keeps,
            on.graph,
            made.graph,
            take,
            batch_ms=self.filling_ms,
            left_s=self.budget.left_s,
            within_s=CHECKING * self.budget.seconds,
        )

    def _kept_anew(
        self,
        rewriting: Change | None,
        keeps: Change | None,
        on: Setup,
        made: Setup,
        changed: RunningTraining,
    ) -> Kept:
        """What is to be kept, or why it cannot be."""
        if rewriting is None:
            return Kept()
        keeping = rewriting if rewriting.keeps or keeps is None else keeps
        if keeping is keeps and keeps.folder is not None:
            # Its files serve the other input, too.
            return Kept()
        return self.kept(keeping, on, made, changed.feed.take)
