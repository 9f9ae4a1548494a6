"""What programs do that few tests of ours do: nothing of it is changed, held or miscounted."""

import contextlib
import gc
import threading
import weakref

import keras
import numpy as np
import programs
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.observation.of_fit import running_fits
from keras_perf.records.run.ending import How


def trained(tmp_path, *callbacks, data=None, network=None, **arguments):
    network = network or programs.model()
    watched = [*callbacks, kp.StepGapDetector(tmp_path)]
    data = programs.dataset() if data is None else data
    network.fit(data, verbose=0, shuffle=False, callbacks=watched, **arguments)
    return network


class Evaluates(keras.callbacks.Callback):
    """Before an epoch's end, so that Keras's count of examples begins anew."""

    async_safe = True

    def __init__(self, from_epoch):
        super().__init__()
        self.from_epoch = from_epoch

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        if batch == 30 and self.epoch >= self.from_epoch:
            self.model.evaluate(programs.dataset(3, 2), verbose=0)


@pytest.mark.parametrize("from_epoch", [0, 1])
def test_examples_are_not_counted_wrong_where_a_hook_evaluates_meanwhile(from_epoch, tmp_path):
    trained(tmp_path, Evaluates(from_epoch), epochs=3)
    # An interval that ends before the first evaluation may know them.
    known = {8.0} if from_epoch else {None, 8.0}
    assert kp.diagnose(tmp_path).summary.examples_per_step in known


@pytest.mark.parametrize("scaled", [False, True])
def test_a_later_fit_goes_on_where_gradients_are_gathered(scaled, tmp_path):
    optimizer = keras.optimizers.SGD(gradient_accumulation_steps=4)
    if scaled:
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    network = programs.model(optimizer=optimizer)
    for _ in range(2):
        trained(tmp_path, network=network)
    assert kp.load_scalars(tmp_path)["step"].max() == 80


def raises_in_the_third(x, y):
    def check(values):
        if values.max() > 17:
            raise ValueError("bad record")
        return values

    return tf.ensure_shape(tf.numpy_function(check, [x], tf.float32), x.shape), y


def test_a_validation_that_raises_ends_the_observation_though_somebody_keeps_the_error(tmp_path):
    x = np.arange(24, dtype="float32")[:, None] * np.ones((1, 8), "float32")
    bad = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(8).map(raises_in_the_third)
    callbacks = kp.perf_callbacks(tmp_path, profiler=False)
    network = programs.model()
    gc.disable()
    try:
        watched = {"verbose": 0, "shuffle": False, "callbacks": callbacks}
        with pytest.raises(tf.errors.InvalidArgumentError, match="bad record") as kept:
            network.fit(programs.dataset(), validation_data=bad, **watched)
        assert kept.traceback
        assert not [t.name for t in threading.enumerate() if t.name.startswith("keras_perf")]
        assert not {"predict", "evaluate"} & vars(network).keys()
    finally:
        gc.enable()
    ending = kp.diagnose(tmp_path).summary.facts.ending
    assert (ending.how, ending.error) == (How.RAISED, "InvalidArgumentError")


def test_no_data_are_held_once_fit_has_returned(tmp_path):
    x = np.ones((320, 8), "float32")
    alive = weakref.ref(x)
    network, callbacks = programs.model(), kp.perf_callbacks(tmp_path, profiler=False)
    gc.collect()
    gc.disable()
    try:
        network.fit(x, x[:, :1].copy(), batch_size=8, verbose=0, callbacks=callbacks)
        del x
        assert alive() is None
    finally:
        gc.enable()


class ByName(keras.callbacks.Callback):
    """Keras gives the logs of batches by name."""

    async_safe = True
    seen = 0

    def on_test_batch_begin(self, batch, *, logs=None):
        self.seen += 1

    def on_test_batch_end(self, batch, **named):
        self.seen += "logs" in named

    def on_predict_batch_begin(self, batch, *, logs=None):
        self.seen += 1

    def on_predict_batch_end(self, batch, **named):
        self.seen += "logs" in named


