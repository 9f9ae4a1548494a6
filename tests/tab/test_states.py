"""Whatever state a run is in, the tab has a page for it."""

import subprocess
import uuid

import pytest
from answers import parts_of, text_of
from hand_built import stage, write_fit

from keras_perf.files.remote_path import RemotePath
from keras_perf.records.run_names import worker_run
from keras_perf.write.run_writer import RunWriter

NO_PROCESS = 2**30
"""No system gives a process this number."""


def page_of(tab, logs, run="run"):
    answer = tab(logs)("/page", run=run)
    assert answer.status_code == 200, answer.text
    return answer.json["content"]


def told(tab, logs, run="run"):
    return text_of(page_of(tab, logs, run))


def write(logs, context, *, run="perf", steps=(), values=None):
    writer = RunWriter(str(logs / "run"), run)
    for step in steps:
        measured = {"perf/step_time_ms": 4.0, "perf/compute_ms": 3.0, "perf/interval_steps": 10.0}
        writer.scalars(step, measured | (values or {}), wall_time=1e9 + step)
    writer.context(max(steps, default=0), context)
    writer.close()


def test_a_run_without_steps_says_why_and_still_what_it_is(tab, tmp_path):
    write(tmp_path, {"versions": {"keras": "3.15.1"}, "epochs": 1})
    text = told(tab, tmp_path)
    assert "no step was measured: training ended within the warm-up" in text.lower()
    assert "3.15.1" in text
    assert "Where a step goes" not in text


@pytest.mark.fault(1, "a process that is killed while it trains")
def test_a_killed_run_says_so_before_all_else(tab, tmp_path, monkeypatch):
    monkeypatch.setattr("keras_perf.write.fit_of_process.os.getpid", lambda: NO_PROCESS)
    write(tmp_path, {"ending": {"how": "running"}}, steps=(10, 20, 30))
    text = told(tab, tmp_path)
    assert text.count("it was killed, or crashed") == 1
    assert text.index("it was killed, or crashed") < text.index("Over the training")


def test_a_run_that_is_killed_while_its_page_is_open_is_shown_anew(tab, tmp_path, monkeypatch):
    monkeypatch.setattr("keras_perf.tab.shown_runs.FRESH_S", 0.0)
    with subprocess.Popen(["sleep", "600"]) as process:
        monkeypatch.setattr("keras_perf.write.fit_of_process.os.getpid", lambda: process.pid)
        write(tmp_path, {"ending": {"how": "running"}}, steps=(10, 20, 30))
        ask = tab(tmp_path)

        def shown():
            [run] = ask("/runs").json["runs"]
            return run["version"], text_of(ask("/page", run="run").json["content"])

        running, text = shown()
        assert "it was killed" not in text
        assert shown() == (running, text)
        process.kill()
    killed, text = shown()
    assert killed != running
    assert "it was killed" in text
    assert shown() == (killed, text)


def test_a_run_that_goes_on_says_nothing_of_its_end(tab, tmp_path):
    write(tmp_path, {"ending": {"how": "running"}}, steps=(10, 20, 30))
    parts = parts_of(page_of(tab, tmp_path))
    assert not [each for each in parts if each[1].get("class") == "state"]


def test_a_run_that_raised_says_what_ended_it(tab, tmp_path):
    ending = {"how": "raised", "error": "ValueError", "message": "bad <record>"}
    write(tmp_path, {"ending": ending}, steps=(10, 20, 30))
    assert "by ValueError: bad <record>." in told(tab, tmp_path)


def test_several_workers_are_one_page_with_all_of_them(tab, tmp_path):
    for number in range(2):
        context = {"workers": 2, "worker": number}
        write(tmp_path, context, run=worker_run(number), steps=(10, 20, 30))
    ask = tab(tmp_path)
    assert [run["name"] for run in ask("/runs").json["runs"]] == ["run"]
    text = text_of(ask("/page", run="run").json["content"])
    assert "Workers, per step" in text
    assert "worker 0" in text
    assert "worker 1" in text


@pytest.mark.fault(2, "a GPU that is lost while it trains")
def test_a_gpu_that_was_lost_has_its_lanes_as_far_as_they_go(tab, tmp_path):
    writer = RunWriter(str(tmp_path / "run"))
    for step in range(10, 110, 10):
        gpu = {"gpu/0/utilization_pct": 50.0} if step <= 40 else {}
        writer.scalars(step, {"host/cpu_pct": 10.0, **gpu}, wall_time=float(step))
    writer.close()
    assert "This GPU gave no reading after step 40." in told(tab, tmp_path)


def test_a_record_of_an_older_version_is_told_as_far_as_it_goes(tab, tmp_path):
    older = {
        "cpu_count": 8,
        "stages": [{**stage("TensorSlice", 0.1)}, {**stage("Map", 3.0)}],
        "steps_per_execution_trial": {
            "recommended": 8,
            "predicted_speedup": 1.4,
            "low": 1.2,
            "high": 1.6,
            "applied": False,
            "reason": "a step costs 2 ms inside the graph, an execution 2 ms more.",
            "evidence": {
                "in_graph_ms": 2.0,
                "per_execution_ms": 2.0,
                "steps_per_execution": 1,
                "trials": {"1": 4.0, "8": 2.2},
            },
        },
    }
    write(tmp_path, older, steps=(10, 20, 30))
    text = told(tab, tmp_path)
    assert "Map (2)" in text
    assert "Steps per execution, tried" in text


def test_a_record_of_a_newer_version_is_told_as_far_as_it_is_known(tab, tmp_path):
    newer = {"format": 99, "cpu_count": 8, "something_new": {"a": [1]}}
    write(tmp_path, newer, steps=(10, 20, 30))
    text = told(tab, tmp_path)
    assert "Where a step goes" in text
    assert "logical CPUs" in text


@pytest.mark.parametrize("kind", ["memory", "ram"])
def test_a_remote_log_directory_is_shown(tab, tmp_path, kind):
    place = f"{kind}://tab-{uuid.uuid4().hex}"
    if kind == "ram":
        gfile = pytest.importorskip("tensorflow").io.gfile
        write_fit(tmp_path / "run", step_ms=4.0)
        [file] = (tmp_path / "run").rglob("events*")
        gfile.makedirs(f"{place}/run/perf")
        gfile.copy(str(file), f"{place}/run/perf/{file.name}")
    else:
        write_fit(f"{place}/run", step_ms=4.0)
        assert RemotePath.of(place)
    assert "Where a step goes" in told(tab, place)


def test_a_directory_that_is_not_there_is_no_run(tab, tmp_path):
    ask = tab(tmp_path / "nothing")
    assert ask("/runs").json == {"runs": []}
    assert ask("/page", run="run").status_code == 404
    assert ask("/table").status_code == 404
