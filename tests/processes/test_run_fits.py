"""Each fit of a real program is observed, whatever becomes of the program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from keras_perf.read.fits import fits_of

pytestmark = [pytest.mark.xdist_group("a program with fits"), pytest.mark.whole]

PROGRAM = """
import os, signal, sys
assert not {"numpy", "tensorflow"} & set(sys.modules)
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
from tensorflow import keras

class Mine(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1)
        self.compile("sgd", "mse")

    def call(self, x):
        return self.dense(x)

    def fit(self, data, **settings):
        return super().fit(*data, verbose=0, **settings)

class Stops(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        os.kill(os.getpid(), signal.SIGINT)

data = np.ones((400, 4), "float32"), np.ones((400, 1), "float32")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
print(len(model.fit(*data, 8, 2, 0).history["loss"]), flush=True)
Mine().fit(data, batch_size=8)
try:
    model.fit(data[0], data[1][:3], verbose=0)
except ValueError as error:
    print("not trained")
one = [model.predict(data[0][:1], verbose=0) for _ in range(12)]
print({each.item() for each in one} == {model(data[0][:1]).numpy().item()})
model.evaluate(*data, verbose=0)
model.fit(*data, batch_size=8, verbose=0, callbacks=Stops())
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    (folder / "program.py").write_text(PROGRAM)
    path = os.pathsep.join(filter(None, sys.path))
    command = ["-m", "keras_perf", "run", "--no-gpu", "--html", "report.html", "program.py"]
    found = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=120,
        env={**os.environ, "PYTHONPATH": path},
    )
    return folder, found


def test_it_ends_as_it_would_without_us(ran):
    _, found = ran
    assert found.returncode == -signal.SIGINT
    assert found.stdout == "2\nnot trained\nTrue\n"
    traceback = found.stderr.partition("Traceback (most recent call last):\n")[2]
    assert "KeyboardInterrupt\n" in traceback
    assert f"{os.sep}keras_perf{os.sep}" not in traceback.partition("KeyboardInterrupt\n")[0]


def test_each_fit_that_trained_has_a_run_of_its_own(ran):
    folder, _ = ran
    names = sorted(each.name for each in (folder / "logs" / "program").iterdir())
    # The third failed before its first step, and left nothing.
    assert names == ["calls_1", "fit_1", "fit_2", "fit_4"]


def test_all_calls_of_a_model_outside_of_a_fit_are_one_run_and_are_told_after_the_fits(ran):
    folder, found = ran
    [calls] = fits_of(folder / "logs" / "program" / "calls_1")["perf"]
    assert {kind: call.calls for kind, call in calls.facts.inference.items()} == {
        "predict": 12,
        "evaluate": 1,
    }
    told = found.stderr.partition("evaluate and predict outside of any fit, ")[2]
    assert told.startswith(f"{os.path.join('logs', 'program', 'calls_1')}:\n\n")
    assert "* `predict` was called 12 times, with 1 example a call." in told


def test_each_says_so_when_it_ends_and_the_diagnosis_comes_last(ran):
    _, found = ran
    ended = [line for line in found.stderr.splitlines() if line.startswith("keras_perf: ")]
    assert len(ended) == 3
    assert ended[2].startswith("keras_perf: training was ended by KeyboardInterrupt; ")
    *_, last = found.stderr.partition("KeyboardInterrupt\n\n")
    assert last.startswith("3 fits:\n")
    assert "part of a step" in last


def test_the_page_is_written(ran):
    folder, found = ran
    assert "<h2>3. " in (folder / "report.html").read_text()
    assert found.stderr.endswith(f"Written: {folder / 'report.html'}\n")
