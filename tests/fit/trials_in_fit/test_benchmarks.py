"""The input alone and the train step alone: the classic pair."""

import time

import keras
import numpy as np
import programs
import pytest
import tensorflow as tf

import keras_perf as kp


def state(network):
    metrics = [v for metric in network.metrics for v in metric.variables]
    return [v.numpy() for v in (*network.variables, *network.optimizer.variables, *metrics)]


def assert_equal(mine, theirs):
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


def batch():
    return next(iter(programs.dataset()))


def input_alone(data, **arguments):
    return kp.benchmark_input_pipeline(data, **({"batches": 8, "repeats": 2} | arguments))


def step_alone(network, taken=None, **arguments):
    taken = batch() if taken is None else taken
    return kp.benchmark_train_step(network, taken, **({"steps": 4, "repeats": 2} | arguments))


# The pair.


@pytest.mark.timing
def test_the_pair_confirms_that_a_slow_input_is_the_bound():
    step_ms = step_alone(programs.model())["step_ms"].median()
    data = programs.dataset(16, input_ms=4 * step_ms)
    input_ms = input_alone(data)["batch_ms"].median()
    assert input_ms > 2 * step_ms


class Waits(keras.Sequential):
    """Waits in each step."""

    wait_s = 0.0

    def train_step(self, data):
        logs = super().train_step(data)

        def wait(loss):
            time.sleep(self.wait_s)
            return loss

        return logs | {"loss": tf.numpy_function(wait, [logs["loss"]], tf.float32)}


@pytest.mark.timing
def test_the_pair_refutes_it_where_the_model_is_the_bound():
    network = Waits([keras.layers.Input((8,)), keras.layers.Dense(1)])
    network.compile("sgd", "mse", jit_compile=False)
    input_ms = input_alone(programs.dataset(), batches=40)["batch_ms"].median()
    network.wait_s = 4 * input_ms / 1e3
    step_ms = step_alone(network)["step_ms"].median()
    assert step_ms > 2 * input_ms


# The input alone.


def test_each_round_of_the_input_is_a_row():
    frame = input_alone(programs.dataset(), batches=10, repeats=3)
    columns = ["round", "batches", "batch_ms", "batches_per_sec", "examples_per_sec"]
    assert list(frame.columns) == columns
    assert list(frame["round"]) == [1, 2, 3]
    assert (frame["batches"] == 10).all()
    np.testing.assert_allclose(frame["batch_ms"] * frame["batches_per_sec"], 1e3)
    np.testing.assert_allclose(frame["examples_per_sec"], 8 * frame["batches_per_sec"])


def test_a_short_dataset_goes_on_and_its_partial_batch_counts_what_it_holds():
    data = tf.data.Dataset.from_tensor_slices(programs.arrays(1, 20)).batch(8)
    frame = input_alone(data, batches=6)
    np.testing.assert_allclose(frame["examples_per_sec"], 20 / 3 * frame["batches_per_sec"])


def test_a_round_may_be_shorter_than_the_dataset_and_the_dataset_be_endless():
    frame = input_alone(programs.dataset(40).repeat(), batches=3)
    assert list(frame["batches"]) == [3, 3]


def ragged():
    rows = tf.ragged.constant([[1.0], [2.0, 3.0], [], [4.0]])
    return tf.data.Dataset.from_tensor_slices(rows).batch(2)


def sparse():
    return tf.data.Dataset.from_tensor_slices(tf.sparse.eye(4)).batch(2)


def named_inputs():
    x, y = programs.arrays(4, 2)
    return tf.data.Dataset.from_tensor_slices(({"a": x, "b": x}, y)).batch(2)


def unpaired():
    return programs.dataset(4, 2).map(lambda x, y: x)


@pytest.mark.parametrize("data", [ragged, sparse, named_inputs, unpaired])
def test_examples_are_counted_in_whatever_a_dataset_yields(data):
    frame = input_alone(data(), batches=4)
    np.testing.assert_allclose(frame["examples_per_sec"], 2 * frame["batches_per_sec"])


