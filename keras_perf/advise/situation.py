"""A run's summary, and the model of a step that is fitted to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from keras_perf.advise.interpreter import HELD_MS, cpu_beside_ms, interpreter_ms, runs_python
from keras_perf.advise.step.step_model import INSIDE, StepModel
from keras_perf.analyse.cpu_share import share_of_cores
from keras_perf.analyse.part_means import Figures
from keras_perf.analyse.resampling import resampled_means
from keras_perf.analyse.stage_paces import stage_paces
from keras_perf.analyse.start_up import compiling_ms, start_up_ms
from keras_perf.analyse.summary import Summary
from keras_perf.analyse.whole_training import compiles_once, measured_share
from keras_perf.records.run.run_facts import RunFacts

NEARLY_BUSY = 0.5
"""A prefetched pipeline that is busy for less than this share of a step keeps up: what a step still
waits is a fetch, or a stall now and then. Only where the buffer's fill is not known."""

HALF_EMPTY = 0.5
"""A prefetch buffer that is less full than this on average belongs to a pipeline that does not
keep up, whatever its stages are known to do; a fuller one waits for training."""

MOSTLY_AT_WORK = 0.7
"""A pipeline that works for more than this share of a step has little to spare."""

NOTICED = 0.1
"""Waiting for less than this share of a step tells nothing of who is behind."""

FETCHED_MS = 1.0
"""Fetching a batch that is ready takes less than this."""

UNSEEN_INSIDE = ("FlatMap", "Interleave")
"""Stages that run other pipelines, whose work tf.data forgets when they end."""

RUNS_AHEAD = "MapAndBatch"
"""What tf.data makes of a map and the batch behind it: a thread of its own makes the next batch."""

STALLS = ("input-stall", "shuffle-refill")
"""Causes of events that lie in the input pipeline."""

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
    def idle_ms(self) -> float:
        """For so many milliseconds of a step, at least, the train function only waited.

        Of the step less the host's own parts, what exceeds the CPU time that the process used
        with all of its threads: then none of them computed. That needs a CPU that trains alone
        and cores that are not busy with something else; elsewhere it is 0.

        What it cannot see: waiting in which another thread computes, such as a worker that
        makes the next batch.
        """
        sensors = self.summary.sensors
        alone = self.facts.settings.replicas == 1 and not self.summary.exchange
        spare = sensors.get("host/cpu_pct", 100.0) < SPARE_PCT
        mostly_steps = self.model.step_ms > MOSTLY_STEPS * self.model.whole_ms
        if self.model.on_gpu or not (self.model.cpu_ms and alone and spare and mostly_steps):
            return 0.0
        return max(0.0, self.model.rest.get("compute", 0.0) - self.model.cpu_ms)


def situation_of(summary: Summary) -> Situation:
    """Fits the model to what was measured."""
    parts = dict(summary.parts)
    if summary.exchange:
        # Removing the one leaves the other as it is, and what the worker computes itself.
        parts["wire"], parts["peer_wait"] = summary.wire_ms, summary.exchange["peer_wait"]
        parts["compute"] -= summary.exchange["communication"]
    wait = parts.pop("input_wait", 0.0)
    held_ms = interpreter_ms(summary)
    if held_ms:
        wait += _waiting_inside(parts, held_ms, summary)
    paces = stage_paces(summary.facts)
    costs = {pace.name: pace.ms for pace in paces}
    prefetched = any(pace.name.startswith("Prefetch") for pace in paces)
    prefetched = prefetched or bool(paces and paces[-1].name.startswith(RUNS_AHEAD))
    known = sum(costs.values())
    settings = summary.facts.settings
    ahead = settings.steps_per_execution > 1 and not settings.run_eagerly
    asks_ahead = bool(known) and ahead and not prefetched
    fill = summary.facts.input.prefetch_fill
    if fill is None:
        behind = known > NEARLY_BUSY * summary.step_ms
    else:
        seen = fill < HALF_EMPTY and wait > NOTICED * summary.step_ms
        behind = seen or wait - stalled(summary, *STALLS) > _paces_ms(summary.step_ms, known)
    if not (prefetched or asks_ahead or held_ms):
        produce = wait
    elif held_ms or (wait and behind):
        produce = summary.step_ms
        unseen = next((name for name in costs if name.startswith(UNSEEN_INSIDE)), None)
        if unseen is not None and known < NEARLY_BUSY * summary.step_ms:
            costs[unseen] += produce - known
            known = produce
    else:
        # Behind a full buffer only stalls are the input's; the rest is the price of fetching.
        parts["get_next"] = wait
        if fill is not None:
            parts["get_next"] = min(wait, stalled(summary, *STALLS))
            parts["fetch"] = wait - parts["get_next"]
        produce = min(known, summary.step_ms)
    stages = {n: ms * produce / known for n, ms in costs.items()} if known else {"input": produce}
    return Situation(
        summary,
        StepModel(
            stages=stages,
            prefetched=prefetched or asks_ahead or bool(held_ms),
            rest=parts,
            cpu_ms=summary.sensors.get("host/process_cpu_pct", 0.0) / 100 * summary.step_ms,
            cores=summary.facts.machine.cores,
            threads={pace.name: pace.threads for pace in paces},
            on_gpu=bool(summary.facts.machine.training_gpus),
            outside=summary.outside,
            start_up_ms=start_up_ms(summary) or 0.0,
            start_up_compiling_ms=compiling_ms(summary),
            compiling_share=measured_share(summary) if compiles_once(summary) else 1.0,
            once_between_ms=_once_between_ms(summary),
            undisturbed_ms=_undisturbed_ms(summary),
            pool=summary.facts.pool,
            waiting_share=_waiting_share(summary),
            python=runs_python(summary),
        ),
        held_ms,
        asks_ahead,
    )


