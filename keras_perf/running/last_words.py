"""What is said when the program has ended."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from keras_perf.report.run_report import RunReport, run_reports
from keras_perf.report.runs_table import RunsTable
from keras_perf.running.observed import Observed

NOTICED = 0.1
"""Of all fits: calls that together took less than this share of their time are told in a line."""


@dataclass(frozen=True)
class Reports:
    """Of a program: of each `fit`, and of each model's calls outside of them."""

    fits: tuple[RunReport, ...]
    calls: tuple[RunReport, ...]

    @property
    def longest_calls(self) -> RunReport | None:
        """The model's that took longest, where all together are noticed beside the fits."""
        trained_s = sum(map(_trained_ms, self.fits)) / 1e3
        if sum(map(_called_s, self.calls)) < NOTICED * trained_s:
            return None
        return max(self.calls, key=_called_s, default=None)


def reports_of(observed: Observed) -> Reports:
    """A report of everything that left something to read."""
    start = observed.fits.started_in
    fits = _reports_of((fit.log_dir for fit in observed.fits.ended), start)
    return Reports(fits, _reports_of(observed.calls.log_dirs, start))


def _reports_of(log_dirs: Iterable[str], start: str) -> tuple[RunReport, ...]:
    found: list[RunReport] = []
    for log_dir in log_dirs:
        try:
            reports = run_reports([log_dir])
        except (OSError, ValueError):
            continue
        found += [replace(each, name=_short(each.name, start)) for each in reports]
    return tuple(found)


def _short(path: str, start: str) -> str:
    """As the user of a shell would write it, who has changed no directory."""
    below = path.removeprefix(start.rstrip(os.sep) + os.sep)
    return below or path


def longest(reports: Sequence[RunReport]) -> RunReport:
    """The one whose measured steps took longest: most of the program's time.

    The last where none measured any: it knows of those before.
    """
    return max(reversed(reports), key=_trained_ms)


def _trained_ms(report: RunReport) -> float:
    return (report.step_ms or 0.0) * report.summary.steps


def _called_s(report: RunReport) -> float:
    return sum(call.spent_s for call in report.summary.facts.inference.values())


def told(reports: Reports) -> str:
    """What the fits took, and then the calls outside of them; at least one report."""
    parts = [_told_of_fits(reports.fits)] if reports.fits else []
    if (shown := reports.longest_calls) is not None:
        beside = " outside of any fit" if reports.fits else ""
        several = f" of {len(reports.calls)} models, the longest of them" * (len(reports.calls) > 1)
        parts.append(
            f"evaluate and predict{beside}{several}, {shown.name}:\n\n{shown.diagnosis}\n"
            f"{where([each.name for each in reports.calls])}\n"
        )
    elif reports.calls:
        parts.append(
            f"evaluate and predict outside of any fit took {sum(map(_called_s, reports.calls)):.1f}"
            f" s. {where([each.name for each in reports.calls])}\n"
        )
    return "\n".join(parts)


def _told_of_fits(reports: Sequence[RunReport]) -> str:
    """The diagnosis, after a table of all where there were several."""
    if len(reports) == 1:
        return f"{reports[0].diagnosis}\n{where([reports[0].name])}\n"
    shown = longest(reports)
    told = f"The one that trained longest, {shown.name}:\n\n{shown.diagnosis}\n"
    if not shown.summary.steps:
        told = f"None measured a step. The last, {shown.name}:\n\n{shown.diagnosis}\n"
    else:
        told = f"{RunsTable(reports)}\n{told}"
    return f"{len(reports)} fits:\n\n{told}{where([each.name for each in reports])}\n"


def where(names: Sequence[str]) -> str:
    """Where to look further."""
    return f"Written to {names[0]}" + (f" to {names[-1]}" if len(names) > 1 else "") + "."