def test_the_dataset_starts_at_its_beginning_afterwards():
    data = programs.dataset(4)
    before = list(data.as_numpy_iterator())
    input_alone(data)
    after = list(data.as_numpy_iterator())
    for mine, theirs in zip(after, before, strict=True):
        assert_equal(mine, theirs)


def test_wrong_input_is_refused_in_words():
    with pytest.raises(TypeError, match=r"must be a tf\.data\.Dataset of batches, got Batches"):
        input_alone(programs.Batches())
    with pytest.raises(TypeError, match="got generator"):
        input_alone(programs.generator())
    with pytest.raises(ValueError, match="dataset must yield batches, got single values"):
        input_alone(programs.labelled(1).unbatch())
    with pytest.raises(ValueError, match="dataset must hold a batch, got none"):
        input_alone(programs.dataset().take(0))
    with pytest.raises(ValueError, match="batches must be at least 1, got 0"):
        input_alone(programs.dataset(), batches=0)
    with pytest.raises(ValueError, match=r"repeats must be at least 1, got 1\.5"):
        input_alone(programs.dataset(), repeats=1.5)


# The train step alone.


def test_each_round_of_steps_is_a_row():
    frame = step_alone(programs.model(), steps=5, repeats=3)
    columns = ["round", "steps", "step_ms", "steps_per_sec", "examples_per_sec"]
    assert list(frame.columns) == columns
    assert list(frame["round"]) == [1, 2, 3]
    assert (frame["steps"] == 5).all()
    np.testing.assert_allclose(frame["step_ms"] * frame["steps_per_sec"], 1e3)
    np.testing.assert_allclose(frame["examples_per_sec"], 8 * frame["steps_per_sec"])


def test_steps_are_rounded_up_to_whole_executions():
    network = programs.model(steps_per_execution=4)
    assert list(step_alone(network, steps=5)["steps"]) == [8, 8]
    assert network.steps_per_execution == 4


WAYS = [{}, {"jit_compile": True}, {"run_eagerly": True}, {"steps_per_execution": 2}]


@pytest.mark.parametrize(
    ("trained", "compiled"),
    [
        *((False, way) for way in WAYS),
        (True, {}),
        *(pytest.param(True, way, marks=pytest.mark.long) for way in WAYS[1:]),
    ],
    ids=str,
)
def test_the_model_is_as_it_was(trained, compiled):
    network = programs.model(dropout=True, metrics=["mae"], **compiled)
    network.optimizer.build(network.trainable_variables)
    if trained:
        network.fit(programs.dataset(4), verbose=0, shuffle=False)
    before, function = state(network), network.train_function
    step_alone(network)
    after = state(network)
    assert_equal(after[: len(before)], before)
    # The metrics' variables, which the first step makes.
    assert not any(np.any(new) for new in after[len(before) :])
    assert network.train_function is function


def test_training_afterwards_is_the_training_without_it():
    weights = []
    for benchmarking in (False, True):
        network = programs.model(dropout=True)
        if benchmarking:
            step_alone(network)
        network.fit(programs.dataset(), verbose=0, shuffle=False)
        weights.append(network.get_weights())
    assert_equal(*weights)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_mixed_precision_keeps_its_loss_scale(policy):
    keras.config.set_dtype_policy(policy)
    try:
        network = programs.model(dropout=True)
    finally:
        keras.config.set_dtype_policy("float32")
    if policy == "mixed_float16":
        assert isinstance(network.optimizer, keras.optimizers.LossScaleOptimizer)
    network.fit(programs.dataset(4), verbose=0, shuffle=False)
    before = state(network)
    step_alone(network)
    assert_equal(state(network), before)


