"""What advice starts from: settings and habits of a `fit`, known while it runs."""

import gc
import os
import time
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
from programs import arrays, dataset, model

import keras_perf as kp
from keras_perf.callbacks import step_gap_detector
from keras_perf.observation.facts.batch_shapes import differ_in_more_than_rows
from keras_perf.observation.facts.input.distribution_options import (
    distribution_options,
    options_of_iterator,
)
from keras_perf.observers.steps_trial import steps_to_try
from keras_perf.trials.train_functions.traced_step import operations_of, traces_of

STEPS = 80


def facts_of(log_dir, data, **fit):
    callbacks = [kp.StepGapDetector(log_dir), *fit.pop("callbacks", [])]
    model().fit(data, verbose=0, shuffle=False, callbacks=callbacks, **fit)
    return kp.diagnose(log_dir).summary.facts


@pytest.mark.parametrize("drop", [True, False])
def test_it_is_known_whether_rows_differ(tmp_path, drop):
    assert facts_of(tmp_path, dataset(STEPS, drop_remainder=drop)).input.rows_differ is not drop


@pytest.mark.parametrize(
    ("shapes", "expected"), [((None, 4), False), ((None, None), True), (None, True), ((), False)]
)
def test_it_is_known_whether_an_iterator_s_batches_differ_in_more_than_rows(shapes, expected):
    data = tf.data.Dataset.from_tensors(tf.ones((2, 4)))
    data = data.map(lambda x: tf.ensure_shape(tf.numpy_function(np.abs, [x], x.dtype), shapes))
    assert differ_in_more_than_rows(SimpleNamespace(iterator=iter(data))) is expected


class Lengths(keras.utils.PyDataset):
    """Batches whose sequences have these lengths in turn."""

    def __init__(self, *lengths):
        super().__init__()
        self.lengths = lengths

    def __len__(self):
        return STEPS

    def __getitem__(self, index):
        return np.ones((2, self.lengths[index % len(self.lengths)], 4)), np.ones((2, 1))


@pytest.mark.parametrize(("lengths", "many"), [((5, 6), True), ((5,), False)])
@pytest.mark.parametrize("kind", ["PyDataset", "generator"])
def test_so_it_is_of_batches_that_python_makes(tmp_path, kind, lengths, many):
    """XLA would compile for each shape, and is not advised."""
    batches = Lengths(*lengths)
    data = batches if kind == "PyDataset" else (batches[index] for index in range(STEPS))
    layers = keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(1)
    network = keras.Sequential([keras.layers.Input((None, 4)), *layers])
    network.compile("sgd", "mse")
    watched = kp.StepGapDetector(tmp_path)
    network.fit(data, steps_per_epoch=STEPS, verbose=0, shuffle=False, callbacks=[watched])
    facts = kp.diagnose(tmp_path).summary.facts
    assert (facts.input.input_kind, facts.input.many_shapes) == (kind, many)


class Slow(keras.callbacks.Callback):
    """Sleeps in every tenth batch, and keeps how long each call really took."""

    def __init__(self):
        super().__init__()
        self.took_s = []

    def on_train_batch_end(self, batch, logs=None):
        begin = time.perf_counter()
        if batch % 10 == 0:
            time.sleep(0.02)
        self.took_s.append(time.perf_counter() - begin)


def working_share(took):
    """Of these calls, those that hold nine tenths of the time, as if they held all of it."""
    held = np.cumsum(np.sort(took)[::-1]) / np.sum(took)
    return np.interp(0.9, [0.0, *held], np.arange(len(took) + 1)) / 0.9 / len(took)


@pytest.mark.timing
def test_a_hook_that_works_rarely_is_known_to(tmp_path):
    slow = Slow()
    found = facts_of(tmp_path, dataset(STEPS), callbacks=[slow]).hooks["Slow.on_train_batch_end"]
    # Ten, but for sleeps that a busy machine makes far longer than the others.
    period = 1 / working_share(slow.took_s[-found.times :])
    assert found.period == pytest.approx(period, abs=1)


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


