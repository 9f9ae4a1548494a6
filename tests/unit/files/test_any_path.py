"""Paths as a program gives them, and as a reader sees them."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

import keras_perf as kp
from keras_perf.cli.main import main
from keras_perf.files.any_path import absolute, any_path, from_here
from keras_perf.files.remote_path import NoPathError
from keras_perf.write.writable_log_dir import writable_log_dir


@pytest.mark.parametrize("path", ["", "gs:/bucket/run", Path("s3://bucket/run")])
def test_what_names_nothing_or_has_lost_a_slash_is_refused(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for refuses in (any_path, writable_log_dir, kp.load_scalars):
        with pytest.raises(ValueError, match="must"):
            refuses(path)
    assert main(["report", os.fspath(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_an_empty_path_is_no_directory_that_is_there():
    with pytest.raises(NoPathError):
        kp.diagnose("")


def test_a_directory_stays_where_it_was_when_the_program_goes_elsewhere(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    callback = kp.StepGapDetector("logs")
    monkeypatch.chdir("elsewhere")
    assert Path(callback.log_dir) == tmp_path / "logs"
    # A copy, which may be made on another machine, begins where it is made.
    assert Path(pickle.loads(pickle.dumps(callback)).log_dir) == tmp_path / "elsewhere" / "logs"
    callback.log_dir = "another"
    assert pickle.loads(pickle.dumps(callback)).log_dir == "another"


def test_what_stands_behind_a_link_stays_behind_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert absolute("link/../run") == str(tmp_path / "link" / ".." / "run")
    assert absolute("./run/") == str(tmp_path / "run")
    assert absolute("/a/../run") == from_here("/a/../run") == "/a/../run"
    assert absolute("gs://bucket/run") == "gs://bucket/run"


def test_paths_are_shown_as_they_are_seen_from_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert from_here(str(tmp_path / "logs" / "run1")) == os.path.join("logs", "run1")
    assert from_here(str(tmp_path.parent)) == str(tmp_path.parent)
    assert from_here("gs://bucket/run") == "gs://bucket/run"

    def gone(*_):
        raise FileNotFoundError

    monkeypatch.setattr(os.path, "relpath", gone)
    assert from_here("/logs") == "/logs"
