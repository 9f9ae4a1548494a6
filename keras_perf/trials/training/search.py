"""Which changes make a training faster, each alone and together."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from keras_perf.records.run.advice_trials import AdviceTrials, NotTried, TriedChange
from keras_perf.trials.failure import told
from keras_perf.trials.in_turn import Pair, in_turn
from keras_perf.trials.progress import Progress
from keras_perf.trials.rewriting.admission import not_filled, reason_against
from keras_perf.trials.rewriting.changes import Change, NoLongerPossibleError, possible_changes
from keras_perf.trials.rewriting.side_by_side import EndlessPipeline
from keras_perf.trials.training.as_tried import as_tried
from keras_perf.trials.training.budget import Budget
from keras_perf.trials.training.changes import TrainingChange, of_pipeline, of_training
from keras_perf.trials.training.padding import some_axis_varies
from keras_perf.trials.training.running import RunningTraining, TrainFunctions
from keras_perf.trials.training.setup import Setup

WORTHWHILE = 1.02
"""A change is worth it if it is at least so many times as fast at the lower end of its interval."""

CLEARLY_SLOWER = 0.97
"""What is slower than this alone is not tried on top of others."""

CHECKING = 0.03
"""Share of the time that comparing a stage's elements may last."""

FIRST = ("cache", "parallel-map", "interleave", "batch-before-map")
"""Changes of the input from which most is to be expected."""

FREE = 1.1
"""Input costs nothing more if a step takes at most so many times as long as on a ready batch."""


