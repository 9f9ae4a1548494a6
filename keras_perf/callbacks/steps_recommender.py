"""StepsPerExecutionRecommender."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import keras

from keras_perf.callbacks.observing_callback import ListeningCallback, require_bool, require_number
from keras_perf.observation.listener import Director, Plan
from keras_perf.observation.observation import Observation
from keras_perf.observation.trials import Trials
from keras_perf.observers.capture.schedule import require_int
from keras_perf.observers.trial.cost_curve import CostCurve, resampled_curves
from keras_perf.observers.trial.lengths import CONFIRMATIONS, TRIALS, Room, in_turn
from keras_perf.observers.trial.steps_choice import (
    MOSTLY_INPUT,
    Bounds,
    StepsPerExecution,
    choose_steps,
    recommend,
)
from keras_perf.observers.trial.times import RUN_UP, TrialTimes
from keras_perf.records.execution import Execution, Kind
from keras_perf.report.text.curve_table import curve_markdown, recommendation_scalars

BETWEEN = 4
"""Ordinary executions before each trial, so that a drifting machine drifts for both."""


def _nothing() -> None:
    """In place of a reference to a model."""


class StepsPerExecutionRecommender(ListeningCallback, Director):
    """Measures what each execution costs and recommends `steps_per_execution`.

    After warm-up it runs a few executions of several steps in place of single ones: real steps
    in their real order, so that data, losses and final weights are bit for bit those of a run
    without it: the longer execution is a loop around the traced function that runs anyway, none
    of the user's code is traced again, and each of Keras's next calls is answered with the logs
    of its own step. From the lengths it fits T(N) = c + h / N and picks the smallest N within 2 %
    of the floor c. Batch hooks of other callbacks are called for every batch, with its own logs;
    those of a trial when all of its steps have run, and not if one of its steps fails.

    Arguments:
        log_dir: the directory that TensorBoard is started on; str or os.PathLike.
        apply: run the rest of this `fit`, and later ones with this callback, at the
            recommended N.
        limit: the largest N to recommend.
        max_execution_s: no execution is to last longer, in seconds.

    Attributes:
        recommendation: after `fit`, a `StepsPerExecution`: `.steps_per_execution`,
            `.predicted_speedup` with `.low` and `.high`, `.reason`, `.evidence`.

    Raises:
        TypeError, ValueError, OSError: a wrong argument, or `log_dir` cannot be written.

    It does not try, and says why, where that could change training or could not pay: a callback
    with batch hooks that may steer training or that save the model between batches, a step that
    draws `tf.random` numbers or writes summaries, `run_eagerly`, an epoch too short, long steps,
    a train function that takes long to compile against the steps left, several replicas or
    workers.

    With `apply`, batch hooks are called as with that N: once for all of its steps.

    What it cannot see: with `apply`, the steps at an epoch's end that are fewer than N run as
    they would without it, one execution of the old length after the other.

    >>> import keras_perf as kp
    >>> recommender = kp.StepsPerExecutionRecommender("logs/run1", limit=64)
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        *,
        apply: bool = False,
        limit: int = 256,
        max_execution_s: float = 1.0,
    ) -> None:
        super().__init__(log_dir)
        self.apply = require_bool("apply", apply)
        remedy = "To forbid any change, leave StepsPerExecutionRecommender out."
        self.limit = require_int("limit", limit, 1, f" {remedy}")
        self.max_execution_s = require_number(
            "max_execution_s", max_execution_s, above=0, remedy="The default is 1.0."
        )
        self.recommendation: StepsPerExecution | None = None
        self._measured_on: Callable[[], keras.Model | None] = _nothing
        self._forget()

    def __getstate__(self) -> dict[str, Any]:
        """What a copy is made of: not the reference to a model."""
        return {**super().__getstate__(), "_measured_on": _nothing}

    def _forget(self) -> None:
        self._refusal: str | None = None
        self._finished = self._confirmed = False
        self._due: list[int] = []
        self._since_trial = 0
        self._times = TrialTimes()
        self._has_applied = False
        self._dispatch_ms = self._in_graph_ms = 0.0

    @property
    def _fit(self) -> Observation:
        assert self.observation is not None
        return self.observation

    @property
    def _trials(self) -> Trials:
        return self._fit.trials

    # -- during training -----------------------------------------------------------------

    def observation_begins(self, observation: Observation) -> None:
        """Checks what can be checked before the first step."""
        known, model = self.recommendation, self._measured_on()
        self._forget()
        self._refusal = observation.trials.reason_not_to_try()
        if self._refusal is not None:
            observation.audience.stop_directing(self)
        elif self.apply and known is not None and known.evidence and model is observation.model:
            self._finished = True

    def executions(self, executions: Sequence[Execution]) -> None:
        """Collects times of the present length, and of trials."""
        if not self._finished:
            present = self._fit.steps_per_execution
            kept = (e for e in executions if e.steps == present or e.kind is not Kind.STEADY)
            self._times.add(kept)

    def direct(self, plan: Plan) -> Plan:
        """Puts a trial, or once applied an execution of the recommended length, in its place."""
        if plan.kind is not Kind.STEADY or plan.steps != self._fit.steps_per_execution:
            return plan
        if self._finished:
            return self._applied(plan)
        self._since_trial += 1
        running_up = len(self._due) % (1 + RUN_UP) > 0
        if self._since_trial <= BETWEEN and not running_up:
            return plan
        self._due = self._due or self._next_trials(plan)
        if not self._due:
            return plan
        steps = self._due[0]
        room = steps if running_up else steps * (1 + RUN_UP)
        if self._trials.at_most(room) < room or not self._prepared(steps):
            return plan
        self._since_trial = 0
        del self._due[0]
        return self._trials.longer(plan, steps, Kind.TRIAL)

    def function_replaced(self) -> None:
        """The longer functions train as the model was before: they are not run any more."""
        self._refusal = "a callback made the train function anew during training"
        self._fit.audience.stop_directing(self)

    def _next_trials(self, plan: Plan) -> list[int]:
        """Lengths of the executions to run now, in their order; none yet, or none any more.

        First come two lengths in turn, then one beyond what they lead to: what a step costs in
        the graph shows best in long executions.
        """
        self._fit.tell_executions()
        room = self._room(plan)
        if room is None:
            return []
        tried = self._times.lengths
        if not tried:
            lengths, self._refusal = room.first_lengths()
            if self._refusal is not None:
                self._fit.audience.stop_directing(self)
            return in_turn(lengths, TRIALS)
        beyond = None if self._confirmed else room.length_beyond(self._chosen_so_far(), tried)
        if beyond is not None:
            self._confirmed = True
            return in_turn([beyond], CONFIRMATIONS)
        self._conclude(self._from_gaps(plan))
        return []

    def _room(self, plan: Plan) -> Room | None:
        """What this training leaves for trials; None while that is not known."""
        fit, ordinary_ms = self._fit, self._times.ordinary_ms
        if ordinary_ms is None or fit.trials.room_steps is None:
            return None
        return Room(
            present=plan.steps,
            step_ms=ordinary_ms / plan.steps,
            first_s=self._times.first_ns / 1e9,
            epoch_steps=fit.trials.room_steps,
            steps_left=fit.trials.steps_left,
            limit=self.limit,
            max_execution_s=self.max_execution_s,
            epochs=fit.trials.epochs_are_called,
        )

    def _from_gaps(self, plan: Plan) -> tuple[float, float] | None:
        """What tf.data's gap times say: a step in the graph and an execution's cost, in ms.

        Both without the wait for input, whose noise would hide them. The newest gaps are the
        ordinary executions' since the last trial; those before lie inside the trial's.
        """
        model = self._fit.pipeline.read() if self._fit.pipeline is not None else None
        gaps = [gap / 1e3 for gap in model.gap_times] if model is not None else []
        ordinary, inner = gaps[-BETWEEN:], gaps[: -BETWEEN - 1]
        if plan.steps > 1 or self._fit.fetches_per_step != 1 or len(inner) < BETWEEN:
            return None
        step_ms = float(median(inner))
        return step_ms, max(0.0, float(median(ordinary)) - step_ms)

    def _prepared(self, steps: int) -> bool:
        """Executions of so many steps can be run; if they cannot, why not."""
        refusal = self._trials.refuses(steps)
        if refusal is not None:
            self._refusal = refusal
            self._fit.audience.stop_directing(self)
        return refusal is None

    def _applied(self, plan: Plan) -> Plan:
        chosen = self.recommendation.steps_per_execution if self.recommendation else 1
        chosen -= chosen % plan.steps
        steps = self._trials.at_most(chosen) if self.apply else 0
        if steps > plan.steps and self._prepared(steps):
            self._has_applied = True
            # What entering and leaving costs is spread over more steps from here on.
            inside_ms = self._dispatch_ms + steps * self._in_graph_ms
            share = self._dispatch_ms / inside_ms if self._dispatch_ms else None
            self._trials.dispatch_share = share
            return self._trials.longer(plan, steps, Kind.STEADY)
        return plan

    # -- at the end ----------------------------------------------------------------------

    def _bounds(self) -> Bounds:
        return self._trials.bounds(self.limit, self.max_execution_s)

    def _chosen_so_far(self) -> int:
        return choose_steps(self._times.curve(self._fit.steps_per_execution), self._bounds())

    def _conclude(self, from_gaps: tuple[float, float] | None = None) -> None:
        fit = self._fit
        fit.tell_executions()
        self._finished = True
        if not self.apply:
            fit.audience.stop_directing(self)
        present, host_ms = fit.steps_per_execution, self._times.host_ms
        samples, curve = self._times.samples(present), self._times.curve(present)
        resampled = resampled_curves(samples, host_ms, present)
        wait_ms = 0.0
        if from_gaps is not None:
            step_ms, per_execution_ms = from_gaps
            wait_ms = max(0.0, curve.in_graph_ms - step_ms)
            longer_ms = min(sorted(ms)[0] / n for n, ms in samples.items() if n != present)
            possible = curve.step_ms(present) - per_execution_ms / present <= 1.1 * longer_ms
            if possible and wait_ms > MOSTLY_INPUT * curve.in_graph_ms:
                # Times of executions are mostly waiting; the gaps know better.
                curve = curve.at_most(per_execution_ms, present)
                resampled = [each.at_most(per_execution_ms, present) for each in resampled]
        certain = self._times.surely_cheaper(present)
        record = recommend(
            curve,
            resampled,
            present,
            self._bounds(),
            certain=certain,
            input_wait_ms=wait_ms,
        )
        record.evidence.update(
            trials={n: median(found) / n for n, found in sorted(samples.items())},
            trial_executions=self._times.executions,
            extra_traces=self._trials.extra_traces,
            trial_s=self._times.trial_ns / 1e9,
            tracing_s=self._trials.tracing_s,
            host_ms=host_ms,
        )
        if record.steps_per_execution > present:
            record = replace(record, reason=record.reason + self._about_callbacks(record))
        self.recommendation = record
        self._measured_on = weakref.ref(fit.model)
        if certain:
            self._dispatch_ms = max(0.0, curve.cost_at(present) - host_ms)
            self._in_graph_ms = curve.in_graph_ms
            fit.trials.dispatch_share = self._dispatch_ms / median(samples[present])
        self._write(curve, record)

    def _about_callbacks(self, record: StepsPerExecution) -> str:
        """Which of the user's callbacks would be called less often."""
        hooks = self._trials.called_less_often()
        record.evidence["called_less_often"] = hooks
        if not hooks:
            return ""
        return f" Called once per {record.steps_per_execution} steps then: {', '.join(hooks)}."

    def _write(self, curve: CostCurve, record: StepsPerExecution) -> None:
        """What was found as scalars, and the curve as a table."""
        step = self._fit.step
        self.writer.scalars(step, recommendation_scalars(curve, record), time.time())
        self.writer.text(step, "perf/steps_per_execution", curve_markdown(curve, record))

    def not_observed(self, why: str) -> None:
        """Leaves the number as it is, and says why."""
        if self.observation is None:
            present = int(self.model.steps_per_execution)
        else:
            present = self.observation.steps_per_execution
        self.recommendation = StepsPerExecution(present, 1.0, 1.0, 1.0, f"not tried: {why}.", {})

    def executions_end(self) -> None:
        """Concludes from as many trials as there were."""
        if not self._finished and len(self._times.samples(self._fit.steps_per_execution)) > 1:
            self._conclude()

    def leaves(self, aborted: bool) -> None:
        """Leaves a recommendation, if only the reason why there is none."""
        if not self._finished:
            self.not_observed(self._refusal or "too few steps after warm-up to try another number")
        assert self.recommendation is not None
        record = self.recommendation
        self._fit.recording.context["steps_per_execution_trial"] = {
            "recommended": record.steps_per_execution,
            "predicted_speedup": record.predicted_speedup,
            "low": record.low,
            "high": record.high,
            "reason": record.reason,
            "applied": self._has_applied,
            "evidence": record.evidence,
        }