def _once_between_ms(summary: Summary) -> float:
    """See `StepModel.once_between_ms`."""
    outside, steps = summary.facts.outside, summary.facts.length.steps
    if outside is None or outside.usual_epoch_rest_s is None or not steps:
        return 0.0
    usual_s = outside.usual_epoch_rest_s * outside.epoch_gaps
    return 1e3 * max(0.0, outside.epoch_rest_s - usual_s) / steps


def _waiting_share(summary: Summary) -> float:
    """See `StepModel.waiting_share`: all CPU time is taken for that of the maps.

    tf.data counts the waiting for a core as work, so of its time what others leave counts.
    """
    work_ms = sum(s.cost_ms for s in summary.facts.input.stages if s.runs_in_pool)
    work_ms *= share_of_cores(summary)
    cpu_ms = summary.sensors.get("host/process_cpu_pct", 0.0) / 100 * summary.step_ms
    waits_for_interpreter = summary.sensors.get("host/interpreter_wait_ms", 0.0) >= HELD_MS
    if not work_ms or not cpu_ms or (waits_for_interpreter and runs_python(summary)):
        return 0.0
    return max(0.0, 1 - cpu_ms / work_ms)


def _undisturbed_ms(summary: Summary) -> float | None:
    """Of computing alone: what the exchange of gradients takes lies in the measured one too."""
    measured = summary.facts.undisturbed_ms
    if measured is None:
        return None
    return max(0.0, measured - summary.exchange.get("communication", 0.0))


def _waiting_inside(parts: dict[str, float], held_ms: float, summary: Summary) -> float:
    """Takes out of the train function's parts what it waits for the interpreter, and returns it.

    What is left is what the quickest steps took, and where the CPU trains no more than the CPU
    time that was not the pipeline's; at least a tenth.
    """
    inside = sum(parts.get(part, 0.0) for part in INSIDE)
    if not inside:
        return 0.0
    known = _undisturbed_ms(summary), cpu_beside_ms(summary, held_ms)
    computing = max(0.1 * inside, min([inside, *(ms for ms in known if ms is not None)]))
    for part in INSIDE:
        if part in parts:
            parts[part] *= computing / inside
    return inside - computing


def _paces_ms(step_ms: float, known_ms: float) -> float:
    """Steps that wait for longer do not only fetch: a short training sees a buffer few times.

    Of the stages' work for a batch tf.data knows `known_ms`.
    """
    at_work = known_ms > MOSTLY_AT_WORK * step_ms
    return max(FETCHED_MS, step_ms * (NOTICED if at_work else 0.5))


def stalled(summary: Summary, *causes: str) -> float:
    """Waits far longer than usual, of these causes, in milliseconds per step."""
    totals = summary.facts.outliers.event_totals
    found = sum(total.total_ms for total in totals if total.cause in causes)
    return found / max(1, summary.steps)
