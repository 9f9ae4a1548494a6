"""What the input takes of a step and what all else does, as far as it was measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from keras_perf.advise.step.computing import (
    ELSEWHERE,
    STEPS_TELL,
    UNSEEN_INSIDE,
    add_what_is_computed_meanwhile,
    has_several_steps,
    take_waiting_out,
)
from keras_perf.advise.step.hooks_without_a_core import may_have_waited_ms
from keras_perf.advise.step.making import hidden_making_ms, pace_ms
from keras_perf.analyse.cpu_share import held_back, is_throttled
from keras_perf.analyse.of_intervals.epoch_begins import AT_BEGINS, begins_for_one
from keras_perf.analyse.stage_paces import StagePace, stage_paces
from keras_perf.analyse.summary import Summary
from keras_perf.records.run.times.hook_calls import HELD_MS, STOPPED_MS
from keras_perf.records.run.times.outlier import Cause

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

RUNS_AHEAD = "MapAndBatch"
"""What tf.data makes of a map and the batch behind it: a thread of its own makes the next batch."""

UNEXPLAINED = 3.0
"""Training waits so many times as long as the stages work: they are not what it waits for."""

SIDE_BY_SIDE = ("Parallel", "LegacyParallel", "Prefetch", RUNS_AHEAD)
"""Stages that work while those before and behind them do."""

STALLS = (Cause.INPUT, Cause.SHUFFLE)
"""Causes of events that lie in the input pipeline."""


class StepParts(NamedTuple):
    """In milliseconds."""

    stages: dict[str, float]
    """Of a batch, by stage of the input pipeline."""
    rest: dict[str, float]
    """All other parts of a step; `for_a_core`: see `_waits_for_a_core`, `hooks_for_a_core` the same
    of hooks: see `may_have_waited_ms`."""
    side_by_side: float
    """See `StepTime`."""
    prefetched: bool
    """The input runs ahead of training, or is taken for one that does."""
    asks_ahead: bool
    """See `Situation`."""
    least_inside: float
    """See `StepTime.least_inside_ms`."""


def step_parts(summary: Summary, held_ms: float) -> StepParts:
    """What the input takes, as its stages' share, and what is left.

    Arguments:
        summary: of a run with measured steps.
        held_ms: for how much of a step the input's Python code holds the interpreter.
    """
    rest = _apart(summary)
    wait = rest.pop("input_wait", 0.0)
    if held_ms:
        wait += take_waiting_out(rest, held_ms, summary)
    paces = stage_paces(summary.facts)
    costs = {pace.name: pace.ms for pace in paces}
    known = sum(costs.values())
    runs_ahead = _runs_ahead(paces)
    asks_ahead = bool(known) and has_several_steps(summary) and not runs_ahead
    prefetched, side_by_side, least_inside = runs_ahead or asks_ahead or bool(held_ms), 1.0, 0.0
    if hidden_ms := 0.0 if held_ms else hidden_making_ms(summary, wait):
        prefetched, rest["get_next"] = True, wait
        produce = min(pace_ms(summary), summary.step_ms)
        side_by_side = hidden_ms / produce if produce else 1.0
    elif not held_ms and _waits_for_a_core(summary, wait, paces):
        produce = known
        rest["for_a_core"] = wait if prefetched else wait - known
    elif not prefetched:
        produce = wait
    elif held_ms or (wait and _is_behind(summary, wait, known)):
        produce = summary.step_ms
        if unseen := _unseen(costs, summary.step_ms):
            costs[unseen] += produce - known
            known = produce
        elif not held_ms:
            least_inside = add_what_is_computed_meanwhile(rest, wait, summary)
    else:
        rest |= _of_stalls_and_fetching(summary, wait)
        produce = min(known, summary.step_ms)
        if (summary.facts.input.prefetch_fill or 0.0) >= HALF_EMPTY:
            # It waits for training: its stages work side by side, each no longer than a step.
            all_ms, produce = produce, min(produce, _slowest_ms(paces))
            side_by_side = all_ms / produce if produce else 1.0
    stages = {n: ms * produce / known for n, ms in costs.items()} if known else {"input": produce}
    return StepParts(stages, rest, side_by_side, prefetched, asks_ahead, least_inside)


def _apart(summary: Summary) -> dict[str, float]:
    """The parts as they were measured, with what may go by itself apart from what stays then."""
    parts = dict(summary.parts)
    if summary.exchange:
        # Removing the one leaves the other as it is, and what the worker computes itself.
        parts["wire"], parts["peer_wait"] = summary.wire_ms, summary.exchange["peer_wait"]
        parts["compute"] -= summary.exchange["communication"]
    if waited_ms := min(sum(may_have_waited_ms(summary).values()), parts.get("callbacks", 0.0)):
        parts["callbacks"] -= waited_ms
        parts["hooks_for_a_core"] = waited_ms
    return parts


def _slowest_ms(paces: Sequence[StagePace]) -> float:
    """What takes longest of what runs side by side: a parallel stage has threads of its own."""
    longest = in_turn = 0.0
    for pace in paces:
        if pace.name.startswith(SIDE_BY_SIDE):
            longest, in_turn = max(longest, in_turn, pace.ms), 0.0
        else:
            in_turn += pace.ms
    return max(longest, in_turn)


def _runs_ahead(paces: Sequence[StagePace]) -> bool:
    """A stage makes batches while training computes."""
    prefetches = any(pace.name.startswith("Prefetch") for pace in paces)
    return prefetches or bool(paces and paces[-1].name.startswith(RUNS_AHEAD))


def _is_behind(summary: Summary, wait_ms: float, known_ms: float) -> bool:
    """The pipeline does not keep up, though it runs ahead."""
    fill = summary.facts.input.prefetch_fill
    if fill is None:
        return known_ms > NEARLY_BUSY * summary.step_ms
    if fill < HALF_EMPTY and wait_ms > NOTICED * summary.step_ms:
        return True
    return wait_ms - stalled(summary, *STALLS) > _paces_ms(summary.step_ms, known_ms)


def _waits_for_a_core(summary: Summary, wait_ms: float, paces: Sequence[StagePace]) -> bool:
    """Others have the CPUs, and its input's work explains little of what a step waits for it.

    A batch that is ready, or nearly so, is handed over by threads that found no core. A stage's
    work counts whole, however many threads share it: one batch may wait for all of its own.
    """
    names = (pace.name for pace in paces)
    all_known = bool(paces) and not any(name.startswith(ELSEWHERE) for name in names)
    counted_ms = _long_stalls(summary) + sum(pace.stage.cost_ms for pace in paces)
    work_ms = max(counted_ms, _worked_meanwhile_ms(summary, wait_ms))
    return all_known and held_back(summary) and wait_ms > UNEXPLAINED * work_ms


def _worked_meanwhile_ms(summary: Summary, wait_ms: float) -> float:
    """CPU time that the process used in the wait, at least: the step's rest has no room for more.

    tf.data counts less of it where a function is called for each example. 0 where it may be of
    something else, as of what runs between steps, which is sampled with them.
    """
    facts, step_ms = summary.facts, summary.step_ms
    between = step_ms < STEPS_TELL * (step_ms + sum(summary.outside.values()))
    of_another = facts.on_gpus or is_throttled(summary) or has_several_steps(summary) or between
    if of_another or facts.machine.cpu_count is None:
        return 0.0
    sensors = summary.sensors
    used_pct = sensors.get("host/process_cpu_pct", 0.0)
    used_pct -= sensors.get("host/python_threads_cpu_pct", 0.0)
    return used_pct / 100 * step_ms - facts.machine.cpu_count * (step_ms - wait_ms)


def _long_stalls(summary: Summary) -> float:
    """Those of the input, unless they are no longer than a thread waits for a core."""
    times, total_ms = summary.facts.outliers.of(Cause.INPUT)
    waits_ms = STOPPED_MS if is_throttled(summary) else HELD_MS
    causes = STALLS if total_ms > times * waits_ms else (Cause.SHUFFLE,)
    return stalled(summary, *causes)


def _unseen(costs: Mapping[str, float], step_ms: float) -> str | None:
    """The stage whose inner pipelines do what tf.data does not tell of; None where it tells."""
    if sum(costs.values()) >= NEARLY_BUSY * step_ms:
        return None
    return next((name for name in costs if name.startswith(UNSEEN_INSIDE)), None)


def _of_stalls_and_fetching(summary: Summary, wait_ms: float) -> dict[str, float]:
    """Behind a full buffer only stalls are the input's; the rest is the price of fetching.

    Short ones, where others have the cores, may be waiting for one.
    """
    if summary.facts.input.prefetch_fill is None:
        return {"get_next": wait_ms}
    all_ms = stalls_ms = min(wait_ms, stalled(summary, *STALLS))
    if held_back(summary):
        stalls_ms = min(all_ms, _long_stalls(summary))
    short_ms = {"for_a_core": all_ms - stalls_ms} if stalls_ms < all_ms else {}
    return {"get_next": stalls_ms, "fetch": wait_ms - all_ms, **short_ms}


def _paces_ms(step_ms: float, known_ms: float) -> float:
    """Steps that wait for longer do not only fetch: a short training sees a buffer few times.

    Of the stages' work for a batch tf.data knows `known_ms`.
    """
    at_work = known_ms > MOSTLY_AT_WORK * step_ms
    return max(FETCHED_MS, step_ms * (NOTICED if at_work else 0.5))


def stalled(summary: Summary, *causes: Cause) -> float:
    """Waits far longer than usual, of these causes, in milliseconds per step."""

    def per_step_ms(some: Iterable[Cause], steps: float) -> float:
        _, total_ms = summary.facts.outliers.of(*some)
        return total_ms / max(1, steps)

    at_begins = set(AT_BEGINS) & set(causes)
    amid_epochs = set(causes) - at_begins
    all_steps = summary.after_warmup / begins_for_one(summary.facts)
    return per_step_ms(at_begins, all_steps) + per_step_ms(amid_epochs, summary.steps)
