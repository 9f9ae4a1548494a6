"""Advice that was tried beside a training: what counts in its diagnosis, and what is shown."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hand_built import write_fit

from keras_perf import compare, diagnose
from keras_perf.analyse.training import newest_training
from keras_perf.records.reasons.price import Alters
from keras_perf.records.run.tried.advice_trials import AdviceTrials, NotTried, TriedChange
from keras_perf.records.run.tried.input_changes import InputChange, InputChanges
from keras_perf.report.as_json import reports_json
from keras_perf.report.page.cards.trials_card import (
    input_changes_card,
    trials_card,
    tried_before_card,
)
from keras_perf.report.page.page import page_html
from keras_perf.report.run_report import run_reports
from keras_perf.trials.kept_in_run import KeptInRun
from keras_perf.write.reopened_run import ReopenedRun


def trials(gain):
    change = TriedChange(
        id="parallel-map",
        where="map(decode)",
        gain=gain,
        low=gain - 0.1,
        high=gain + 0.1,
        before_ms=10.0,
        after_ms=10.0 / gain,
        code="dataset.map(decode, num_parallel_calls=tf.data.AUTOTUNE)",
    )
    left = NotTried(id="cache", where="map(decode)", why="it draws random numbers")
    return AdviceTrials(
        step_ms=10.0,
        ready_ms=4.0,
        batch_ms=9.0,
        changes=(change,),
        together=(change,),
        total=change,
        not_tried=(left,),
    )


CHANGES = InputChanges(
    before_ms=9.0,
    after_ms=3.0,
    tried=(
        InputChange(
            id="parallel-map",
            where="map(decode)",
            kept=True,
            gain=3.0,
            low=2.8,
            high=3.2,
            before_ms=9.0,
            after_ms=3.0,
            costs="memory",
        ),
        InputChange(
            id="prefetch", where="end", gain=1.0, low=0.9, high=1.1, before_ms=3.0, after_ms=3.0
        ),
    ),
    not_done=(NotTried(id="cache", where="map(decode)", why="it draws random numbers"),),
    stopped="Stopped: the 30 s ran out.",
)


def train(log_dir):
    write_fit(log_dir, step_ms=10.0)


def tried(log_dir, gain):
    KeptInRun(log_dir).keep({"advice_trials": trials(gain)})


def report_of(log_dir):
    [report] = run_reports([log_dir])
    return report


def test_what_was_tried_after_a_training_stands_in_its_diagnosis(tmp_path):
    train(tmp_path)
    tried(tmp_path, 2.0)
    tried(tmp_path, 2.5)
    found = diagnose(tmp_path)
    [advice] = (each for each in found.recommendations if each.tried)
    assert (advice.id, advice.predicted_speedup) == ("parallel-map", 2.5)
    assert found.verdict == "input-bound"
    assert "tried on this training" in found.explanation
    assert any(note.startswith("Measured after training: a step 10 ms") for note in found.notes)
    assert "other fit" not in str(found), "a trial is none"
    [run] = json.loads(reports_json([report_of(tmp_path)]))["runs"]
    assert run["advice_trials"]["total"]["gain"] == 2.5


def test_what_was_tried_before_a_training_is_shown_and_advises_nothing_of_it(tmp_path):
    tried(tmp_path, 2.0)
    train(tmp_path)
    report = report_of(tmp_path)
    assert not any(each.tried for each in report.diagnosis.recommendations)
    assert report.summary.facts.advice_trials is None
    assert report.summary.facts.tried_before == trials(2.0)
    assert "Tried before this training" in str(report.diagnosis)
    assert "parallel-map (map(decode))" in str(report.diagnosis)
    assert trials_card(report) is None
    assert tried_before_card(report).find("h3").text == "Tried before this training"


def test_a_trial_belongs_to_the_training_that_it_follows(tmp_path):
    train(tmp_path)
    tried(tmp_path, 2.0)
    train(tmp_path)
    tried(tmp_path, 1.5)
    first, newest = newest_training(tmp_path, 1), newest_training(tmp_path)
    assert first.summary().facts.advice_trials == trials(2.0)
    assert first.summary().facts.tried_before is None
    assert newest.summary().facts.advice_trials == trials(1.5)
    assert newest.summary().facts.tried_before == trials(2.0)


def test_a_call_of_evaluate_parts_no_trial_from_its_training(tmp_path):
    train(tmp_path)
    call = {"calls": 1, "executions": 20, "steps": 20, "spent_s": 0.1, "parts_s": {"compute": 0.05}}
    ReopenedRun(str(tmp_path)).write(
        1, {"evaluate/step_time_ms": 5.0}, {"inference": {"evaluate": call}}
    )
    tried(tmp_path, 2.0)
    assert newest_training(tmp_path).summary().facts.advice_trials == trials(2.0)


def test_a_training_that_wrote_its_own_trials_is_no_trial(tmp_path):
    context = {"advice_trials": trials(2.0), "examples_per_step": 8}
    write_fit(tmp_path, step_ms=10.0, context=context)
    train(tmp_path)
    facts = newest_training(tmp_path).summary().facts
    assert facts.advice_trials is facts.tried_before is None
    assert "1 other fit" in str(diagnose(tmp_path))


def test_trials_without_a_training_are_told_alone(tmp_path):
    tried(tmp_path, 2.0)
    KeptInRun(tmp_path).keep({"input_changes": CHANGES})
    report = report_of(tmp_path)
    assert report.diagnosis.verdict == "inconclusive"
    assert "what was tried beside one" in report.diagnosis.explanation
    told = str(report.diagnosis)
    assert "Tried on this training" in told
    assert "put together" in told
    pair = "a step 10 ms, 4 ms on a ready batch, a batch of the input alone 9 ms"
    assert f"Measured on trial: {pair}." in told
    assert "Changes of the input, tried on it alone" in told


def test_what_alters_training_says_so_on_the_page_as_in_the_text(tmp_path):
    train(tmp_path)
    [same] = trials(2.0).changes
    lossy = replace(same, id="mixed-precision", where="model", alters=Alters.PRECISION.of())
    KeptInRun(tmp_path).keep({"advice_trials": replace(trials(2.0), changes=(same, lossy))})
    train(tmp_path)
    report = report_of(tmp_path)
    said = "alters training: the precision of what is computed"
    assert said in str(report.diagnosis)
    rows = [*tried_before_card(report).iter("th")]
    assert ["".join(each.itertext()) for each in rows if each.get("scope") == "row"] == [
        "parallel-map (map(decode))together",
        f"mixed-precision (model) – {said}",
    ]


@pytest.mark.parametrize("first", ["training", "trial"])
def test_changes_of_an_input_are_shown_with_the_training(tmp_path, first):
    def tune():
        KeptInRun(tmp_path).keep({"input_changes": CHANGES})

    for each in (lambda: train(tmp_path), tune)[:: 1 if first == "training" else -1]:
        each()
    report = report_of(tmp_path)
    assert report.summary.facts.input_changes == CHANGES
    card = input_changes_card(report)
    assert card.find("p").text == (
        "9 ms a batch before, 3 ms after: 3.00× as fast. Stopped: the 30 s ran out."
    )
    rows = [[*map("".join, (cell.itertext() for cell in row))] for row in card.find(".//tbody")]
    assert rows == [
        ["parallel-map (map(decode))", "9 → 3", "3.00× (2.80–3.20)", "kept, costs memory"],
        ["prefetch (end)", "3 → 3", "1.00× (0.90–1.10)", "not worth it"],
        ["cache (map(decode))", "–", "–", "not done: it draws random numbers"],
    ]
    assert "Changes of the input, tried on it alone" in page_html([report])
    assert "Changes of the input, tried on it alone" in report.diagnosis.to_markdown()
    assert "Stopped: the 30 s ran out." in str(report.diagnosis)
    [run] = json.loads(reports_json([report]))["runs"]
    assert run["input_changes"]["before_ms"] == 9.0


def test_what_a_trial_promised_is_compared_with_what_came(tmp_path):
    before, after = tmp_path / "before", tmp_path / "after"
    train(before)
    tried(before, 2.0)
    write_fit(after, step_ms=5.0)
    found = compare(before, after)
    assert found.speedup == pytest.approx(2.0, rel=0.01)
    assert any(each.tried for each in found.before.recommendations)
    assert "a step 2.00× (1.90–2.10), measured 2.00×" in str(found)


@pytest.mark.parametrize("card", [trials_card, tried_before_card, input_changes_card])
def test_without_a_trial_there_is_no_card(tmp_path, card):
    train(tmp_path)
    assert card(report_of(tmp_path)) is None
