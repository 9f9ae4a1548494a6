"""keras-perf demo: it replaces its own runs, and nobody else's."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from keras_perf.cli import demo
from keras_perf.cli.demo_folders import OWN, make_room
from keras_perf.cli.main import main
from keras_perf.files.any_path import any_path
from keras_perf.write.writable_log_dir import writable_log_dir


def a_run(log_dir, name):
    file = Path(log_dir) / name / "perf" / "events.out.tfevents.1"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"weeks of training")
    return file


@pytest.mark.parametrize("name", ["before", "after"])
def test_a_directory_with_runs_of_that_name_is_refused_and_left(name, tmp_path, capsys):
    file = a_run(tmp_path, name)
    assert main(["demo", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert repr(str(tmp_path)) in error
    assert file.read_bytes() == b"weeks of training"


@pytest.mark.parametrize("log_dir", [OWN, f"./{OWN}/"])
def test_the_runs_of_an_earlier_demo_make_room(log_dir, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    others = a_run(OWN, "mine")
    for name in ("before", "after"):
        a_run(OWN, name)
    make_room(any_path(writable_log_dir(log_dir)))
    assert [path.name for path in Path(OWN).iterdir()] == ["mine"]
    assert others.exists()


def test_the_command_to_see_it_can_be_pasted_whatever_the_directory_is_called(monkeypatch):
    for name in ("_train", "diagnose", "compare", "_summary"):
        monkeypatch.setattr(demo, name, lambda *_: SimpleNamespace(recommendations=()))
    monkeypatch.setattr(demo, "write_images", lambda _: [])
    console = Console(file=(shown := io.StringIO()))
    demo.run(any_path("my logs"), console)
    assert "See it: tensorboard --logdir 'my logs'\n" in shown.getvalue()


def test_other_runs_beside_the_two_are_no_obstacle(tmp_path):
    a_run(tmp_path, "baseline")
    (tmp_path / "before").mkdir()
    make_room(any_path(tmp_path))
    make_room(any_path(tmp_path / "new"))
    assert (tmp_path / "baseline").exists()
