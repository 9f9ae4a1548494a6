"""What is said when the program has ended."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from keras_perf.report.run_report import RunReport, run_reports
from keras_perf.report.runs_table import RunsTable
from keras_perf.running.fits import ObservedFits


def reports_of(fits: ObservedFits) -> tuple[RunReport, ...]:
    """A report of each `fit` that left something to read."""
    found: list[RunReport] = []
    for fit in fits.ended:
        try:
            reports = run_reports([fit.log_dir])
        except (OSError, ValueError):
            continue
        found += [replace(each, name=_short(each.name, fits.started_in)) for each in reports]
    return tuple(found)


def _short(path: str, start: str) -> str:
    """As the user of a shell would write it, who has changed no directory."""
    below = path.removeprefix(start.rstrip(os.sep) + os.sep)
    return below or path


def longest(reports: Sequence[RunReport]) -> RunReport:
    """The one whose measured steps took longest: most of the program's time."""
    return max(reports, key=lambda each: (each.step_ms or 0.0) * each.summary.steps)


def told(reports: Sequence[RunReport]) -> str:
    """The diagnosis, after a table of all where there were several; at least one report."""
    if len(reports) == 1:
        return f"{reports[0].diagnosis}\n{where([reports[0].name])}\n"
    shown = longest(reports)
    return (
        f"{len(reports)} fits:\n\n{RunsTable(reports)}\n"
        f"The one that trained longest, {shown.name}:\n\n{shown.diagnosis}\n"
        f"{where([each.name for each in reports])}\n"
    )


def where(names: Sequence[str]) -> str:
    """Where to look further."""
    return f"Written to {names[0]}" + (f" to {names[-1]}" if len(names) > 1 else "") + "."
