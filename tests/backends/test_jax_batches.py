"""What is kept of the batches that a training on JAX fetches, without a training."""

import numpy as np
import pytest

pytest.importorskip("jax")
from keras_perf.backends import jax_work
from keras_perf.backends.jax_input import MOST_SHAPES, Batches
from keras_perf.observation.facts.flops.counted import Counted

LENGTHS = (5, 50, 500)


def fed(*batches):
    found = Batches()
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
