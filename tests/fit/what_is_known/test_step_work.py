"""FLOPs of a step, counted from the graph that exists, against a count by hand."""

from __future__ import annotations

import logging

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

import keras_perf as kp
from keras_perf.observation.facts.flops.counted import NotCountedError
from keras_perf.observation.facts.flops.counting import StepGraph
from keras_perf.observation.facts.step_work import WorkQuestion, step_work
from keras_perf.records.run.step_work import NotCounted, StepWork
from keras_perf.trials.train_functions.keras_function import inner_function
from keras_perf.trials.train_functions.train_function import new_train_function

BATCH = 4


def stacked(*of, inputs=(7,)):
    return keras.Sequential([layers.Input(inputs), *of])


def attention():
    tokens = layers.Input((6, 8))
    mixed = layers.MultiHeadAttention(num_heads=2, key_dim=4)(tokens, tokens)
    return keras.Model(tokens, layers.Dense(3, dtype="float32")(mixed))


def dataset_for(model, *, drop_remainder=True):
    x = np.zeros((10, *model.input_shape[1:]), "float32")
    y = np.zeros((10, *model.output_shape[1:]), "float32")
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH, drop_remainder=drop_remainder)


def counted(model, *, examples=BATCH, steps=1, drop_remainder=False, **compiled):
    """What a step multiplies: the train function is traced, never run."""
    model.compile("sgd", "mse", steps_per_execution=steps, **compiled)
    iterator = iter(dataset_for(model, drop_remainder=drop_remainder).repeat())
    function = new_train_function(model, steps, iterator)
    before = inner_function(function).experimental_get_tracing_count()
    found = step_work(
        function, None, examples=examples, replicas=1, batches_per_step=1, steps_per_call=steps
    )
    assert inner_function(function).experimental_get_tracing_count() == before
    return found


# The first layer's input needs no gradient: it counts twice, any other layer three times.
DENSE = 2 * (7 * 5 * 2 + 5 * 3 * 3)
LSTM = 2 * (7 * (6 * 20 * 2 + 5 * 20 * 3) + 5 * 3 * 3)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"drop_remainder": True, "examples": None},
        {"steps": 3},
        {"jit_compile": True},
        {"steps": 3, "jit_compile": True},
    ],
)
def test_dense_layers(given):
    model = stacked(layers.Dense(5), layers.Dense(3))
    assert counted(model, **given).flops == {"float32": BATCH * DENSE}


def test_a_batch_of_a_fractional_mean_size():
    """A smaller last batch makes the mean size of a batch no whole number."""
    model = stacked(layers.Dense(5), layers.Dense(3))
    assert counted(model, examples=10 / 3).flops["float32"] == pytest.approx(10 / 3 * DENSE)


def test_bytes_are_those_of_operands_and_results():
    found = counted(stacked(layers.Dense(5)))
    x, kernel, y = BATCH * 7, 7 * 5, BATCH * 5
    assert found.product_bytes == 4 * 2 * (x + kernel + y)


def test_a_product_over_several_axes():
    model = stacked(layers.Dense(3), inputs=(6, 7))
    assert counted(model).flops == {"float32": BATCH * 6 * 2 * 7 * 3 * 2}


def test_convolutions_with_stride_and_padding_and_a_depthwise_one():
    model = stacked(
        layers.Conv2D(4, 3, strides=2, padding="same"),  # 4 × 5 × 4
        layers.Conv2D(5, (2, 3)),  # 3 × 3 × 5
        layers.DepthwiseConv2D(3, padding="same"),  # 3 × 3 × 5
        layers.Conv2DTranspose(2, 2, strides=2),  # 6 × 6 × 2
        inputs=(8, 9, 2),
    )
    first = 4 * 5 * 4 * (3 * 3 * 2) * 2
    second = 3 * 3 * 5 * (2 * 3 * 4) * 3
    depthwise = 3 * 3 * 5 * (3 * 3) * 3
    # Each element of its input is multiplied with the whole kernel.
    transposed = 3 * 3 * 5 * (2 * 2 * 2) * 3
    expected = BATCH * 2 * (first + second + depthwise + transposed)
    assert counted(model).flops == {"float32": expected}


def test_attention_in_two_formats():
    projections = 6 * 8 * 8 * (3 * 2 + 3)
    products = 2 * (2 * 6 * 6 * 4) * 3
    last = 6 * 8 * 3 * 3
    expected = BATCH * 2 * (projections + products)
    assert counted(attention()).flops == {"float32": expected + BATCH * 2 * last}
    keras.config.set_dtype_policy("mixed_float16")
    try:
        half = counted(attention())
    finally:
        keras.config.set_dtype_policy("float32")
    # Keras 3.7 multiplies queries with keys in float32.
    full = BATCH * products if keras.__version__.startswith("3.7.") else 0
    assert half.flops == {"float16": expected - full, "float32": BATCH * 2 * last + full}


