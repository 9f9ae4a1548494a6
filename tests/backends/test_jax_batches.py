"""What is kept of the batches that a training on JAX fetches, without a training."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("jax")
import jax
import keras
from keras.src.trainers.data_adapters import data_adapter_utils

from keras_perf.backends import jax_work
from keras_perf.backends.jax_batches import ALL_TIMED, MOST_SHAPES, THEN_EACH, Batches
from keras_perf.backends.jax_input import TimedIterator
from keras_perf.backends.jax_steps import compiles_executions, stacks_batches
from keras_perf.backends.on_jax import OnJax
from keras_perf.observation.facts.flops.counted import Counted
from keras_perf.observation.facts.model_facts import keras_is_at_least
from keras_perf.observers.steps.overlapping import OverlappingTimeline
from keras_perf.trials.backends.jax_training import REMAINDER

LENGTHS = (5, 50, 500)


PartialBatchList = type(REMAINDER, (list,), {})
"""As Keras from 3.16 on has it."""


def fed(*batches, stacked=False):
    found = Batches()
    found.stacked = stacked
    for batch in batches:
        found.add(batch)
    return found


def image_and_text(length, rows=4):
    return np.ones((rows, 10), "float32"), np.ones((rows, length), "int32")


def test_batches_that_differ_behind_their_first_array_are_told_apart():
    found = fed(*map(image_and_text, LENGTHS), image_and_text(5))
    assert found.shapes_differ
    assert not found.rows_differ
    assert found.mean_rows == 4
    assert found.shapes[((4, 10), (4, 5))] == 2
    lengths = [text.shape[1] for _, text in found.described.values()]
    assert lengths == [*LENGTHS]


def test_so_they_are_in_dictionaries_and_nested_parts():
    def batch(length):
        image, text = image_and_text(length)
        return {"image": image, "text": text}, None, [image]

    found = fed(*map(batch, LENGTHS))
    assert found.shapes_differ
    assert [*found.shapes] == [((4, 10), (4, length), (4, 10)) for length in LENGTHS]


def test_batches_of_fewer_rows_differ_in_nothing_else():
    found = fed(image_and_text(5), image_and_text(5, rows=2))
    assert found.rows_differ
    assert not found.shapes_differ
    assert found.mean_rows == 3


def test_what_is_no_array_is_counted_without_a_shape():
    unknown = type("Unknown", (), {"shape": (None, 3)})()
    found = fed((), None, 3.0, unknown, (None, image_and_text(5)))
    assert (found.fetched, found.shapes.total()) == (5, 1)


@pytest.mark.parametrize("dictionary", [False, True])
def test_batches_that_came_before_are_counted_as_the_first_ones(dictionary):
    def batch(length):
        image, text = image_and_text(length)
        return {"text": text, "image": image} if dictionary else (image, text)

    found = fed(*map(batch, LENGTHS * 3))
    assert list(found.shapes.values()) == [3, 3, 3]
    assert found.mean_rows == 4


def test_the_cpu_time_of_the_first_batches_and_then_of_some_is_read():
    """Fetching computes for 3 ms, but for the first batch, with which the source begins."""
    cpu = SimpleNamespace(ns=0, asked=0)

    def cpu_clock():
        cpu.asked += 1
        return cpu.ns

    def source():
        for number in range(ALL_TIMED + 10 * THEN_EACH):
            cpu.ns += 3_000_000 if number else 10**9
            yield image_and_text(5)

    batches = Batches()
    timed = TimedIterator(source(), OverlappingTimeline(), batches, lambda: 0, cpu_clock)
    assert len(list(timed)) == batches.fetched == ALL_TIMED + 10 * THEN_EACH
    assert batches.fetch_cpu_ms == 3.0
    assert ALL_TIMED + 9 <= cpu.asked / 2 <= ALL_TIMED + 11


def test_the_size_of_a_batch_is_what_jax_keeps_of_it():
    """Of float64 it keeps half."""
    wide = (np.ones((4, 10)), np.ones((4, 100), "int32"))
    assert fed(image_and_text(10)).mean_mib == 4 * (10 + 10) * 4 / 2**20
    assert fed(image_and_text(10), wide).mean_mib == 4 * (10 + 10 + 10 + 100) * 4 / 2 / 2**20
    assert fed(None).mean_mib is None


def test_no_more_shapes_are_kept_than_are_told_of():
    found = fed(*map(image_and_text, range(MOST_SHAPES + 9)))
    assert len(found.shapes) == len(found.described) == MOST_SHAPES
    assert found.fetched == MOST_SHAPES + 9


def test_each_length_counts_as_often_as_there_were_steps_of_it(monkeypatch):
    """The mean of three steps of length 5 and one of length 500."""
    monkeypatch.setattr(jax_work, "_traced", lambda jitted, state, batch: batch[1].shape[1])
    monkeypatch.setattr(jax_work, "counted", lambda length: Counted({"float32": length}))
    batches = fed(*map(image_and_text, (5, 5, 500, 5)))
    assert jax_work._mean(None, "state", batches).flops == {"float32": (3 * 5 + 500) / 4}


def stack(*batches):
    return jax.tree.map(lambda *arrays: np.stack(arrays), *batches)


def test_stacked_batches_count_each_with_rows_and_shape_of_its_own():
    batches = [image_and_text(5) for _ in range(3)]
    told = [fed(stack(*batches), stack(*batches[:2]), stacked=True), fed(*batches, *batches[:2])]
    for found in told:
        assert (found.fetched, found.rows, found.mean_rows) == (5, 20, 4)
        assert found.shapes == {((4, 10), (4, 5)): 5}
        assert not found.rows_differ
    [[image, text]] = told[0].described.values()
    assert (image.shape, text.shape, text.dtype) == ((4, 10), (4, 5), np.int32)


def test_batches_that_were_left_unstacked_count_each_as_it_is():
    rest = PartialBatchList([image_and_text(5), image_and_text(7), image_and_text(5, rows=2)])
    found = fed(stack(image_and_text(5), image_and_text(5)), rest, stacked=True)
    assert (found.fetched, found.rows) == (5, 18)
    assert found.rows_differ
    assert found.shapes_differ


def test_with_one_step_an_execution_lists_are_batches_as_they_are():
    assert fed([*image_and_text(5)]).shapes == {((4, 10), (4, 5)): 1}


@pytest.mark.parametrize(
    ("has_it", "at_once", "stacked", "compiled"),
    [(False, 4, False, False), (True, 4, True, True), (True, 1, False, True)],
)
def test_which_keras_stacks_and_compiles_the_batches_of_an_execution(
    monkeypatch, has_it, at_once, stacked, compiled
):
    """Development versions without it have called themselves 3.16.0, too."""
    monkeypatch.setattr(keras, "__version__", "3.16.0")
    if has_it:
        monkeypatch.setattr(data_adapter_utils, REMAINDER, PartialBatchList, raising=False)
    else:
        monkeypatch.delattr(data_adapter_utils, REMAINDER, raising=False)
    model = SimpleNamespace(steps_per_execution=at_once, jit_compile=True, run_eagerly=False)
    assert (stacks_batches(model), compiles_executions(model)) == (stacked, compiled)
    model.jit_compile = False
    assert (stacks_batches(model), compiles_executions(model)) == (stacked, False)


@pytest.mark.parametrize("has_it", [False, True])
def test_the_record_says_whether_keras_compiles_executions(monkeypatch, has_it):
    monkeypatch.setattr(data_adapter_utils, REMAINDER, PartialBatchList, raising=False)
    model = keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=has_it)
    backend = OnJax(time.perf_counter_ns)
    try:
        assert backend.settings(model)["compiles_executions"]() is has_it
    finally:
        backend.release()


def test_keras_stacks_batches_where_it_is_expected_to():
    """Canary: the name is private."""
    assert hasattr(data_adapter_utils, REMAINDER) == keras_is_at_least(3, 16)


@pytest.mark.parametrize("several", [False, True])
def test_the_compiled_step_is_found_beside_what_else_is_compiled(several):
    step_function = jax.jit(lambda state, batch: batch)
    multi_step_fn, concat_fn = jax.jit(lambda *of: of), jax.jit(lambda of: of)

    def iterator_step(state, iterator):
        if several:
            return concat_fn(multi_step_fn(state, step_function(state, next(iterator))))
        return step_function(state, next(iterator))

    assert jax_work.compiled_step(iterator_step) is step_function


def test_a_step_that_is_not_compiled_is_none():
    step_function, concat_fn = lambda state, batch: batch, jax.jit(lambda of: of)

    def iterator_step(state, iterator):
        return concat_fn(step_function(state, next(iterator)))

    assert jax_work.compiled_step(iterator_step) is None
