"""All advice that a machine can follow, tried on the training itself."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from keras_perf.observers.delayed_signals import interruptible, uninterrupted
from keras_perf.records.arguments import existing_directory, require_bool, require_number
from keras_perf.trials.arguments import check_compiled, check_dataset, check_replicas
from keras_perf.trials.environment.settings import EnvironmentSetting, named_settings
from keras_perf.trials.environment.tried_settings import EnvironmentTrials, settings_to_try
from keras_perf.trials.kept_in_run import KeptInRun
from keras_perf.trials.measuring.progress import Progress
from keras_perf.trials.rewriting.own_copy import require_graph
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph
from keras_perf.trials.train_functions.restored import KeptState, build
from keras_perf.trials.training.budget import Budget
from keras_perf.trials.training.running import TrainFunctions, hooks_of
from keras_perf.trials.training.search import Search
from keras_perf.trials.training.setup import Setup, with_options
from keras_perf.trials.training.tried_advice import TriedAdvice


def try_advice(
    model: keras.Model,
    dataset: tf.data.Dataset,
    *,
    callbacks: Sequence[keras.callbacks.Callback] = (),
    any_order: bool = False,
    budget_s: float = 30.0,
    environment_s: float | None = None,
    environment: Mapping[str, str] | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    log_dir: str | os.PathLike[str] | None = None,
) -> TriedAdvice:
    """Measures what changes of a training would gain, on the training itself.

    First the training as it is beside steps on a ready batch, and the input alone. Then real
    training steps with each change, in turn with the training as it is: the changes of the input
    that `tune_input` knows, XLA on or off, eager mode off, several steps per execution, Python's
    garbage collector, each of `callbacks` left out, larger batches, another precision, batches
    padded to few lengths. Those that pay and leave training as it is are put together, the best
    first, each measured on top of those before, and all of it beside the training as it was.

    Model, optimizer, metrics, seeds and what else the train function changes are put back as they
    were, bit for bit, also after an exception or Ctrl-C, which ends the trials. The dataset is not
    iterated: copies of it are.

    Returns:
        A `TriedAdvice`: `.changes`, `.best`, `.gain`, `.dataset`, `.to_frame()`; print it.

    Arguments:
        model: compiled; it is built if it is not.
        dataset: batches, as given to `fit`.
        callbacks: made for this trial: their hooks are called as in an epoch of `fit`, on the
            model that trains on trial, and nothing that they do is undone.
        any_order: the order of examples may change from run to run.
        budget_s: seconds to spend at most. What would take longer than what is left is not begun:
            XLA, say, where compiling takes too long, estimated from what tracing took.
        environment_s: seconds more for what is set before Python starts: threads of TensorFlow's
            pools, oneDNN, threads for a GPU's kernels. Each is tried in a process of its own that
            trains in turn with one without it, as `sweep_batch_size` does; starting them takes
            most of the time. None tries nothing of it.
        environment: variables of your own to try in the same way, before those, each alone:
            `{"LD_PRELOAD": "/usr/lib/libtcmalloc.so"}`.
        cache_dir: an existing directory, where a cache may keep what does not fit into half of the
            free memory. What is kept stays there, for the dataset returned and the code shown.
        log_dir: of the callbacks: the result is written there. Of the training that the directory
            holds the diagnosis then shows what was measured in place of what it would predict, as
            after `AdviceTester`; beside one that follows it is shown as tried before. None writes
            nothing.

    Raises:
        TypeError: `dataset` is not a `tf.data.Dataset`, `log_dir` no path, or `environment` no
            dict of str.
        ValueError: it is not batched, cannot be written as a graph, uses a variable in a map, or
            keeps a cache in a file; the model is not compiled, trains on several workers, or on
            several replicas of which Python makes the batches; a number is not above 0,
            `cache_dir` is no directory, or `environment` comes without `environment_s`.
        OSError: `log_dir` cannot be written.

    What it cannot see: Keras's loop around the steps; state that a train step keeps in Python,
    which is not put back, nor, with `run_eagerly`, variables that a step makes on trial and how far
    `tf.random` has drawn; what a change does to what is learned. The model's code is traced again
    for another way to compile it, and functions of the dataset's maps are called.

    >>> import keras_perf as kp
    >>> tried = kp.try_advice(model, dataset)  # then: model.fit(tried.dataset)
    """
    check_compiled(model)
    check_dataset(dataset)
    require_number("budget_s", budget_s, above=0, remedy="The default is 30.0.")
    if environment_s is not None:
        require_number("environment_s", environment_s, above=0, remedy="None tries nothing of it.")
    require_bool("any_order", any_order)
    named = named_settings(environment, environment_s)
    folder = existing_directory("cache_dir", cache_dir)
    run = KeptInRun(log_dir)
    found = tried_advice(
        model,
        dataset,
        callbacks=tuple(callbacks),
        any_order=any_order,
        budget_s=budget_s,
        environment_s=environment_s,
        named=named,
        cache_dir=folder,
    )
    run.keep({"advice_trials": found.trials})
    return found


def tried_advice(
    model: keras.Model,
    dataset: tf.data.Dataset,
    *,
    graph: PipelineGraph | None = None,
    callbacks: tuple[keras.callbacks.Callback, ...] = (),
    mid_epoch: bool = False,
    any_order: bool = False,
    budget_s: float,
    environment_s: float | None = None,
    named: Sequence[EnvironmentSetting] = (),
    cache_dir: Path | None = None,
    without: Collection[str] = (),
    outside_ms: float = 0.0,
    making_s: float = 0.0,
    clock: Callable[[], float] = time.perf_counter,
) -> TriedAdvice:
    """As `try_advice`, whose arguments were looked at.

    `graph` stands for the dataset, where that is not to be written as one.

    Of `callbacks` that are `mid_epoch` only hooks of batches are called. Changes whose id is in
    `without` are not tried. `outside_ms` are milliseconds of a step that trials do not run, but for
    those that leave a callback out: what is gained is less by them. `making_s` are seconds that the
    model's train function took to be traced, compiled and run for the first time, where that is
    known. `clock` tells seconds.
    """
    budget = Budget(budget_s, clock)
    graph = graph or require_graph(dataset)
    check_replicas(model, graph)
    with model.distribute_strategy.scope():
        build(model, graph.dataset())
    setup = Setup(
        model,
        graph,
        bool(model.jit_compile),
        bool(model.run_eagerly) or tf.config.functions_run_eagerly(),
        callbacks=callbacks,
        # What is known of `fit` is not run, and counted, a second time.
        keras_loop=not outside_ms,
    )
    with uninterrupted(), _kept(model) as kept, _in_an_epoch(model, () if mid_epoch else callbacks):
        progress = Progress()
        progress.begins("advice on this training", budget_s + (environment_s or 0.0))
        search = Search(
            setup,
            TrainFunctions(kept),
            budget,
            any_order=any_order,
            cache_dir=cache_dir,
            without=without,
            outside_ms=outside_ms,
            making_s=making_s,
            progress=progress,
            clock=clock,
        )
        with interruptible():
            trials = search.run()
            if environment_s is not None and not trials.stopped:
                more = Budget(environment_s, clock)
                environment = EnvironmentTrials(setup, more, outside_ms, progress)
                environment.run([*named, *settings_to_try()])
                trials = environment.added_to(trials)
        progress.ends()
    return TriedAdvice(trials, _with_changes(dataset, setup, search.best))


def _with_changes(dataset: tf.data.Dataset, present: Setup, best: Setup) -> tf.data.Dataset:
    """The same object where none of the input was put together."""
    if best.graph is present.graph and not best.options:
        return dataset
    return with_options(best.graph.dataset(), best.options)


@contextmanager
def _kept(model: keras.Model) -> Iterator[KeptState]:
    kept = KeptState(model)
    try:
        yield kept
    finally:
        kept.put_back()


@contextmanager
def _in_an_epoch(
    model: keras.Model, callbacks: tuple[keras.callbacks.Callback, ...]
) -> Iterator[None]:
    """The hooks around the steps of an epoch are called."""
    if not callbacks:
        yield
        return
    hooks = hooks_of(model, callbacks)
    hooks.on_train_begin()
    hooks.on_epoch_begin(0)
    try:
        yield
    finally:
        logs = _logs(model)
        hooks.on_epoch_end(0, logs)
        hooks.on_train_end(logs)


def _logs(model: keras.Model) -> dict[str, Any]:
    """Of the epoch, as Keras gives them to hooks; none where no step has made the metrics' state.

    To fail here would lose what was measured.
    """
    try:
        found = model.get_metrics_result()
    except Exception:  # noqa: BLE001  of a metric, which may be the user's
        return {}
    return {name: _as_number(value) for name, value in found.items()}


def _as_number(value: Any) -> Any:
    """A vector, such as the F1 score of each class, stays what it is."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return value
