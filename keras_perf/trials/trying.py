"""A training as it is, what could be changed in it, and all put back."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from keras_perf.observers.delayed_signals import interruptible, uninterrupted
from keras_perf.records.reasons.reason import Reason
from keras_perf.records.run.tried.advice_trials import ENVIRONMENT, AdviceTrials, NotTried
from keras_perf.trials.backends.backend import KeptTraining
from keras_perf.trials.backends.chosen import training_backend
from keras_perf.trials.environment.settings import EnvironmentSetting
from keras_perf.trials.environment.tried_settings import EnvironmentTrials, settings_to_try
from keras_perf.trials.kept_draws import kept_draws
from keras_perf.trials.measuring.progress import Progress
from keras_perf.trials.rewriting.allowed import NOTHING, Allowed
from keras_perf.trials.rewriting.own_copy import require_graph
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph
from keras_perf.trials.training.budget import Budget
from keras_perf.trials.training.running import TrainFunctions, hooks_of
from keras_perf.trials.training.search import Search
from keras_perf.trials.training.setup import Setup, with_options
from keras_perf.trials.training.tried_advice import TriedAdvice


@kept_draws()
def tried_advice(
    model: keras.Model,
    dataset: tf.data.Dataset,
    *,
    graph: PipelineGraph | None = None,
    callbacks: tuple[keras.callbacks.Callback, ...] = (),
    others_wait: bool = False,
    mid_epoch: bool = False,
    epoch_steps: int | None = None,
    allowed: Allowed = NOTHING,
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

    Of `callbacks` that are `mid_epoch` only hooks of batches are called. For others, which are not,
    Keras waits for each execution if `others_wait`. Changes whose id is in
    `without` are not tried. `outside_ms` are milliseconds of a step that trials do not run, but for
    those that leave a callback out: what is gained is less by them. `epoch_steps` are those of an
    epoch of `fit`, and `making_s` the seconds that the model's train function took to be traced,
    compiled and run for the first time, where they are known. `clock` tells seconds.
    """
    budget = Budget(budget_s, clock)
    graph, backend = graph or require_graph(dataset), training_backend()
    backend.make_ready(model, graph)
    setup = Setup(
        model,
        graph,
        bool(model.jit_compile),
        bool(model.run_eagerly) or backend.runs_eagerly(),
        callbacks=callbacks,
        others_wait=others_wait,
        epoch_steps=epoch_steps,
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
            allowed=allowed,
            cache_dir=cache_dir,
            without=without,
            outside_ms=outside_ms,
            making_s=making_s,
            progress=progress,
            clock=clock,
        )
        try:
            with interruptible():
                trials = search.run()
                if environment_s is not None and _has_time(trials.stopped, environment_s):
                    more = Budget(environment_s, clock)
                    environment = EnvironmentTrials(setup, more, outside_ms, progress)
                    trials = _with_environment(trials, environment, named)
        finally:
            progress.ends()
    return TriedAdvice(trials, _with_changes(dataset, setup, search.best))


def _has_time(stopped: str, seconds: float) -> bool:
    """Not after an interrupt, nor where two trainings in turn take longer."""
    values = stopped.values if isinstance(stopped, Reason) else {}
    return not stopped or values.get("needed_s", math.inf) <= seconds


def _with_environment(
    trials: AdviceTrials, environment: EnvironmentTrials, named: Sequence[EnvironmentSetting]
) -> AdviceTrials:
    """And what came of settings of the environment."""
    if why := training_backend().why_no_environment():
        left = [NotTried(id=each.id, where=ENVIRONMENT, why=why) for each in named]
        left = left or [NotTried(id="settings", where=ENVIRONMENT, why=why)]
        return replace(trials, not_tried=(*trials.not_tried, *left))
    environment.run([*named, *settings_to_try()])
    return environment.added_to(trials)


def _with_changes(dataset: tf.data.Dataset, present: Setup, best: Setup) -> tf.data.Dataset:
    """The same object where none of the input was put together."""
    if best.graph is present.graph and not best.options:
        return dataset
    return with_options(best.graph.dataset(), best.options)


@contextmanager
def _kept(model: keras.Model) -> Iterator[KeptTraining]:
    kept = training_backend().kept(model)
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
