"""Changes of a pipeline, tried one after the other on top of those that paid."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path

import keras
import tensorflow as tf

from keras_perf.observers.delayed_signals import uninterrupted
from keras_perf.records.reasons.why_not_tried import InputEnd, WhyNotTried
from keras_perf.records.run.tried.input_changes import InputChange
from keras_perf.trials.backends.chosen import trial_backend
from keras_perf.trials.compiled import NO_BATCH
from keras_perf.trials.measuring.in_turn import LEAST_SLICES, Pair
from keras_perf.trials.measuring.own_iterator import first_of
from keras_perf.trials.measuring.progress import Progress
from keras_perf.trials.measuring.side_by_side import Clock, EndlessPipeline, side_by_side, slice_s
from keras_perf.trials.rewriting.admission import (
    COMPARED,
    filled,
    is_wanted,
    kept_already,
    reason_against,
    still_left,
)
from keras_perf.trials.rewriting.allowed import NOTHING, Allowed
from keras_perf.trials.rewriting.changes import (
    Change,
    NoLongerPossibleError,
    NotDone,
    possible_changes,
)
from keras_perf.trials.rewriting.keeping import Kept, remove
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph
from keras_perf.trials.rewriting.shuffle_buffers import smaller_buffers, soon_filled
from keras_perf.trials.rewriting.tuned_input import TunedInput, as_measured
from keras_perf.trials.training.budget import Budget
from keras_perf.trials.training.setup import Setting, with_options

WORTHWHILE = 1.03
"""A change stays if it is at least so many times as fast at the lower end of its interval."""

CHECKING = 0.05
"""Share of the time that taking these may last, and as much for the steps of a model."""

PAIR_S = 1.0
"""Seconds for one pair, where there is time."""


class Tuning:
    """Tries one change after the other on top of those that paid.

    Arguments:
        dataset: as it is.
        graph: of it.
        step_ms: faster input buys nothing; None if that is not known.
        budget: the time there is.
        model: of which a step is measured where `step_ms` is not known.
        allowed: what may change of the elements.
        cache_dir: as in `tune_input`.
        clock: seconds.
    """

    def __init__(
        self,
        dataset: tf.data.Dataset,
        graph: PipelineGraph,
        step_ms: float | None,
        budget: Budget,
        *,
        model: keras.Model | None = None,
        allowed: Allowed = NOTHING,
        cache_dir: Path | None = None,
        clock: Clock = time.perf_counter,
    ) -> None:
        self._original, self._graph = dataset, graph
        self._options: tuple[Setting, ...] = ()
        self._step_ms, self._model = step_ms, model
        self._allowed, self._cache_dir = allowed, cache_dir
        self._budget, self._clock = budget, clock
        self._look_s = CHECKING * budget.seconds
        self._tried: list[InputChange] = []
        self._not_done: list[NotDone] = []
        self._after_ms, self._gain = math.nan, 1.0
        self._filling_ms, self._in_files = math.nan, False
        self._progress = Progress()

    def run(self) -> TunedInput:
        """Until all is tried, time is over, or batches come faster than steps take them."""
        self._progress.begins("changes of this input", self._budget.seconds)
        changes, stopped = list[Change](), ""
        try:
            changes, self._not_done = possible_changes(self._graph, self._allowed, self._cache_dir)
            not_kept = self._look()
            if not_kept:
                changes = self._left_out(changes, not_kept)
            for change in changes:
                wanted = is_wanted(change, self._tried, self._not_done)
                if not wanted or change.is_set_by(self._options):
                    continue
                stopped = self._reason_to_stop(self._after_ms)
                if stopped:
                    break
                self._try(change)
            self._not_done += smaller_buffers(self._graph, look_at=COMPARED, within_s=self._look_s)
        except KeyboardInterrupt:
            stopped = InputEnd.INTERRUPT.of()
        except BaseException:
            remove(changes)
            raise
        finally:
            self._progress.ends()
            stayed = {each.code for each in self._tried if each.kept}
            remove(each for each in changes if each.code not in stayed)
        result = self._original
        if any(each.kept for each in self._tried):
            result = with_options(self._graph.dataset(), self._options)
        tried, left = tuple(self._tried), still_left(self._tried, self._not_done)
        # Of what was measured in turn; what it took at first, it took on another machine by now.
        before_ms = self._after_ms * self._gain
        return TunedInput(result, tried, left, before_ms, self._after_ms, stopped)

    def _look(self) -> str:
        """Takes batches as they are, and steps of a model.

        Returns:
            Why a cache that is there was not filled; "" where it was, or there is none.
        """
        data = soon_filled(self._graph).dataset()
        if self._model is not None and self._step_ms is None:
            self._progress.tries("steps on a ready batch", max(0.0, self._budget.left_s))
            batch = first_of(data)
            if batch is None:
                raise ValueError(NO_BATCH)
            step_ms_within = trial_backend().step_ms_within
            self._step_ms = step_ms_within(self._model, batch, self._look_s, self._clock)
        self._progress.tries("the input alone", max(0.0, self._budget.left_s))
        self._present = EndlessPipeline(data, self._clock)
        try:
            found_ms, self._opening_s = self._batches()
        except tf.errors.OutOfRangeError as error:
            raise ValueError(NO_BATCH) from error
        self._filling_ms, keeps, not_kept = found_ms, kept_already(self._graph), ""
        if keeps is not None:
            # Each slice opens an iterator, and only a whole pass of one fills a cache.
            not_kept = self._filled(keeps, self._graph, self._present).why_not
            if not not_kept:
                found_ms, self._opening_s = self._batches()
        self._after_ms = found_ms
        return not_kept

    def _batches(self) -> tuple[float, float]:
        """Milliseconds of one as they are, and seconds until an iterator gave the first."""
        begin = self._clock()
        batch_ms = self._present.batch_ms()
        return batch_ms, max(0.0, self._clock() - begin - slice_s(batch_ms / 1e3))

    def _left_out(self, changes: list[Change], not_kept: str) -> list[Change]:
        """None is tried beside a cache that only begins to fill."""
        why = WhyNotTried.CACHE_NOT_FILLED.of(why=not_kept)
        firsts = (each for each in changes if not each.in_place_of and each.folder is None)
        self._not_done += [NotDone(each.id, each.where, why) for each in firsts]
        return []

    def _try(self, change: Change) -> None:
        """Measures it, and keeps it if it pays; or says why not."""
        self._progress.tries(f"{change.id} ({change.where})", max(0.0, self._budget.left_s))
        options = (*self._options, *filter(None, [change.options]))
        try:
            made = change.made(self._graph)
            why = reason_against(change, self._graph, made, self._look_s)
            if not why:
                dataset = with_options(soon_filled(made).dataset(), options)
                pipeline = EndlessPipeline(dataset, self._clock)
                kept = self._kept(change, made, pipeline)
                why = kept.why_not
                if change.keeps:
                    change = replace(change, costs=kept.added_to(change.costs))
            if not why:
                pair = self._measured(change, pipeline)
        except NoLongerPossibleError:
            return
        except (tf.errors.OpError, ValueError, TypeError) as error:
            why = f"TensorFlow refuses it: {error}".splitlines()[0]
        if why:
            self._not_done.append(NotDone(change.id, change.where, why))
            return
        stays = pair.low >= WORTHWHILE
        # Ctrl-C finds it in what is reported and in the dataset, or in neither.
        with uninterrupted():
            self._tried.append(as_measured(change, pair, kept=stays))
            if stays:
                self._in_files = self._in_files or change.folder is not None
                self._graph, self._options, self._present = made, options, pipeline
                if not change.beside_a_step:
                    self._after_ms, self._gain = pair.after_ms, self._gain * pair.gain
                    if kept_already(made) is None:
                        self._filling_ms = pair.after_ms

    def _kept(self, change: Change, made: PipelineGraph, pipeline: EndlessPipeline) -> Kept:
        """What a cache keeps, of this change or one before it; or why it cannot be kept."""
        if change.keeps:
            return self._filled(change, made, pipeline)
        # Files that were written serve this pipeline, too.
        keeps = None if self._in_files else kept_already(made)
        return Kept() if keeps is None else self._filled(keeps, made, pipeline)

    def _filled(self, keeps: Change, made: PipelineGraph, pipeline: EndlessPipeline) -> Kept:
        return filled(
            keeps,
            self._graph,
            made,
            pipeline.take,
            batch_ms=self._filling_ms,
            left_s=self._budget.left_s,
            within_s=self._look_s,
        )

    def _measured(self, change: Change, pipeline: EndlessPipeline) -> Pair:
        left_s = max(0.0, self._budget.left_s)
        step_s = (self._step_ms or self._after_ms) / 1e3 if change.beside_a_step else 0.0
        return side_by_side(self._present, pipeline, seconds=min(PAIR_S, left_s / 2), step_s=step_s)

    def _reason_to_stop(self, batch_ms: float) -> str:
        # Each slice opens an iterator of its own, whose shuffles and prefetches fill first.
        if self._budget.left_s < LEAST_SLICES * 2 * (self._opening_s + slice_s(batch_ms / 1e3)):
            return InputEnd.TIME.of(seconds=self._budget.seconds)
        if self._step_ms is not None and batch_ms <= self._step_ms:
            return InputEnd.FAST_ENOUGH.of(batch_ms=batch_ms, step_ms=self._step_ms)
        return ""
