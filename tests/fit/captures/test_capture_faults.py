"""Faults around a capture: none ends training, none is silent, and what can be saved is."""

import gc
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
from pathlib import Path

import keras
import programs
import pytest
import tensorflow as tf
from traces import At, captures, marked_steps, traces

import keras_perf as kp


@pytest.fixture(autouse=True)
def profiler_is_free_and_nothing_lies_about(tmp_path):
    yield
    with pytest.raises(tf.errors.UnavailableError):
        tf.profiler.experimental.stop(save=False)
    assert not list(tmp_path.rglob(".capture-*"))


def fit(log_dir, *others, batches=60, **arguments):
    network = programs.model()
    profiler = kp.WindowedProfiler(log_dir, **arguments)
    callbacks = [profiler, *others]
    network.fit(programs.dataset(batches), verbose=0, shuffle=False, callbacks=callbacks)


def theirs(tmp_path):
    return sorted((tmp_path / "theirs").rglob("*.xplane.pb"))


# -- other profilers ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("profile_batch", "lost"), [((5, 30), True), ((25, 30), False), ((50, 55), False)]
)
def test_keras_own_profiler_before_inside_and_after_the_window(profile_batch, lost, tmp_path, said):
    board = keras.callbacks.TensorBoard(tmp_path / "theirs", profile_batch=profile_batch)
    fit(tmp_path / "ours", board)
    assert bool(traces(tmp_path / "ours")) is not lost
    assert any("another profiler is running" in line for line in said()) is lost
    assert bool(theirs(tmp_path)) is not (profile_batch == (25, 30))


def test_of_two_profilers_of_ours_the_first_one_captures(tmp_path, said):
    fit(tmp_path / "a", kp.WindowedProfiler(tmp_path / "b", warmup_steps=30))
    assert [len(traces(tmp_path / name)) for name in "ab"] == [1, 0]
    [line] = said()
    assert "another profiler is running" in line


def test_a_foreign_session_in_the_runtime_is_left_alone(tmp_path, said):
    from tensorflow.python.profiler.internal import _pywrap_profiler

    session = _pywrap_profiler.ProfilerSession()
    session.start(str(tmp_path / "theirs"), {})
    fit(tmp_path / "ours")
    session.export_to_tb()
    assert theirs(tmp_path)
    assert not traces(tmp_path / "ours")
    assert any("another profiler is running" in line for line in said())


def test_a_capture_that_somebody_else_stops_is_kept(tmp_path):
    fit(tmp_path, At(tf.profiler.experimental.stop, 30))
    [path] = traces(tmp_path)
    assert marked_steps(path) == list(range(20, 30))


def test_a_capture_that_somebody_else_throws_away_is_said(tmp_path, said):
    fit(tmp_path, At(lambda: tf.profiler.experimental.stop(save=False), 30))
    [line] = said()
    assert "the trace of steps 20 to 39 was lost: somebody else has ended it" in line


def test_a_session_that_replaced_ours_is_not_ended(tmp_path, said):
    def replace():
        tf.profiler.experimental.stop(save=False)
        tf.profiler.experimental.start(str(tmp_path / "theirs"))

    fit(tmp_path / "ours", At(replace, 30))
    tf.profiler.experimental.stop()
    assert theirs(tmp_path)
    assert len(said()) == 1


# -- disks and directories ---------------------------------------------------------------


