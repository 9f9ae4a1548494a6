"""A training whose log directory lies in TensorFlow's memory, as it would in a bucket."""

import itertools
import json
import tempfile
import threading

import programs
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.cli.main import main
from keras_perf.records.fit_identity import FIT_TAG

numbers = itertools.count()


def trained(log_dir):
    callbacks = kp.perf_callbacks(
        log_dir, profiler={"warmup_steps": 10, "active_steps": 5}, gpu=False
    )
    data = programs.dataset(100)
    programs.model().fit(data, epochs=2, verbose=0, shuffle=False, callbacks=callbacks)


@pytest.fixture
def log_dir():
    return f"ram://remote/{next(numbers)}"


def test_a_remote_log_directory_is_as_good_as_a_local_one(
    log_dir, tmp_path, said, monkeypatch, capsys
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    before = threading.active_count()
    trained(log_dir)
    assert not said()
    assert not list((tmp_path / "temporary").iterdir())
    assert threading.active_count() <= before

    tags = set(kp.load_scalars(log_dir)["tag"])
    assert {"perf/step_time_ms", "perf/compute_ms", "capture/size_mib"} <= tags
    assert {tag for tag in tags if tag.startswith("trace/")}
    diagnosis = kp.diagnose(log_dir)
    assert diagnosis.summary.steps > 20
    assert diagnosis.summary.facts.captures
    written = tf.io.gfile.GFile(tf.io.gfile.glob(f"{log_dir}/perf/events*")[0], "rb").read()
    assert b"perf/diagnosis" in written
    assert FIT_TAG.encode() in written
    assert kp.read_trace(log_dir).steps == 5
    assert kp.compare(log_dir, log_dir).speedup == 1.0

    # What was said when the training ended, if it could have been quicker.
    capsys.readouterr()
    assert main(["report", log_dir, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["run"] == log_dir
    page = f"{log_dir}/page.html"
    assert main(["report", log_dir, "--html", page]) == 0
    assert tf.io.gfile.stat(page).length > 10_000