@dataclass
class Search:
    """Tries each change beside the training as it is, then the good ones on top of each other.

    Arguments:
        setup: the training as it is.
        functions: where train functions come from.
        budget_s: seconds to spend; what is being measured then is finished.
        any_order: the order of examples may change.
        without: ids of changes that are not tried.
        outside_ms: milliseconds of a step that trials do not run.
        progress: told what is tried.
        clock: seconds.
    """

    setup: Setup
    functions: TrainFunctions
    budget_s: float
    any_order: bool = False
    without: Collection[str] = ()
    outside_ms: float = 0.0
    progress: Progress = field(default_factory=Progress)
    clock: Callable[[], float] = time.perf_counter

    def __post_init__(self) -> None:
        self._budget = Budget(self.budget_s, self.clock)
        self._not_tried: list[NotTried] = []
        self._alone: list[tuple[TrainingChange, TriedChange]] = []
        self._together: list[TriedChange] = []
        self._best = self.setup
        self._total: TriedChange | None = None
        self._step_ms, self._batch_ms = 0.0, 0.0
        self._pair: Pair | None = None
        self._first: tuple[TrainingChange, RunningTraining] | None = None
        self._keeps: Change | None = None

    @property
    def best(self) -> Setup:
        """With all that was put together."""
        return self._best

    def run(self) -> AdviceTrials:
        """Until all is tried, time is over, or an interrupt."""
        stopped = ""
        try:
            self._look()
            changes = self._changes()
            for number, change in enumerate(changes):
                if self._is_needed(change) and self._has_time(change):
                    self._try_alone(change, len(changes) - number)
            self._put_together(changes)
        except KeyboardInterrupt:
            stopped = "an interrupt"
            self._best, self._together = self.setup, []
        outside = self.outside_ms
        return AdviceTrials(
            step_ms=self._step_ms + outside,
            ready_ms=None if self._pair is None else self._pair.after_ms + outside,
            batch_ms=self._batch_ms or None,
            outside_ms=outside,
            one_shape=not some_axis_varies(self.setup.graph.element_spec),
            changes=tuple(tried for _, tried in self._alone),
            together=tuple(self._together),
            total=self._total,
            not_tried=tuple(self._not_tried),
            seconds=self._budget.spent_s,
            stopped=stopped,
        )

    # -- what there is -------------------------------------------------------------------

    def _look(self) -> None:
        """The training as it is, its input alone, and its step alone."""
        self._say("the input alone")
        self._batch_ms = EndlessPipeline(self.setup.dataset(), self.clock).batch_ms()
        self._say("the training as it is")
        self._present = RunningTraining(self.setup, self.functions, self.clock)
        self._present.settle()
        self._say("steps on a ready batch")
        ready = RunningTraining(replace(self.setup, ready=True), self.functions, self.clock)
        ready.settle()
        self._pair = in_turn(
            self._present.step_ms, ready.step_ms, seconds=Budget.for_a_pair(self._budget.left_s, 8)
        )
        self._step_ms = self._pair.before_ms

    def _changes(self) -> list[TrainingChange]:
        """All that are possible; of the input only where it costs something."""
        rewritings, left = possible_changes(self.setup.graph, any_order=self.any_order)
        self._not_tried += [NotTried(id=each.id, where=each.where, why=each.why) for each in left]
        rewritings.sort(key=lambda each: FIRST.index(each.id) if each.id in FIRST else len(FIRST))
        of_input = [of_pipeline(each) for each in rewritings]
        if self._pair is not None and self._pair.high < WORTHWHILE:
            why = "steps on a ready batch take as long: input costs nothing"
            self._not_tried += [NotTried(id=e.id, where=e.where, why=why) for e in of_input]
            of_input = []
        found = [*of_input, *of_training(self.setup, self._step_ms)]
        return [each for each in found if each.id not in self.without]

    # -- trying --------------------------------------------------------------------------

    def _try_alone(self, change: TrainingChange, left: int) -> None:
        seconds = Budget.for_a_pair(self._budget.left_alone_s, left)
        found = self._tried(change, self.setup, self._present, seconds)
        if found is not None:
            if not change.alters and all(found[0].gain > each.gain for _, each in self._alone):
                self._first = change, found[1]
            self._alone.append((change, found[0]))

    def _tried(
        self, change: TrainingChange, on: Setup, beside: RunningTraining, seconds: float
    ) -> tuple[TriedChange, RunningTraining] | None:
        """What it gains on top of a training that runs; None where it cannot be made."""
        self._say(f"{change.id} ({change.where})")
        try:
            made = change.made(on)
            why = self._against(change, on, made)
            if not why:
                feed = beside.feed if made.input == on.input else None
                changed = RunningTraining(made, self.functions, self.clock, feed)
                why = self._not_kept(change, on, made, changed)
            if not why:
                pair = self._measured(beside, changed, seconds)
                after = tuple(each.id for each in self._together)
                return as_tried(change, pair, self.outside_ms, after), changed
        except NoLongerPossibleError:
            return None
        except Exception as error:  # noqa: BLE001  what TensorFlow, Keras or the user's code raises
            why = told(error)
        self._not_tried.append(NotTried(id=change.id, where=change.where, why=why))
        return None

    def _measured(self, one: RunningTraining, other: RunningTraining, seconds: float) -> Pair:
        with ExitStack() as shared:
            if one.feed is other.feed:
                shared.enter_context(one.feed.held())
            other.settle()
            return in_turn(one.step_ms, other.step_ms, seconds=seconds, hopeless=CLEARLY_SLOWER)

    def _against(self, change: TrainingChange, on: Setup, made: Setup) -> str:
        if change.rewriting is None:
            return ""
        return reason_against(change.rewriting, on.graph, made.graph, CHECKING * self.budget_s)

    def _not_kept(
        self, change: TrainingChange, on: Setup, made: Setup, changed: RunningTraining
    ) -> str:
        """Why what it keeps, or what is kept already, cannot be kept."""
        if change.rewriting is None:
            return ""
        keeping = change.rewriting if change.rewriting.keeps else self._keeps
        return not_filled(
            keeping or change.rewriting,
            on.graph,
            made.graph,
            changed.feed.take,
            batch_ms=self._batch_ms,
            left_s=self._budget.left_s,
            within_s=CHECKING * self.budget_s,
        )

    # -- putting together ----------------------------------------------------------------

    def _put_together(self, changes: list[TrainingChange]) -> None:
        """Adds what pays to what is there, the best first; then looks at all of it once more."""
        gains = dict(self._alone)
        wanted = [
            change
            for change in changes
            if not change.alters and change in gains and gains[change].high >= CLEARLY_SLOWER
        ]
        wanted.sort(key=lambda change: gains[change].gain, reverse=True)
        running = self._present
        for number, change in enumerate(wanted):
            # With nothing there yet, on top is as alone; and alone the best was not enough.
            if not self._together and gains[change].low < WORTHWHILE:
                break
            if self._keeps is not None and change.rewriting and gains[change].low < WORTHWHILE:
                # Each would have to keep all anew.
                continue
            if self._budget.left_s <= 0:
                self._together = self._together or self._as_alone(change, gains[change])
                break
            seconds = Budget.for_a_pair(self._budget.left_s, len(wanted) - number + 1)
            found = self._again(change, seconds) or self._tried(
                change, self._best, running, seconds
            )
            if found is not None and found[0].low >= WORTHWHILE:
                self._together.append(found[0])
                self._best, running = change.made(self._best), found[1]
                if change.rewriting and change.rewriting.keeps:
                    self._keeps = change.rewriting
        if len(self._together) > 1:
            self._measure_total(running)
        elif self._together:
            self._total = self._together[0]

    def _again(
        self, change: TrainingChange, seconds: float
    ) -> tuple[TriedChange, RunningTraining] | None:
        """Measured once more, where it is the best alone: what it keeps is kept already."""
        if self._first is None or self._first[0] is not change or self._together:
            return None
        self._say(f"{change.id} ({change.where}) again")
        pair = self._measured(self._present, self._first[1], seconds)
        return as_tried(change, pair, self.outside_ms), self._first[1]

    def _as_alone(self, change: TrainingChange, tried: TriedChange) -> list[TriedChange]:
        """No time is left to measure it once more."""
        self._best = change.made(self.setup)
        return [tried]

    def _measure_total(self, running: RunningTraining) -> None:
        self._say("all together")
        seconds = Budget.for_a_pair(self._budget.left_s, 1)
        pair = self._measured(self._present, running, seconds)
        all_ = TrainingChange("all", "", "", lambda setup: setup)
        self._total = as_tried(all_, pair, self.outside_ms)
        if self._total.low < WORTHWHILE:
            self._best, self._together, self._total = self.setup, [], None

    # -- time ----------------------------------------------------------------------------

    def _has_time(self, change: TrainingChange) -> bool:
        if self._budget.left_alone_s > 0:
            return True
        why = f"the time was over: give it more than {self.budget_s:.0f} s"
        self._not_tried.append(NotTried(id=change.id, where=change.where, why=why))
        return False

    def _is_needed(self, change: TrainingChange) -> bool:
        """No change of the input is, once one lets a step run as on a ready batch."""
        ready_ms = 0.0 if self._pair is None else FREE * self._pair.after_ms + self.outside_ms
        for tried_change, tried in self._alone:
            if change.rewriting and tried_change.rewriting and tried.after_ms <= ready_ms:
                why = f"with {tried.id} a step is as fast as on a ready batch"
                self._not_tried.append(NotTried(id=change.id, where=change.where, why=why))
                return False
        return True

    def _say(self, what: str) -> None:
        self.progress.tries(what, max(0.0, self._budget.left_s))