class Elaborate(keras.Model):
    """Keeps state where Keras does not list it among the model's variables."""

    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1)
        self.second_optimizer = keras.optimizers.Adam()
        self.generator = tf.random.Generator.from_seed(3)
        self.seen = tf.Variable(0)

    def train_step(self, data):
        x, y = data
        self.seen.assign_add(1)
        noise = self.generator.normal([1]) + keras.random.normal([1])
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.dense(x) + noise - y) ** 2)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.second_optimizer.apply(gradients, self.trainable_variables)
        return {"loss": loss, "each": gradients[0][:, 0]}


def own(network):
    kept = [v.numpy() for v in network.second_optimizer.variables]
    return [*network.get_weights(), network.seen.numpy(), *kept]


@pytest.mark.parametrize("run_eagerly", [False, True])
def test_a_second_optimizer_and_every_generator_are_as_they_were(run_eagerly):
    keras.utils.set_random_seed(1)
    network = Elaborate()
    network.dense.build((None, 8))
    network.second_optimizer.build(network.trainable_variables)
    network.compile("adam", run_eagerly=run_eagerly)
    drawn = []
    for benchmarking in (False, True):
        network.generator.reset_from_seed(3)
        programs.set_random_seed(1)
        if run_eagerly:
            # Makes its generator, as a first step would.
            keras.random.normal([1])
        before = own(network)
        if benchmarking:
            step_alone(network)
        assert_equal(own(network), before)
        drawn.append([network.generator.normal([2]), keras.random.normal([2])])
    assert_equal(*drawn)
    assert network.second_optimizer.iterations == 0


class Breaking(keras.Sequential):
    """Raises in a step that comes after some good ones."""

    calls = 0

    def train_step(self, data):
        logs = super().train_step(data)

        def count(loss):
            self.calls += 1
            if self.calls > 3:
                raise RuntimeError("out of luck")
            return loss

        return logs | {"loss": tf.numpy_function(count, [logs["loss"]], tf.float32)}


@pytest.mark.parametrize("run_eagerly", [False, True])
def test_the_model_is_as_it_was_when_a_step_raises(run_eagerly):
    network = Breaking([keras.layers.Input((8,)), keras.layers.Dropout(0.5), keras.layers.Dense(1)])
    network.compile("adam", "mse", jit_compile=False, run_eagerly=run_eagerly)
    network.optimizer.build(network.trainable_variables)
    before = state(network)
    with pytest.raises((RuntimeError, tf.errors.OpError), match="out of luck"):
        step_alone(network)
    assert network.calls == 4
    assert_equal(state(network)[: len(before)], before)


def test_a_model_that_is_not_built_is_built():
    network = keras.Sequential([keras.layers.Dense(1)])
    network.compile("sgd", "mse", jit_compile=False)
    assert len(step_alone(network)) == 2
    assert network.built


def test_a_batch_may_be_named_weighted_or_of_arrays():
    x, y = programs.arrays(1)
    assert len(step_alone(programs.model(), (x, y, np.ones(8)))) == 2
    inputs = {name: keras.layers.Input((8,), name=name) for name in "ab"}
    added = keras.layers.Add()(list(inputs.values()))
    network = keras.Model(inputs, keras.layers.Dense(1)(added))
    network.compile("sgd", "mse", jit_compile=False)
    frame = step_alone(network, ({"a": x, "b": x}, y))
    np.testing.assert_allclose(frame["examples_per_sec"], 8 * frame["steps_per_sec"])


def test_wrong_use_of_the_step_is_refused_in_words():
    with pytest.raises(ValueError, match="model must be compiled"):
        step_alone(keras.Sequential([keras.layers.Dense(1)]))
    for wrong in (programs.dataset(), programs.Batches(), list(programs.arrays())):
        with pytest.raises(TypeError, match="batch must be what a dataset yields"):
            step_alone(programs.model(), wrong)
    with pytest.raises(ValueError, match="batch must have an axis of examples"):
        step_alone(programs.model(), next(iter(programs.labelled(1).unbatch())))
    with pytest.raises(ValueError, match="steps must be at least 1, got True"):
        step_alone(programs.model(), steps=True)
