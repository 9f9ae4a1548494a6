"""Every kind of input and every way to compile goes through a real fit."""

import inspect

import keras
import numpy as np
import programs
import pytest
import tensorflow as tf

import keras_perf as kp

INPUTS = {
    "tf.data": lambda: {"x": programs.dataset()},
    "tf.data of unknown length": lambda: {"x": programs.dataset().filter(lambda x, y: True)},
    "tf.data without end": lambda: {"x": programs.dataset().repeat(), "steps_per_epoch": 40},
    "tf.data of as many batches": lambda: {"x": programs.dataset(), "steps_per_epoch": 40},
    "NumPy": lambda: dict(zip("xy", programs.arrays(), strict=True), batch_size=8),
    "PyDataset": lambda: {"x": programs.Batches()},
    "generator": lambda: {"x": programs.generator(), "steps_per_epoch": 40},
    "tf.data with validation": lambda: {
        "x": programs.dataset(),
        "validation_data": programs.dataset(5),
    },
    "NumPy, ragged last batch, validation split": lambda: dict(
        zip("xy", programs.arrays(41), strict=True), batch_size=10, validation_split=0.25
    ),
}
COMPILED = {
    "N=1": {},
    "N=7": {"steps_per_execution": 7},
    "eager": {"run_eagerly": True},
    "XLA": {"jit_compile": True},
}

STEPS_PER_EPOCH = {
    # Keras rounds steps_per_epoch up to whole executions where the data allow it.
    ("tf.data without end", 7): 42,
    ("generator", 7): 42,
    ("NumPy, ragged last batch, validation split", 1): 25,
    ("NumPy, ragged last batch, validation split", 7): 25,
}
# They are steps that were run. The optimizer's own count is higher where the end of the data
# comes unannounced: Keras 3.15 then adds one in every epoch without updating a weight.


def train(arguments, compiled, callbacks, epochs=3):
    network = programs.model(**compiled)
    history = network.fit(**arguments, epochs=epochs, verbose=0, shuffle=False, callbacks=callbacks)
    return network, history.history


SEVERAL_STEPS_DIFFER = {
    "tf.data of unknown length",
    "tf.data without end",
    "tf.data of as many batches",
    "generator",
    "NumPy, ragged last batch, validation split",
}


def pair(name, way):
    """Each input is trained on step by step, and by several where its end is found otherwise.

    In the other ways one of them is.
    """
    usual = way == "N=1" or (way == "N=7" and name in SEVERAL_STEPS_DIFFER)
    usual |= (name, way) in (("tf.data", "eager"), ("PyDataset", "XLA"))
    return pytest.param(name, way, marks=() if usual else pytest.mark.long)


PAIRS = [pair(name, way) for name in INPUTS for way in COMPILED]


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
@pytest.mark.parametrize(("name", "way"), PAIRS)
def test_weights_and_history_are_bit_identical_with_and_without(name, way, tmp_path):
    data, compiled = INPUTS[name], COMPILED[way]
    plain, plain_history = train(data(), compiled, [])
    watched, history = train(data(), compiled, kp.perf_callbacks(tmp_path, profiler=False))

    for mine, theirs in zip(watched.weights, plain.weights, strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())
    for mine, theirs in zip(watched.optimizer.variables, plain.optimizer.variables, strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())
    assert history == plain_history
    steps = 3 * STEPS_PER_EPOCH.get((name, compiled.get("steps_per_execution", 1)), 40)
    scalars = kp.load_scalars(tmp_path)
    assert scalars["step"].max() == steps
    wide = scalars.pivot_table(index="step", columns="tag", values="value", observed=True)
    parts = ["input_wait", "compute", "dispatch", "callbacks", "other_host", "compile"]
    tags = [f"perf/{part}_ms" for part in parts if f"perf/{part}_ms" in wide]
    measured = wide.dropna(subset="perf/step_time_ms")
    np.testing.assert_allclose(
        measured[tags].fillna(0).sum(axis=1), measured["perf/step_time_ms"], rtol=1e-5
    )
    assert 0 < measured["perf/interval_steps"].sum() <= steps


def test_the_optimizer_step_goes_on_over_several_fits_with_the_same_callbacks(tmp_path):
    network, callbacks = programs.model(), kp.perf_callbacks(tmp_path, profiler=False)
    for _ in range(2):
        network.fit(programs.dataset(), epochs=2, verbose=0, shuffle=False, callbacks=callbacks)
    steps = kp.load_scalars(tmp_path).query("tag == 'perf/step_time_ms'")["step"]
    assert steps.max() == 160
    assert steps.is_monotonic_increasing


@pytest.mark.parametrize(("of_model", "of_all"), [(True, False), (False, True), (False, False)])
def test_a_step_is_known_to_run_eagerly_whoever_has_said_so(of_model, of_all, tmp_path):
    network, gaps = programs.model(run_eagerly=of_model), kp.StepGapDetector(tmp_path)
    tf.config.run_functions_eagerly(of_all)
    try:
        network.fit(programs.dataset(5), verbose=0, shuffle=False, callbacks=[gaps])
    finally:
        tf.config.run_functions_eagerly(False)
    settings = kp.diagnose(tmp_path).summary.facts.settings
    assert (settings.run_eagerly, settings.eager_functions) == (of_model or of_all, of_all)


