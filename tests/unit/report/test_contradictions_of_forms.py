"""The checker that watches over all tests compares comparisons, pages and JSON with the report."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from contradictions.checked import check_all, written_below
from contradictions.of_comparison import comparison_contradictions, rows_against_sums
from contradictions.of_forms import json_contradictions, page_contradictions
from hand_built import frame, summary, write_fit

from keras_perf.report import as_json
from keras_perf.report.compared.comparison import Comparison, comparison_of
from keras_perf.report.diagnosis import diagnosis_of
from keras_perf.report.page import page
from keras_perf.report.run_report import RunReport, run_reports

PARTS = {"input_wait": 0.0, "dispatch": 0.0, "other_host": 0.0, "compile": 0.0}
SLOW_HOOK: dict[str, Any] = {
    **PARTS,
    "compute": 6.0,
    "callbacks": 4.0,
    "owners": {"Mine.on_train_batch_end": 4.0},
}
QUICK: dict[str, Any] = {**PARTS, "compute": 6.0, "callbacks": 0.5}


@pytest.fixture
def no_report_contradicts_itself() -> None:
    """Here some do, and it is noticed."""


def compared(before: dict[str, Any] = SLOW_HOOK, after: dict[str, Any] = QUICK) -> Comparison:
    return comparison_of(*(diagnosis_of(summary(**run)) for run in (before, after)))


def said_of(found: Comparison) -> str:
    return "; ".join(comparison_contradictions(found))


# -- comparisons -------------------------------------------------------------------------


def test_a_comparison_as_it_is_has_none():
    assert said_of(compared()) == ""
    assert said_of(compared(SLOW_HOOK, SLOW_HOOK)) == ""


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"saved_ms": 3.0}, "callbacks: 3.0 saved of 4.0 and 0.5"),
        ({"low": 3.6}, "outside of 3.6 to"),
        ({"high": 3.4}, "outside of"),
        ({"before_ms": 5.0, "saved_ms": 4.5}, "parts save 4.5 of a step that saves 3.5"),
    ],
)
def test_rows_that_do_not_add_up(changed, told):
    rows = compared().to_frame().to_dict("records")
    rows = [{**row, **changed} if row["part"] == "callbacks" else row for row in rows]
    assert told in "; ".join(rows_against_sums(rows))


def test_rows_of_another_report(monkeypatch):
    whole = compared()
    rows = whole.to_frame()
    shifted = rows.assign(before_ms=rows["before_ms"] + 1, after_ms=rows["after_ms"] + 1)
    monkeypatch.setattr(Comparison, "to_frame", lambda self: pd.DataFrame(shifted))
    assert "callbacks: 5.0 compared, 4.0 in the report" in said_of(whole)


class Told:
    """Advice of which something is told."""

    def __init__(self, each: Any, told: str) -> None:
        self.advice, self.predicted, self.told = each.advice, each.predicted, told
        self.taken = True

    def __str__(self) -> str:
        return self.told


@pytest.mark.parametrize(
    ("after", "told", "contradiction"),
    [
        (QUICK, "still recommended", "amortize-callback is still recommended, and is not"),
        (SLOW_HOOK, "taken", "was taken, and is recommended again to the letter"),
    ],
)
def test_advice_of_which_another_thing_is_told(after, told, contradiction, monkeypatch):
    found = compared(SLOW_HOOK, after)
    changed = tuple(Told(each, told) for each in found.advice)
    monkeypatch.setattr(Comparison, "advice", property(lambda self: changed))
    assert contradiction in said_of(found)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"predicted": 3.0}, "amortize-callback: 3.0 compared"),
        ({"tried": True}, "a figure of a trial is told as a prediction"),
        ({"id": "cache"}, "cache is compared, and was not recommended"),
    ],
)
def test_predictions_that_the_earlier_report_does_not_have(changed, told, monkeypatch):
    found = compared()
    rows = found.advice_frame().assign(**changed)
    monkeypatch.setattr(Comparison, "advice_frame", lambda self: rows)
    assert told in said_of(found)


def test_a_closing_that_tells_another_prediction(monkeypatch):
    monkeypatch.setattr(Comparison, "closing", "Nothing was predicted.")
    assert "1.82× was predicted, and 'Nothing was predicted.' does not" in said_of(compared())


# -- the page and JSON -------------------------------------------------------------------


def report(**arguments: Any) -> RunReport:
    return RunReport("logs/run", diagnosis_of(summary(**arguments)), frame())


def other(told: RunReport, **changed: Any) -> RunReport:
    """The same run with another diagnosis."""
    return replace(told, diagnosis=replace(told.diagnosis, **changed))


def cards_of(told: RunReport) -> Any:
    return page.run_cards(told, "run1")


def test_a_page_and_json_as_they_are_have_none():
    whole = report(**SLOW_HOOK)
    assert not list(page_contradictions(whole, cards_of(whole)))
    assert not list(json_contradictions(whole, as_json._run(whole, whole)))


def changed_reports() -> list[tuple[RunReport, str]]:
    whole = report(**SLOW_HOOK)
    [advice] = whole.diagnosis.recommendations
    slower = replace(advice, predicted_speedup=1.23)
    owners = replace(whole.summary, owners={"Other.on_train_batch_end": 3.5})
    return [
        (other(whole, explanation="nothing is slow."), "the page does not say 'nothing is slow.'"),
        (other(whole, recommendations=(slower,)), "does not say 'a step 1.23×"),
        (other(whole, recommendations=(replace(advice, reason="no."),)), "say 'no.' of amortize"),
        (other(whole, summary=replace(whole.summary, step_ms=12.345)), "no 12.345 for step"),
        (other(whole, summary=owners), "the page has no ['"),
    ]


@pytest.mark.parametrize(("changed", "told"), changed_reports())
def test_a_page_without_what_the_text_says(changed, told):
    assert told in "; ".join(page_contradictions(changed, cards_of(report(**SLOW_HOOK))))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"verdict": "input-bound"}, "verdict is 'input-bound'"),
        ({"explanation": "nothing is slow."}, "explanation is"),
        ({"notes": ["Nothing."]}, "notes is"),
        ({"breakdown": {"callbacks": 3.0}}, "callbacks is 3.0, and 4.0 in the report"),
        ({"breakdown": {"callbacks": None}}, "callbacks is None"),
        ({"recommendations": []}, "gains are []"),
        ({"combined_speedup": {"expected": 9.0}}, "combined_speedup is"),
        ({"combined_whole_speedup": {"expected": 9.0}}, "combined_whole_speedup is"),
    ],
)
def test_json_that_says_another_thing(changed, told):
    whole = report(**SLOW_HOOK)
    made = as_json._run(whole, whole) | changed
    assert told in "; ".join(json_contradictions(whole, made))


# -- that all of it is checked -----------------------------------------------------------

WRONG = "Stage Map (2) takes 6 ms of the 8 ms that a batch needs."
"""Of a run without stages."""


def test_every_form_in_which_a_report_is_read_is_checked():
    found: list[str] = []
    whole = report(**SLOW_HOOK)
    lies, in_json = other(whole, notes=(WRONG,)), as_json._run(whole, whole)
    slower = compared().to_frame().assign(saved_ms=9.0)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(page, "run_cards", lambda report, name: [])
        patched.setattr(as_json, "_run", lambda report, first: in_json | {"verdict": "other"})
        patched.setattr(Comparison, "to_frame", lambda self: slower)
        check_all(patched, found)
        forms = {
            "text": lambda: str(lies.diagnosis),
            "Markdown": lies.diagnosis.to_markdown,
            "HTML": lies.diagnosis._repr_html_,
            "comparison": lambda: str(compared()),
            "comparison in JSON": lambda: as_json.comparison_json(compared()),
            "page": lambda: page.page_content([whole]),
            "change in a page": lambda: page.change_card(whole, whole),
            "JSON": lambda: as_json.reports_json([whole]),
        }
        for form, read in forms.items():
            read()
            assert found, form
            found.clear()


def test_what_other_processes_have_written_is_checked(tmp_path, monkeypatch):
    assert list(written_below(tmp_path)) == []
    write_fit(tmp_path / "one", step_ms=4.0)
    write_fit(tmp_path / "two", step_ms=4.0)
    assert list(written_below(tmp_path)) == []
    lies = [other(each, notes=(WRONG,)) for each in run_reports([tmp_path])]
    monkeypatch.setattr("contradictions.checked.run_reports", lambda _: lies)
    named = {each.partition(": ")[0] for each in written_below(tmp_path)}
    assert named == {str(tmp_path / "one"), str(tmp_path / "two")}
