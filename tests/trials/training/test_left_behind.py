"""A train step that changes what nobody could put back is not run on trial."""

import os
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from programs import set_random_seed

import keras_perf as kp

ROWS, FEATURES, BATCH = 64, 4, 8


class Held(keras.Model):
    """Looks a weight up and draws, as many do; a subclass leaves more behind."""

    def __init__(self):
        super().__init__()
        set_random_seed(3)
        self.dense = keras.layers.Dense(1)
        keys = tf.constant([0, 1], tf.int64)
        self.fixed = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(keys, tf.constant([1.0, 2.0])), 0.0
        )
        self.noise = tf.random.Generator.from_seed(4)
        self.compile("sgd", "mse", jit_compile=False)

    def call(self, x):
        return self.dense(x)

    def train_step(self, data):
        x, y = data
        self.leave(x)
        weight = self.fixed.lookup(tf.constant(1, tf.int64))
        return super().train_step((x * weight + self.noise.normal(tf.shape(x)), y))

    def leave(self, x):
        """Nothing."""


class WritesSummaries(Held):
    def __init__(self, folder):
        super().__init__()
        self.folder = folder
        self.writer = tf.summary.create_file_writer(str(folder))

    def leave(self, x):
        with self.writer.as_default(step=0):
            tf.summary.scalar("mean", tf.reduce_mean(x))

    def left(self):
        self.writer.flush()
        return [path.stat().st_size for path in self.folder.iterdir()]


class WritesFiles(Held):
    def __init__(self, folder):
        super().__init__()
        self.last = folder / "last.txt"

    def leave(self, x):
        tf.io.write_file(str(self.last), tf.strings.as_string(tf.reduce_mean(x)))

    def left(self):
        return self.last.exists() and self.last.read_bytes()


class ChangesATable(Held):
    def __init__(self, folder):
        super().__init__()
        self.seen = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, 0)

    def leave(self, x):
        key = tf.constant([0], tf.int64)
        self.seen.insert(key, self.seen.lookup(key) + 1)

    def left(self):
        return int(self.seen.lookup(tf.constant([0], tf.int64))[0])


class TakesMore(Held):
    def __init__(self, folder):
        super().__init__()
        self.unlabelled = iter(tf.data.Dataset.range(10_000))

    def leave(self, x):
        tf.debugging.assert_greater(next(self.unlabelled), tf.constant(-1, tf.int64))

    def left(self):
        return int(next(self.unlabelled))


def data():
    x = np.arange(ROWS * FEATURES, dtype="float32").reshape(ROWS, FEATURES) / 256
    return tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(BATCH, drop_remainder=True)


CASES = [
    (WritesSummaries, "writes summaries"),
    (WritesFiles, "writes files"),
    (ChangesATable, "changes a table or a queue"),
    (TakesMore, "takes from an iterator of its own"),
]


@pytest.mark.parametrize(("model", "what"), CASES, ids=lambda each: getattr(each, "__name__", ""))
def test_it_is_refused_before_a_step_ran(tmp_path, model, what):
    trained, twin = model(tmp_path / "tried"), model(tmp_path / "not")
    said = f"train step that {what}, which nobody could put back. .* Nothing was changed."
    with pytest.raises(ValueError, match=said):
        kp.try_advice(trained, data(), budget_s=60.0)
    with pytest.raises(ValueError, match=said):
        kp.find_learning_rate(trained, data())
    with pytest.raises(ValueError, match=said):
        kp.sweep_steps_per_execution(trained, data(), plot=False)
    assert trained.left() == twin.left()


def test_what_can_be_put_back_is_tried():
    model = Held()
    model.fit(data(), verbose=0, shuffle=False)
    before = [each.numpy() for each in model.weights], model.noise.state.numpy()
    kp.try_advice(model, data(), budget_s=1.0)
    after = [each.numpy() for each in model.weights], model.noise.state.numpy()
    np.testing.assert_equal(after, before)


def test_after_fit_the_reason_stands_in_the_report(tmp_path):
    model = ChangesATable(tmp_path)
    ours = [kp.AdviceTester(tmp_path), kp.StepGapDetector(tmp_path)]
    model.fit(data().repeat(8), verbose=0, shuffle=False, callbacks=ours)
    assert model.left() == ROWS // BATCH * 8
    assert "changes a table or a queue" in str(kp.diagnose(tmp_path))


SAYS_NOTHING = """
import keras, numpy as np, tensorflow as tf
import keras_perf as kp
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8), keras.layers.Dense(1)])
model.compile("adam", "mse")
x = np.zeros((64, 4), "float32")
data = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(8)
kp.sweep_steps_per_execution(model, data, (1, 2), repeats=1, steps=2, plot=False)
"""


def test_asking_what_a_step_holds_logs_nothing():
    """TensorFlow logs a line for each question that it answers with an error."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "0"}
    command = [sys.executable, "-c", SAYS_NOTHING]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "OP_REQUIRES" not in done.stderr
    assert "rendezvous" not in done.stderr
