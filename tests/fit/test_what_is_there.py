"""What advice starts from: settings and habits of a `fit`, known while it runs."""

import time

import keras
import numpy as np
import pytest
from programs import arrays, dataset, model

import keras_perf as kp
from keras_perf.callbacks import step_gap_detector
from keras_perf.observers.steps_trial import steps_to_try

STEPS = 80


def facts_of(log_dir, data, **fit):
    callbacks = [kp.StepGapDetector(log_dir), *fit.pop("callbacks", [])]
    model().fit(data, verbose=0, shuffle=False, callbacks=callbacks, **fit)
    return kp.diagnose(log_dir).summary.facts


@pytest.mark.parametrize("drop", [True, False])
def test_it_is_known_whether_rows_differ(tmp_path, drop):
    assert facts_of(tmp_path, dataset(STEPS, drop_remainder=drop)).input.rows_differ is not drop


class Slow(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch % 10 == 0:
            time.sleep(0.02)


def test_a_hook_that_works_rarely_is_known_to(tmp_path):
    hooks = facts_of(tmp_path, dataset(STEPS), callbacks=[Slow()]).hooks
    assert hooks["Slow.on_train_batch_end"].period == pytest.approx(10, abs=1)


class Ones(keras.utils.PyDataset):
    def __len__(self):
        return STEPS

    def __getitem__(self, index):
        return np.ones((8, 8), "float32"), np.ones((8, 1), "float32")


def test_the_workers_of_a_pydataset_are_known(tmp_path):
    known = facts_of(tmp_path, Ones(workers=2)).input
    assert (known.input_workers, known.input_processes) == (2, False)


def test_the_steps_of_a_validation_are_known(tmp_path):
    data = dataset(STEPS)
    settings = facts_of(tmp_path, data, validation_data=data, validation_steps=3).settings
    assert settings.validation_steps == 3


class Reads(keras.callbacks.Callback):
    """Somebody looks while training runs, or it is killed."""

    def __init__(self, log_dir):
        super().__init__()
        self.log_dir, self.found = log_dir, None

    def on_train_batch_end(self, batch, logs=None):
        if batch == 1990:
            self.found = kp.diagnose(self.log_dir)


def test_a_running_training_shows_its_trial_and_what_lies_outside(tmp_path, monkeypatch):
    monkeypatch.setattr(step_gap_detector, "FACTS_EVERY_NS", 0)
    monkeypatch.setattr(steps_to_try, "SMALL_COST_S", 100)
    reads = Reads(tmp_path)
    reads.async_safe = True
    callbacks = [*kp.perf_callbacks(tmp_path, profiler=False, gpu=False), reads]
    model().fit(*arrays(2000), batch_size=8, verbose=0, shuffle=False, callbacks=callbacks)
    facts = reads.found.summary.facts
    assert facts.trial is not None
    assert facts.trial.trials or facts.trial.not_tried
    assert facts.outside is not None
    assert facts.hooks
