"""Whether steps that several replicas run in one execution are those of single calls."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np
import tensorflow as tf

from keras_perf.observers.delayed_signals import uninterrupted
from keras_perf.records.reasons.why_no_steps import WhyNoSteps
from keras_perf.trials.train_functions.left_behind import CHANGES_TABLES
from keras_perf.trials.train_functions.traced_step import TracedStep

CALLS = 3
"""More than two, so that a call follows on one that is neither the first nor the last."""

EXAMPLES = 1
"""Of each replica, where the iterator does not tell how many."""

MOST_MIB = 4096.0
"""Variables of all replicas are copied to the host's memory, once; larger ones are not."""

_SHOWS_OR_REFUSES = re.compile("Print(V2)?$|Assert$|CheckNumerics")


class SeveralCalls(Protocol):
    """A call, `step`, and how to run several of them as one."""

    @property
    def step(self) -> TracedStep:
        """Takes an iterator."""

    def run(self, iterator: Any, calls: int) -> Any:
        """The calls as one."""


def differs_on_replicas(
    strategy: tf.distribute.Strategy, repeated: SeveralCalls, iterator: Any, calls: int = CALLS
) -> str | None:
    """In what they differ, or None where every variable is the same, bit for bit.

    Tried on batches of zeros; every copy of every variable is then put back as it was.

    Arguments:
        strategy: with several replicas in this process.
        repeated: prepared for the iterator.
        iterator: that training takes its batches from; none is taken.
        calls: to run one by one, and as one.
    """
    step = repeated.step
    if (reason := _unfit_for_zeros(step.operations)) is not None:
        return reason
    own = _of_zeros(strategy, iterator.element_spec)
    if own is None:
        return WhyNoSteps.SHAPE_NOT_KNOWN.of()
    copies = _copies(strategy, step.concrete.graph.variables)
    if sum(copy.shape.num_elements() * copy.dtype.size for copy in copies) > MOST_MIB * 2**20:
        return WhyNoSteps.LARGE_REPLICAS.of(most=MOST_MIB)

    def one_by_one() -> None:
        for _ in range(calls):
            step(own)

    single = _after(one_by_one, copies)
    if _after(lambda: repeated.run(own, calls), copies) == single:
        return None
    if _after(one_by_one, copies) != single:
        return WhyNoSteps.UNLIKE_ITSELF.of()
    return WhyNoSteps.REPLICAS_DIFFER.of()


def _unfit_for_zeros(operations: Iterable[str]) -> str | None:
    """Why steps are not to run on batches of zeros, or None: what they do beside variables."""
    if any(map(CHANGES_TABLES.match, operations)):
        return WhyNoSteps.CHANGES_TABLES.of()
    if any(map(_SHOWS_OR_REFUSES.match, operations)):
        return WhyNoSteps.SHOWS_VALUES.of()
    return None


def _of_zeros(strategy: tf.distribute.Strategy, element_spec: Any) -> Any | None:
    """An iterator as the strategy makes it for such elements; None where they have no shape."""

    def whole(spec: Any) -> Any:
        # What each replica gets is private in a PerReplicaSpec; all get the same.
        return getattr(spec, "_value_specs", (spec,))[0]

    specs = [whole(spec) for spec in tf.nest.flatten(element_spec)]
    shapes = [getattr(spec, "shape", tf.TensorShape(None)) for spec in specs]
    if any(not isinstance(spec, tf.TensorSpec) for spec in specs):
        return None
    if any(not s.rank or not s[1:].is_fully_defined() for s in shapes):
        return None
    rows = {shape[0] for shape in shapes}
    if len(rows) > 1:
        return None
    [own] = rows
    zeros = [tf.zeros(s.shape[1:], s.dtype) for s in specs]
    data = tf.data.Dataset.from_tensors(tf.nest.pack_sequence_as(element_spec, zeros))
    count = (own or EXAMPLES) * strategy.num_replicas_in_sync
    batches = data.repeat().batch(count, drop_remainder=own is not None)
    return iter(strategy.experimental_distribute_dataset(batches))


def _copies(strategy: tf.distribute.Strategy, variables: Iterable[Any]) -> list[tf.Variable]:
    """Every replica's own, each once: reading them together would add metrics up."""
    found = {id(c): c for v in variables for c in strategy.experimental_local_results(v)}
    return list(found.values())


def _after(run: Callable[[], object], copies: list[tf.Variable]) -> list[bytes]:
    """Digests of the copies' values after the run; the values are then put back.

    Ctrl-C meanwhile is answered when all of them are.
    """
    values = [copy.numpy() for copy in copies]
    try:
        run()
        return [_digest(copy.numpy()) for copy in copies]
    finally:
        with uninterrupted():
            for copy, value in zip(copies, values, strict=True):
                copy.assign(value)


def _digest(value: Any) -> bytes:
    return hashlib.sha256(np.asarray(value).tobytes()).digest()
