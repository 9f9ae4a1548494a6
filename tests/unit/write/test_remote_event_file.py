"""Events behind a URL: few copies, none while training waits, none lost."""

from __future__ import annotations

import itertools
import tempfile
import threading
from pathlib import Path

import pytest

from keras_perf.files.remote_path import RemotePath
from keras_perf.read.scalars import load_scalars
from keras_perf.write import remote_event_file
from keras_perf.write.remote_event_file import PAUSE_S, pause_after
from keras_perf.write.run_writer import RunWriter

numbers = itertools.count()


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def url():
    return f"memory://events/{next(numbers)}"


@pytest.fixture
def copies(monkeypatch):
    """The lengths of the copies, as they are made; what `fails` raises comes instead."""

    class Copies(list):
        fails = None
        made = threading.Event()

    copies, write = Copies(), RemotePath.write_bytes

    def noting(path, content):
        copies.append(len(content))
        copies.made.set()
        if copies.fails:
            raise copies.fails
        write(path, content)

    monkeypatch.setattr(RemotePath, "write_bytes", noting)
    copies.made.clear()
    return copies


def test_a_run_is_there_from_its_begin_and_whole_at_its_end(url, temporary, copies):
    writer = RunWriter(url)
    for step in range(100):
        writer.scalars(step, {"perf/step_time_ms": float(step)}, wall_time=float(step))
        writer.flush()
    assert len(copies) == 1
    assert len(load_scalars(url)) == 0
    writer.flush_now()
    assert len(load_scalars(url)) == 100
    assert len(copies) == 2
    writer.scalars(100, {"perf/step_time_ms": 1.0}, wall_time=100.0)
    writer.close()
    assert len(load_scalars(url)) == 101
    assert len(copies) == 3
    assert not list(temporary.iterdir())


def test_what_has_not_grown_is_not_copied_again(url, copies):
    writer = RunWriter(url)
    writer.flush_now()
    writer.flush_now()
    writer.close()
    assert len(copies) == 2


def test_a_running_training_is_copied_in_the_background(url, monkeypatch, copies):
    monkeypatch.setattr(remote_event_file, "PAUSE_S", 0.001)
    writer = RunWriter(url)
    copies.made.clear()
    writer.scalars(1, {"perf/step_time_ms": 1.0}, wall_time=1.0)
    assert copies.made.wait(20)
    writer.close()


@pytest.mark.parametrize(("took_s", "pause_s"), [(0.0, PAUSE_S), (1.0, PAUSE_S), (10.0, 190.0)])
def test_copies_take_a_twentieth_of_the_time_at_most(took_s, pause_s):
    assert pause_after(took_s) == pause_s
    assert took_s <= (took_s + pause_after(took_s)) / 20


@pytest.mark.fault(2, "a remote file system that fails for a while")
def test_a_copy_that_fails_is_said_once_and_made_later(url, monkeypatch, copies, said):
    monkeypatch.setattr(remote_event_file, "PAUSE_S", 0.001)
    writer = RunWriter(url)
    copies.fails = OSError(5, "the network is down")
    writer.scalars(1, {"perf/step_time_ms": 1.0}, wall_time=1.0)
    for _ in range(3):
        copies.made.clear()
        assert copies.made.wait(20)
    copies.fails = None
    writer.close()
    assert len(load_scalars(url)) == 1
    [line] = said()
    assert "the network is down" in line
    assert "nothing is lost" in line


@pytest.mark.fault(2, "a remote file system that fails at the end")
def test_what_cannot_be_copied_at_the_end_is_kept_and_named(url, temporary, copies):
    writer = RunWriter(url)
    copies.fails = OSError(5, "the network is down")
    with pytest.raises(OSError, match="the network is down") as caught:
        writer.close()
    [file] = temporary.rglob("events.out.*")
    assert repr(str(file)) in str(caught.value)


def test_a_file_that_cannot_be_made_leaves_nothing(url, temporary, copies):
    copies.fails = OSError(13, "no access")
    before = set(threading.enumerate())
    with pytest.raises(PermissionError):
        RunWriter(url)
    assert set(threading.enumerate()) <= before
    assert not list(Path(temporary).iterdir())


@pytest.mark.fault(2, "a remote file system that fails when somebody wants to read")
def test_one_copy_that_fails_does_not_end_the_writing(url, copies, said):
    writer = RunWriter(url)
    copies.fails = OSError(5, "the network is down")
    writer.scalars(1, {"perf/step_time_ms": 1.0}, wall_time=1.0)
    writer.flush_now()
    copies.fails = None
    writer.scalars(2, {"perf/step_time_ms": 1.0}, wall_time=2.0)
    writer.close()
    assert len(load_scalars(url)) == 2
    [line] = said()
    assert "the network is down" in line
