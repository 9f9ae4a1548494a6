"""Runs behind URLs are read, diagnosed, compared and reported as local ones are."""

from __future__ import annotations

import itertools
import json

import pytest
import tensorboard.compat
from built_trace import BuiltPlane, marker, runs, write
from hand_built import write_fit
from tensorboard.compat import tensorflow_stub

import keras_perf as kp
from keras_perf.cli.main import main
from keras_perf.files.remote_path import RemotePath
from keras_perf.read.event_files import NoRunError
from keras_perf.records.run_names import worker_run
from keras_perf.trace.file.xplane import NoTraceError
from keras_perf.write.run_writer import RunWriter

numbers = itertools.count()


@pytest.fixture
def logs():
    return f"memory://reports/{next(numbers)}"


@pytest.fixture
def two(logs, tmp_path):
    """The same two runs, behind a URL and here."""
    for name, step_ms in {"a": 4.0, "b": 2.0}.items():
        for place in (logs, str(tmp_path)):
            write_fit(f"{place}/{name}", step_ms=step_ms, context={"cpu_count": 8})
    return logs, str(tmp_path)


def test_scalars_and_diagnosis_are_those_of_a_local_run(two):
    remote, local = two
    assert kp.load_scalars(remote).equals(kp.load_scalars(local))
    assert set(kp.load_scalars(remote)["run"]) == {"a/perf", "b/perf"}
    assert str(kp.diagnose(f"{remote}/a")) == str(kp.diagnose(f"{local}/a"))
    assert kp.compare(f"{remote}/a", f"{local}/b").speedup == 2.0
    assert list(kp.list_fits(remote)["run"]) == ["a/perf", "b/perf"]


def test_the_command_line_takes_urls(two, capsys):
    remote, _ = two
    assert main(["report", remote]) == 0
    assert f"{remote}/b" in capsys.readouterr().out
    assert main(["report", f"{remote}/a", "--json"]) == 0
    [run] = json.loads(capsys.readouterr().out)["runs"]
    assert run["run"] == f"{remote}/a"
    assert main(["compare", f"{remote}/a", f"{remote}/b", "--html", f"{remote}/page.html"]) == 0
    assert capsys.readouterr().out == f"Written: {remote}/page.html\n"
    page = RemotePath.of(f"{remote}/page.html").read_bytes().decode()
    assert f"From {remote}/a to {remote}/b" in page


@pytest.mark.parametrize(
    ("url", "why"),
    [
        (
            "memory://reports/none",
            "there is no directory or event file of keras_perf 'memory://reports/none'",
        ),
        ("nowhere://logs", "'nowhere://logs' cannot be read: nothing that is installed opens"),
    ],
)
def test_a_url_without_runs_is_exit_code_2_with_a_line(url, why, capsys, monkeypatch):
    monkeypatch.setattr(tensorboard.compat, "tf", tensorflow_stub)
    assert main(["report", url]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert why in line


def test_a_folder_that_holds_no_run_is_named(logs):
    RemotePath.of(f"{logs}/note.txt").write_bytes(b"x")
    with pytest.raises(NoRunError, match=f"'{logs}' holds no run of keras_perf"):
        kp.diagnose(logs)


def test_several_workers_are_one_training(logs):
    for number in (0, 1):
        writer = RunWriter(logs, worker_run(number))
        for place in range(1, 11):
            values = {"perf/step_time_ms": 2.0, "perf/interval_steps": 10.0}
            writer.scalars(10 * place, values, wall_time=float(place))
        writer.close()
    assert [worker.steps for worker in kp.diagnose(logs).summary.workers] == [100, 100]


def test_a_second_fit_goes_on_counting(logs):
    for _ in range(2):
        write_fit(logs, step_ms=4.0)
    assert list(kp.list_fits(logs)["sequence"]) == [1, 2]


@pytest.fixture
def trace_bytes(tmp_path):
    plane = BuiltPlane("/host:CPU")
    plane.line("python", marker(0, 0, 4), runs(1, 3), marker(1, 5, 9), runs(6, 8))
    return write(tmp_path, plane).read_bytes()


def test_the_newest_trace_is_read(logs, trace_bytes):
    profiles = RemotePath.of(f"{logs}/perf/plugins/profile")
    for second in ("2026_01_02_03_04_05", "2026_01_02_03_04_06_77", "2025_12_31_23_59_59"):
        (profiles / second / "vm.xplane.pb").write_bytes(trace_bytes)
    newest = profiles / "2026_01_02_03_04_06_77" / "vm.xplane.pb"
    trace = kp.read_trace(logs)
    assert (trace.path, trace.hosts, trace.steps) == (newest, ("vm",), 2)
    assert kp.read_trace(str(newest)).means == trace.means


def test_no_trace_is_said(logs):
    write_fit(logs, step_ms=4.0)
    with pytest.raises(NoTraceError, match=f"'{logs}' holds no trace"):
        kp.read_trace(logs)
    with pytest.raises(NoTraceError, match="no file or directory 'memory://reports/none'"):
        kp.read_trace("memory://reports/none")