def test_hooks_that_take_the_logs_by_name_get_them_so(tmp_path):
    theirs, validation = ByName(), programs.dataset(5)
    network = trained(tmp_path, theirs, validation_data=validation)
    network.evaluate(validation, verbose=0, callbacks=[theirs, kp.StepGapDetector(tmp_path)])
    network.predict(validation, verbose=0, callbacks=[theirs, kp.StepGapDetector(tmp_path)])
    assert theirs.seen == 30


class RunsOut(keras.callbacks.Callback):
    """Keras takes the end of a hook's own iterator for the end of the data."""

    async_safe = True

    def on_epoch_begin(self, epoch, logs=None):
        self.samples = iter(range(25 if epoch == 0 else 100))

    def on_train_batch_end(self, batch, logs=None):
        next(self.samples)


@pytest.mark.filterwarnings("ignore:Your input ran out of data:UserWarning")
def test_a_hook_whose_own_iterator_ends_ends_an_epoch_and_no_observation(tmp_path):
    trained(tmp_path, RunsOut(), epochs=3)
    facts = kp.diagnose(tmp_path).summary.facts
    assert (facts.ending.how, facts.outside.epoch_gaps) == (How.DONE, 3)


class EndsValidations(keras.callbacks.Callback):
    """Two batches tell enough."""

    def on_test_batch_end(self, batch, logs=None):
        if batch == 1:
            raise StopIteration


@pytest.mark.filterwarnings("ignore:Your input ran out of data:UserWarning")
def test_a_hook_that_ends_a_validation_ends_no_observation(tmp_path):
    trained(tmp_path, EndsValidations(), epochs=3, validation_data=programs.dataset(5))
    facts = kp.diagnose(tmp_path).summary.facts
    assert (facts.ending.how, facts.outside.epoch_gaps) == (How.DONE, 3)


def test_a_list_whose_evaluation_raised_has_its_hooks_in_the_next_fit(tmp_path):
    history, network = keras.callbacks.History(), programs.model()
    ours = [kp.StepGapDetector(tmp_path), history]
    callbacks = keras.callbacks.CallbackList(ours, model=network)
    bad = programs.dataset(5).map(lambda x, y: (x[:, :3], y))
    with pytest.raises(ValueError, match="shape"):
        network.evaluate(bad, verbose=0, callbacks=callbacks)
    network.fit(programs.dataset(), verbose=0, shuffle=False, callbacks=callbacks)
    assert history.epoch == [0]


def test_an_epoch_has_as_many_steps_as_its_data_and_not_as_a_list_of_the_user_s_says(tmp_path):
    network, known = programs.model(), []

    class Looks(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            known.append(running_fits._running[self.model].epoch_steps)

    ours = [kp.StepGapDetector(tmp_path), Looks(), keras.callbacks.History()]
    callbacks = keras.callbacks.CallbackList(ours, model=network, epochs=1, steps=60)
    for batches in (60, 30):
        network.fit(programs.dataset(batches), verbose=0, shuffle=False, callbacks=callbacks)
    assert known == [60, 30]


class TriesToEvaluate(keras.callbacks.Callback):
    """Behind ours in the list, which Keras is still running through as it was."""

    def on_train_begin(self, logs=None):
        with contextlib.suppress(ValueError):
            self.model.evaluate(programs.dataset(3).map(lambda x, y: (x[:, :3], y)), verbose=0)


def test_an_evaluation_that_raises_in_a_hook_and_is_caught_ends_nothing(tmp_path):
    watched = [kp.StepGapDetector(tmp_path), TriesToEvaluate()]
    programs.model().fit(programs.dataset(), verbose=0, shuffle=False, callbacks=watched)
    found = kp.diagnose(tmp_path).summary
    assert (found.facts.ending.how, found.steps > 0) == (How.DONE, True)