class LooksOnceTried(keras.callbacks.Callback):
    """Reads the log soon after trials have ended, in the middle of training."""

    async_safe = True

    def __init__(self, log_dir, recommender):
        super().__init__()
        self.log_dir, self.recommender = log_dir, recommender
        self.found = None

    def on_train_batch_end(self, batch, logs=None):
        if self.found is None and self.recommender.recommendation is not None:
            self.found = kp.diagnose(self.log_dir).summary.facts


@pytest.mark.fault(2, "a training that is looked at right after trials")
def test_trials_are_on_disk_once_they_have_ended(tmp_path, monkeypatch):
    # Later facts come with the end only: what trials found is written for its own sake.
    monkeypatch.setattr(step_gap_detector, "FACTS_EVERY_NS", 10**18)
    monkeypatch.setattr(steps_to_try, "SMALL_COST_S", 100)
    gaps, recommender = kp.StepGapDetector(tmp_path), kp.StepsPerExecutionRecommender(tmp_path)
    looks = LooksOnceTried(tmp_path, recommender)
    model().fit(
        *arrays(2000), batch_size=8, verbose=0, shuffle=False, callbacks=[gaps, recommender, looks]
    )
    trial = looks.found.trial
    assert trial is not None
    assert trial.trials
    assert trial.steps_per_execution == recommender.recommendation.steps_per_execution


class Watched(keras.layers.Layer):
    """Prints, checks and calls Python in every step."""

    def call(self, x):
        tf.print(tf.shape(x), output_stream=f"file://{os.devnull}")
        tf.debugging.assert_all_finite(x, "not finite")
        self.check(x)
        return tf.ensure_shape(tf.py_function(lambda values: values, [x], tf.float32), x.shape)


@pytest.mark.parametrize(
    "check",
    [
        lambda x: tf.debugging.assert_greater(tf.shape(x)[0], 0),
        # TensorFlow checks other numbers than whole ones within a condition.
        lambda x: tf.debugging.assert_greater(x, -1e9),
    ],
)
def test_what_a_step_does_beside_training_is_known(check, tmp_path):
    watched = Watched()
    watched.check = check
    network = keras.Sequential([keras.layers.Input((8,)), watched, keras.layers.Dense(1)])
    network.compile("sgd", "mse", jit_compile=False)
    callbacks = [kp.StepGapDetector(tmp_path)]
    network.fit(dataset(STEPS), verbose=0, shuffle=False, callbacks=callbacks)
    found = kp.diagnose(tmp_path)
    operations = ("Assert", "CheckNumerics", "EagerPyFunc", "PrintV2")
    assert found.summary.facts.settings.operations_in_step == operations
    assert sum("The train step" in note for note in found.notes) == 3


