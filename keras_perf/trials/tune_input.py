"""The pipeline that delivers the same batches fastest, found by measuring."""

from __future__ import annotations

import math
import os
import time

import keras
import tensorflow as tf

from keras_perf.records.arguments import existing_directory, require_bool, require_number
from keras_perf.trials.arguments import check_dataset
from keras_perf.trials.backends.chosen import trial_backend
from keras_perf.trials.compiled import require_compiled
from keras_perf.trials.kept_draws import kept_draws
from keras_perf.trials.kept_in_run import KeptInRun
from keras_perf.trials.rewriting.allowed import Allowed
from keras_perf.trials.rewriting.own_copy import require_graph
from keras_perf.trials.rewriting.tuned_input import TunedInput
from keras_perf.trials.training.budget import Budget
from keras_perf.trials.tuning import Tuning


@kept_draws()
def tune_input(
    dataset: tf.data.Dataset,
    *,
    step_ms: float | None = None,
    model: keras.Model | None = None,
    any_order: bool = False,
    any_random_numbers: bool = False,
    budget_s: float = 30.0,
    cache_dir: str | os.PathLike[str] | None = None,
    log_dir: str | os.PathLike[str] | None = None,
) -> TunedInput:
    """Finds, by measuring, the rewriting of a pipeline that delivers its batches fastest.

    The dataset is written as a graph, changed, and read back, by public operations of TensorFlow.
    Each change is measured beside the pipeline as it is, in turn, and stays if it pays; elements
    and their order stay the same, which is checked on the first batches. Nothing of the dataset
    given is changed.

    Returns:
        A `TunedInput`: `.dataset`, `.changes`, `.to_frame()`; print it.

    Arguments:
        dataset: batches, as given to `fit`.
        step_ms: milliseconds of a training step; nothing more is tried once batches come faster.
        model: compiled; the step is measured in place of `step_ms`, and the model left as it was.
        any_order: the order of examples may change from run to run.
        any_random_numbers: an example may get other random numbers, from the same distributions,
            so that maps that draw them, as augmentation does, can run in parallel.
        budget_s: seconds to spend at most; what would take longer than what is left is not begun.
        cache_dir: an existing directory, where a cache may keep what does not fit into half of the
            free memory. What is kept stays there, for the dataset returned.
        log_dir: of the callbacks: the result is written there, and the report, the HTML page and
            TensorBoard show it with the run. None writes nothing.

    Raises:
        TypeError: `dataset` is not a `tf.data.Dataset`, or `log_dir` no path.
        ValueError: it is empty or not batched, cannot be written as a graph, uses a variable in a
            map, or keeps a cache in a file; a number is not above 0; `cache_dir` is no directory;
            or the train step of `model` writes or changes what is no variable: give `step_ms`.
        OSError: `log_dir` cannot be written.
        NotImplementedError: with `model`, Keras computes with neither TensorFlow nor JAX.

    What it cannot see: the processors that training takes from the input; whether Python code in
    a map, or files, give the same in later batches than those compared. What the dataset holds in
    memory is copied into the graph, a random generator of its maps as it is by then. The functions
    of its maps are called, also to fill a cache that is there or tried, for a whole pass, or for
    three where the data do not tell their length.

    >>> import keras_perf as kp
    >>> tuned = kp.tune_input(dataset, model=model)  # then: model.fit(tuned.dataset)
    """
    check_dataset(dataset)
    budget_s = require_number("budget_s", budget_s, above=0, remedy="The default is 30.0.")
    allowed = Allowed(
        order=require_bool("any_order", any_order),
        random_numbers=require_bool("any_random_numbers", any_random_numbers),
    )
    if step_ms is not None:
        step_ms = require_number("step_ms", step_ms, above=0, remedy="None tries all.")
    elif model is not None:
        trial_backend()
        require_compiled(model)
    folder = existing_directory("cache_dir", cache_dir)
    run = KeptInRun(log_dir)
    budget = Budget(budget_s, time.perf_counter)
    graph = require_graph(dataset)
    tuning = Tuning(dataset, graph, step_ms, budget, model=model, allowed=allowed, cache_dir=folder)
    found = tuning.run()
    if not math.isnan(found.before_ms):
        run.keep({"input_changes": found.record})
    return found
