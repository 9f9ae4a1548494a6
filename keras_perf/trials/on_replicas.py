"""Whether steps that several replicas run in one execution are those of single calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import tensorflow as tf

from keras_perf.trials.repeated_function import RepeatedFunction

CALLS = 3
"""More than two, so that a call follows on one that is neither the first nor the last."""

EXAMPLES = 1
"""Of each replica, where the iterator does not tell how many."""


def differs_on_replicas(
    strategy: tf.distribute.Strategy, repeated: RepeatedFunction, iterator: Any
) -> str | None:
    """In what they differ, or None where every variable is the same, bit for bit.

    Tried on batches of zeros; every copy of every variable is then put back as it was.

    Arguments:
        strategy: with several replicas in this process.
        repeated: prepared for the iterator.
        iterator: that training takes its batches from; none is taken.
    """
    concrete = repeated.concrete
    own = _of_zeros(strategy, iterator.element_spec)
    if own is None:
        return "with several replicas a trial needs batches whose shape is known"
    copies = _copies(strategy, concrete.graph.variables)
    with _put_back(copies):
        for _ in range(CALLS):
            concrete(own)
        single = [copy.numpy() for copy in copies]
    with _put_back(copies):
        repeated.run(own, CALLS)
        in_one = [copy.numpy() for copy in copies]
    if all(map(_same, single, in_one)):
        return None
    return "several replicas train otherwise where their steps run in one execution"


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


@contextmanager
def _put_back(copies: list[tf.Variable]) -> Iterator[None]:
    values = [copy.numpy() for copy in copies]
    try:
        yield
    finally:
        for copy, value in zip(copies, values, strict=True):
            copy.assign(value)


def _same(one: Any, other: Any) -> bool:
    return np.asarray(one).tobytes() == np.asarray(other).tobytes()
