"""Which runs are one training."""

from __future__ import annotations

from pathlib import Path

import pytest

from keras_perf.analyse.training import CLOCKS_APART_S, newest_training, trainings
from keras_perf.records.run_names import worker_run
from keras_perf.report.run_report import run_reports
from keras_perf.write.reopened_run import ReopenedRun
from keras_perf.write.run_writer import RunWriter


def write(log_dir: Path, run: str, *, step_ms: float = 4.0, at_s: float = 0.0, **context) -> None:
    """Ten intervals, the first of them at `at_s`."""
    writer = RunWriter(str(log_dir), run)
    for place in range(10):
        values = {"perf/step_time_ms": step_ms, "perf/compute_ms": step_ms}
        values |= {"host/process_cpu_pct": 90.0}
        steps = {"perf/interval_steps": 10.0}
        writer.scalars(10 * place, values | steps, wall_time=at_s + place)
    writer.context(100, context)
    writer.close()


def test_runs_of_several_workers_are_one_training_told_by_the_chief(tmp_path):
    for number in (2, 0, 1):
        write(tmp_path, worker_run(number), step_ms=4.0 + number, workers=3)
    training = newest_training(tmp_path)
    assert training.name == "perf"
    found = training.summary()
    assert found.step_ms == pytest.approx(4.0)
    assert [(w.number, w.step_ms) for w in found.workers] == [(0, 4.0), (1, 5.0), (2, 6.0)]


def test_what_workers_on_the_chief_s_machine_use_of_its_cpus_is_known(tmp_path, monkeypatch):
    write(tmp_path, worker_run(0), workers=3)
    write(tmp_path, worker_run(1))
    monkeypatch.setattr("socket.gethostname", lambda: "another")
    write(tmp_path, worker_run(2))
    found = newest_training(tmp_path).summary()
    assert [worker.beside_cpu_pct for worker in found.workers] == [0.0, 90.0, 0.0]


def test_without_the_chief_the_first_that_is_there_tells(tmp_path):
    for number in (1, 2):
        write(tmp_path, worker_run(number), step_ms=4.0 + number, workers=3)
    found = newest_training(tmp_path).summary()
    assert found.step_ms == pytest.approx(5.0)
    assert [worker.number for worker in found.workers] == [1, 2]


def test_a_single_run_has_no_workers(tmp_path):
    write(tmp_path, "perf")
    assert newest_training(tmp_path).summary().workers == ()


def test_of_a_training_and_calls_beside_it_the_training_is_diagnosed(tmp_path):
    calls = {"predict": {"calls": 1, "executions": 1, "steps": 1, "spent_s": 1.0, "parts_s": {}}}
    for name in ("calls_1", "calls_2"):
        ReopenedRun(str(tmp_path / name)).write(1, {}, {"inference": calls})
    with pytest.raises(ValueError, match="holds 2"):
        newest_training(tmp_path)
    write(tmp_path, "fit_1/perf")
    assert newest_training(tmp_path).name == "fit_1/perf"
    assert len(trainings(tmp_path)) == 3


@pytest.mark.parametrize("folder", ["", "perf"])
def test_the_folder_of_the_runs_will_do_too(folder, tmp_path):
    for number in (0, 1):
        write(tmp_path, worker_run(number))
    assert len(newest_training(tmp_path / folder).summary().workers) == 2


def test_one_worker_s_own_folder_is_that_worker_alone(tmp_path):
    for number in (0, 1):
        write(tmp_path, worker_run(number), step_ms=4.0 + number)
    found = newest_training(tmp_path / "perf" / "worker_1").summary()
    assert (found.step_ms, found.workers) == (pytest.approx(5.0), ())


@pytest.mark.parametrize(("alone_at", "workers"), [(-50.0, 2), (50.0, 0)])
def test_of_a_training_alone_and_one_of_several_workers_the_newer_counts(
    alone_at, workers, tmp_path
):
    write(tmp_path, "perf", at_s=alone_at)
    for number in (0, 1):
        write(tmp_path, worker_run(number))
    assert len(newest_training(tmp_path).summary().workers) == workers


def test_what_an_earlier_training_left_is_no_worker_of_this_one(tmp_path):
    write(tmp_path, worker_run(0), workers=2)
    write(tmp_path, worker_run(1), at_s=-CLOCKS_APART_S - 60)
    write(tmp_path, worker_run(2))
    assert [worker.number for worker in newest_training(tmp_path).summary().workers] == [0]


def test_several_trainings_below_one_directory_are_reported_each(tmp_path):
    write(tmp_path / "a", "perf")
    for number in (0, 1):
        write(tmp_path / "b", worker_run(number))
    assert {training.name for training in trainings(tmp_path)} == {"a/perf", "b/perf"}
    names = {report.name for report in run_reports([tmp_path])}
    assert names == {str(tmp_path / "a"), str(tmp_path / "b")}
    with pytest.raises(ValueError, match=r"holds 2: a/perf, b/perf\. Give the directory of one"):
        newest_training(tmp_path)
