"""Tables of what was measured beside the parts of a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keras_perf.analyse.stage_paces import stage_paces
from keras_perf.analyse.summary import Summary
from keras_perf.records.run.inference import Inference

Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]
"""Title, header, rows."""

SHOWN_EVENTS = 8

WORKERS = "Workers, per step"
INFERENCE = "Validation, evaluate and predict, per batch"
OWNERS = "Host time by owner, per step"
EVENTS = "Steps and pauses far longer than usual"


def measured_tables(summary: Summary) -> Iterator[Table]:
    """Those for which there are figures."""
    if summary.workers:
        header = ["worker", "step ms", "input wait", "compute", "communication", "host"]
        rows = [[str(each.number), *map(_figure, each[2:])] for each in summary.workers]
        yield WORKERS, header, rows
    if owners := summary.owners:
        rows = [
            [owner, f"{ms:.3f}", f"{ms / summary.step_ms:.0%}"]
            for owner, ms in sorted(owners.items(), key=lambda item: -item[1])
            if ms > 0.01 * summary.step_ms
        ]
        if rows:
            yield OWNERS, ["owner", "ms", "share"], rows
    if summary.facts.inference:
        yield INFERENCE, _INFERENCE_HEADER, [*map(_call_row, summary.facts.inference.items())]
    if summary.facts.input.stages:
        yield _stages(summary)
    if totals := summary.facts.outliers.event_totals:
        rows = [
            [
                " ".join(dict.fromkeys(filter(None, (total.cause, total.owner)))),
                str(total.count),
                f"{total.total_ms:.1f}",
            ]
            for total in totals[:SHOWN_EVENTS]
        ]
        yield EVENTS, ["cause", "times", "longer by, ms"], rows


def _figure(ms: float | None) -> str:
    return "–" if ms is None else f"{ms:.3f}"


_INFERENCE_PARTS = ("input_wait", "compute", "dispatch", "callbacks", "compile")
_INFERENCE_HEADER = (
    *("", "calls", "batches", "ms"),
    *(part.replace("_", " ") for part in _INFERENCE_PARTS),
    *("other", "examples/s"),
)


def _call_row(found: tuple[str, Inference]) -> list[str]:
    """What is beside the executions, and Keras's own work between them, is `other`."""
    kind, calls = found
    other = (calls.per_step_ms(part) for part in ("starting", "other_host"))
    pace = calls.examples_per_sec
    return [
        kind,
        str(calls.calls),
        str(calls.steps),
        f"{calls.step_ms:.3f}",
        *(_figure(calls.per_step_ms(part)) for part in _INFERENCE_PARTS),
        f"{sum(filter(None, other)):.3f}",
        "–" if pace is None else f"{pace:,.0f}",
    ]


def _stages(summary: Summary) -> Table:
    """From the source to the last one; the slowest sets the pace."""
    rows = [
        [
            f"{pace.name} ← sets the pace" if pace.sets_the_pace else pace.name,
            f"{pace.ms:.3f}",
            str(pace.threads),
            f"{pace.stage.buffered}/{pace.stage.buffer_size}" if pace.stage.buffer_size else "",
            "" if pace.share is None else f"{pace.share:.0%}",
        ]
        for pace in stage_paces(summary.facts)
    ]
    return "Input pipeline, per batch", ["stage", "ms", "threads", "buffer", "share"], rows
