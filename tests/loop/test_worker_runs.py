"""Runs of several workers, whose exchange of gradients is scripted."""

import json
import time

import numpy as np
import pytest
import tensorflow as tf
import watched_loops

import keras_perf as kp
from keras_perf.read.event_files import events, run_files
from keras_perf.read.fits import fits_of
from keras_perf.report.page.page import page_html
from keras_perf.report.run_report import run_reports

needs_gap_times = pytest.mark.skipif(
    not hasattr(tf.data.experimental, "get_model_proto"),
    reason="this TensorFlow does not tell tf.data's gap times",
)


def train_worker(log_dir, number, busy_ms, *, wire_ms=1.0, input_ms=0.0, slept=None, **arguments):
    """One worker's training, as if `busy_ms` were measured on all of them."""
    loop = watched_loops.Loop()
    exchange = watched_loops.ScriptedExchange(number, busy_ms, wire_ms)
    arguments = {"worker": number, "exchange": exchange, "examples_per_step": 8, **arguments}
    monitor = loop.monitor(log_dir, 120, **arguments)

    def after(step):
        exchange.steps = step
        # What the exchange is said to take lies inside the call, in a real one.
        time.sleep(0.004)

    data = watched_loops.dataset(input_ms=input_ms, slept=slept)

    def between(step):
        with monitor.outside("evaluation"):
            assert exchange.pauses

    loop.train(monitor, 120, every=60, data=data, host=after, between=between)
    return exchange


@pytest.fixture(scope="module")
def slept():
    """Milliseconds that each of worker 1's waits for a batch really took."""
    return []


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory, slept):
    """Worker 1 waits for its input, far longer than for a step, and worker 0 for worker 1."""
    log_dir = tmp_path_factory.mktemp("two_workers")
    usual_ms, paused_ms = watched_loops.usual_step_ms(), watched_loops.step_after_a_pause_ms()
    input_ms = max(15.0, 8 * usual_ms, 6 * paused_ms)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("keras_perf.observation.warmup_and_intervals.INTERVAL_S", 0.05)
        train_worker(log_dir, 1, (4.0, 12.0), input_ms=input_ms, slept=slept)
        train_worker(log_dir, 0, (4.0, 12.0))
    return log_dir


@pytest.mark.timing
def test_each_worker_writes_a_run_of_its_own(two_workers):
    runs = {run: fits[-1] for run, fits in fits_of(two_workers).items()}
    assert set(runs) == {"perf/worker_0", "perf/worker_1"}
    assert set(kp.load_scalars(two_workers)["run"]) == set(runs)
    for number in (0, 1):
        fit = runs[f"perf/worker_{number}"]
        scalars, facts = fit.scalars, fit.facts
        assert facts.settings.worker == number
        assert facts.exchange.workers == 2
        assert {"perf/communication_ms", "perf/peer_wait_ms", "perf/skew_ms"} <= set(scalars["tag"])
        slowest = scalars[scalars["tag"] == "perf/slowest_worker"]["value"]
        assert set(slowest) == {1.0}


@pytest.mark.timing
def test_only_the_chief_writes_the_diagnosis_of_all_that_is_there(two_workers):
    written = {
        run: [
            value.tensor.string_val[0].decode()
            for path in files
            for event in events(path)
            for value in event.summary.value
            if value.tag == "perf/diagnosis"
        ]
        for run, files in run_files(two_workers).items()
    }
    assert written["perf/worker_1"] == []
    [diagnosis] = written["perf/worker_0"]
    assert "### Workers, per step" in diagnosis
    assert "balance-workers" in diagnosis


@needs_gap_times
@pytest.mark.timing
def test_the_table_of_workers_is_in_every_form_of_the_report(two_workers, slept):
    found = kp.diagnose(two_workers)
    chief, other = found.summary.workers
    assert (chief.number, other.number) == (0, 1)
    assert other.input_wait_ms > 3 * chief.input_wait_ms
    assert 0.7 * np.mean(slept) < other.input_wait_ms < 1.5 * np.mean(slept)
    for worker in (chief, other):
        parts = worker.input_wait_ms, worker.compute_ms, worker.communication_ms, worker.host_ms
        assert sum(parts) == pytest.approx(worker.step_ms)
    for told in (str(found), found.to_markdown()):
        assert "Workers, per step" in told
        assert "The parts of a step are worker 0's; the workers' table" in told
    [report] = run_reports([two_workers])
    assert report.name == str(two_workers)
    assert "Workers, per step" in page_html([report])


@needs_gap_times
@pytest.mark.timing
def test_the_slow_worker_is_named_with_what_slows_it(two_workers):
    found = kp.diagnose(two_workers)
    [advice] = [each for each in found.recommendations if each.id == "balance-workers"]
    assert advice.title == "Balance the workers: worker 1 is the slowest"
    assert "It takes longer in input wait" in advice.reason
    assert advice.evidence["slow_part"] == "input wait"
    assert advice.evidence["skew_ms"] == pytest.approx(4.0)
    assert advice.low <= advice.predicted_speedup <= advice.high


def test_tf_config_tells_the_worker_and_their_number(tmp_path, monkeypatch):
    config = {
        "cluster": {"worker": ["a:1", "b:1", "c:1"]},
        "task": {"type": "worker", "index": 1},
    }
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    loop = watched_loops.Loop()
    loop.train(loop.monitor(tmp_path, 60), 60)
    [(run, [*_, fit])] = fits_of(tmp_path).items()
    context = fit.facts.to_json()
    assert (run, context["worker"], context["workers"]) == ("perf/worker_1", 1, 3)
    notes = kp.diagnose(tmp_path).notes
    assert "2 of 3 workers have logged nothing into this directory." in notes


@pytest.mark.parametrize(("workers", "captures"), [("chief", [0]), ("all", [0, 1]), ([1], [1])])
def test_captures_lie_in_the_worker_s_own_run(workers, captures, tmp_path):
    window = {"warmup_steps": 10, "active_steps": 5, "workers": workers}
    for number in (0, 1):
        loop = watched_loops.Loop()
        loop.train(loop.monitor(tmp_path, 40, worker=number, profiler=window), 40)
    there = [
        number
        for number in (0, 1)
        if list((tmp_path / "perf" / f"worker_{number}").rglob("*.xplane.pb"))
    ]
    assert there == captures
    trace = kp.read_trace(tmp_path)
    assert trace.steps == 5
    assert f"worker_{captures[-1]}" in str(trace.path)


def test_what_a_worker_has_logged_can_be_read_while_it_trains(tmp_path, monkeypatch):
    monkeypatch.setattr("keras_perf.observation.warmup_and_intervals.INTERVAL_S", 0.02)
    monkeypatch.setattr("keras_perf.observation.of_loop.loop.FLUSH_S", 0.0)
    loop, seen = watched_loops.Loop(), []

    def look(step):
        time.sleep(0.005)
        if step == 100:
            seen.append(kp.load_scalars(tmp_path))

    loop.train(loop.monitor(tmp_path, 100, worker=1), 100, host=look)
    [frame] = seen
    assert len(frame[frame["tag"] == "perf/step_time_ms"]) > 2