@pytest.mark.parametrize("at_once", [1, 2])
def test_checks_that_a_loss_of_keras_makes_are_not_the_users(tmp_path, at_once):
    """Of classes for each pixel TensorFlow compares the shapes in every step."""
    network = keras.Sequential([keras.layers.Input((4, 4, 1)), keras.layers.Conv2D(3, 1)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    network.compile("sgd", loss, jit_compile=False, steps_per_execution=at_once)
    pixels = np.zeros((STEPS * 8, 4, 4, 1))
    data = tf.data.Dataset.from_tensor_slices((pixels, pixels.astype("int32"))).batch(8)
    callbacks = [kp.StepGapDetector(tmp_path)]
    network.fit(data, verbose=0, shuffle=False, callbacks=callbacks)
    assert kp.diagnose(tmp_path).summary.facts.settings.operations_in_step == ()
    [trace] = traces_of(network.train_function)
    assert "Assert" in operations_of(trace)
    assert hasattr(trace.graph, "_functions")


def test_a_plain_step_and_a_plain_dataset_have_nothing_to_tell(tmp_path):
    known = facts_of(tmp_path, dataset(STEPS))
    assert known.settings.operations_in_step == ()
    assert known.settings.unrolled_steps_per_execution == 1
    assert known.settings.collector_threshold == gc.get_threshold()[0]
    assert known.input.distribution_options == {}


def test_how_a_dataset_is_to_be_shared_is_known():
    options = tf.data.Options()
    assert distribution_options(dataset(2).with_options(options)) == {}
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    assert distribution_options(dataset(2).with_options(options)) == {"auto_shard_policy": "OFF"}
    assert distribution_options(arrays(2)) == {}


def test_the_options_of_a_distributed_dataset_are_found():
    """Canary for `distribution_options`: they are a private name of a DistributedDataset."""
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    asked = tf.distribute.InputOptions(
        experimental_fetch_to_device=False, experimental_per_replica_buffer_size=4
    )
    plain, changed = (
        distribution_options(strategy.experimental_distribute_dataset(dataset(2), how))
        for how in (None, asked)
    )
    assert plain == {}
    assert changed == {"fetch_to_device": "False", "per_replica_buffer_size": "4"}


@pytest.mark.parametrize("policy", ["AUTO", "OFF", "DATA"])
def test_how_a_distributed_iterator_s_dataset_is_shared_is_found(policy):
    """Canary for `options_of_iterator`: private names of a DistributedIterator and its parts."""
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = getattr(
        tf.data.experimental.AutoShardPolicy, policy
    )
    shared = strategy.experimental_distribute_dataset(dataset(2).with_options(options))
    usual = {} if policy == "AUTO" else {"auto_shard_policy": policy}
    assert options_of_iterator(iter(shared)) == usual
    assert options_of_iterator(iter(dataset(2).with_options(options))) == {}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (lambda data, context: data, {"auto_shard_policy": "NONE"}),
        # TensorFlow takes no notice of a policy here.
        (
            lambda data, context: data.with_options(_sharded_by_data()),
            {"auto_shard_policy": "NONE"},
        ),
        (lambda data, context: data.shard(context.num_input_pipelines, 0).repeat(), {}),
    ],
)
def test_what_a_function_gives_is_sharded_where_the_function_does_it(given, expected):
    """Canary: the class of what `distribute_datasets_from_function` returns, its `_datasets`."""
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    shared = strategy.distribute_datasets_from_function(lambda context: given(dataset(2), context))
    assert distribution_options(shared) == expected
    assert options_of_iterator(iter(shared)) == expected


def _sharded_by_data():
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    return options


def test_unrolled_steps_are_known(tmp_path):
    network = model(steps_per_execution=4)
    network.unrolled_steps_per_execution = 2
    callbacks = [kp.StepGapDetector(tmp_path)]
    network.fit(dataset(STEPS), verbose=0, shuffle=False, callbacks=callbacks)
    notes = kp.diagnose(tmp_path).notes
    assert any("writes 2 of the 4 steps of an execution out one by one" in note for note in notes)


@pytest.mark.parametrize("gathered", [None, 4])
def test_it_is_known_what_an_update_works_on(gathered, tmp_path):
    small = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(1)])
    small.layers[0].trainable = False
    small.compile(keras.optimizers.Adam(gradient_accumulation_steps=gathered), "mse")
    data = tf.data.Dataset.from_tensors((np.ones((2, 4)), np.ones((2, 1)))).repeat(STEPS)
    small.fit(data, verbose=0, shuffle=False, callbacks=[kp.StepGapDetector(tmp_path)])
    settings = kp.diagnose(tmp_path).summary.facts.settings
    assert (settings.parameters, settings.trainable_parameters) == (15 + 4, 4)
    assert settings.batches_per_update == (gathered or 1)
    # Two for each that is trained, the step and the learning rate.
    assert settings.optimizer_values == (None if gathered else 2 * 4 + 2)
