"""Several runs in one table: a row a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keras_perf.records.figures import figure, in_form
from keras_perf.records.interval import PARTS, part_name
from keras_perf.report.run_report import RunReport, first_measured
from keras_perf.report.text.forms import Form, Told

HEADER = (
    "run",
    "verdict",
    "step ms",
    *map(part_name, PARTS),
    "steps/s",
    "examples/s",
    "J/example",
    "× the first",
)

NOTES = (
    "Parts are in ms per step; – was not measured, and such a part lies in compute.",
    "J/example: joules per training example, of the sampled GPUs alone.",
    "× the first: times as fast as the first run that was measured, per example where both know "
    "their batch size, else per step. Whether it is the same program is not asked: keras-perf "
    "history keeps different ones apart, and compare tells what differs.",
)


def run_rows(reports: Sequence[RunReport], first: RunReport) -> list[list[str]]:
    """The cells under `HEADER`; `first` is the run that the others are compared with."""
    return [
        [
            report.name,
            report.diagnosis.verdict,
            in_form(report.step_ms),
            *map(in_form, report.parts.values()),
            in_form(report.steps_per_sec, "{:,.1f}"),
            in_form(report.examples_per_sec, "{:,.0f}"),
            figure(report.joules_per_example),
            in_form(report.times_as_fast_as(first), "{:.2f}×"),
        ]
        for report in reports
    ]


_ALONE = "A run's recommendations: keras-perf report RUN."


@dataclass(frozen=True)
class RunsTable(Told):
    """Runs beside the first that was measured; print it."""

    reports: Sequence[RunReport]

    def _told(self, form: Form) -> Form:
        form.table(HEADER, run_rows(self.reports, first_measured(self.reports)))
        form.notes((*NOTES, _ALONE))
        return form
