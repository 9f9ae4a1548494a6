"""The train step alone, without input."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import keras
import pandas as pd
import tensorflow as tf

from keras_perf.records.arguments import require_count
from keras_perf.trials.arguments import check_compiled, dataset_of
from keras_perf.trials.measuring.examples import examples_in
from keras_perf.trials.measuring.rounds import timed_rounds
from keras_perf.trials.train_functions.function_on_trial import function_on_trial
from keras_perf.trials.train_functions.restored import build, restored
from keras_perf.trials.train_functions.train_function import read_logs

ENOUGH = 60
"""Executions whose median tells how long a step is."""


def benchmark_train_step(
    model: keras.Model, batch: Any, *, steps: int = 100, repeats: int = 3
) -> pd.DataFrame:
    """Time of a training step that always finds its batch ready: the model's bound on throughput.

    Trains on the same batch again and again, in Keras's own train function (with the model's
    `jit_compile`, `steps_per_execution`, `run_eagerly` and precision), and puts weights,
    optimizer, metrics and random seeds back as they were, bit for bit, also when a step raises.
    Where the model was trained on such batches before, the function it was trained with is run,
    and no code of the user's is traced again, unless its steps draw from a state of `tf.random`'s,
    which they would use up. A model that is not built yet is built.

    The other one of the pair is `benchmark_input_pipeline`. With both medians, of `step_ms` here
    and `batch_ms` there, a step that prefetches takes about the larger, one that does not about
    the sum. `input-bound` is confirmed if the input takes longer than the step, and refuted if a
    prefetching input takes less.

    Returns:
        A frame with a row a round: `round`, `steps`, `step_ms` (mean of the round),
        `steps_per_sec`, `examples_per_sec`. One round before them traces and compiles, and is
        not counted.

    Arguments:
        model: compiled.
        batch: what the dataset yields: a tuple (x, y) or (x, y, sample_weight), a dict, a tensor.
        steps: steps in a round, rounded up to whole executions of `steps_per_execution`.
        repeats: rounds.

    Raises:
        TypeError: `batch` is nothing that a dataset yields.
        ValueError: it has no axis of examples, the model is not compiled, its train step writes or
            changes what is no variable (`try_advice` says what), or a number is below 1.
        NotImplementedError: Keras does not compute with TensorFlow.

    What it cannot see: Keras's loop and callbacks; batches of other shapes; the input's use of
    the processors that training needs. The copy of the batch to a GPU is part of every step, as
    in `fit`. State that a `train_step` keeps in Python is not put back, nor, with `run_eagerly`,
    variables that a step makes on trial, and how far `tf.random` has drawn.

    Example:
    >>> batch = next(iter(dataset))
    >>> step_ms = keras_perf.benchmark_train_step(model, batch)["step_ms"].median()
    >>> input_ms = keras_perf.benchmark_input_pipeline(dataset)["batch_ms"].median()
    >>> input_bound = input_ms > step_ms
    """
    check_compiled(model)
    steps = require_count("steps", steps)
    repeats = require_count("repeats", repeats)
    dataset = dataset_of(batch)
    executions = -(-steps // model.steps_per_execution)
    steps = executions * model.steps_per_execution
    examples = steps * int(examples_in(next(iter(dataset))))
    with _on_trial(model, dataset) as execution:

        def run() -> int:
            for _ in range(executions):
                execution()
            return examples

        return timed_rounds("step", "steps", steps, repeats, run)


def step_ms_within(
    model: keras.Model,
    batch: Any,
    seconds: float,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Milliseconds of a step, as `benchmark_train_step` measures it, in little time.

    The first execution, which traces and compiles, is not counted; of the others it is the median.

    Arguments:
        model: compiled.
        batch: what the dataset yields.
        seconds: for those that are counted; one always is.
        clock: seconds.
    """
    taken: list[float] = []
    with _on_trial(model, dataset_of(batch)) as execution:
        execution()
        while not taken or (len(taken) < ENOUGH and sum(taken) + max(taken) <= seconds):
            begin = clock()
            execution()
            taken.append(clock() - begin)
    return 1e3 * median(taken) / float(model.steps_per_execution)


@contextmanager
def _on_trial(model: keras.Model, dataset: tf.data.Dataset) -> Iterator[Callable[[], None]]:
    """Runs an execution on the dataset's batch in each call, and puts all back afterwards."""
    strategy = model.distribute_strategy
    with strategy.scope():
        build(model, dataset)
    iterator = iter(strategy.experimental_distribute_dataset(dataset.repeat()))
    function = function_on_trial(model, model.steps_per_execution, iterator)
    with restored(model, function, iterator):
        yield lambda: read_logs(function(iterator))
