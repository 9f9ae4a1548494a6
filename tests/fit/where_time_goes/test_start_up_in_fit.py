"""Start-up and refilled shuffles in a real fit, and what tf.data does of what is advised."""

import threading
import time
from itertools import pairwise

import keras
import programs
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.observation.facts.input.dataset_graph import dataset_graph
from keras_perf.observation.facts.tracing_time import traced_s

BATCH, STEPS, BUFFER, EPOCHS = 4, 40, 100, 4

FOUND, NO_MORE = 0.7, 1.5
"""Of the time that filling the buffer really took, as its map's own clock has it."""


class Filled:
    """A map's function that waits for each element, and knows when."""

    def __init__(self):
        self.ends = []

    def wait(self, x):
        time.sleep(0.003)
        self.ends.append(time.perf_counter())
        return x

    def __call__(self, x, y):
        waited = tf.numpy_function(self.wait, [x], tf.float32)
        return tf.ensure_shape(waited, x.shape), y

    def took(self, epoch, begun):
        """Milliseconds for the elements that fill the buffer, from when this epoch began."""
        return 1e3 * (self.ends[epoch * BATCH * STEPS + BUFFER - 1] - begun[epoch])


class Slow(keras.callbacks.Callback):
    """Training is slower than its input, which is made meanwhile; knows when epochs began."""

    def __init__(self):
        super().__init__()
        self.begun = []

    def on_train_batch_begin(self, batch, logs=None):
        if batch == 0:
            self.begun.append(time.perf_counter())

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.03)


def examples():
    return tf.data.Dataset.from_tensor_slices(programs.arrays(STEPS, BATCH))


def diagnosed(log_dir, data, slow, **fit):
    arguments = {"epochs": EPOCHS, "verbose": 0, "shuffle": False, **fit}
    programs.model().fit(data, callbacks=[slow, kp.StepGapDetector(log_dir)], **arguments)
    return kp.diagnose(log_dir)


def refilling(found):
    return [advice for advice in found.recommendations if advice.id == "cheaper-shuffle"]


@pytest.mark.timing
@programs.needs_gap_times
def test_a_buffer_that_is_filled_in_every_epoch_is_named_with_what_it_costs(tmp_path):
    filled, slow = Filled(), Slow()
    found = diagnosed(tmp_path, examples().map(filled).shuffle(BUFFER).batch(BATCH), slow)
    [advice] = refilling(found)
    took = sum(filled.took(epoch, slow.begun) for epoch in range(1, EPOCHS)) / (EPOCHS - 1)
    assert FOUND * took <= advice.evidence["refill_ms"] <= NO_MORE * took
    assert advice.evidence["buffer"] == BUFFER
    # The first epoch's is a part of start-up.
    known = found.summary.facts.start_up
    assert known.tracing_s > 0
    # Where it begins TensorFlow traces first: from its first element on.
    assert known.first_batch_s >= FOUND * filled.took(0, filled.ends) / 1e3
    whole = known.tracing_s + known.first_batch_s + known.computing_s
    assert whole == pytest.approx(known.first_execution_s)
    assert "filling the shuffle buffer" in str(found)


@pytest.mark.timing
@programs.needs_gap_times
def test_a_buffer_that_stays_full_is_not_named(tmp_path):
    data = examples().map(Filled()).shuffle(BUFFER).repeat().batch(BATCH)
    found = diagnosed(tmp_path, data, Slow(), steps_per_epoch=STEPS)
    assert refilling(found) == []
    assert not any("its buffer again" in note for note in found.notes)


# -- what tf.data does -------------------------------------------------------------------


def numbers(of_numbers, passes=3):
    """What comes out of a hundred numbers, and how many were taken in before each."""
    taken, before = [], []

    def take(number):
        taken.append(int(number))
        return number

    def counted(number):
        return tf.ensure_shape(tf.numpy_function(take, [number], tf.int64), ())

    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    data = of_numbers(tf.data.Dataset.range(100).map(counted)).with_options(options)
    out = []
    for number in data.take(100 * passes).as_numpy_iterator():
        out.append(int(number))
        before.append(len(taken))
    return out, max(b - a for a, b in pairwise(before))


def test_repeated_right_behind_it_a_shuffle_stays_full_and_its_order_is_the_same():
    out, most = numbers(lambda data: data.shuffle(60, seed=1).repeat())
    usual, refilled = numbers(lambda data: data.shuffle(60, seed=1).prefetch(1).repeat())
    assert most == 1
    # The prefetching thread may have begun with it, or be one ahead.
    assert 20 <= refilled <= 61
    assert out == usual
    assert sorted(out[:100]) == sorted(out[100:200]) == list(range(100))


def test_repeated_before_it_passes_are_mixed():
    out, most = numbers(lambda data: data.repeat().shuffle(60, seed=1))
    assert most == 1
    assert sorted(out[:100]) != list(range(100))


def test_before_a_map_a_shuffle_gives_the_same_order():
    out, _ = numbers(lambda data: data.shuffle(60, seed=1))
    moved = tf.data.Dataset.range(100).shuffle(60, seed=1).map(lambda number: number + 0)
    assert list(map(int, moved.as_numpy_iterator())) == out


def test_a_warm_start_begins_before_the_first_batch_is_asked_for():
    taken = threading.Event()

    def take(number):
        taken.set()
        return number

    options = tf.data.Options()
    options.experimental_warm_start = True
    data = tf.data.Dataset.range(100).map(lambda n: tf.numpy_function(take, [n], tf.int64))
    iterator = iter(data.shuffle(60).batch(4).prefetch(1).with_options(options))
    assert taken.wait(60)
    assert len(next(iterator)) == 4


@pytest.mark.parametrize(
    ("of_numbers", "buffer"),
    [
        (lambda data: data.shuffle(60), 60),
        (lambda data: data.shuffle(600), 100),
        (lambda data: data.shuffle(data.cardinality()), 100),
        (lambda data: data.filter(lambda number: number > 3).shuffle(600), 600),
        (lambda data: data.batch(10), None),
    ],
)
def test_a_shuffle_tells_what_it_holds(of_numbers, buffer):
    written = dataset_graph(of_numbers(tf.data.Dataset.range(100)))
    assert written.chains[0][-1].buffer == buffer


def test_tensorflow_tells_for_how_long_it_traced():
    before = traced_s()
    twice = tf.function(lambda x: 2 * x)
    twice(tf.constant(1.0))
    traced = traced_s()
    twice(tf.constant(2.0))
    assert 0 <= before < traced == traced_s()
