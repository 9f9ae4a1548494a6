"""Trials beside predictions, `fit` and the best mended program."""

import gc
import json
import math
import sys
from dataclasses import replace

import pytest
import tried
from followed_programs.of_input import OF_INPUT
from followed_programs.of_training import OF_TRAINING
from followed_programs.program import Stage
from followed_programs.published import PUBLISHED
from trying import in_turn, mended
from trying.predicted import predicted

import keras_perf as kp
from keras_perf.trials.rewriting.same_elements import checksums

BY_NAME = {each.name: each for each in (*OF_INPUT, *OF_TRAINING, *PUBLISHED)}

ROW = {
    "program": "one",
    "together": "cache",
    **{"predicted": 2.2, "trial": 2.0, "low": 1.9, "high": 2.1},
    **{"fit": 2.0, "fit_low": 1.95, "fit_high": 2.05},
    **{"of_best": 0.96, "of_best_low": 0.94, "of_best_high": 0.98},
}


def kinds(stages):
    return [stage.kind for stage in stages]


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("sequential map", ["batch", "map", "cache"]),
        ("a finite repeat", ["map", "cache", "repeat", "batch", "prefetch"]),
        ("a slow map, then a random one", ["map", "cache", "map", "shuffle", "batch", "prefetch"]),
        ("wide_deep_cross_networks", ["map", "cache", "shuffle", "batch"]),
        ("speaker_recognition_using_cnn", ["cache", "shuffle", "batch", "map", "prefetch"]),
    ],
)
def test_a_cache_by_hand_keeps_what_is_the_same_in_each_pass(name, kept):
    assert kinds(mended.kept(BY_NAME[name].stages)) == kept


@pytest.mark.parametrize("name", ["wide_deep_cross_networks", "a cheap map for each example"])
def test_a_mended_program_has_the_same_elements(name):
    program = BY_NAME[name]
    shuffles = {"argument": 100, "more": {"seed": 1}}
    stages = tuple(
        Stage(each.kind, **shuffles) if each.kind == "shuffle" else each for each in program.stages
    )
    program = replace(program, stages=stages)
    expected = checksums(program.dataset(), 20, 60)
    for way in mended.inputs(mended.Mended("as it is", program)):
        assert checksums(way.program.dataset(), 20, 60) == expected, way.how


@pytest.mark.timing
@pytest.mark.usefixtures("tracing_is_cheap")
def test_what_is_not_all_advised_is_not_predicted(tmp_path):
    BY_NAME["a tiny model"].train(kp.perf_callbacks(tmp_path, profiler=False, summary=False))
    found = kp.diagnose(tmp_path)
    [advice] = [each for each in found.recommendations if each.id == "raise-steps-per-execution"]
    assert predicted(found, [advice.id]) == pytest.approx(advice.predicted_speedup)
    assert math.isnan(predicted(found, [advice.id, "enable-xla"]))
    assert math.isnan(predicted(found, []))


def test_trials_and_predictions_are_counted_by_how_near_they_are_to_fit():
    nothing = dict.fromkeys(("predicted", "trial", "low", "high", "fit", "fit_low", "fit_high"))
    rows = [
        ROW,
        ROW | {"trial": 2.2, "low": 2.1, "high": 2.3, "predicted": None},
        ROW | nothing | {"together": "nothing", "of_best": 0.8, "of_best_high": 0.9},
    ]
    assert tried.sums(rows) == {
        "programs": 3,
        "put_together": 2,
        "within_5_pct": 1,
        "within_15_pct": 2,
        "interval_holds": 1,
        "fit_known": 2,
        "predicted": 1,
        "predicted_within_5_pct": 0,
        "predicted_within_15_pct": 1,
        "reach_best": 2,
        "below_best": 1,
    }


@pytest.fixture
def briefly(monkeypatch, tmp_path):
    for name, value in (("SPAN_S", 0.02), ("ROUNDS", 3), ("LEAST_EXECUTIONS", 10)):
        monkeypatch.setattr(in_turn, name, value)
    monkeypatch.setattr(mended, "ROUNDS", 1)
    monkeypatch.chdir(tmp_path)
    yield tmp_path / "found.json"
    gc.unfreeze()


def run(monkeypatch, file, *arguments):
    monkeypatch.setattr(
        sys, "argv", ["tried.py", "--budget-s", "2", "--json", str(file), *arguments]
    )
    tried.main()
    return json.loads(file.read_text(encoding="utf-8"))["tables"]


@pytest.mark.whole
def test_it_runs_in_pieces_and_each_program_has_a_row(briefly, monkeypatch, capsys):
    first = run(monkeypatch, briefly, "--only", "too short")
    both = run(monkeypatch, briefly, "--only", "too short,a tiny model")
    assert [each["program"] for each in both["programs"]] == ["too short", "a tiny model"]
    assert both["programs"][0] == first["programs"][0]
    assert all(each["of_best"] > 0 for each in both["programs"])
    assert both["sums"][0]["programs"] == 2
    capsys.readouterr()
    again = run(monkeypatch, briefly, "--only", "healthy", "--within-s", "0")
    assert again["programs"] == both["programs"]
    assert "Stopped before healthy" in capsys.readouterr().out
