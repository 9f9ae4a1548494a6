"""What a real fit waited for the ends of iterators, against clocks of its own."""

import time

import keras
import programs
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.observers.steps.outside import iterator_ends
from keras_perf.observers.steps.outside.iterator_ends import IteratorEnds, awaited_ns
from keras_perf.read.fits import fits_of


class UntilFirstSteps(keras.callbacks.Callback):
    """Seconds from each epoch's begin to its first step, and from each validation to its end.

    And those of what reads an iterator: an epoch's steps, and a validation.
    """

    def __init__(self):
        super().__init__()
        self.waited_s, self.behind_s, self.begun, self.validated = [], [], None, None
        self.read_s, self.reads = [], None

    def on_epoch_begin(self, epoch, logs=None):
        self.begun = time.perf_counter()

    def on_train_batch_begin(self, batch, logs=None):
        if self.begun is not None:
            self.reads = time.perf_counter()
            self.waited_s.append(self.reads - self.begun)
            self.begun = None

    def on_test_begin(self, logs=None):
        now = time.perf_counter()
        self.read_s.append(now - self.reads)
        self.reads = now

    def on_test_end(self, logs=None):
        self.read_s.append(time.perf_counter() - self.reads)
        self.validated = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        self.behind_s.append(time.perf_counter() - self.validated)


@pytest.mark.parametrize("tuned", [True, False])
def test_ends_of_iterators_take_no_longer_than_what_they_lie_in(tuned, tmp_path, monkeypatch):
    asked = []

    def noted(lived_ns, took_ns):
        asked.append((lived_ns / 1e9, took_ns / 1e9))
        return awaited_ns(lived_ns, took_ns)

    monkeypatch.setattr(iterator_ends, "awaited_ns", noted)
    options = tf.data.Options()
    options.autotune.enabled = tuned
    data = programs.dataset(60).prefetch(2).with_options(options)
    clock = UntilFirstSteps()
    programs.model().fit(
        data,
        epochs=8,
        verbose=0,
        shuffle=False,
        validation_data=data,
        callbacks=[kp.StepGapDetector(tmp_path), clock],
    )
    facts = fits_of(tmp_path)["perf"][-1].facts
    assert facts.inference["validation"].dataset.autotuned is tuned
    # Of all epochs but the first, and of all validations, as they end and as the next one begins.
    assert 7 - 1 + 8 <= len(asked) <= 7 - 1 + 8 + 7
    assert min(lived_s for lived_s, _ in asked) > min(clock.read_s) / 2
    longest_s = max(clock.read_s + clock.waited_s + clock.behind_s)
    assert 0 < max(took_s for _, took_s in asked) <= longest_s
    outside = facts.outside
    assert 0 <= outside.usual_iterator_end_s <= outside.usual_iterator_s
    assert 0 <= outside.usual_validation_end_s <= outside.usual_epoch_rest_s
    if max(*clock.waited_s, *clock.behind_s) < 0.02:
        assert (outside.usual_iterator_end_s, outside.usual_validation_end_s) == (0, 0)


class UntilValidations(keras.callbacks.Callback):
    """Nanoseconds from an epoch's last step to the first hook of its validation."""

    def __init__(self):
        super().__init__()
        self.before_ns, self.stepped = [], 0

    def on_train_batch_end(self, batch, logs=None):
        self.stepped = time.perf_counter_ns()

    def on_test_begin(self, logs=None):
        self.before_ns.append(time.perf_counter_ns() - self.stepped)


def test_what_lies_before_a_validation_s_first_hook_is_no_more_than_it_took(tmp_path, monkeypatch):
    gaps, add, clock = [], IteratorEnds.add, UntilValidations()

    def noted(ends, gap):
        gaps.append(gap)
        return add(ends, gap)

    monkeypatch.setattr(IteratorEnds, "add", noted)
    programs.model().fit(
        programs.dataset(20),
        epochs=4,
        verbose=0,
        shuffle=False,
        validation_data=programs.dataset(20),
        validation_steps=5,
        callbacks=[kp.StepGapDetector(tmp_path), clock],
    )
    found = [gap for gap in gaps if gap.validation_ns is not None]
    assert len(found) == len(clock.before_ns) == 4
    for gap, before_ns in zip(found, clock.before_ns, strict=True):
        assert 0 < gap.unvalidated_ns <= before_ns
        assert gap.unvalidated_ns + gap.validated_ns < gap.validation_ns
