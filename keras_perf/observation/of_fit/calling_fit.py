"""What the stack tells of the `fit` that is calling."""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import Any, NamedTuple

import keras

from keras_perf.cluster.worker_number import place_among_workers
from keras_perf.observation.facts.input.batch_rows import mean_rows, rows_of_batches
from keras_perf.observation.facts.input.given_input import (
    kind_of_input,
    source_of_input,
    workers_of,
)
from keras_perf.observation.facts.input.loaders import loader_of
from keras_perf.observation.facts.input.tf_data import is_of_tensorflow
from keras_perf.observation.facts.model_facts import is_endless, steps_are_capped
from keras_perf.observation.of_fit.workers_of_fit import enqueuer_in
from keras_perf.observers.asking import Questions
from keras_perf.records.run.input.pipeline import WrittenPipeline


def is_being_called(callbacks: keras.callbacks.CallbackList | None) -> bool:
    """Whether one of this list's hooks is being run: what `fit` begins now is inside its `fit`."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and callbacks is not None:
        if frame.f_locals.get("self") is callbacks:
            return True
        frame = frame.f_back
    return False


class Asked(NamedTuple):
    """What a `fit` was asked to do; None where that is not known."""

    epochs: int | None
    """The number of the last one; `fit` may begin with a later one than the first."""
    epoch_steps: int | None
    """As Keras knows them before the first epoch."""
    whole_executions: bool
    """An epoch is rounded up to whole executions."""
    may_run_out: bool
    """The data may end before the steps of an epoch that `fit` was told."""
    data: Any
    """What it trains on."""
    enqueuer: Any | None
    """What hands it the batches of workers."""
    input_kind: str | None
    facts: Questions
    """What is recorded of it, asked when it was called."""
    batch_rows: int | None
    mean_rows: float | None
    """Examples of a step, where the input tells them."""
    found: bool
    """False where no `fit` calls, but somebody's own loop with a callback list."""
    by_keras: bool
    """Keras's own `fit` calls its own kind of list: nothing else is done between two steps."""


def asked_of_fit(callbacks: keras.callbacks.CallbackList | None) -> Asked:
    """What the `fit` that is calling was asked to do."""
    params = callbacks.params if callbacks is not None else {}
    arguments, steps = _fit_arguments(), _batches_of_epoch(params.get("steps"))
    epochs = arguments.get("epochs", params.get("epochs"))
    data = arguments.get("x")
    whole_executions = arguments.get("steps_per_epoch") is not None or steps_are_capped()
    input_ = data, arguments.get("batch_size"), arguments.get("steps_per_epoch")
    return Asked(
        epochs=None if epochs is None else int(epochs),
        epoch_steps=None if steps is None else int(steps),
        whole_executions=whole_executions,
        may_run_out=whole_executions and not is_endless(data),
        data=data,
        enqueuer=enqueuer_in(_fit_frame()),
        input_kind=kind_of_input(data),
        facts=_facts(data, arguments.get("validation_steps"), whole_executions),
        batch_rows=rows_of_batches(*input_),
        mean_rows=mean_rows(*input_) if _trains_alone() else None,
        found=_fit_frame() is not None,
        by_keras=_is_keras_s(_fit_frame(), callbacks),
    )


def _trains_alone() -> bool:
    """Not as one of several workers, which share a batch."""
    return place_among_workers(os.environ.get("TF_CONFIG"))[0] is None


def _is_keras_s(frame: FrameType | None, callbacks: keras.callbacks.CallbackList | None) -> bool:
    """Whether it is Keras that trains, and calls the hooks, and not a `fit` of somebody's own."""
    if frame is None or type(callbacks) is not keras.callbacks.CallbackList:
        return False
    by_keras = str(frame.f_globals.get("__name__", "")).startswith("keras.")
    return by_keras and frame.f_locals.get("callbacks") is callbacks


def epochs_from(epoch: int, last: int | None) -> int | None:
    """How many it runs that begins with `epoch`, counted from 0, and ends before `last`."""
    return None if last is None else max(1, last - epoch)


def _batches_of_epoch(told: Any) -> Any:
    """As the `fit` that is calling iterates; a user's own list may tell of an earlier one."""
    frame = _fit_frame()
    iterator = None if frame is None else frame.f_locals.get("epoch_iterator")
    return getattr(iterator, "num_batches", told)


def _facts(data: Any, validation_steps: Any, ends_by_steps: bool) -> Questions:
    workers, processes = workers_of(data)
    loader, source = loader_of(data), source_of_input(data)
    written, shared = _of_tensorflow(data) if is_of_tensorflow(data) else (None, {})
    return {
        "dataset": lambda: written,
        "distribution_options": lambda: shared,
        "input_workers": lambda: workers,
        "input_processes": lambda: processes,
        "loader": lambda: loader,
        "input_source": lambda: source,
        "validation_steps": lambda: validation_steps,
        "ends_by_steps": lambda: ends_by_steps,
    }


def _of_tensorflow(data: Any) -> tuple[WrittenPipeline | None, dict[str, str]]:
    """The stages of a dataset, and how it is to be shared out."""
    from keras_perf.observation.facts.input.dataset_graph import dataset_graph
    from keras_perf.observation.facts.input.distribution_options import distribution_options

    return dataset_graph(data), distribution_options(data)


class BatchesOfArrays(NamedTuple):
    """What Keras makes of the arrays that a `fit` was given."""

    dataset: Any
    """A pass, with the weights of classes and examples, and without what is split off."""
    rows: int
    """Of a whole batch."""
    number: int
    """Of a pass."""


def batches_of_arrays() -> BatchesOfArrays | None:
    """Those of the `fit` that is calling; None where Keras makes none of arrays.

    Keras's own pipeline, which holds the arrays as tensors already: it is private to the `fit`, and
    gone with it. None also where Keras keeps it elsewhere one day.
    """
    frame = _fit_frame()
    epochs: Any = None if frame is None else frame.f_locals.get("epoch_iterator")
    adapter: Any = getattr(epochs, "data_adapter", None)
    dataset = getattr(epochs, "_distributed_dataset", None)
    if dataset is None or type(adapter).__name__ != "ArrayDataAdapter":
        return None
    return BatchesOfArrays(dataset, int(adapter.batch_size), int(adapter.num_batches))


_ARGUMENTS = ("x", "epochs", "batch_size", "steps_per_epoch", "validation_steps")


def _fit_arguments() -> dict[str, Any]:
    """The arguments of the `fit` that is calling; {} where none is found."""
    frame = _fit_frame()
    return {} if frame is None else {name: frame.f_locals.get(name) for name in _ARGUMENTS}


def _fit_frame() -> FrameType | None:
    """Of the `fit` that is calling; None where none is found."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "fit" and "steps_per_epoch" in frame.f_locals:
            return frame
        frame = frame.f_back
    return None