def test_a_disk_that_is_full_when_the_trace_is_saved_costs_the_trace_only(tmp_path, said):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, limits[1]))

    try:
        fit(tmp_path, At(fill, 30), repeat=2, batches=100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    lost = [line for line in said() if "was lost" in line]
    assert len(lost) == 1
    assert not traces(tmp_path)


def test_a_disk_without_room_is_not_written_to(tmp_path, said, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=3 * 2**20)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    fit(tmp_path)
    [line] = said()
    assert "only 3 MiB are free" in line


def test_a_file_system_that_tells_no_size_is_written_to(tmp_path, said, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(total=0, used=0, free=0)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    fit(tmp_path)
    assert traces(tmp_path)
    assert not said()


def test_a_directory_that_vanishes_before_the_window_is_said(tmp_path, said):
    def block():
        shutil.rmtree(tmp_path / "logs/perf")
        (tmp_path / "logs/perf").write_text("")

    fit(tmp_path / "logs", At(block, 10))
    assert any("no trace of this window" in line and "written" in line for line in said())


def test_a_directory_that_vanishes_inside_the_window_is_said(tmp_path, said):
    def block():
        shutil.rmtree(tmp_path / "logs/perf")
        (tmp_path / "logs/perf").write_text("")

    fit(tmp_path / "logs", At(block, 30))
    assert any("was lost" in line for line in said())


def test_where_a_trace_cannot_be_moved_it_is_said_where_it_lies(tmp_path, said, monkeypatch):
    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "move", full)
    fit(tmp_path)
    [line] = said()
    assert "could not be moved" in line
    [staging] = tmp_path.rglob(".capture-*")
    assert str(staging) in line
    assert not list((tmp_path / "perf/plugins/profile").iterdir())
    shutil.rmtree(staging)


# -- names -------------------------------------------------------------------------------


def test_captures_in_one_second_are_all_kept(tmp_path):
    fit(tmp_path, warmup_steps=2, active_steps=2, repeat=6)
    assert len(traces(tmp_path)) == 6
    assert [c["trace"] for c in captures(tmp_path)] == sorted(
        c["trace"] for c in captures(tmp_path)
    )


def test_several_processes_on_one_directory_overwrite_nothing(processes, tmp_path):
    program = tmp_path / "program.py"
    text = textwrap.dedent(
        """
        import os, sys, tensorflow as tf
        from keras_perf.capture import profiler_door
        child = os.fork()  # The runtime starts in each of the two.
        for _ in range(6):
            profiler_door.start(sys.argv[1])
            tf.constant(1.0) + 1.0
            # In one write: what two processes print may else stand in one line.
            os.write(1, f"{profiler_door.stop().folder}\\n".encode())
        if child:
            os.waitpid(child, 0)
        """
    )
    program.write_text(text)
    _, told = processes.script(program, tmp_path / "perf")
    folders = [line for line in told.splitlines() if line.startswith(str(tmp_path))]
    assert len(set(folders)) == len(traces(tmp_path)) == 12


@pytest.mark.parametrize("scheme", ["ram://", "file://"])
def test_a_remote_log_directory_gets_its_traces_and_what_they_show(
    scheme, tmp_path, said, monkeypatch
):
    own = tmp_path / "temporary"
    own.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    log_dir = f"ram:/{tmp_path}" if scheme == "ram://" else f"file://{tmp_path}"
    fit(log_dir, warmup_steps=5, active_steps=2, repeat=2)
    found = tf.io.gfile.glob(f"{log_dir}/perf/plugins/profile/*/*.xplane.pb")
    assert len(found) == 2
    assert tf.io.gfile.stat(found[0]).length > 1000
    logged = b"".join(
        tf.io.gfile.GFile(path, "rb").read() for path in tf.io.gfile.glob(f"{log_dir}/perf/events*")
    )
    assert logged.count(b"trace/input_wait_ms") >= 2
    assert not said()
    assert not list(own.glob("keras_perf-capture-*"))


# -- ends --------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_training_that_raises_inside_a_window_keeps_its_steps(error, tmp_path):
    def fail():
        raise error("on purpose")

    with pytest.raises(error):
        fit(tmp_path, At(fail, 30))
    [path] = traces(tmp_path)
    assert marked_steps(path) == list(range(20, 30))
    [capture] = captures(tmp_path)
    assert (capture["first_step"], capture["last_step"]) == (20, 30)


def test_training_that_ends_inside_a_window_keeps_its_steps_and_says_nothing(tmp_path, said):
    fit(tmp_path, batches=30)
    [path] = traces(tmp_path)
    assert marked_steps(path) == list(range(20, 30))
    [capture] = captures(tmp_path)
    assert capture["asked_last_step"] == 40
    assert not said()


def test_windows_that_are_not_reached_are_said_with_the_number_of_steps(tmp_path, said):
    fit(tmp_path, repeat=3)
    [line] = said()
    assert "reached 1 of 3 scheduled windows: the next window begins at step 60" in line
    assert "had 60" in line


@pytest.mark.whole
def test_a_program_that_exits_inside_a_window_keeps_the_trace(tmp_path):
    program = textwrap.dedent(
        """
        import sys, keras
        sys.path.insert(0, sys.argv[2])
        import programs, keras_perf as kp
        class Exits(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                if batch == 30:
                    sys.exit(3)
        callbacks = [kp.WindowedProfiler(sys.argv[1]), Exits()]
        programs.model().fit(programs.dataset(60), verbose=0, shuffle=False, callbacks=callbacks)
        """
    )
    folder = str(Path(__file__).parents[1])
    ended = subprocess.run([sys.executable, "-c", program, str(tmp_path), folder], check=False)
    assert ended.returncode == 3
    assert len(traces(tmp_path)) == 1
    assert "trace/step_time_ms" in set(kp.load_scalars(tmp_path)["tag"])


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_trace_is_saved_ends_training_and_keeps_the_trace(
    end, tmp_path, monkeypatch
):
    save = tf.profiler.experimental.stop

    def interrupted(*arguments):
        save(*arguments)
        os.kill(os.getpid(), end)

    def raises(number, frame):
        raise KeyboardInterrupt

    monkeypatch.setattr(tf.profiler.experimental, "stop", interrupted)
    before = signal.signal(end, raises)
    try:
        fit(tmp_path)
        pytest.fail("was not interrupted")
    except KeyboardInterrupt:
        assert signal.getsignal(end) is raises
    finally:
        signal.signal(end, before)
    wait_for_closing()
    [path] = traces(tmp_path)
    assert marked_steps(path) == list(range(20, 40))
    [capture] = captures(tmp_path)
    assert (capture["first_step"], capture["last_step"]) == (20, 40)


def wait_for_closing():
    """What Keras alone saw the end of is closed when its callbacks die."""
    gc.collect()
    for thread in threading.enumerate():
        if thread.name.startswith("keras_perf"):
            thread.join(timeout=20)


def test_where_no_thread_can_be_started_any_more_the_trace_is_read_at_once(
    tmp_path, said, monkeypatch
):
    """As in an interpreter from Python 3.12 on that is about to exit."""
    start = threading.Thread.start

    def refuses(thread):
        if thread.name == "keras_perf-trace":
            raise RuntimeError("can't create new thread at interpreter shutdown")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuses)
    fit(tmp_path)
    assert "trace/step_time_ms" in set(kp.load_scalars(tmp_path)["tag"])
    assert not said()


# -- several workers ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("workers", "index", "captures_it"),
    [("chief", 1, False), ([1], 1, True)],
)
def test_the_chosen_workers_capture_and_the_others_stay_silent(
    workers, index, captures_it, tmp_path, said, monkeypatch
):
    cluster = {"worker": ["localhost:1", "localhost:2"]}
    config = {"cluster": cluster, "task": {"type": "worker", "index": index}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    fit(tmp_path, workers=workers)
    assert bool(traces(tmp_path)) is captures_it
    assert not said()


def test_a_worker_that_is_not_there_is_said_by_the_chief(tmp_path, said):
    fit(tmp_path, workers=[0, 7])
    assert traces(tmp_path)
    [line] = said()
    assert "captures nothing of worker 7: there is no such worker" in line


def test_a_config_of_workers_that_cannot_be_read_is_said(tmp_path, said, monkeypatch):
    monkeypatch.setenv("TF_CONFIG", "{")
    fit(tmp_path)
    [line] = said()
    assert "TF_CONFIG must be JSON" in line
    assert "captures as if it were alone" in line
    assert traces(tmp_path)
