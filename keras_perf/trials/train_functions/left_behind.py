"""What a step changes that is no variable, and that nobody could put back."""

from __future__ import annotations

import re
from typing import Any

import tensorflow as tf

from keras_perf.trials.train_functions.traced_step import TracedStep

CHANGES_TABLES = re.compile("LookupTable(Insert|Import|Remove)|(Queue|Barrier|Stack).*V2$")
_WRITES_SUMMARIES = re.compile("Write.*Summary$|ImportEvent$")
_WRITES_FILES = re.compile("WriteFile$|Save(V2|Slices)?$")


def require_nothing_left_behind(step: TracedStep) -> None:
    """All that the step is seen to change are variables.

    What it cannot see: what Python code does that the step calls, and what it prints.

    Raises:
        ValueError: it is not so.
    """
    if (what := _left_behind(step)) is not None:
        raise ValueError(
            f"model must change nothing but variables to train on trial, got a train step that "
            f"{what}, which nobody could put back. Leave that out for the trial. Nothing was "
            "changed."
        )


def _left_behind(step: TracedStep) -> str | None:
    operations = step.operations
    if any(map(_WRITES_SUMMARIES.match, operations)):
        return "writes summaries"
    if any(map(_WRITES_FILES.match, operations)):
        return "writes files"
    if any(map(CHANGES_TABLES.match, operations)):
        return "changes a table or a queue"
    if any(op.startswith("IteratorGetNext") for op in operations) and _holds_an_iterator(step):
        return "takes from an iterator of its own"
    return None


def _holds_an_iterator(step: TracedStep) -> bool:
    graph = step.concrete.graph
    variables = {id(each.handle) for each in graph.variables}
    others = (
        held
        for held, within in graph.captures
        if held.dtype == tf.resource
        and id(held) not in variables
        and not any(op.type.startswith("LookupTable") for op in within.consumers())
    )
    return any(map(_is_iterator, others))


def _is_iterator(held: Any) -> bool:
    """What a function holds is known by no type, and TensorFlow logs a line where it is another."""
    try:
        tf.raw_ops.IteratorToStringHandle(resource_handle=held)
    except tf.errors.OpError:
        return False
    return True
