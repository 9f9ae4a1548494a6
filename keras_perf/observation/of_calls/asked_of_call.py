"""What the stack tells of the `evaluate` or `predict` that is calling."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, NamedTuple

import keras

from keras_perf.observation.facts.input.batch_rows import length_of, rows_of_arrays
from keras_perf.observation.facts.input.given_input import kind_of_input
from keras_perf.observation.facts.input.tf_data import tensorflow_of
from keras_perf.records.run.input.pipeline import WrittenPipeline


class AskedOfCall(NamedTuple):
    """What it was asked to do; None where that is not known.

    `steps` is the argument, `batches` how many the data are.
    """

    steps: int | None = None
    batches: int | None = None
    input_kind: str | None = None
    batch_size: int | None = None
    dataset: WrittenPipeline | None = None

    def most(self, steps_per_execution: int) -> int | None:
        """Batches that it runs at most: for `steps` no execution is cut, as where data end."""
        whole = None
        if self.steps is not None:
            whole = -(-self.steps // steps_per_execution) * steps_per_execution
        return min((each for each in (whole, self.batches) if each is not None), default=None)


def asked_of_call(name: str, *, written: bool = True) -> AskedOfCall:
    """The arguments of the `evaluate` or `predict` that is calling.

    Arguments:
        name: which of the two.
        written: the stages of its dataset are wanted too, which takes a moment.
    """
    arguments = _arguments(name)
    data, steps = arguments.get("x"), arguments.get("steps")
    kind = kind_of_input(data)
    rows = arguments.get("batch_size")
    if kind == "arrays":
        rows = rows_of_arrays(data, rows, steps)
    return AskedOfCall(
        steps=int(steps) if steps else None,
        batches=_batches(data, kind, rows),
        input_kind=kind,
        batch_size=rows,
        dataset=_written(data) if written else None,
    )


def _written(data: Any) -> WrittenPipeline | None:
    """The stages of a dataset; None of what is none."""
    if tensorflow_of(data) is None:
        return None
    from keras_perf.observation.facts.input.dataset_graph import dataset_graph

    return dataset_graph(data)


def _batches(data: Any, kind: str | None, rows: int | None) -> int | None:
    if tensorflow_of(data) is not None:
        known = int(data.cardinality())
        return known if known >= 0 else None
    length = length_of(data) if kind == "arrays" else None
    return -(-length // rows) if length is not None and rows else None


def _arguments(name: str) -> dict[str, Any]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        known = frame.f_locals
        if frame.f_code.co_name == name and isinstance(known.get("self"), keras.Model):
            return {each: known.get(each) for each in ("x", "batch_size", "steps")}
        frame = frame.f_back
    return {}
