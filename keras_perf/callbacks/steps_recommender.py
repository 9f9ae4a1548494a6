"""StepsPerExecutionRecommender."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from keras_perf.callbacks.found_before import FoundBefore
from keras_perf.callbacks.observing_callback import ObservingCallback
from keras_perf.observation.listener import Director, Plan
from keras_perf.observation.observation import Observation
from keras_perf.observation.trials import Trials
from keras_perf.observers.steps_trial.conclusion import Conclusion, conclude
from keras_perf.observers.steps_trial.steps_choice import Bounds, choose_steps
from keras_perf.observers.steps_trial.trial_times import TrialTimes
from keras_perf.observers.steps_trial.trials_due import TrialQueue
from keras_perf.records.arguments import require_bool, require_int, require_number
from keras_perf.records.execution import Execution, Kind
from keras_perf.records.reasons.why_no_steps import WhyNoSteps
from keras_perf.report.steps_per_execution import StepsPerExecution
from keras_perf.report.text.text_tab import curve_markdown


class StepsPerExecutionRecommender(ObservingCallback, Director):
    """Measures what each execution costs and recommends `steps_per_execution`.

    After warm-up it runs a few executions of several steps in place of single ones: real steps
    in their real order, so that data, losses and final weights are bit for bit those of a run
    without it: the longer execution is a loop around the traced function that runs anyway, none
    of the user's code is traced again, and each of Keras's next calls is answered with the logs
    of its own step. From the lengths it fits T(N) = c + h / N and picks the smallest N within 2%
    of the floor c. Batch hooks of other callbacks are called for every batch, with its own logs;
    those of a trial when all of its steps have run, and not if one of its steps fails.

    Arguments:
        log_dir: the directory that TensorBoard is started on; str or os.PathLike.
        apply: run the rest of this `fit`, and later ones with this callback, at the
            recommended N; a later one whose steps are too long for it is tried anew.
        limit: the largest N to recommend.
        max_execution_s: no execution is to last longer, in seconds.

    Attributes:
        recommendation: after `fit`, a `StepsPerExecution`: `.steps_per_execution`,
            `.predicted_speedup` with `.low` and `.high`, `.reason`, `.evidence`, `.plot()`.

    Raises:
        TypeError, ValueError, OSError: a wrong argument, or `log_dir` cannot be written.

    It does not try, and says why, where that could change training or could not pay: a callback
    with batch hooks that may steer training or that save the model between batches, a step that
    draws `tf.random` numbers or writes summaries, `run_eagerly`, an epoch too short, long steps,
    a train function that takes long to compile against the steps left, several workers. With
    several replicas it first compares, on batches of zeros, whether their weights come out the same
    bit for bit.

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
        self._found_before = FoundBefore()
        self._forget()

    def _forget(self) -> None:
        self._refusal: str | None = None
        self._finished = self._has_applied = self._refused = False
        self._queue, self._times = TrialQueue(), TrialTimes()
        self._conclusion: Conclusion | None = None

    @property
    def _trials(self) -> Trials:
        return self._training.trials

    def observation_begins(self, observation: Observation) -> None:
        """Checks what can be checked before the first step."""
        known, before = self.recommendation, self._found_before
        self._forget()
        refusal = observation.trials.reason_not_to_try()
        if refusal is not None:
            self._refuse(refusal)
        elif self.apply and known is not None and known.evidence:
            self._finished = before.holds(observation.model, observation.epoch_steps)

    def executions(self, executions: Sequence[Execution]) -> None:
        """Collects times of the present length, and of trials."""
        if not self._refused and self._conclusion is None:
            present = self._training.steps_per_execution
            kept = (e for e in executions if e.steps == present or e.kind is not Kind.STEADY)
            self._times.add(kept)

    asked_last = True

    def wants(self, plan: Plan) -> bool:
        """Once applied, each ordinary execution; else those in whose place a trial may come."""
        if plan.kind is not Kind.STEADY or plan.steps != self._training.steps_per_execution:
            return False
        return self._finished or (self._queue.ordinary_follows() and self._has_room())

    def direct(self, plan: Plan) -> Plan:
        """Puts a trial, or once applied an execution of the recommended length, in its place."""
        if self._finished:
            too_long = self._found_before.too_long(self._times, plan.steps, self.max_execution_s)
            self._finished = not too_long
            return self._applied(plan) if too_long is False else plan
        if not self._queue.next_steps:
            self._look_further(plan)
        steps = self._queue.next_steps
        if not steps or not self._has_room() or not self._prepared():
            return plan
        return self._trials.longer(plan, self._queue.take(), Kind.TRIAL)

    def _has_room(self) -> bool:
        """The next trial fits in.

        An epoch's first execution may wait for a shuffle, which the second one's begin tells.
        """
        room, free = self._queue.room_steps, self._training.audience.free_steps()
        begun = self._training.batch > self._training.steps_per_execution
        return begun and min(self._trials.at_most(room), free) >= room

    def function_replaced(self) -> None:
        """The longer functions train as the model was before: they are not run any more."""
        self._refuse(WhyNoSteps.REPLACED.of())

    def _look_further(self, plan: Plan) -> None:
        """Makes more trials due, or concludes; neither while too little is known."""
        room = self._trials.room(self._times, plan.steps, self.limit, self.max_execution_s)
        if room is None:
            return
        if self._times.lengths and not self._times.measured:
            self._refuse(WhyNoSteps.RAISED.of())
            return
        self._refusal = self._queue.fill(room, self._times, self._chosen_so_far)
        if self._refusal is not None:
            # The first executions alone may have been disturbed.
            if self._times.settled:
                self._refuse(self._refusal)
        elif not self._queue.next_steps:
            found = self._found(self._training.gaps_of_single_steps())
            if not (found.unclear and self._queue.repeat(room, self._times)):
                self._conclude(found)

    def _prepared(self) -> bool:
        """Longer executions can be run; if they cannot, why not."""
        refusal = self._trials.refuses()
        if refusal is not None:
            self._refuse(refusal)
        return refusal is None

    def _refuse(self, why: str) -> None:
        """No more trials in this training."""
        self._refusal, self._refused = why, True
        self._training.audience.stop_directing(self)

    def _applied(self, plan: Plan) -> Plan:
        chosen = min(self._found_before.steps, self._training.audience.free_steps())
        chosen = chosen // plan.steps * plan.steps
        steps = self._trials.at_most(chosen) if self.apply else 0
        if steps > plan.steps and self._prepared():
            self._has_applied = True
            if self._conclusion is not None:
                self._trials.dispatch = self._conclusion.dispatch_of(steps)
            return self._trials.longer(plan, steps, Kind.STEADY)
        return plan

    def _bounds(self) -> Bounds:
        return self._trials.bounds(self.limit, self.max_execution_s)

    def _chosen_so_far(self) -> int:
        return choose_steps(self._times.curve(self._training.steps_per_execution), self._bounds())

    def _found(self, gaps_us: Sequence[int] = ()) -> Conclusion:
        return conclude(self._times, self._training.steps_per_execution, self._bounds(), gaps_us)

    def _conclude(self, found: Conclusion) -> None:
        fit, trials = self._training, self._trials
        self._finished = True
        if not self.apply:
            fit.audience.stop_directing(self)
        self._conclusion = found
        record = replace(
            found.record,
            extra_traces=trials.extra_traces,
            tracing_s=trials.tracing_s,
            called_less_often=tuple(trials.called_less_often()),
        )
        self.recommendation = StepsPerExecution.of(record)
        cost_ms = record.per_execution_ms or 0.0
        self._found_before.keep(fit.model, self.recommendation.steps_per_execution, cost_ms)
        if found.dispatch is not None:
            trials.dispatch = found.dispatch
        self.writer.scalars(fit.step, found.scalars)
        table = curve_markdown(found.curve, record)
        self.writer.text(fit.step, "perf/steps_per_execution", table)
        self._record()
        # A run that is killed later, or looked at while it runs, shows what was found.
        fit.recording.write_facts(fit.step)

    def not_observed(self, why: str) -> None:
        """Leaves the number as it is, and says why."""
        if self.observation is None:
            present = int(self.model.steps_per_execution)
        else:
            present = self.observation.steps_per_execution
        self.recommendation = StepsPerExecution(
            steps_per_execution=present, present=present, not_tried=why
        )

    def executions_end(self) -> None:
        """Concludes from as many trials as there were."""
        if not self._finished and len(self._times.samples(self._training.steps_per_execution)) > 1:
            self._conclude(self._found())

    def leaves(self, aborted: bool) -> None:
        """Leaves a recommendation, if only the reason why there is none."""
        if not self._finished:
            self.not_observed(self._refusal or WhyNoSteps.FEW_STEPS.of())
        self._record()

    def _record(self) -> None:
        assert self.recommendation is not None
        recording = self._training.recording
        self.recommendation = replace(self.recommendation, applied=self._has_applied)
        recording.facts = replace(recording.facts, trial=self.recommendation)