def test_grouped_transposed_and_separable_convolutions_of_one_axis_or_three():
    one = stacked(layers.Conv1D(4, 3), layers.Conv1DTranspose(2, 3), inputs=(10, 3))
    assert counted(one).flops["float32"] == BATCH * 2 * 8 * 4 * (3 * 3 * 2 + 3 * 2 * 3)
    three = stacked(layers.Conv3D(3, 2), inputs=(4, 4, 4, 2))
    assert counted(three).flops["float32"] == BATCH * 2 * 27 * 3 * 16 * 2
    grouped = stacked(layers.Conv2D(8, 3, groups=2), inputs=(8, 8, 4))
    assert counted(grouped).flops["float32"] == BATCH * 2 * 36 * 8 * 18 * 2
    separable = stacked(layers.SeparableConv2D(4, 3, padding="same"), inputs=(8, 8, 3))
    assert counted(separable).flops["float32"] == BATCH * 2 * 64 * 3 * (9 * 2 + 4 * 3)


@pytest.mark.parametrize(("steps", "jit_compile"), [(1, False), (3, True)])
def test_a_recurrent_layer_counts_each_round_of_both_its_loops(steps, jit_compile):
    model = stacked(layers.LSTM(5), layers.Dense(3), inputs=(7, 6))
    found = counted(model, steps=steps, jit_compile=jit_compile)
    assert found.flops == {"float32": BATCH * LSTM}


# Keras 3.16 warns that Bidirectional hands on no mask.
@pytest.mark.filterwarnings("ignore:Layer .* was passed an input with a mask:UserWarning")
def test_two_directions_and_an_embedding_that_looks_up():
    tokens = layers.Input((7,), dtype="int32")
    embedded = layers.Embedding(50, 6, mask_zero=True)(tokens)
    both = layers.Bidirectional(layers.GRU(5))(embedded)
    model = keras.Model(tokens, layers.Dense(3)(both))
    expected = BATCH * 2 * (2 * 7 * (6 * 15 + 5 * 15) * 3 + 10 * 3 * 3)
    # Of batches of unknown size Keras computes a round more, whose shape it needs for the mask.
    assert counted(model, drop_remainder=True).flops == {"float32": expected}


# What is not known before the run.


def traced(function, *specs):
    return tf.function(function).get_concrete_function(*specs)


def why_not(function, *specs, examples=None):
    with pytest.raises(NotCountedError) as error:
        StepGraph(traced(function, *specs)).count(examples)
    return error.value.why


SQUARE = tf.TensorSpec([3, 3])


def test_a_loop_that_ends_when_its_values_say_so():
    def grow(x):
        return tf.while_loop(lambda y: tf.reduce_sum(y) < 9.0, lambda y: (y @ y,), (x,))

    assert why_not(grow, SQUARE) is NotCounted.LOOP


def test_a_loop_of_an_unknown_number_of_rounds():
    def rounds(x, n):
        for _ in tf.range(n):
            x = x @ x
        return x

    assert why_not(rounds, SQUARE, tf.TensorSpec([], tf.int32)) is NotCounted.LOOP


def test_a_loop_that_multiplies_nothing_may_run_as_often_as_it_likes():
    def rounds(x, n):
        y = x @ x
        for _ in tf.range(n):
            y += 1.0
        return y

    function = traced(rounds, SQUARE, tf.TensorSpec([], tf.int32))
    assert StepGraph(function).count(None).flops == {"float32": 54.0}


def test_nested_loops_multiply_their_rounds():
    def nested(x):
        for _ in tf.range(5):
            for _ in tf.range(2, 8, 2):
                x = x @ x
        return x

    assert StepGraph(traced(nested, SQUARE)).count(None).flops == {"float32": 5 * 3 * 54.0}


def test_a_loop_whose_matrix_grows():
    def grows(x):
        done = tf.zeros([1, 3])
        for _ in tf.range(4):
            tf.autograph.experimental.set_loop_options(
                shape_invariants=[(done, tf.TensorShape([None, 3]))]
            )
            done = tf.concat([done, done @ x], axis=0)
        return done

    assert why_not(grows, SQUARE) is NotCounted.SHAPE


def test_branches_count_if_they_are_alike():
    def alike(x):
        return tf.cond(tf.reduce_sum(x) > 0, lambda: x @ x, lambda: tf.transpose(x) @ x)

    def different(x):
        return tf.cond(tf.reduce_sum(x) > 0, lambda: x @ x, lambda: x)

    assert StepGraph(traced(alike, SQUARE)).count(None).flops == {"float32": 54.0}
    assert why_not(different, SQUARE) is NotCounted.BRANCH


def test_a_batch_whose_rows_differ_in_length():
    def step(x):
        return x @ tf.transpose(x)

    assert why_not(step, tf.TensorSpec([None, 3])) is NotCounted.SHAPE


