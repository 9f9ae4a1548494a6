"""What a custom loop's monitor knows of the shapes of batches, and advises."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.loop import LoopMonitor
from keras_perf.observation.facts.tracing_time import compiled_by_xla

STEPS = 60


def sequences(lengths, *, drop_remainder=True):
    """Pairs of which each batch has a length of its own if `lengths` differ."""

    def examples():
        for n in lengths:
            yield np.ones((n, 4), "float32"), np.float32(n)

    spec = tf.TensorSpec((None, 4)), tf.TensorSpec(())
    data = tf.data.Dataset.from_generator(examples, output_signature=spec)
    return data.padded_batch(4, ([None, 4], []), drop_remainder=drop_remainder)


def watched(log_dir, data, *, number=False, **of_the_function):
    """A loop that hands batches to its train function, and the number of the step if asked."""
    keras.utils.set_random_seed(1)
    layers = keras.layers
    model = keras.Sequential(
        [
            layers.Input((None, 4)),
            layers.Conv1D(8, 3, padding="same"),
            layers.GlobalAveragePooling1D(),
            layers.Dense(1),
        ]
    )
    optimizer = keras.optimizers.SGD(1e-3)
    optimizer.build(model.trainable_variables)

    @tf.function(**of_the_function)
    def train_step(x, y, step=None):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True)[:, 0] - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        return loss

    iterator = iter(data)
    with LoopMonitor(log_dir, model=model, function=train_step, steps=STEPS) as monitor:
        for step in range(STEPS):
            with monitor.execution(iterator, 1):
                train_step(*next(iterator), step if number else None).numpy()
    return kp.diagnose(log_dir)


def lengths_of_batches(seed=0):
    return np.repeat(np.random.default_rng(seed).permutation(np.arange(3, 3 + STEPS)), 4)


@pytest.mark.parametrize("drop_remainder", [True, False])
def test_it_knows_which_axes_may_differ(drop_remainder, tmp_path):
    data = sequences([5] * 4 * STEPS, drop_remainder=drop_remainder)
    known = watched(tmp_path / "any", data, reduce_retracing=True).summary.facts.input
    assert known.many_shapes
    assert known.rows_differ is not drop_remainder
    rows = 4 if drop_remainder else None
    one = data.map(lambda x, y: (tf.ensure_shape(x, (rows, 5, 4)), y))
    known = watched(tmp_path / "one", one).summary.facts.input
    assert not known.many_shapes
    assert known.rows_differ is not drop_remainder


def stable_shapes(found):
    return [each for each in found.recommendations if each.id == "stable-shapes"]


def test_a_function_that_is_traced_for_each_length_is_named_with_what_ends_it(tmp_path):
    data = sequences(lengths_of_batches())
    # All lengths differ, so that no step tells what a usual one takes.
    found = watched(tmp_path / "before", data)
    assert found.verdict == "compile-bound"
    [advice] = stable_shapes(found)
    assert "reduce_retracing=True" in advice.action
    assert "an axis other than the rows" in advice.reason
    assert not stable_shapes(watched(tmp_path / "after", data, reduce_retracing=True))


def test_a_function_that_is_given_a_python_number_for_each_step_is_named(tmp_path):
    data = sequences([5] * 4 * STEPS).map(lambda x, y: (tf.ensure_shape(x, (4, 5, 4)), y))
    found = watched(tmp_path, data, number=True, reduce_retracing=True)
    assert found.verdict == "compile-bound"
    [advice] = stable_shapes(found)
    assert "Python arguments" in advice.reason
    assert "tensors in place of Python numbers" in advice.action


@pytest.mark.whole
def test_what_xla_compiles_for_each_length_is_named(tmp_path):
    found = watched(
        tmp_path, sequences(lengths_of_batches()), reduce_retracing=True, jit_compile=True
    )
    assert found.verdict == "compile-bound"
    [advice] = stable_shapes(found)
    assert "XLA compiles for each of its lengths" in advice.reason
    assert "jit_compile=False, reduce_retracing=True" in advice.action


def test_whether_xla_compiles_it_is_asked_of_the_function():
    """A canary: `_jit_compile` is private."""
    for told in (True, False, None):
        assert compiled_by_xla(tf.function(lambda x: x, jit_compile=told)) is told
    assert compiled_by_xla(None) is None
    assert compiled_by_xla(abs) is None
