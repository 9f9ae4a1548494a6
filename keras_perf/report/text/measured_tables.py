"""Tables of what was measured beside the parts of a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keras_perf.advise.notes.memory.device_memory import with_twice_the_batch
from keras_perf.analyse.stage_paces import shown_paces
from keras_perf.analyse.start_up_shares import StartUpTime, start_up_time
from keras_perf.analyse.summary import Summary
from keras_perf.analyse.worker import Worker
from keras_perf.records.figures import UNKNOWN, counted, in_form, in_percent
from keras_perf.records.interval import part_name
from keras_perf.records.run.devices.device_memory import DeviceMemory
from keras_perf.records.run.inference import FIT, Inference
from keras_perf.records.run.times.outlier import cause_name
from keras_perf.report.text.batch_sizes_table import BATCH_SIZES, HEADER, batch_size_rows
from keras_perf.report.text.learning_rates_table import (
    LEARNING_RATES,
    RATES_HEADER,
    learning_rate_rows,
)
from keras_perf.report.text.tried_tables import (
    INPUT_CHANGES,
    INPUT_HEADER,
    TRIED,
    TRIED_BEFORE,
    TRIED_HEADER,
    advice_rows,
    input_outcome,
    input_rows,
)

Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]
"""Title, header, rows."""

SHOWN_EVENTS = 8

DEVICES = "Memory that was allocated on the devices"
WORKERS = "Workers, per step"
INFERENCE = "Validation, evaluate and predict, per batch"
OWNERS = "Host time by owner, per step"
EVENTS = "Steps and pauses far longer than usual"
START_UP = "Start-up, until steps were steady"

SHOWN_S = 0.05
"""Parts of the start-up that take less are left out."""

START_UP_PARTS = {
    "before_first_step": "before the first step",
    "tracing": "tracing the train function",
    "first_batch": "first batch, preparing the graph",
    "first_computing": "compiling, computing for the first time",
    "first_execution": "first execution, otherwise",
    "warmup_input": "warm-up, waiting for input (buffers, autotune: not told apart)",
    "warmup_compiling": "warm-up, tracing and compiling for more shapes",
    "rest_of_warmup": "warm-up, the rest",
    "later_cache": "later steps that fill the cache",
    "later_input": "later steps that wait longer for input (buffers, autotune: not told apart)",
    "later_compiling": "later steps that are traced or compiled for",
    "later_rest": "later steps that are slower otherwise",
}


def measured_tables(summary: Summary) -> Iterator[Table]:
    """Those for which there are figures."""
    if summary.workers:
        header = ["worker", "step ms", "input wait", "compute", "communication", "host"]
        yield WORKERS, header, [*map(_of_worker, summary.workers)]
    if owners := summary.owners:
        rows = [
            [owner, f"{ms:.3f}", in_percent(ms / summary.step_ms)]
            for owner, ms in sorted(owners.items(), key=lambda item: -item[1])
            if ms > 0.01 * summary.step_ms
        ]
        if rows:
            yield OWNERS, ["owner", "ms", "share"], rows
    if calls := [each for each in summary.facts.inference.items() if each[0] != FIT]:
        yield INFERENCE, _INFERENCE_HEADER, [*map(_call_row, calls)]
    if summary.facts.input.stages:
        yield _stages(summary)
    if devices := summary.facts.gpu.device_memory:
        own = summary.facts.gpu.has_own_peak
        rows = [_of_device(device, own=own(device)) for device in devices]
        header = ["device", "now, MiB", "peak", "limit", "room", "peak with twice the batch"]
        yield DEVICES, header, rows
    if totals := summary.facts.outliers.event_totals:
        rows = [
            [
                " ".join(dict.fromkeys(filter(None, (cause_name(total.cause), total.owner)))),
                str(total.count),
                f"{total.total_ms:.1f}",
            ]
            for total in totals[:SHOWN_EVENTS]
        ]
        yield EVENTS, ["cause", "times", "longer by in all, ms"], rows
    yield from _tried(summary)
    if (sizes := summary.facts.batch_sizes) is not None:
        yield BATCH_SIZES, HEADER, [*batch_size_rows(sizes)]
    if (found := summary.facts.learning_rates) and (rates := [*learning_rate_rows(found)]):
        yield LEARNING_RATES, RATES_HEADER, rates
    if (spent := start_up_time(summary)) is not None:
        yield START_UP, ["what", "s"], _start_up(spent)


def _tried(summary: Summary) -> Iterator[Table]:
    """Advice that was tried; of a training, what was tried on it stands in its notes and advice."""
    facts = summary.facts
    trials = {TRIED_BEFORE: facts.tried_before}
    if not summary.steps:
        trials[TRIED] = facts.advice_trials
    for title, found in trials.items():
        if found is not None and (rows := [*advice_rows(found)]):
            yield title, TRIED_HEADER, rows
    if (changes := facts.input_changes) is not None:
        outcome = ["", "", "", input_outcome(changes)]
        yield INPUT_CHANGES, INPUT_HEADER, [*input_rows(changes), outcome]


def _start_up(spent: StartUpTime) -> list[list[str]]:
    rows = []
    for part, seconds in spent.parts.items():
        name = START_UP_PARTS[part]
        if part == "first_batch" and spent.fill_s is not None and spent.fill_s >= SHOWN_S:
            name += f" (about {spent.fill_s:.2f} s of it: filling the shuffle buffer)"
        if seconds >= SHOWN_S:
            rows.append([name, f"{seconds:.2f}"])
    return [*rows, [f"in all, in {counted(spent.steps, 'step')}", f"{spent.total_s:.2f}"]]


def _of_device(device: DeviceMemory, *, own: bool) -> list[str]:
    """Its row; where the peak is not the training's own, at most that and at least so much room."""
    peak, limit, twice = device.peak_mib, device.limit_mib, with_twice_the_batch(device)
    at_most, at_least = ("", "") if own else ("≤ ", "≥ ")
    room = UNKNOWN if limit is None else f"{at_least}{max(0.0, limit - peak):.0f}"
    most = UNKNOWN if limit is None else f"{limit:.0f}"
    now = f"{device.current_mib:.0f}"
    return [device.name, now, f"{at_most}{peak:.0f}", most, room, f"{at_most}{twice:.0f}"]


