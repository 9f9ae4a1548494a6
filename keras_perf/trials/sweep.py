"""The whole curve of step time over steps per execution, measured offline."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from statistics import quantiles
from typing import Any

import keras
import pandas as pd
import tensorflow as tf

from keras_perf.observers.steps_trial.cost_curve import fit_curve
from keras_perf.records.arguments import require_count, require_counts
from keras_perf.records.reasons.why_no_steps import WhyNoSteps
from keras_perf.trials.arguments import check_compiled, check_dataset
from keras_perf.trials.kept_draws import kept_draws
from keras_perf.trials.rewriting.own_copy import own_copy
from keras_perf.trials.train_functions.function_on_trial import function_on_trial
from keras_perf.trials.train_functions.repeated_function import RepeatedFunction
from keras_perf.trials.train_functions.restored import build, restored
from keras_perf.trials.train_functions.train_function import read_logs


@kept_draws()
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
    and puts weights, optimizer, metrics and the model's settings back as they were. Several steps
    are a loop around the traced function of one, as `StepsPerExecutionRecommender` runs them: the
    user's code is traced once, or not at all where the model was trained on such batches before
    and its steps do not draw from a state of `tf.random`'s, which they would use up.

    Returns:
        A frame with a row a candidate: `steps_per_execution`, `step_ms` (median), `low_ms`,
        `high_ms` (quartiles), `predicted_ms` (from the curve T(N) = c + h / N that fits best),
        `speedup` (over the first candidate).

    Arguments:
        model: compiled; its `steps_per_execution` does not matter.
        dataset: batches, as given to `fit`; a copy is repeated without end, so that orders of its
            shuffles stay for training.
        candidates: numbers of steps per execution, each at least 1.
        repeats: rounds.
        steps: steps per candidate and round, rounded up to whole executions.
        plot: also draw the curve with matplotlib, on its current figure.

    Raises:
        TypeError: `dataset` is not a `tf.data.Dataset`, or `candidates` are not several numbers.
        ValueError: the model is not compiled or runs eagerly, its train step writes or changes what
            is no variable (`try_advice` says what), a number is below 1, or the dataset writes
            files of the user's or holds more in memory than copies have room for.
        NotImplementedError: Keras does not compute with TensorFlow.

    What it cannot see: Keras's loop and callbacks, which run once per execution too.
    """
    _check(model, dataset)
    repeats, steps = require_count("repeats", repeats), require_count("steps", steps)
    numbers = require_counts("candidates", candidates, "The default is 1 to 64.")
    times: dict[int, list[float]] = {n: [] for n in numbers}
    batches = own_copy(dataset)
    strategy = model.distribute_strategy
    with strategy.scope():
        build(model, batches)
    iterator = iter(strategy.experimental_distribute_dataset(batches.repeat()))
    function = function_on_trial(model, 1, iterator)
    with restored(model, function, iterator):
        repeated = RepeatedFunction(function)
        repeated.prepare(iterator)
        if repeated.differs == WhyNoSteps.OTHER_SHAPES.of():
            raise ValueError(f"batches of this dataset cannot be tried: {repeated.differs}")

        def execute(n: int) -> None:
            read_logs(function(iterator) if n == 1 else repeated.run(iterator, n))

        for n in numbers:
            execute(n)
        order = list(times)
        for _ in range(repeats):
            random.Random(len(times[order[0]])).shuffle(order)
            for n in order:
                times[n].append(_timed(execute, n, -(-steps // n)) / n)
    frame = _frame(times)
    if plot:
        _draw(frame)
    return frame


def _timed(execute: Callable[[int], None], n: int, executions: int) -> float:
    """Milliseconds per execution."""
    begin = time.perf_counter()
    for _ in range(executions):
        execute(n)
    return (time.perf_counter() - begin) / executions * 1e3


def _check(model: keras.Model, dataset: Any) -> None:
    check_dataset(dataset)
    check_compiled(model)
    if model.run_eagerly or tf.config.functions_run_eagerly():
        how = "run_eagerly=True" if model.run_eagerly else "tf.config.run_functions_eagerly(True)"
        raise ValueError(
            f"model must not run eagerly, got {how}, where steps_per_execution has nothing to "
            "share. Compile without it."
        )


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
