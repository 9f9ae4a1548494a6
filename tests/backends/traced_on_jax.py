"""What is counted of functions that JAX has traced and nobody has run."""

import jax
import jax.numpy as jnp
import keras
import numpy as np
from keras import layers

from keras_perf.backends.jax_flops import counted
from keras_perf.observation.facts.flops.counted import NotCountedError

BATCH = 4


def stacked(*of, inputs=(7,)):
    return keras.Sequential([layers.Input(inputs), *of])


def attention():
    tokens = layers.Input((6, 8))
    mixed = layers.MultiHeadAttention(num_heads=2, key_dim=4)(tokens, tokens)
    return keras.Model(tokens, layers.Dense(3)(mixed))


def convolutions():
    return stacked(
        layers.Conv2D(4, 3, strides=2, padding="same"),
        layers.Conv2D(5, (2, 3)),
        layers.DepthwiseConv2D(3, padding="same"),
        layers.Conv2DTranspose(2, 2, strides=2),
        inputs=(8, 9, 2),
    )


MODELS = {
    "dense": lambda: stacked(layers.Dense(5), layers.Dense(3)),
    "convolutions": convolutions,
    "one axis": lambda: stacked(layers.Conv1D(4, 3), layers.Conv1DTranspose(2, 3), inputs=(10, 3)),
    "grouped": lambda: stacked(layers.Conv2D(8, 3, groups=2), inputs=(8, 8, 4)),
    "a kernel beyond the picture": lambda: stacked(
        *(layers.Conv2D(4, 3, padding="same") for _ in range(2)), inputs=(2, 2, 3)
    ),
    "recurrent": lambda: stacked(layers.LSTM(5), layers.Dense(3), inputs=(7, 6)),
    "attention": attention,
}


def of_step(model):
    """A training step, as Keras compiles it."""
    model.compile("sgd", "mse")
    model.optimizer.build(model.trainable_variables)
    x, y = np.zeros((BATCH, *model.input_shape[1:]), "float32"), model.output_shape[1:]
    data = x, np.zeros((BATCH, *y), "float32")
    model._symbolic_build(data_batch=data)
    variables = (
        model.trainable_variables,
        model.non_trainable_variables,
        model.optimizer.variables,
        model.metrics_variables,
    )
    state = tuple([each.value for each in group] for group in variables)
    return told(model.train_step, state, data)


def told(function, *arguments):
    """FLOPs by format, bytes, what is passed over; or why they are not counted."""
    try:
        found = counted(jax.jit(function).trace(*arguments).jaxpr)
    except NotCountedError as error:
        return error.why.value
    return [dict(found.flops), found.bytes, sorted(found.passed_over)]


def twice(x):
    return jax.lax.scan(lambda y, _: (y @ x, None), x, length=5)[0]


def unused(x):
    x @ x @ x
    return x @ x


FUNCTIONS = {
    "rounds": twice,
    "a loop": lambda x: jax.lax.while_loop(lambda y: y.sum() < 9.0, lambda y: y @ y, x),
    "alike": lambda x: jax.lax.cond(x.sum() > 0, lambda y: y @ y, lambda y: y.T @ y, x),
    "different": lambda x: jax.lax.cond(x.sum() > 0, lambda y: y @ y, lambda y: y, x),
    "passed over": lambda x: (jnp.linalg.svd(x, compute_uv=False), x @ x),
    "unused": unused,
    "half": lambda x: x.astype("bfloat16") @ x.astype("bfloat16"),
}


def all_traced():
    """Name → what is counted."""
    square = np.zeros((3, 3), "float32")
    of_functions = {name: told(function, square) for name, function in FUNCTIONS.items()}
    return of_functions | {name: of_step(made()) for name, made in MODELS.items()}
