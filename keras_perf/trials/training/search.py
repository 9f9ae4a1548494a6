"""Which changes make a training faster, each alone and together."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from keras_perf.records.reasons.why_not_tried import EndedBy, WhyNotTried
from keras_perf.records.run.tried.advice_trials import WORTHWHILE, AdviceTrials, TriedChange
from keras_perf.trials.measuring.progress import Progress
from keras_perf.trials.rewriting.admission import is_wanted, still_left
from keras_perf.trials.rewriting.allowed import NOTHING, Allowed
from keras_perf.trials.rewriting.changes import Change
from keras_perf.trials.rewriting.keeping import remove
from keras_perf.trials.training.batches.padding import some_axis_varies
from keras_perf.trials.training.budget import Budget
from keras_perf.trials.training.changes import at_this_speed
from keras_perf.trials.training.first_look import FirstLook, TooSlowError, first_look
from keras_perf.trials.training.input_pace import InputPace
from keras_perf.trials.training.running import RunningTraining, TrainFunctions
from keras_perf.trials.training.setup import Setup
from keras_perf.trials.training.together import Together
from keras_perf.trials.training.training_change import TrainingChange, of_pipeline
from keras_perf.trials.training.trier import CLEARLY_SLOWER, Trier
from keras_perf.trials.training.which_changes import is_likely, which_changes


@dataclass
class Search:
    """Tries each change beside the training as it is, then the good ones on top of each other.

    Arguments:
        setup: the training as it is.
        functions: where train functions come from.
        budget: seconds to spend; nothing is begun that does not fit into what is left.
        allowed: what may change of the elements.
        cache_dir: where a cache may keep elements that do not fit into memory.
        without: ids of changes that are not tried.
        outside_ms: milliseconds of a step that trials do not run.
        making_s: seconds that the model's train function took, where that is known.
        progress: told what is tried.
        clock: seconds.
    """

    setup: Setup
    functions: TrainFunctions
    budget: Budget
    allowed: Allowed = NOTHING
    cache_dir: Path | None = None
    without: Collection[str] = ()
    outside_ms: float = 0.0
    making_s: float = 0.0
    progress: Progress = field(default_factory=Progress)
    clock: Callable[[], float] = time.perf_counter

    def __post_init__(self) -> None:
        self._trier = Trier(self.functions, self.budget, self.outside_ms, self.progress, self.clock)
        self._trier.making.took(self.making_s, compiled=self.setup.jit_compile)
        self._alone: dict[TrainingChange, TriedChange] = {}
        self._on_top: list[TrainingChange] = []
        self._afterwards: list[TrainingChange] = []
        self._first: RunningTraining | None = None
        self._calling: RunningTraining | None = None
        self._seen: FirstLook | None = None
        self._together: Together | None = None
        self._rewritings: list[Change] = []
        # The ready batch stands for all.
        self._one_shape = not some_axis_varies(self.setup.graph.element_spec)

    @property
    def best(self) -> Setup:
        """With all that was put together."""
        return self.setup if self._together is None else self._together.best

    def run(self) -> AdviceTrials:
        """Until all is tried, time is over, or an interrupt."""
        stopped: str = ""
        try:
            self._seen = first_look(self._trier, self.setup, self.clock, one_shape=self._one_shape)
            changes = [each for each in self._changes() if each.id not in self.without]
            self._rewritings = [each.rewriting for each in changes if each.rewriting]
            for number, change in enumerate(changes):
                if not self._is_needed(change):
                    continue
                hidden = self._in_pace.hides(change, self._alone)
                if change.alters and (hidden or not change.of_hooks):
                    # It is not put together with others, and must not take the time for that.
                    self._afterwards.append(change)
                elif hidden:
                    self._on_top.append(change)
                elif self._has_time(change, self._left_s):
                    self._try_alone(change, 1 + sum(map(is_likely, changes[number + 1 :])))
                elif change.rewriting is None and not change.alters:
                    self._on_top.append(change)
            self._put_together()
            self._try_each(self._afterwards)
        except KeyboardInterrupt:
            stopped = EndedBy.INTERRUPT.of()
            if self._together is not None:
                self._together.only_the_first()
        except TooSlowError as error:
            stopped = error.args[0]
        except BaseException:
            remove(self._rewritings)
            raise
        finally:
            codes = {each.code for each in self._together.changes} if self._together else set()
            remove(each for each in self._rewritings if of_pipeline(each).code not in codes)
        return self._told(stopped)

    def _put_together(self) -> None:
        """What pays alone, and on top of it what the input hid, or there was no time for."""
        trier, later = self._trier, len(self._on_top) + len(self._afterwards)
        trier.not_tried = [*still_left(self._alone.values(), trier.not_tried)]
        together = Together(trier, self.setup, self._present, self._first_look.keeps)
        self._together = together
        together.add(self._alone, self._first, self._in_pace.as_ready_ms, later)
        if together.changes:
            step_ms = together.changes[-1].after_ms - self.outside_ms
            known = {*self.without, *(change.id for change in self._alone)}
            on_top = at_this_speed(self._on_top, together.best, step_ms)
            on_top = [change for change in on_top if change.id not in known]
            together.add_on_top(on_top, len(self._afterwards))
        else:
            self._add_both(together, later)
            if not together.changes:
                self._try_each(self._on_top)
                together.add({one: it for one, it in self._alone.items() if one in self._on_top})
        together.measure_all()

    def _add_both(self, together: Together, later: int) -> None:
        """Where input and step hide each other's gains, both are changed at once."""
        able = [c for c, it in self._alone.items() if not c.alters and it.high >= CLEARLY_SLOWER]
        of_input = next((change for change in able if change.rewriting is not None), None)
        of_step = [change for change in (*able, *self._on_top) if change.rewriting is None]
        if of_input is not None and self._in_pace.hide_each_other(self._trier.batch_ms):
            of_step = at_this_speed(of_step, self.setup, self._in_pace.pair.after_ms)
            of_step = [change for change in of_step if change.id not in self.without]
            together.add_both(of_input, of_step, later)
            # What gains nothing there either was measured alone, or is about to be.
            for change in able if together.changes else (*able, *of_step):
                self._trier.tries_after_all(change)

    def _try_each(self, changes: Sequence[TrainingChange]) -> None:
        """Alone, in all the time that is left."""
        for number, change in enumerate(changes):
            self._trier.tries_after_all(change)
            if self._has_time(change, self.budget.left_s):
                self._try_alone(change, len(changes) - number)

    def _told(self, stopped: str) -> AdviceTrials:
        seen, outside = self._seen, self.outside_ms
        pair = None if seen is None else seen.pace.pair
        together, lengths = self._together, self.setup.jit_compile and not self._one_shape
        again = () if together is None else together.of_input_first
        compiled_s = seen.present.compilations_s if lengths and seen is not None else []
        return AdviceTrials(
            step_ms=0.0 if pair is None else pair.before_ms + outside,
            # Beside a cache that is still to be filled, it tells nothing of later passes.
            ready_ms=seen.pace.ready_ms(self._alone, again) if seen and not seen.not_kept else None,
            batch_ms=self._trier.batch_ms or None,
            outside_ms=outside,
            one_shape=self._one_shape,
            compilations=len(compiled_s),
            compiling_s=sum(compiled_s),
            changes=tuple(self._alone.values()),
            together=() if together is None else tuple(together.changes),
            total=None if together is None else together.total,
            not_tried=tuple(self._trier.not_tried),
            seconds=self._trier.budget.spent_s,
            stopped=stopped,
        )

    def _changes(self) -> list[TrainingChange]:
        return which_changes(
            self._trier,
            self.setup,
            self._present,
            self._in_pace,
            allowed=self.allowed,
            cache_dir=self.cache_dir,
            not_kept=self._first_look.not_kept,
        )

    def _try_alone(self, change: TrainingChange, left: int) -> None:
        seconds = Budget.for_a_pair(self._left_s, left)
        on, beside, whole_ms = self.setup, self._present, None
        if change.of_hooks and not on.keras_loop:
            whole_ms = self._in_pace.pair.before_ms + self.outside_ms
            on = replace(on, keras_loop=True)
            beside = self._called(on)
        found = self._trier.tried(
            change, on, beside, seconds, keeps=self._first_look.keeps, whole_ms=whole_ms
        )
        if found is not None:
            others = [tried.gain for other, tried in self._alone.items() if not other.alters]
            if not change.alters and found[0].gain > max(others, default=0.0):
                self._first = found[1]
            self._alone[change] = found[0]

    def _called(self, on: Setup) -> RunningTraining:
        """The training as it is, and its callbacks called, which they are in no other trial."""
        if self._calling is None:
            feed = self._present.feed
            self._calling = RunningTraining(on, self.functions, self.clock, feed)
        return self._calling

    @property
    def _left_s(self) -> float:
        """For changes tried alone: all the time, unless something may be put together."""
        budget = self._trier.budget
        pays = any(tried.low >= WORTHWHILE for tried in self._alone.values())
        of_input = any(change.rewriting is not None for change in self._alone)
        hidden = of_input and self._in_pace.hide_each_other(self._trier.batch_ms)
        return budget.left_alone_s if pays or hidden else budget.left_s

    def _has_time(self, change: TrainingChange, left_s: float) -> bool:
        why = self._trier.too_long(change, self.setup, self._present, left_s)
        if why:
            self._trier.leaves_out(change, why)
        return not why

    @property
    def _first_look(self) -> FirstLook:
        """Once it was taken."""
        assert self._seen is not None
        return self._seen

    @property
    def _in_pace(self) -> InputPace:
        return self._first_look.pace

    @property
    def _present(self) -> RunningTraining:
        return self._first_look.present

    def _is_needed(self, change: TrainingChange) -> bool:
        """No change of the input is, once one lets a step run as on a ready batch."""
        rewriting, left = change.rewriting, self._trier.not_tried
        if rewriting is not None and not is_wanted(rewriting, self._alone.values(), left):
            return False
        if rewriting is not None and (other := self._in_pace.freed_by(self._alone)):
            self._trier.leaves_out(change, WhyNotTried.AS_ON_READY.of(other=other))
            return False
        return True
