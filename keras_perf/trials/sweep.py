"""The whole curve of step time over steps per execution, measured offline."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import quantiles
from typing import Any

import keras
import pandas as pd
import tensorflow as tf

from keras_perf.observers.cost_curve import fit_curve
from keras_perf.trials.train_function import TrainFunction, TrainFunctionAt


def sweep_steps_per_execution(
    model: keras.Model,
    dataset: tf.data.Dataset,
    candidates: Sequence[int] = (1, 2, 4, 8, 16, 32, 64),
    *,
    repeats: int = 5,
    steps: int = 128,
    plot: bool = True,
) -> pd.DataFrame:
    """Time of a training step for each number of steps per execution.

    Trains for a while, in rounds over all candidates so that a drifting machine drifts for all,
    and puts weights, optimizer, metrics and the model's settings back as they were.

    Returns:
        A frame with a row a candidate: `steps_per_execution`, `step_ms` (median), `low_ms`,
        `high_ms` (quartiles), `predicted_ms` (from the curve T(N) = c + h / N that fits best),
        `speedup` (over the first candidate).

    Arguments:
        model: compiled; its `steps_per_execution` does not matter.
        dataset: batches, as given to `fit`; it is repeated without end.
        candidates: numbers of steps per execution, each at least 1.
        repeats: rounds.
        steps: steps per candidate and round, rounded up to whole executions.
        plot: also draw the curve with matplotlib, on its current figure.

    Raises:
        TypeError: `dataset` is not a `tf.data.Dataset`.
        ValueError: the model is not compiled or runs eagerly, or a number is below 1.

    What it cannot see: Keras's loop and callbacks, which run once per execution too.
    """
    _check(model, dataset, candidates, repeats, steps)
    times: dict[int, list[float]] = {n: [] for n in candidates}
    with _restored(model, dataset):
        strategy = model.distribute_strategy
        iterator = iter(strategy.experimental_distribute_dataset(dataset.repeat()))
        functions = {n: TrainFunctionAt(model, n).run for n in candidates}
        for function in functions.values():
            _run(function, iterator)
        order = list(candidates)
        for _ in range(repeats):
            random.Random(len(times[order[0]])).shuffle(order)
            for n in order:
                times[n].append(_timed(functions[n], iterator, -(-steps // n)) / n)
    frame = _frame(times)
    if plot:
        _draw(frame)
    return frame


def _run(function: TrainFunction, iterator: Any) -> None:
    """One execution, and its logs read as Keras reads them."""
    for value in function(iterator).values():
        tf.nest.map_structure(float, value)


def _timed(function: TrainFunction, iterator: Any, executions: int) -> float:
    """Milliseconds per execution."""
    begin = time.perf_counter()
    for _ in range(executions):
        _run(function, iterator)
    return (time.perf_counter() - begin) / executions * 1e3


def _check(
    model: keras.Model, dataset: Any, candidates: Sequence[int], repeats: int, steps: int
) -> None:
    if not isinstance(dataset, tf.data.Dataset):
        raise TypeError(
            f"dataset must be a tf.data.Dataset of batches, got {type(dataset).__name__}. "
            "For arrays: tf.data.Dataset.from_tensor_slices((x, y)).batch(batch_size)."
        )
    if not model.compiled:
        raise ValueError("model must be compiled, got one that is not. Call model.compile first.")
    if model.run_eagerly:
        raise ValueError(
            "model must not run eagerly, got run_eagerly=True, where steps_per_execution has "
            "nothing to share. Compile without it."
        )
    named = [("candidates", n) for n in candidates] + [("repeats", repeats), ("steps", steps)]
    for name, value in named:
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} must be at least 1, got {value!r}. Give whole numbers.")
    if not candidates:
        raise ValueError("candidates must hold a number, got none. The default is 1 to 64.")


@contextmanager
def _restored(model: keras.Model, dataset: tf.data.Dataset) -> Iterator[None]:
    """Puts every variable of the model, its optimizer and its metrics back afterwards."""
    if not model.built:
        # A forward pass makes the weights; nothing is trained.
        inputs, _, _ = keras.utils.unpack_x_y_sample_weight(next(iter(dataset)))
        model(inputs, training=False)
    if not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)
    function = model.train_function
    values = {id(v): (v, keras.ops.convert_to_numpy(v)) for v in _variables(model)}
    try:
        yield
    finally:
        model.train_function = function
        for variable in _variables(model):
            if id(variable) not in values:
                # Metrics make theirs in the first step: at its beginning they are zero.
                variable.assign(keras.ops.zeros_like(variable))
        for variable, value in values.values():
            variable.assign(value)


def _variables(model: keras.Model) -> list[Any]:
    metrics = [v for metric in model.metrics for v in metric.variables]
    return [*model.variables, *model.optimizer.variables, *metrics]


def _frame(times: dict[int, list[float]]) -> pd.DataFrame:
    rows = []
    for n, found in times.items():
        low, middle, high = quantiles(found, n=4) if len(found) > 1 else found * 3
        rows.append((n, middle, low, high))
    frame = pd.DataFrame(rows, columns=["steps_per_execution", "step_ms", "low_ms", "high_ms"])
    predict: Callable[[int], float] = lambda n: float(frame["step_ms"].iloc[0])  # noqa: E731
    if len(times) > 1:
        predict = fit_curve({n: [t * n for t in found] for n, found in times.items()}, 0.0).step_ms
    frame["predicted_ms"] = [predict(n) for n in times]
    frame["speedup"] = frame["step_ms"].iloc[0] / frame["step_ms"]
    return frame


def _draw(frame: pd.DataFrame) -> None:
    from matplotlib import pyplot

    axes = pyplot.gca()
    errors = [frame["step_ms"] - frame["low_ms"], frame["high_ms"] - frame["step_ms"]]
    axes.errorbar(frame["steps_per_execution"], frame["step_ms"], errors, fmt="o", label="measured")
    axes.plot(frame["steps_per_execution"], frame["predicted_ms"], label="c + h / N")
    axes.set_xscale("log", base=2)
    axes.set_xlabel("steps_per_execution")
    axes.set_ylabel("ms per step")
    axes.legend()
