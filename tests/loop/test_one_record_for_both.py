"""A scripted clock, fed through `fit` and through a custom loop, gives equal records."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import model_pb2

import keras_perf as kp
from keras_perf.loop import LoopMonitor
from keras_perf.observation.facts.input.pipeline_model import PipelineModel
from keras_perf.observers.steps.timeline import Timeline
from keras_perf.records.epoch_gap import VALIDATION, EpochGap

MS = 1_000_000
EPOCHS, STEPS = 3, 240


class Script:
    """A clock that stands still but for what the training is said to do, and tf.data's gaps."""

    def __init__(self):
        self.now = 0
        self.fetched = None
        self.gaps_us = []
        self.calls = 0

    def clock(self):
        return self.now

    def spend(self, ms):
        self.now += round(ms * MS)

    def train(self, steps):
        """Each step waits 2 ms for input and computes 3 ms; a call costs 1 ms."""
        self.spend(0.5)
        for _ in range(steps):
            if self.fetched is not None:
                self.gaps_us.append((self.now - self.fetched) // 1000)
            self.spend(2)
            self.fetched = self.now
            self.spend(3)
        self.spend(0.5)
        self.calls += 1

    def hook(self):
        """Every tenth one takes longer."""
        self.spend(1 if self.calls % 10 else 4)


@pytest.fixture
def scripted(monkeypatch):
    """Makes a script, which is tf.data's gaps too, and collects what the timelines tell."""

    def start():
        script, told, first = Script(), [], []
        monkeypatch.setattr(
            PipelineModel,
            "read",
            lambda self: model_pb2.ModelProto(gap_times=script.gaps_us[-100:]),
        )
        for name in ("take", "take_epoch_gaps"):
            original = getattr(Timeline, f"_original_{name}", getattr(Timeline, name))
            monkeypatch.setattr(Timeline, f"_original_{name}", original, raising=False)

            def noting(self, original=original):
                found = original(self)
                # The others are of `fit`'s validations, which a loop's driver does not see into.
                first.append(self)
                if self is first[0]:
                    told.extend(found)
                return found

            monkeypatch.setattr(Timeline, name, noting)
        return script, told

    return start


def trained_by_fit(script, n, log_dir):
    class Scripted(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(1)

        def call(self, x):
            return self.dense(x)

        def make_train_function(self, force=False):
            def train(iterator):
                script.train(n)
                return {"loss": 0.0}

            self.train_function = train

        def make_test_function(self, force=False):
            def test(iterator):
                script.spend(50)
                return {"loss": 0.0}

            self.test_function = test

    class Mine(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            script.hook()

        def on_train_batch_end(self, batch, logs=None):
            script.spend(0.25)

        def on_epoch_end(self, epoch, logs=None):
            script.spend(20)

    model = Scripted()
    model.compile("sgd", "mse", steps_per_execution=n, jit_compile=False)
    model(np.zeros((1, 2), "float32"))
    data = tf.data.Dataset.from_tensors((np.zeros((4, 2), "float32"), np.zeros((4, 1)))).repeat()
    detector = kp.StepGapDetector(log_dir)
    detector.clock = script.clock
    model.fit(
        data,
        epochs=EPOCHS,
        steps_per_epoch=STEPS,
        validation_data=data,
        validation_steps=1,
        shuffle=False,
        verbose=0,
        callbacks=[detector, Mine()],
    )


def trained_by_a_loop(script, n, log_dir):
    model = keras.Sequential([keras.layers.Dense(1)])
    monitor = LoopMonitor(
        log_dir,
        model=model,
        steps=EPOCHS * STEPS,
        profiler=False,
        gpu=False,
        steps_per_execution=False,
    )
    monitor.clock = script.clock
    data = tf.data.Dataset.range(1)
    with monitor:
        # As Keras keeps that of data without an end.
        iterator = iter(data)
        for _ in range(EPOCHS):
            step = 0
            while step < STEPS:
                with monitor.host("Mine.on_train_batch_begin"):
                    script.hook()
                with monitor.execution(iterator, n, left=STEPS - step) as call:
                    call.returned(script.train(call.steps))
                step += call.steps
                with monitor.host("Mine.on_train_batch_end"):
                    script.spend(0.25)
            with monitor.outside("evaluation"):
                # As many times as Keras calls it for one validation step.
                script.spend(50)
            with monitor.outside("Mine.on_epoch_end"):
                script.spend(20)


def with_time(record):
    """Without the owners that took none: in `fit` these are Keras's own epoch hooks.

    The making of an iterator lies behind these, and is not known of a loop; here it takes no time.
    Nor is a validation's first execution, from which on here all of it lasts.
    """
    if isinstance(record, EpochGap):
        assert not record.iterator_ns
        record = record._replace(iterator_ns=None, validated_ns=0)
    else:
        # Of the CPU's clock, which no script turns.
        record = record._replace(own_ns=0)
    return record._replace(owners=tuple((o, ns) for o, ns in record.owners if ns))


@pytest.mark.parametrize("n", [1, 8])
def test_fit_and_a_loop_give_equal_records_and_equal_scalars(scripted, n, tmp_path):
    records, scalars, validated = [], [], []
    for train in (trained_by_fit, trained_by_a_loop):
        script, told = scripted()
        log_dir = tmp_path / train.__name__
        train(script, n, log_dir)
        records.append([with_time(record) for record in told])
        gaps = [record for record in told if isinstance(record, EpochGap)]
        validated.append([gap.validated_ns for gap in gaps])
        frame = kp.load_scalars(log_dir)
        # A loop's driver does not see into validations, and is told of no examples.
        left_out = frame["tag"].str.startswith("validation/") | (
            frame["tag"] == "perf/examples_per_sec"
        )
        frame = frame[~left_out].reset_index(drop=True)
        scalars.append(
            frame[["run", "tag", "step", "value"]].astype({"tag": object, "run": object})
        )
    by_fit, by_loop = records
    assert len(by_fit) > EPOCHS * STEPS / n
    assert by_fit == by_loop
    assert validated == [[dict(gap.owners)[VALIDATION] for gap in gaps], [0] * EPOCHS]
    assert {"perf/input_wait_ms", "perf_callbacks/Mine.on_train_batch_end_ms"} <= set(
        scalars[0]["tag"]
    )
    assert scalars[0].equals(scalars[1])
