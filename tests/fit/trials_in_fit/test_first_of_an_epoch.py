"""An epoch's first execution fills the buffer of a shuffle: that is no trial's time."""

import time
from statistics import mean

import programs
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.records.execution import Kind

EPOCH, EPOCHS = 40, 6


@pytest.fixture(autouse=True)
def steps_are_short_enough_on_any_machine(monkeypatch):
    for name in ("SMALL_COST_S", "LONG_STEP_MS", "LONG_TRIAL_MS"):
        monkeypatch.setattr(f"keras_perf.observers.steps_trial.steps_to_try.{name}", 1e6)


class Remembers(kp.StepsPerExecutionRecommender):
    """All executions that it is told of."""

    def observation_begins(self, observation):
        self.seen = []
        super().observation_begins(observation)

    def executions(self, executions):
        self.seen += executions
        super().executions(executions)


def shuffled():
    """All of it, behind a map that waits for as long as a step takes, and that nothing hides."""
    wait_s = max(2.0, programs.usual_step_ms()) / 1e3

    def waits(x):
        time.sleep(wait_s)
        return x

    slow = programs.dataset(EPOCH).map(
        lambda x, y: (tf.ensure_shape(tf.numpy_function(waits, [x], tf.float32), x.shape), y)
    )
    return slow.shuffle(EPOCH)


def fit(callbacks):
    programs.model().fit(shuffled(), epochs=EPOCHS, verbose=0, shuffle=False, callbacks=callbacks)


def counts_each_begin(found, steady, begins):
    """A step is told as all after the warm-up are, of which one an epoch is as long as `begins`."""
    usual_ms = mean(e.cycle_ns / 1e6 for e in steady if e.first_step % EPOCH)
    longer_ms = mean(e.cycle_ns / 1e6 - usual_ms for e in begins)
    step_ms = usual_ms + longer_ms * (EPOCHS - 1) / found.summary.after_warmup
    assert found.breakdown["step"] == pytest.approx(step_ms, rel=0.1)


def test_no_trial_takes_its_place(tmp_path):
    remembers = Remembers(tmp_path)
    fit([remembers])
    trials = [e.first_step for e in remembers.seen if e.kind is Kind.TRIAL]
    assert trials
    assert all(step % EPOCH for step in trials)


@programs.needs_gap_times
@pytest.mark.timing
def test_its_wait_is_known_though_a_trial_follows(tmp_path):
    remembers = Remembers(tmp_path)
    fit([remembers, kp.StepGapDetector(tmp_path)])
    trials = {e.first_step for e in remembers.seen if e.kind is Kind.TRIAL}
    found = {e.step for e in kp.diagnose(tmp_path).events if e.cause == "shuffle-refill"}
    assert found & {step - 2 for step in trials}
    assert found >= {epoch * EPOCH for epoch in range(1, EPOCHS)}


@programs.needs_gap_times
@pytest.mark.timing
def test_it_counts_once_an_epoch_though_trials_leave_out_other_steps(tmp_path):
    remembers = Remembers(tmp_path)
    fit([remembers, kp.StepGapDetector(tmp_path)])
    found = kp.diagnose(tmp_path)
    steady = [e for e in remembers.seen if e.kind is Kind.STEADY]
    begins = [e for e in steady if e.first_step % EPOCH == 0]
    assert len(begins) == EPOCHS - 1
    assert len(steady) - len(begins) < 0.9 * (EPOCH - 1) * EPOCHS
    counts_each_begin(found, steady, begins)


@programs.needs_gap_times
@pytest.mark.timing
def test_one_that_a_capture_holds_counts_as_the_others(tmp_path):
    remembers = Remembers(tmp_path)
    captures = kp.WindowedProfiler(tmp_path, warmup_steps=2 * EPOCH - 2, active_steps=4)
    fit([remembers, captures, kp.StepGapDetector(tmp_path)])
    found = kp.diagnose(tmp_path)
    assert 2 * EPOCH in {e.first_step for e in remembers.seen if e.kind is Kind.PROFILED}
    steady = [e for e in remembers.seen if e.kind is Kind.STEADY]
    begins = [e for e in steady if e.first_step % EPOCH == 0]
    assert len(begins) == EPOCHS - 2
    counts_each_begin(found, steady, begins)
