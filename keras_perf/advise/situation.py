"""A run's summary, and the model of a step that is fitted to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from keras_perf.advise.step.computing import on_its_core_ms, undisturbed_ms
from keras_perf.advise.step.fitted import IN_PROCESSES
from keras_perf.advise.step.hooks_without_a_core import may_have_waited_ms
from keras_perf.advise.step.interpreter import HELD_MS, interpreter_ms, runs_python
from keras_perf.advise.step.making import making_ms
from keras_perf.advise.step.step_model import StepModel
from keras_perf.advise.step.step_parts import StepParts, step_parts
from keras_perf.analyse.cpu_share import is_throttled, share_of_cores, share_when_asked, used_pct
from keras_perf.analyse.of_intervals.part_means import Figures
from keras_perf.analyse.of_intervals.resampling import resampled_means
from keras_perf.analyse.stage_paces import stage_paces
from keras_perf.analyse.start_up_shares import compiling_ms, start_up_ms
from keras_perf.analyse.summary import Summary
from keras_perf.analyse.whole_training import compiles_once, measured_share
from keras_perf.records.run.run_facts import RunFacts

SPARE_PCT = 70.0
"""Below this use of all cores a thread that can compute finds one."""

MOSTLY_STEPS = 0.8
"""CPU use is sampled over the whole training: it says little of steps that are less of it."""


@dataclass(frozen=True)
class Situation:
    """A summary, and the model that was fitted to it.

    `interpreter_ms` is for how much of a step the input pipeline's Python code holds the
    interpreter; 0 where it does not keep training waiting. `asks_ahead` where nothing prefetches,
    but an execution has several steps: while one computes, the next one's batch is asked for.
    """

    summary: Summary
    model: StepModel
    interpreter_ms: float = 0.0
    asks_ahead: bool = False

    @property
    def own_dataset(self) -> bool:
        """The pipeline is the user's own, not one that Keras made of arrays or of Python."""
        return self.facts.input.input_kind in ("tf.data", None)

    @property
    def facts(self) -> RunFacts:
        """What is known of the run beside its figures."""
        return self.summary.facts

    @cached_property
    def runs_python(self) -> bool:
        """Something of the input pipeline is Python code."""
        return runs_python(self.summary)

    @cached_property
    def share_of_cores(self) -> float:
        """What other processes leave of the CPUs."""
        return share_of_cores(self.summary)

    @property
    def input_measured(self) -> bool:
        """The input wait is known."""
        return "input_wait" in self.summary.parts

    @cached_property
    def step_draws(self) -> Figures:
        """Draws of the mean step from its intervals, in milliseconds; at least one interval."""
        return resampled_means(self.summary.intervals[["steps", "step"]], 0)["step"]

    @cached_property
    def paces(self) -> dict[str, float]:
        """Milliseconds per batch of each stage as tf.data counts them, as a reader is shown them.

        The model's may be longer, where tf.data does not know all of the work, and shorter.
        """
        return {pace.name: pace.ms for pace in stage_paces(self.facts)}

    @property
    def able_ms(self) -> float:
        """What a batch would take if nothing but the stages' work, as tf.data counts it, did."""
        return sum(self.paces.values())

    @property
    def hooks_ms(self) -> dict[str, float]:
        """By owner, what is surely its own of a step: without what may be waiting for a core."""
        waited = may_have_waited_ms(self.summary)
        return {name: ms - waited.get(name, 0.0) for name, ms in self.summary.owners.items()}

    @property
    def steps_between_hooks(self) -> int:
        """From one call in which the dearest hook does its work to the next."""
        owners = self.hooks_ms
        dearest = max(owners, key=lambda owner: owners[owner], default="")
        calls, at_once = self.facts.hooks.get(dearest), self.facts.settings.steps_per_execution
        return at_once * (calls.every if calls is not None else 1)

    @cached_property
    def making_ms(self) -> float:
        """CPU time of making a batch in Python; 0 where tf.data tells what its stages take."""
        return making_ms(self.summary)

    @property
    def work_beside_ms(self) -> float:
        """CPU time, at most, of making a batch while a step computes on the same cores.

        What tf.data takes for a stage's work may be waiting: of it no more counts than the
        process used beside one core's computing, as far as that is no waiting for its core, and
        nothing where that was not sampled.
        """
        model = self.model
        if model.on_gpu or not model.prefetched:
            return 0.0
        if self.making_ms:
            return self.making_ms
        computing_ms = model.rest.get("compute", 0.0)
        if model.on_its_core_ms is not None and model.alone_ms is not None:
            computing_ms = model.own_share * min(computing_ms, model.alone_ms)
        most_ms = max(0.0, model.cpu_ms - computing_ms)
        work_ms = model.own_share * model.work_ms(model.stages)
        return min(most_ms, work_ms * (1 - model.waiting_share))

    @property
    def idle_ms(self) -> float:
        """For so many milliseconds of a step, at least, the train function only waited.

        Of the step less the host's own parts, what exceeds the CPU time that the process used
        with all of its threads: then none of them computed. That needs a CPU that trains alone
        and cores that are not busy with something else; elsewhere it is 0.

        What it cannot see: waiting in which another thread computes, such as a worker that
        makes the next batch.
        """
        sensors, cpu_ms = self.summary.sensors, _process_ms(self.summary)
        alone = self.facts.settings.replicas == 1 and not self.summary.exchange
        spare = sensors.get("host/cpu_pct", 100.0) < SPARE_PCT and not is_throttled(self.summary)
        mostly_steps = self.model.step_ms > MOSTLY_STEPS * self.model.whole_ms
        if self.model.on_gpu or not (cpu_ms and alone and spare and mostly_steps):
            return 0.0
        return max(0.0, self.model.rest.get("compute", 0.0) - cpu_ms)


