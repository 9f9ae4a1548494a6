"""Changes that pay, one on top of the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from keras_perf.records.reasons.why_not_tried import WhyNotTried
from keras_perf.records.run.tried.advice_trials import WORTHWHILE, TriedChange
from keras_perf.trials.measuring.in_turn import LEAST_SLICES
from keras_perf.trials.rewriting.changes import Change
from keras_perf.trials.training.budget import Budget
from keras_perf.trials.training.recorded_change import as_tried
from keras_perf.trials.training.running import RunningTraining
from keras_perf.trials.training.setup import Setup
from keras_perf.trials.training.training_change import TrainingChange
from keras_perf.trials.training.trier import CLEARLY_SLOWER, Trier


class Together:
    """Adds what pays to what is there, the best first.

    Arguments:
        trier: measures.
        setup: the training as it is.
        present: it, running.
        keeps: a cache that it has.

    Attributes:
        changes: what was added.
        best: the setup with all of it.
        total: all of it beside the training as it is; None where nothing was added.
    """

    def __init__(
        self, trier: Trier, setup: Setup, present: RunningTraining, keeps: Change | None
    ) -> None:
        self._trier, self._setup, self._present = trier, setup, present
        self.changes: list[TriedChange] = []
        self.best = self._first_best = setup
        self.total: TriedChange | None = None
        self._running = present
        self._keeps = keeps
        self._input_alone = self._first_is_of_input = True
        self._added: list[TrainingChange] = []

    @property
    def of_input_first(self) -> list[TriedChange]:
        """What was added first, if it is of the input: nothing else is changed then."""
        return self.changes[:1] if self._first_is_of_input else []

    def add(
        self,
        alone: Mapping[TrainingChange, TriedChange],
        first: RunningTraining | None = None,
        as_ready_ms: float = 0.0,
        later: int = 0,
    ) -> None:
        """Measures each of those that alter nothing on top of those before.

        Arguments:
            alone: what each gained alone.
            first: the training with the best of them, which has kept what it keeps.
            as_ready_ms: of a step that long the input costs nothing, and is changed no more.
            later: so many more changes are to be measured.
        """
        wanted = [
            change
            for change, tried in alone.items()
            if not change.alters and tried.high >= CLEARLY_SLOWER
        ]
        wanted.sort(key=lambda change: alone[change].gain, reverse=True)
        for number, change in enumerate(wanted):
            pays = alone[change].low >= WORTHWHILE
            # With nothing there yet, on top is as alone; and alone it was not enough.
            if not self.changes and not pays:
                continue
            running = first if number == 0 else None
            if self._too_long(change, made=running is not None):
                if not self.changes:
                    self._keep_untried(change, alone[change])
                    return
                continue
            if self.changes and change.rewriting is not None:
                # Behind what is kept another input would have to keep all anew.
                kept_in_vain = self._keeps is not None and not pays
                as_ready = self._input_alone and self.changes[-1].after_ms <= as_ready_ms
                if kept_in_vain or as_ready:
                    continue
            self._try(change, alone[change], running, len(wanted) + later - number + 1)

    def add_on_top(self, changes: Sequence[TrainingChange], later: int) -> None:
        """Measures each on top of what is there already, which is where it shows what it gains.

        Arguments:
            changes: of a step, none of which was measured alone.
            later: so many more changes are to be measured.
        """
        for number, change in enumerate(changes):
            self._trier.tries_after_all(change)
            if why := self._too_long(change, made=False):
                self._trier.leaves_out(change, why)
                continue
            refused = len(self._trier.not_tried)
            if self._try(change, None, None, len(changes) + later - number + 1):
                self._added.append(change)
            elif len(self._trier.not_tried) == refused:
                self._trier.leaves_out(change, WhyNotTried.NOT_ON_TOP.of())

    def add_both(
        self, of_input: TrainingChange, of_step: Sequence[TrainingChange], later: int
    ) -> None:
        """A change that gains nothing alone, if what is put on top of it then gains.

        Arguments:
            of_input: makes room for the others.
            of_step: to be measured on top of it.
            later: so many more changes are to be measured.
        """
        if self._too_long(of_input, made=False):
            return
        # As few slices as tell anything: what matters is what comes on top.
        begun = self._trier.tried(of_input, self._setup, self._present, 0.0, keeps=self._keeps)
        if begun is None:
            return
        keeps = self._keeps
        self._put_on_top(of_input, *begun)
        self.add_on_top(of_step, later)
        if len(self.changes) == 1:
            self.changes, self.best, self._keeps = [], self._setup, keeps
            self._running, self._input_alone = self._present, True

    def _too_long(self, change: TrainingChange, *, made: bool) -> str:
        """What is left is needed to measure all of it beside the training as it is."""
        trier, left_s = self._trier, self._trier.budget.left_s
        if self.changes:
            left_s -= LEAST_SLICES * (self._present.slice_s + self._running.slice_s)
        return trier.too_long(change, self.best, self._running, left_s, made=made)

    def only_the_first(self) -> None:
        """It alone was measured beside the training as it is, if the measurement of all was cut."""
        if self.changes and self.total is None:
            del self.changes[1:]
            self.best, self.total = self._first_best, self.changes[0]
            if self.total.low < WORTHWHILE:
                # It was there for what was to come.
                self.changes, self.best, self.total = [], self._setup, None

    def _try(
        self,
        change: TrainingChange,
        alone: TriedChange | None,
        running: RunningTraining | None,
        left: int,
    ) -> bool:
        """Whether it pays, and was added."""
        trier = self._trier
        seconds = Budget.for_a_pair(trier.budget.left_s, left)
        if running is not None and alone is not None:
            trier.say(f"{change.id} ({change.where}) again")
            pair = trier.pair(self._present, running, seconds)
            # What it costs was learned when it was tried alone.
            found = replace(as_tried(change, pair, trier.outside_ms), costs=alone.costs), running
        else:
            after = [each.id for each in self.changes]
            tried = trier.tried(
                change, self.best, self._running, seconds, after=after, keeps=self._keeps
            )
            if tried is None:
                return False
            found = tried
        if found[0].low < WORTHWHILE:
            return False
        self._put_on_top(change, *found)
        return True

    def _put_on_top(
        self, change: TrainingChange, tried: TriedChange, running: RunningTraining
    ) -> None:
        self.changes.append(tried)
        self._input_alone = self._input_alone and change.rewriting is not None
        self.best, self._running = change.made(self.best), running
        if len(self.changes) == 1:
            self._first_best, self._first_is_of_input = self.best, self._input_alone
        if change.rewriting is not None and change.rewriting.keeps:
            self._keeps = change.rewriting

    def _keep_untried(self, change: TrainingChange, tried: TriedChange) -> None:
        """The best alone, where no time is left to measure it once more."""
        if not self.changes:
            self.changes, self.best = [tried], change.made(self._setup)
            self._first_is_of_input = change.rewriting is not None
            self.total = tried

    def measure_all(self) -> None:
        """All of it beside the training as it is; it goes if together it does not pay."""
        if len(self.changes) < 2:
            self.total = self.changes[0] if self.changes else None
            return
        self._trier.say("all together")
        seconds = Budget.for_a_pair(self._trier.budget.left_s, 1)
        pair = self._trier.pair(self._present, self._running, seconds)
        all_ = TrainingChange("all", "", "", lambda setup: setup)
        self.total = as_tried(all_, pair, self._trier.outside_ms)
        if self.total.low < WORTHWHILE:
            self.changes, self.best, self.total = [], self._setup, None
            for change in self._added:
                self._trier.leaves_out(change, WhyNotTried.NOT_ON_TOP.of())
