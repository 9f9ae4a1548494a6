"""Whether Keras compiles a model's steps with XLA if it is asked."""

import warnings
from contextlib import contextmanager

import keras
import pytest
import tensorflow as tf
from tensorflow.python.framework import config

from keras_perf.observation.facts.model_facts import supports_jit


class Block(keras.layers.Layer):
    """Calls a layer that no public name tells."""

    def __init__(self, inner):
        super().__init__()
        self.hidden = inner

    def call(self, x):
        return self.hidden(x)


@contextmanager
def deterministic():
    """Operations, for a while; nothing public ends it."""
    tf.config.experimental.enable_op_determinism()
    try:
        yield
    finally:
        config.disable_op_determinism()


def model(inner):
    made = keras.Sequential([keras.Input((8, 8, 3)), Block(inner), keras.layers.Flatten()])
    made.compile("sgd", "mse")
    return made


def is_compiled_if_asked(made):
    """What Keras does, in place of what it is thought to do."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made.jit_compile = True
    return made.jit_compile


PLAIN, NEVER = keras.layers.Activation("relu"), keras.layers.RandomZoom(0.1)


@pytest.mark.parametrize(("inner", "expected"), [(PLAIN, True), (NEVER, False)])
def test_a_layer_that_cannot_be_compiled_is_known_wherever_it_is(inner, expected):
    """A canary: `model_supports_jit` is private."""
    made = model(inner)
    assert supports_jit(made) is is_compiled_if_asked(made) is expected


def test_deterministic_operations_are_not_compiled():
    """A canary, too: without it nobody could be asked."""
    made = model(PLAIN)
    with deterministic():
        assert supports_jit(made) is is_compiled_if_asked(made) is False


def test_without_the_private_name_layers_are_asked(monkeypatch):
    monkeypatch.delattr("keras.src.trainers.trainer.model_supports_jit")
    assert supports_jit(keras.Sequential([NEVER])) is False
    assert supports_jit(keras.Sequential([PLAIN])) is True
