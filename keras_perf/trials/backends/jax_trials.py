"""Trials on Keras's JAX backend; see `TrialBackend`. Batches are NumPy's arrays."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import repeat
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import Any

import keras
import numpy as np

from keras_perf.trials.backends.jax_memory import training_memory
from keras_perf.trials.backends.jax_state import restored
from keras_perf.trials.backends.jax_trial_steps import (
    Steps,
    each_array,
    in_numpy,
    on_device,
    ramped_steps,
)
from keras_perf.trials.compiled import NO_BATCH
from keras_perf.trials.learning_rate.losses import Losses
from keras_perf.trials.train_functions.build_on import build_on

__all__ = [
    "build",
    "check_alone",
    "check_data",
    "check_room",
    "examples",
    "execution",
    "first_batch",
    "load",
    "only_so_much",
    "prediction",
    "program_settings",
    "ramp",
    "save",
    "set_as_program",
    "step_ms_within",
    "tiled",
    "training_memory",
]

ROWS = 32
"""Of a batch, where `fit` makes them of arrays and nobody says how large."""

ENOUGH = 60
"""Steps whose median tells how long one is."""


def check_data(data: Any) -> None:
    """A `tf.data.Dataset` of batches, or arrays."""
    if _are_arrays(data):
        return
    try:
        from keras_perf.trials.arguments import check_dataset
    except ImportError as error:
        raise TypeError(
            "dataset must be arrays as given to fit, (x, y), where TensorFlow is not installed, "
            f"got {type(data).__name__}."
        ) from error
    check_dataset(data)


def _are_arrays(data: Any) -> bool:
    leaves = [leaf for leaf in keras.tree.flatten(data) if leaf is not None]
    return bool(leaves) and all(len(getattr(leaf, "shape", ())) > 0 for leaf in leaves)


def first_batch(data: Any) -> Any:
    """Of arrays the first rows; of a dataset one of a copy, so that shuffles keep their orders."""
    if _are_arrays(data):
        batch = each_array(data, lambda leaf: np.array(leaf[:ROWS]))
        return batch if examples(batch) else _no_batch()
    from keras_perf.trials.rewriting.own_copy import own_copy

    batch = next(iter(own_copy(data)), None)
    return _no_batch() if batch is None else in_numpy(batch)


def _no_batch() -> Any:
    raise ValueError(NO_BATCH)


def examples(batch: Any) -> int:
    """Rows of it."""
    return len(next(leaf for leaf in keras.tree.flatten(_inputs(batch)) if leaf is not None))


def build(model: keras.Model, batch: Any) -> None:
    """By a call on it."""
    build_on(model, lambda: batch)


def check_alone(model: keras.Model) -> None:
    """By the distribution that is set."""
    if keras.distribution.distribution() is not None:
        raise ValueError(
            "model must be for one device, got a distribution set with keras.distribution."
        )


def check_room() -> None:
    """JAX is to take of a GPU only what this process needs."""
    preallocates = os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE", "").lower() not in {"false", "0"}
    if preallocates and any("gpu" in each for each in keras.distribution.list_devices()):
        raise ValueError(
            "other processes must find memory on the GPU, got one of which JAX takes most. Set "
            "XLA_PYTHON_CLIENT_PREALLOCATE=false before the program starts."
        )


@contextmanager
def ramp(model: keras.Model, data: Any) -> Iterator[Callable[[], Losses]]:
    """On a copy of the dataset, or the arrays' rows in random order, without end."""
    check_alone(model)
    build(model, first_batch(data))
    with restored(model):
        yield lambda: ramped_steps(model, _endless(data))


def _endless(data: Any) -> Iterator[Any]:
    if not _are_arrays(data):
        from keras_perf.trials.rewriting.own_copy import own_copy

        yield from map(in_numpy, own_copy(data).repeat())
    arrays, random = each_array(data, np.asarray), np.random.default_rng(0)
    rows = examples(arrays)
    size = min(rows, ROWS)
    while True:
        order = random.permutation(rows)
        for begin in range(0, rows - size + 1, size):
            yield each_array(arrays, itemgetter(order[begin : begin + size]))


def save(batch: Any, place: str) -> None:
    """By pickle: the process that reads it is our own."""
    Path(place).write_bytes(pickle.dumps(batch))


def load(place: str) -> Any:
    """What was saved."""
    return pickle.loads(Path(place).read_bytes())


def program_settings() -> dict[str, Any]:
    """None: a child takes those of JAX from the environment."""
    return {}


def set_as_program(settings: dict[str, Any]) -> None:
    """There are none."""


def only_so_much(limit_mib: float | None) -> None:
    """JAX takes no such number; the peak tells what took more."""


def tiled(batch: Any, batch_size: int) -> Any:
    """Its rows again and again."""
    return each_array(batch, lambda leaf: leaf[np.arange(batch_size) % len(leaf)])


def execution(model: keras.Model, batch: Any) -> tuple[Callable[[], object], int]:
    """A step of Keras's own train function; nobody goes on with the model."""
    return Steps(model, repeat(on_device(batch))), 1


def prediction(model: keras.Model, batch: Any) -> Callable[[], object]:
    """On its arrays."""
    inputs = _inputs(batch)
    return lambda: model.predict_on_batch(inputs)


def _inputs(batch: Any) -> Any:
    return keras.utils.unpack_x_y_sample_weight(batch)[0]


def step_ms_within(
    model: keras.Model, batch: Any, seconds: float, clock: Callable[[], float]
) -> float:
    """The median of a step on it, without the first one, which traces and compiles."""
    check_alone(model)
    batch, taken = in_numpy(batch), list[float]()
    build(model, batch)
    with restored(model):
        step = Steps(model, repeat(on_device(batch)))
        step()
        while not taken or (len(taken) < ENOUGH and sum(taken) + max(taken) <= seconds):
            begin = clock()
            step()
            taken.append(clock() - begin)
    return 1e3 * median(taken)
