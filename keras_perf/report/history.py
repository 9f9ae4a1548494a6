"""history: many runs in the order of time, each beside those of its program before it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from keras_perf.analyse.change import Change, summary_change
from keras_perf.analyse.of_intervals.resampling import bounds_of, resampled_means
from keras_perf.analyse.training import measured_trainings
from keras_perf.records.figures import UNKNOWN, in_form
from keras_perf.records.fit_identity import FitIdentity
from keras_perf.report.as_json import SCHEMA, change_record, json_text
from keras_perf.report.run_report import RunReport, report_of
from keras_perf.report.text.forms import Form, Told
from keras_perf.report.trained_programs import program_names

HEADER = (
    "run",
    "fit",
    "began",
    "step ms",
    "90% interval",
    "examples/s",
    "verdict",
    "from the one before",
    "from the first",
)

NOTE = (
    "Changes are of the time of a step, per example where both runs know their batch size; a "
    "change is called slower or faster where chance alone would look so in one of a hundred cases "
    "(counting that intervals close in time resemble each other). No interval covers what differs "
    "from run to run, such as the machine's load."
)

SEVERAL = (
    "Runs of different programs (by the script's name, and the model's parameters and layers) are "
    "not compared with each other here; keras-perf compare BEFORE AFTER compares any two."
)


@dataclass(frozen=True)
class Entry:
    """One `fit` in a history.

    Attributes:
        report: what was measured.
        fit: who wrote it.
        program: what was trained: the script, and the size of its model.
        low, high: 90% interval of its mean step, in milliseconds.
        since_before, since_first: the change from the entry before and from the first of the same
            program; None for its first one.
    """

    report: RunReport
    fit: FitIdentity
    program: str
    low: float
    high: float
    since_before: Change | None
    since_first: Change | None


@dataclass(frozen=True)
class History(Told):
    """Fits in the order in which they began to measure; print it."""

    entries: tuple[Entry, ...]

    @property
    def programs(self) -> dict[str, tuple[Entry, ...]]:
        """The entries of each program, in the same order."""
        names = dict.fromkeys(entry.program for entry in self.entries)
        return {name: tuple(e for e in self.entries if e.program == name) for name in names}

    def _told(self, form: Form) -> Form:
        several = len(self.programs) > 1
        for name, entries in self.programs.items():
            form.table(HEADER, [_row(entry) for entry in entries], name if several else "")
        form.notes([NOTE, *([SEVERAL] if several else []), *self._hosts()])
        return form

    def _hosts(self) -> list[str]:
        hosts = sorted({entry.fit.host for entry in self.entries} - {""})
        if len(hosts) < 2:
            return []
        return [f"They ran on several machines ({', '.join(hosts)}), which may explain a change."]


def history_of(log_dir: str | os.PathLike[str]) -> History:
    """Every `fit` below `log_dir` that measured steps, with what changed.

    Raises:
        NoRunError: (a FileNotFoundError) nothing of ours is there.
        ValueError: none of them measured a step.
    """
    entries: list[Entry] = []
    trainings = measured_trainings(log_dir)
    for program, training in zip(program_names(trainings), trainings, strict=True):
        report = report_of(log_dir, training)
        summary = report.summary
        versions = [entry for entry in entries if entry.program == program]
        since = [
            summary_change(earlier.report.summary, summary)
            for earlier in (*versions[-1:], *versions[:1])
        ]
        low, high = bounds_of(resampled_means(summary.intervals, 0)["step"])
        before, first = since or (None, None)
        entries.append(Entry(report, training.fit.identity, program, low, high, before, first))
    if not entries:
        raise ValueError(
            f"DIR must hold a run with measured steps, {os.fspath(log_dir)!r} has none: each "
            "training ended within its warm-up, or StepGapDetector was not among the callbacks."
        )
    return History(tuple(entries))


def history_json(history: History) -> str:
    """A history as JSON, oldest first; `ratio` is of the time of a step."""
    return json_text({"schema": SCHEMA, "runs": [_record(entry) for entry in history.entries]})


def _record(entry: Entry) -> dict[str, Any]:
    report = entry.report
    return {
        "run": report.name,
        "fit": entry.fit.id,
        "sequence": entry.fit.sequence,
        "started": entry.fit.started,
        "host": entry.fit.host,
        "program": entry.program,
        "steps": report.summary.steps,
        "step_ms": report.step_ms,
        "low": entry.low,
        "high": entry.high,
        "examples_per_sec": report.examples_per_sec,
        "verdict": report.diagnosis.verdict,
        "since_before": change_record(entry.since_before),
        "since_first": change_record(entry.since_first),
    }


def _row(entry: Entry) -> list[str]:
    report = entry.report
    return [
        report.name,
        entry.fit.id,
        entry.fit.started_at,
        f"{report.step_ms:.3f}",
        f"{entry.low:.3f} to {entry.high:.3f}",
        in_form(report.examples_per_sec, "{:,.0f}"),
        report.diagnosis.verdict,
        _changed(entry.since_before),
        _changed(entry.since_first),
    ]


def _changed(change: Change | None) -> str:
    if change is None:
        return UNKNOWN
    return f"{change.ratio - 1:+.1%} {change.word}".strip()
