"""The report for programs: valid JSON with keys that stay."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hand_built import stage, summary

from keras_perf.records.interval import PARTS
from keras_perf.records.run.times.outlier import Cause, Outlier
from keras_perf.report.as_json import comparison_json, reports_json
from keras_perf.report.compared.comparison import comparison_of
from keras_perf.report.diagnosis import diagnosis_of
from keras_perf.report.run_report import RunReport

EVENT = Outlier(40, Cause.GARBAGE, "", 90.0, float("nan"))

SLOW = RunReport(
    "logs/slow",
    diagnosis_of(
        summary(
            input_wait=8.0,
            compute=1.0,
            callbacks=1.0,
            owners={"Mine.on_train_batch_end": np.float32(1.0)},
            stages=[stage("TensorSlice", 1.0), stage("Map", 7.0)],
            context={"examples_per_step": 32, "events": [EVENT]},
        )
    ),
    pd.DataFrame(),
)

QUICK = RunReport("logs/quick", diagnosis_of(summary(compute=5.0)), pd.DataFrame())

EMPTY = RunReport("logs/empty", diagnosis_of(summary(0)), pd.DataFrame())

KEYS = {
    "run", "alerts", "verdict", "explanation", "steps", "breakdown", "steps_per_sec",
    "examples_per_sec", "joules_per_example",
    "times_as_fast_as_first", "recommendations", "combined_speedup", "combined_whole_speedup",
    "outside_ms", "exchange_ms", "workers", "owners_ms", "event_totals", "efficiency", "notes",
    "details",
    "stages", "events", "start_up_s", "start_up_steps", "inference", "predicts", "evaluates",
    "advice_trials", "tried_before", "input_changes", "batch_sizes", "learning_rates",
}  # fmt: skip


def refuse(constant):
    raise AssertionError(f"{constant} is no JSON")


def read(*reports):
    """What a strict reader makes of it."""
    return json.loads(reports_json(reports), parse_constant=refuse)


def test_one_run_and_several_have_the_same_keys():
    one, several = read(SLOW), read(SLOW, QUICK, EMPTY)
    assert one.keys() == several.keys() == {"schema", "runs"}
    assert one["schema"] == 1
    assert [run.keys() for run in several["runs"]] == [KEYS] * 3
    assert [run["run"] for run in several["runs"]] == ["logs/slow", "logs/quick", "logs/empty"]


def test_the_breakdown_holds_every_part_and_the_step_and_null_where_nothing_was_measured():
    [run] = read(SLOW)["runs"]
    assert tuple(run["breakdown"]) == (*PARTS, "step")
    assert run["breakdown"]["input_wait"] == 8.0
    assert run["breakdown"]["dispatch"] is None
    assert run["breakdown"]["step"] == 10.0


def test_recommendations_come_whole_and_as_they_were_given():
    [run] = read(SLOW)["runs"]
    given = SLOW.diagnosis.recommendations
    assert len(given) > 1
    for told, advice in zip(run["recommendations"], given, strict=True):
        assert told["id"] == advice.id
        assert told["action"] == advice.action
        assert (told["low"], told["high"]) == (advice.low, advice.high)
        assert told["predicted_speedup"] == advice.predicted_speedup
        assert told["speedup_after_others"] == advice.speedup_after_others
        assert told["evidence"] == pytest.approx(dict(advice.evidence))
    expected, low, high = SLOW.diagnosis.combined_speedup
    assert run["combined_speedup"] == {"expected": expected, "low": low, "high": high}


def test_stages_and_events_are_those_of_the_record():
    [run] = read(SLOW)["runs"]
    assert [(s["name"], s["cost_ms"]) for s in run["stages"]] == [
        ("TensorSlice", 1.0),
        ("Map", 7.0),
    ]
    assert run["events"] == [
        {
            "step": 40,
            "cause": "garbage-collection",
            "owner": "",
            "excess_ms": 90.0,
            "usual_ms": None,
        }
    ]


def test_what_is_not_a_number_is_null():
    [run] = read(EMPTY)["runs"]
    assert set(run["breakdown"].values()) == {None}
    assert run["steps"] == 0
    assert run["steps_per_sec"] is run["times_as_fast_as_first"] is None


def test_speed_is_told_relative_to_the_first_run():
    assert [run["times_as_fast_as_first"] for run in read(SLOW, QUICK)["runs"]] == [1.0, 2.0]


def test_start_up_is_told_in_seconds_and_null_where_it_was_not_observed():
    first = {"before_first_step_s": 0.5, "first_steps": 1, "first_execution_s": 3.0}
    known = {"start_up": first, "outside": {"warmup_steps": 3, "warmup_s": 3.0}}
    diagnosis = diagnosis_of(summary(compute=5.0, context=known))
    slow, quick = read(RunReport("logs/started", diagnosis, pd.DataFrame()), QUICK)["runs"]
    assert slow["start_up_s"]["before_first_step"] == 0.5
    assert slow["start_up_steps"] == 3
    assert (quick["start_up_s"], quick["start_up_steps"]) == (None, None)


def test_a_comparison_tells_programs_which_settings_differ():
    found = json.loads(comparison_json(comparison_of(QUICK.diagnosis, SLOW.diagnosis)))
    [batch] = found["settings"]
    assert batch == {"setting": "examples per step", "before": None, "after": "32"}