_INFERENCE_PARTS = ("input_wait", "compute", "dispatch", "callbacks", "compile")
_INFERENCE_HEADER = (
    *("", "calls", "batches", "ms"),
    *map(part_name, _INFERENCE_PARTS),
    *("other", "examples/s"),
)


def _call_row(found: tuple[str, Inference]) -> list[str]:
    """What is beside the executions, and Keras's own work between them, is `other`."""
    kind, calls = found
    others = (calls.per_step_ms(part) for part in ("starting", "other_host"))
    known = bool(calls.steps)
    pace = calls.examples_per_sec
    return [
        kind,
        str(calls.calls),
        str(calls.steps) if known else UNKNOWN,
        in_form(calls.step_ms if known else None),
        *(in_form(calls.per_step_ms(part)) for part in _INFERENCE_PARTS),
        in_form(sum(filter(None, others)) if known else None),
        in_form(pace, "{:,.0f}"),
    ]


def _of_worker(worker: Worker) -> list[str]:
    parts_ms = worker.input_wait_ms, worker.compute_ms, worker.communication_ms, worker.host_ms
    return [str(worker.number), *map(in_form, (worker.step_ms, *parts_ms))]


def _stages(summary: Summary) -> Table:
    """From the source to the last one; the slowest sets the pace."""
    rows = [
        [
            f"{pace.name} ← sets the pace" if pace.sets_the_pace else pace.name,
            f"{pace.ms:.3f}",
            str(pace.threads),
            f"{pace.stage.buffered}/{pace.stage.buffer_size}" if pace.stage.buffer_size else "",
            "" if pace.share is None else in_percent(pace.share),
        ]
        for pace in shown_paces(summary.facts)
    ]
    return "Input pipeline, per batch", ["stage", "ms", "threads", "buffer", "share"], rows