def situation_of(summary: Summary) -> Situation:
    """Fits the model to what was measured."""
    held_ms = interpreter_ms(summary)
    parts = step_parts(summary, held_ms)
    return Situation(summary, _model(summary, parts), held_ms, parts.asks_ahead)


def _model(summary: Summary, parts: StepParts) -> StepModel:
    facts = summary.facts
    return StepModel(
        stages=parts.stages,
        prefetched=parts.prefetched,
        rest=parts.rest,
        cpu_ms=_cpu_ms(summary),
        cores=facts.machine.cores,
        taken_share=1 - share_of_cores(summary),
        side_by_side=parts.side_by_side,
        threads={pace.name: pace.threads for pace in stage_paces(facts)},
        on_gpu=facts.on_gpus,
        outside=summary.outside,
        start_up_ms=start_up_ms(summary) or 0.0,
        start_up_compiling_ms=compiling_ms(summary),
        compiling_share=measured_share(summary) if compiles_once(summary) else 1.0,
        once_between_ms=_once_between_ms(summary),
        undisturbed_ms=undisturbed_ms(summary),
        on_its_core_ms=on_its_core_ms(summary),
        least_inside_ms=parts.least_inside,
        pool=facts.pool,
        waiting_share=_waiting_share(summary),
        python=runs_python(summary),
        per_share=IN_PROCESSES if facts.input.input_processes else 1.0,
    )


def _process_ms(summary: Summary) -> float:
    """CPU time of this process in a step, on all cores; 0 where it was not sampled."""
    return summary.sensors.get("host/process_cpu_pct", 0.0) / 100 * summary.step_ms


def _cpu_ms(summary: Summary) -> float:
    """Of all cores in a step, with processes that make batches; 0 where it was not sampled."""
    return used_pct(summary) / 100 * summary.step_ms


def _once_between_ms(summary: Summary) -> float:
    """See `StepModel.once_between_ms`."""
    outside, steps = summary.facts.outside, summary.facts.length.steps
    return 1e3 * outside.once_between_s / steps if outside is not None and steps else 0.0


def _waiting_share(summary: Summary) -> float:
    """See `StepModel.waiting_share`: all CPU time of the process is taken for that of the maps.

    tf.data counts the waiting for a core as work, so of its time the share of the cores counts.
    """
    work_ms = sum(s.cost_ms for s in summary.facts.input.stages if s.runs_in_pool)
    work_ms *= share_when_asked(summary)
    cpu_ms = _process_ms(summary)
    waits_for_interpreter = summary.sensors.get("host/interpreter_wait_ms", 0.0) >= HELD_MS
    if not work_ms or not cpu_ms or (waits_for_interpreter and runs_python(summary)):
        return 0.0
    return max(0.0, 1 - cpu_ms / work_ms)
