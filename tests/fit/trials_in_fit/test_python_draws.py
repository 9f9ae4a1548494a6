"""What Python code in a dataset draws at random is known by the names in it."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from keras_perf.observation.facts.input.dataset_graph import dataset_graph
from keras_perf.observation.facts.input.python_draws import draws_in_python

GENERATOR = np.random.default_rng(0)


def flipped(image: Any) -> Any:
    return image[::-1] if np.random.rand() < 0.5 else image


def doubled(image: Any) -> Any:
    return 2 * image


def noisy(image: Any) -> Any:
    return image + GENERATOR.normal()


class Augmentation:
    def __init__(self) -> None:
        self.draws = random.Random(0)

    def bright(self, image: Any) -> Any:
        return image * self.draws.uniform(0.5, 1.5)

    def load(self, image: Any) -> Any:
        return tf.py_function(self.bright, [image], tf.float32)

    def plain(self, image: Any) -> Any:
        return doubled(image)


@pytest.mark.parametrize("function", [flipped, noisy, Augmentation().bright, Augmentation().load])
def test_what_draws_is_seen(function: Any):
    assert draws_in_python(function)
    assert draws_in_python(lambda image: tf.py_function(function, [image], tf.float32))


@pytest.mark.parametrize("function", [doubled, Augmentation().plain, len, None, np.tanh])
def test_what_draws_nothing_is_not_random(function: Any):
    assert not draws_in_python(function)


@pytest.mark.parametrize(("function", "random"), [(flipped, True), (doubled, False)])
def test_a_map_that_calls_it_in_python_is_random(function: Any, random: bool):
    def load(image: Any) -> Any:
        return tf.numpy_function(function, [image], tf.float32)

    graph = dataset_graph(tf.data.Dataset.from_tensors([1.0]).map(load))
    assert graph is not None
    assert graph.chains[0][-1].python
    assert graph.chains[0][-1].random is random


def test_a_property_is_not_asked():
    class Counts:
        asked = 0

        @property
        def level(self):
            Counts.asked += 1
            return 1.0

        def load(self, image: Any) -> Any:
            return image * self.level

    assert not draws_in_python(Counts().load)
    assert Counts.asked == 0
