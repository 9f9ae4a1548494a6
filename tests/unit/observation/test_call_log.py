"""What calls of `evaluate` and `predict` leave in a log directory."""

from __future__ import annotations

import json

import pytest

from keras_perf.observation.of_calls.call_log import EACH_WRITTEN, CallLog
from keras_perf.read.fits import fits_of
from keras_perf.records.run.inference import EVALUATE, PREDICT, Inference
from keras_perf.report.run_report import run_reports

WORKERS = {"worker": ["a:1", "b:1", "c:1"]}


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)


def call(spent_s):
    return Inference(1, 10, 10, spent_s, {"compute": spent_s})


def calls_in(log_dir, run="perf"):
    [fit] = fits_of(log_dir)[run]
    return {kind: each.calls for kind, each in fit.facts.inference.items()}


def test_a_call_is_written_as_it_ends_however_short(tmp_path):
    log = CallLog(str(tmp_path), {})
    log.add(EVALUATE, call(100.0))
    for calls in (1, 2, 3):
        log.add(PREDICT, call(0.001))
        assert calls_in(tmp_path) == {EVALUATE: 1, PREDICT: calls}


def test_of_very_many_the_last_are_written_at_the_end_and_once(tmp_path):
    log = CallLog(str(tmp_path), {})
    for _ in range(EACH_WRITTEN):
        log.add(PREDICT, call(1.0))
    log.add(PREDICT, call(0.1))
    assert calls_in(tmp_path) == {PREDICT: EACH_WRITTEN}
    log.finish()
    assert calls_in(tmp_path) == {PREDICT: EACH_WRITTEN + 1}
    [file] = (tmp_path / "perf").iterdir()
    size = file.stat().st_size
    log.finish()
    assert file.stat().st_size == size


def test_nothing_is_left_where_nothing_was_called(tmp_path):
    CallLog(str(tmp_path), {}).finish()
    assert list(tmp_path.iterdir()) == []


def test_each_worker_has_a_run_of_its_own_and_the_chief_s_is_shown(tmp_path, monkeypatch):
    for number in (1, 0):
        task = {"type": "worker", "index": number}
        monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": WORKERS, "task": task}))
        log = CallLog(str(tmp_path / "calls_1"), {})
        for _ in range(number + 2):
            log.add(PREDICT, call(1.0))
    for number in (0, 1):
        assert calls_in(tmp_path, f"calls_1/perf/worker_{number}") == {PREDICT: number + 2}
    [report] = run_reports([tmp_path])
    assert report.name == str(tmp_path / "calls_1")
    assert report.summary.facts.inference[PREDICT].calls == 2