def test_operations_that_may_multiply_are_named():
    def step(x):
        return tf.linalg.svd(x, compute_uv=False), x @ x, tf.py_function(lambda y: y, [x], x.dtype)

    found = StepGraph(traced(step, SQUARE)).count(None)
    assert found.passed_over == {"Svd", "EagerPyFunc"}
    assert found.flops == {"float32": 54.0}


def test_what_the_function_gives_nobody_is_not_run_and_does_not_count():
    def step(x):
        _ = x @ x @ x
        return x @ x

    assert StepGraph(traced(step, SQUARE)).count(None).flops == {"float32": 54.0}


def test_a_step_without_a_graph_or_with_several_is_not_counted():
    how = {"examples": 4.0, "replicas": 1, "batches_per_step": 1, "steps_per_call": 1}
    function = tf.function(lambda x: x @ x)
    assert step_work(function, None, **how) == StepWork(not_counted=NotCounted.EAGER)
    function.get_concrete_function(SQUARE)
    assert step_work(function, None, **how).flops == {"float32": 54.0}
    function.get_concrete_function(tf.TensorSpec([5, 5]))
    assert step_work(function, None, **how) == StepWork(not_counted=NotCounted.TRACES)


def test_an_unknown_batch_size_is_said_to_be_that():
    found = counted(stacked(layers.Dense(3)), examples=None)
    assert found == StepWork(not_counted=NotCounted.BATCH_SIZE)


def test_it_is_counted_once_and_at_the_end():
    function = tf.function(lambda x: x @ x)
    function.get_concrete_function(SQUARE)
    how = {"examples": None, "replicas": 1, "batches_per_step": 1, "steps_per_call": 1}
    question = WorkQuestion()
    assert question.asked(function, **how) is None
    question.due = True
    found = question.asked(function, **how)
    assert found.flops == {"float32": 54.0}
    assert question.asked(None, **how) is found


def test_two_replicas_share_a_step():
    """As with two GPUs: the devices are two of the CPU's, or one if another test came first."""
    strategy = tf.distribute.get_strategy()
    cpus = tf.config.list_logical_devices("CPU")
    if len(cpus) > 1:
        strategy = tf.distribute.MirroredStrategy([cpu.name for cpu in cpus[:2]])
    replicas = strategy.num_replicas_in_sync
    with strategy.scope():
        model = stacked(layers.Dense(5), layers.Dense(3))
        model.compile("sgd", "mse")
    data = dataset_for(model).repeat()
    function = new_train_function(model, 1, iter(strategy.experimental_distribute_dataset(data)))
    how = {"batches_per_step": 1, "steps_per_call": 1}
    found = step_work(function, None, examples=BATCH, replicas=replicas, **how)
    assert found.flops == {"float32": BATCH / replicas * DENSE}


# In fit.


def test_a_fit_records_it_and_its_report_shows_it(tmp_path, caplog):
    model = stacked(layers.Dense(5), layers.Dense(3))
    model.compile("sgd", "mse")
    x, y = np.zeros((130, 7), "float32"), np.zeros((130, 3), "float32")
    with caplog.at_level(logging.WARNING, "keras_perf"):
        model.fit(
            x, y, batch_size=BATCH, epochs=2, verbose=0, callbacks=kp.StepGapDetector(tmp_path)
        )
    assert "step_work" not in caplog.text
    diagnosis = kp.diagnose(tmp_path, matmul_flops_per_sec=1e12, price_per_hour=1.0)
    found = diagnosis.efficiency
    assert found.flops_per_step == pytest.approx(130 / 33 * DENSE)
    seconds = diagnosis.summary.step_ms / 1e3
    assert found.matmul_utilization == pytest.approx(found.flops_per_step / seconds / 1e12)
    assert found.time_price_per_epoch > 0
    assert "multiplications per step" in str(diagnosis)


def test_a_train_function_made_anew_is_not_counted(tmp_path):
    class Unfreezes(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            if epoch == 1:
                self.model.layers[0].trainable = False
                self.model.make_train_function(force=True)

    model = stacked(layers.Dense(5), layers.Dense(3))
    model.compile("sgd", "mse")
    x, y = np.zeros((120, 7), "float32"), np.zeros((120, 3), "float32")
    callbacks = [kp.StepGapDetector(tmp_path), Unfreezes()]
    model.fit(x, y, batch_size=BATCH, epochs=2, verbose=0, callbacks=callbacks)
    assert kp.diagnose(tmp_path).efficiency.not_counted is NotCounted.TRACES


def test_the_measured_product_takes_the_time_it_is_given():
    assert kp.benchmark_matmul(seconds=0.01) > 0
    with pytest.raises(ValueError, match="dtype must be one of"):
        kp.benchmark_matmul("int8")
    with pytest.raises(ValueError, match="seconds must be above 0"):
        kp.benchmark_matmul(seconds=0)
