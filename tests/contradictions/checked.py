"""Whatever a test lets somebody read is checked, in each of its forms."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from contradictions import contradictions
from contradictions.of_comparison import comparison_contradictions, rows_against_sums
from contradictions.of_forms import json_contradictions, page_contradictions
from keras_perf.read.event_files import NoRunError
from keras_perf.report import as_json
from keras_perf.report.compared.comparison import Comparison, comparison_of
from keras_perf.report.diagnosis import Diagnosis
from keras_perf.report.page import page
from keras_perf.report.run_report import run_reports


def check_all(patched: pytest.MonkeyPatch, found: list[str]) -> None:
    """From now on reports in every form are checked when they are made.

    Arguments:
        patched: undoes it.
        found: is given a sentence for each contradiction.
    """
    told, compared = Diagnosis._told, Comparison._told
    cards, change = page.run_cards, page.change_card
    in_json, as_text = as_json._run, as_json.json_text

    def checked(self, form):
        found.extend(contradictions(self))
        return told(self, form)

    def checked_comparison(self, form):
        found.extend(comparison_contradictions(self))
        return compared(self, form)

    def checked_cards(report, name):
        made = cards(report, name)
        found.extend(page_contradictions(report, made))
        return made

    def checked_change(first, report):
        if first.summary.steps and report.summary.steps:
            pair = comparison_of(first.diagnosis, report.diagnosis)
            found.extend(comparison_contradictions(pair))
        return change(first, report)

    def checked_run(report, first):
        made = in_json(report, first)
        found.extend(json_contradictions(report, made))
        return made

    def checked_text(value):
        found.extend(rows_against_sums(value.get("parts", ())))
        return as_text(value)

    patched.setattr(Diagnosis, "_told", checked)
    patched.setattr(Comparison, "_told", checked_comparison)
    patched.setattr(page, "run_cards", checked_cards)
    patched.setattr(page, "change_card", checked_change)
    patched.setattr(as_json, "_run", checked_run)
    patched.setattr(as_json, "json_text", checked_text)


def written_below(folder: Path) -> Iterator[str]:
    """Contradictions in what other processes have logged below a folder."""
    with warnings.catch_warnings():
        # What a killed process leaves ends in the middle of a record.
        warnings.simplefilter("ignore")
        try:
            reports = run_reports([folder])
        except NoRunError:
            return
        for report in reports:
            for each in contradictions(report.diagnosis):
                yield f"{report.name}: {each}"
