"""Tables of what was measured beside the parts of a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keras_perf.analyse.summary import Summary

Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]
"""Title, header, rows."""

SHOWN_EVENTS = 8

WORKERS = "Workers, per step"
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


def _stages(summary: Summary) -> Table:
    """From the source to the last one; the slowest sets the pace."""
    recorded, pool = summary.facts.input.stages, summary.facts.pool
    threads = [stage.threads(pool) for stage in recorded]
    times = [stage.cost_ms / count for stage, count in zip(recorded, threads, strict=True)]
    whole = sum(times)
    rows = []
    for place, (stage, ms) in enumerate(zip(recorded, times, strict=True), 1):
        pace = " ← sets the pace" if ms == max(times) > 0 else ""
        size = stage.buffer_size
        rows.append(
            [
                f"{stage.name} ({place}){pace}",
                f"{ms:.3f}",
                str(threads[place - 1]),
                f"{stage.buffered}/{size}" if size else "",
                f"{ms / whole:.0%}" if whole else "",
            ]
        )
    return "Input pipeline, per batch", ["stage", "ms", "threads", "buffer", "share"], rows