def test_a_resumed_training_counts_from_the_optimizers_step(tmp_path):
    network = programs.model()
    network.fit(programs.dataset(), verbose=0, shuffle=False)
    network.fit(
        programs.dataset(),
        initial_epoch=1,
        epochs=3,
        verbose=0,
        shuffle=False,
        callbacks=[kp.StepGapDetector(tmp_path)],
    )
    assert kp.load_scalars(tmp_path)["step"].max() == 120
    assert kp.diagnose(tmp_path).summary.facts.length.epochs == 2


def test_a_restored_training_runs_the_epochs_that_are_left(tmp_path):
    class Fails(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            if epoch == 3:
                raise RuntimeError("on purpose")

    def train(*callbacks):
        data, backup = programs.dataset(), keras.callbacks.BackupAndRestore(tmp_path / "backup")
        programs.model().fit(
            data, epochs=5, verbose=0, shuffle=False, callbacks=[*callbacks, backup]
        )

    with pytest.raises(RuntimeError, match="on purpose"):
        train(Fails())
    train(kp.StepGapDetector(tmp_path / "logs"))
    length = kp.diagnose(tmp_path / "logs").summary.facts.length
    assert (length.epochs, length.first_step, length.last_step) == (2, 120, 200)


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
@pytest.mark.parametrize("n", [3, 7, 16])
def test_a_short_last_execution_is_counted_as_it_was(n, tmp_path):
    network = programs.model(steps_per_execution=n)
    data = programs.dataset(41).filter(lambda x, y: True)
    network.fit(data, epochs=6, verbose=0, shuffle=False, callbacks=[kp.StepGapDetector(tmp_path)])
    scalars = kp.load_scalars(tmp_path)
    assert scalars["step"].max() == int(network.optimizer.iterations.numpy()) == 6 * 41


def test_examples_per_second_follow_the_batch_size(tmp_path):
    programs.model().fit(
        programs.dataset(60, 4),
        epochs=2,
        verbose=0,
        shuffle=False,
        callbacks=[kp.StepGapDetector(tmp_path)],
    )
    wide = kp.load_scalars(tmp_path).pivot_table(
        index="step", columns="tag", values="value", observed=True
    )
    np.testing.assert_allclose(wide["perf/examples_per_sec"], 4 * wide["perf/steps_per_sec"])


class Own(keras.Sequential):
    """Its train step gives Keras's loss metric nothing to count, as most written by hand do."""

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = keras.ops.mean(keras.ops.square(self(x, training=True) - y))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply(gradients, self.trainable_variables)
        return {"loss": loss}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (lambda: dict(zip("xy", programs.arrays(41), strict=True), batch_size=10), 328 / 33),
        (lambda: {"x": programs.dataset(60).cache().prefetch(2)}, 8),
        (lambda: {"x": programs.dataset(60, drop_remainder=True).map(lambda x, y: (x, y))}, 8),
        # It may give other rows than it gets.
        (lambda: {"x": programs.dataset(60).map(lambda x, y: (x[:4], y[:4]))}, None),
    ],
)
def test_examples_of_a_train_step_of_ones_own_are_what_the_input_tells(given, expected, tmp_path):
    network = Own([keras.layers.Input((8,)), keras.layers.Dense(1)])
    network.compile("sgd", jit_compile=False)
    callbacks = [kp.StepGapDetector(tmp_path)]
    network.fit(**given(), epochs=2, verbose=0, shuffle=False, callbacks=callbacks)
    assert kp.diagnose(tmp_path).summary.examples_per_step == expected


ASKS_ONCE_MORE = "get_next_as_optional" in inspect.getsource(inspect.getmodule(keras.Model.fit))
NEEDS_IT = pytest.mark.skipif(not ASKS_ONCE_MORE, reason="this Keras raises at the end of data")


@programs.needs_gap_times
@pytest.mark.parametrize(
    ("n", "finds_the_end"), [(1, False), (5, False), pytest.param(8, True, marks=NEEDS_IT)]
)
def test_an_epochs_last_execution_that_is_cut_off_finds_the_end(n, finds_the_end, tmp_path):
    """For which it asks once more: of 20 batches tf.data then has 20 gaps, else 19."""
    told = []

    class Counts(kp.StepGapDetector):
        def stretch_ends(self, pipeline, pending_gaps):
            if pipeline is not None and pipeline.batches() == 20:
                told.append((len(pipeline.read().gap_times), pending_gaps))
            super().stretch_ends(pipeline, pending_gaps)

    gaps, network = Counts(tmp_path, summary=False), programs.model(steps_per_execution=n)
    network.fit(programs.dataset(20), epochs=3, verbose=0, shuffle=False, callbacks=[gaps])
    assert told == [(19 + finds_the_end, int(finds_the_end))] * len(told) != []


def test_two_detectors_count_each_validation_once(tmp_path):
    both = [kp.StepGapDetector(tmp_path / name, summary=False) for name in "ab"]
    data = programs.dataset()
    programs.model().fit(
        data, epochs=3, verbose=0, shuffle=False, callbacks=both, validation_data=data.take(5)
    )
    for name in "ab":
        assert kp.diagnose(tmp_path / name).summary.facts.inference["validation"].calls == 3
