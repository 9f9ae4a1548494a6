"""keras-perf report: every form of it, and every way to use it wrongly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hand_built import write_fit

import keras_perf
from keras_perf.cli.main import main


@pytest.fixture
def log_dirs(tmp_path):
    for name, step_ms in {"a": 4.0, "b": 2.0}.items():
        write_fit(tmp_path / name, step_ms=step_ms, context={"cpu_count": 8})
    return [str(tmp_path / name) for name in "ab"]


def told(capsys, *arguments):
    assert main(["report", *arguments]) == 0
    return capsys.readouterr().out


def test_one_run_is_a_diagnosis(log_dirs, capsys):
    assert told(capsys, log_dirs[0]).startswith("input-bound: ")
    assert told(capsys, log_dirs[0], "--markdown").startswith("## input-bound")


def test_several_directories_are_a_table(log_dirs, capsys):
    assert [line.split()[0] for line in told(capsys, *log_dirs).splitlines()[2:4]] == log_dirs
    assert told(capsys, *log_dirs, "--markdown").startswith("| run | verdict |")


def test_a_directory_above_several_runs_is_a_table(log_dirs, tmp_path, capsys):
    assert told(capsys, str(tmp_path)) == told(capsys, *log_dirs)


@pytest.mark.parametrize(("name", "quote"), [("logs", ""), ("my logs", "'")])
def test_of_one_training_beside_calls_outside_of_it_the_diagnosis_is_shown(
    name, quote, tmp_path, capsys
):
    logs = tmp_path / name
    call = {"calls": 3, "executions": 30, "steps": 30, "spent_s": 0.3, "parts_s": {"compute": 0.3}}
    write_fit(logs / "fit_1", step_ms=4.0)
    context = {"inference": {"predict": call}}
    write_fit(logs / "calls_1", step_ms=0.0, intervals=0, context=context)
    text = told(capsys, str(logs))
    assert text.startswith("input-bound: ")
    shown = f"{quote}{logs / 'calls_1'}{quote}"
    assert text.endswith(f"evaluate and predict: keras-perf report {shown}\n")


def test_trainings_come_before_calls_that_were_made_first(tmp_path, capsys):
    call = {"calls": 3, "executions": 30, "steps": 30, "spent_s": 0.3, "parts_s": {"compute": 0.3}}
    names = ("calls_1", "fit_1", "fit_2")
    for name in names:
        called = {"intervals": 0, "context": {"inference": {"predict": call}}}
        write_fit(tmp_path / name, step_ms=4.0, **(called if name == "calls_1" else {}))
    given = [str(tmp_path / name) for name in names]
    rows = [line.split() for line in told(capsys, *given).splitlines()[2:5]]
    assert [row[0] for row in rows] == [*given[1:], given[0]]
    page = tmp_path / "page.html"
    told(capsys, *given, "--html", str(page))
    text = page.read_text(encoding="utf-8")
    assert text.index(given[1]) < text.index(given[0])


def test_json_is_read_back(log_dirs, capsys):
    runs = json.loads(told(capsys, *log_dirs, "--json"))["runs"]
    assert [(run["run"], run["breakdown"]["step"]) for run in runs] == [
        (log_dirs[0], 4.0),
        (log_dirs[1], 2.0),
    ]


def test_the_page_is_written_where_it_was_asked_for(log_dirs, tmp_path, capsys):
    file = tmp_path / "page.html"
    assert told(capsys, log_dirs[0], "--html", str(file)) == f"Written: {file}\n"
    assert file.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_prices_are_asked_for_and_must_be_above_zero(tmp_path, capsys):
    write_fit(tmp_path, step_ms=3.6, context={"epoch_steps": 1000})
    runs = json.loads(told(capsys, str(tmp_path), "--json", "--price-per-hour", "2"))["runs"]
    assert runs[0]["efficiency"]["time_price_per_epoch"] == pytest.approx(0.002)
    assert main(["report", str(tmp_path), "--price-per-kwh", "-1"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "price_per_kwh must be above 0" in error


@pytest.mark.parametrize("name", ["", "none/page.html", "a"])
def test_a_page_that_cannot_be_written_is_one_line_and_exit_code_2(
    log_dirs, tmp_path, monkeypatch, capsys, name
):
    monkeypatch.chdir(tmp_path)
    assert main(["report", log_dirs[0], "--html", name]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"FILE of --html must be writable, got {name!r} (" in error


def test_of_several_directories_the_one_without_a_run_is_named(log_dirs, tmp_path, capsys):
    assert main(["report", *log_dirs, str(tmp_path / "none")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert str(tmp_path / "none") in error


@pytest.mark.parametrize("wrong", [["--json", "--markdown"], ["--json", "--html", "p"], ["--html"]])
def test_two_forms_at_once_or_no_file_is_exit_code_2(log_dirs, wrong, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["report", log_dirs[0], *wrong])
    assert exit_.value.code == 2
    assert "argument --" in capsys.readouterr().err


# -- damaged runs ------------------------------------------------------------------------


def damage(log_dir, *, count=40):
    """Flips bytes all over the event file of a run, and returns its path."""
    [path] = Path(log_dir, "perf").iterdir()
    data = bytearray(path.read_bytes())
    for place in range(count):
        data[(place + 1) * len(data) // (count + 2)] ^= 0x55
    path.write_bytes(data)
    return path


@pytest.mark.fault(2, "a damaged run beside others")
@pytest.mark.filterwarnings("default")
def test_a_damaged_run_is_named_in_one_line_and_hides_no_other(log_dirs, tmp_path, capsys):
    path = damage(log_dirs[0])
    assert main(["report", str(tmp_path)]) == 0
    told, warned = capsys.readouterr()
    assert [line.split()[0] for line in told.splitlines()[2:4]] == log_dirs
    assert " 2.000 " in told
    assert warned.startswith(f"keras-perf report: {path} is damaged: ")
    assert warned.count("\n") == 1


@pytest.mark.fault(2, "a damaged run alone")
@pytest.mark.filterwarnings("default")
def test_of_a_damaged_run_what_is_whole_is_shown(log_dirs, capsys):
    damage(log_dirs[0], count=4)
    assert told(capsys, log_dirs[0]).startswith("input-bound: ")
    assert "4.000" in told(capsys, log_dirs[0])


def refuse_to_read(monkeypatch, path):
    """As for somebody who may not read it; the tests run as root, who may."""
    opened = Path.open

    def refusing(file, *arguments, **more):
        if file == path:
            raise PermissionError(13, "Permission denied", str(file))
        return opened(file, *arguments, **more)

    # Not `io.open`, which Python 3.10 takes before a test can put another in its place.
    monkeypatch.setattr(Path, "open", refusing)


@pytest.mark.fault(2, "a file without permission beside others")
@pytest.mark.filterwarnings("default")
def test_a_file_that_may_not_be_read_costs_no_other_run(log_dirs, tmp_path, monkeypatch, capsys):
    [path] = Path(log_dirs[0], "perf").iterdir()
    refuse_to_read(monkeypatch, path)
    assert main(["report", str(tmp_path)]) == 0
    told, warned = capsys.readouterr()
    assert told.startswith("input-bound: ")
    assert warned == f"keras-perf report: {path} cannot be read: Permission denied\n"


@pytest.mark.fault(2, "the only file without permission")
@pytest.mark.parametrize("command", ["report", "compare"])
def test_the_only_file_that_may_not_be_read_is_one_line_and_exit_code_2(
    log_dirs, monkeypatch, capsys, command
):
    [path] = Path(log_dirs[0], "perf").iterdir()
    refuse_to_read(monkeypatch, path)
    arguments = log_dirs[:1] if command == "report" else log_dirs
    assert main([command, *arguments]) == 2
    warned = capsys.readouterr().err
    assert warned == f"keras-perf {command}: {path} cannot be read: Permission denied\n"


def test_an_event_file_is_reported_as_its_directory_is(log_dirs, capsys):
    [file] = Path(log_dirs[0], "perf").iterdir()
    assert told(capsys, str(file)) == told(capsys, log_dirs[0])
    run = json.loads(told(capsys, str(file), "--json"))["runs"][0]
    assert run["run"] == str(file)


def test_an_event_file_of_somebody_else_is_refused_with_its_name(tmp_path, capsys):
    other = tmp_path / "train" / "events.out.tfevents.1.host.1.0"
    other.parent.mkdir()
    other.touch()
    assert main(["report", str(other)]) == 2
    assert f"no directory or event file of keras_perf {str(other)!r}" in capsys.readouterr().err


def test_notes_on_measuring_are_told_to_who_asks(tmp_path, capsys):
    differs = {"part": "step", "trace_ms": 5.0, "split_ms": 4.0, "why": "profiler"}
    write_fit(tmp_path, step_ms=4.0, context={"trace_agreement": [differs]})
    assert "The trace and the split differ on step" not in told(capsys, str(tmp_path))
    assert "The trace and the split differ on step" in told(capsys, str(tmp_path), "--verbose")


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"keras-perf {keras_perf.__version__}\n"


@pytest.mark.parametrize("command", ["report", "compare", "history"])
def test_each_argument_has_a_line_of_help(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    positional = capsys.readouterr().out.partition("arguments:")[2].partition("options:")[0]
    assert "directory" in positional
    assert not [line for line in positional.split("\n  ")[1:] if len(line.split()) < 2]
