"""A dataset to iterate in place of the caller's."""

from __future__ import annotations

import tensorflow as tf

from keras_perf.observers.container.limits import memory_available_mib
from keras_perf.records.figures import in_mib
from keras_perf.trials.rewriting.held_arrays import MOST_MIB, held_mib
from keras_perf.trials.rewriting.held_state import reason_against_copies, writes_files
from keras_perf.trials.rewriting.pipeline_graph import CannotRewriteError, PipelineGraph

COPIES = 12
"""Of arrays that a dataset is made of, at most, while a change is compared: each graph holds them,
and each running pipeline."""

WRITTEN = 4
"""Of them, while the dataset is written as a graph and read back."""

LITTLE_MIB = 16.0
"""Of less no copies are counted."""


def own_copy(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """A copy whose shuffles have orders of their own; iterating the original would use them up.

    Where TensorFlow cannot write the dataset as a graph (`from_generator`, more than 2 GiB in
    memory), the dataset itself.

    Raises:
        ValueError: a pass through the copy would write files of the user's, or there is no memory
            for copies of what it holds.
    """
    held, free_mib = held_mib(dataset), memory_available_mib()
    if max(LITTLE_MIB, free_mib / WRITTEN) < held <= MOST_MIB:
        raise ValueError(
            f"dataset must not hold {in_mib(held)} in memory, of which {WRITTEN} copies are made: "
            f"{in_mib(free_mib)} are free. Read it from files. Nothing was changed."
        )
    try:
        graph = PipelineGraph.of(dataset)
    except CannotRewriteError:
        return dataset
    if why := writes_files(graph):
        raise ValueError(f"dataset must not {why}. Nothing was changed.")
    return graph.dataset()


def require_graph(dataset: tf.data.Dataset) -> PipelineGraph:
    """The dataset as a graph, of which another one can be made that goes on as it would.

    Raises:
        ValueError: TensorFlow cannot write it as one, or what its maps hold would be another's.
    """
    if why := _too_large(held_mib(dataset)):
        raise ValueError(f"dataset must not {why}. Nothing was changed.")
    try:
        graph = PipelineGraph.of(dataset)
    except CannotRewriteError as error:
        raise ValueError(
            f"dataset must be one that can be copied: {error}. Nothing was changed."
        ) from error
    written_mib = graph.definition.ByteSize() / 2**20
    if why := reason_against_copies(graph) or _too_large(written_mib):
        raise ValueError(f"dataset must not {why}. Nothing was changed.")
    return graph


def _too_large(mib: float) -> str:
    """Why there is no memory for as many of what it holds itself; "" if there is."""
    free_mib = memory_available_mib()
    if mib <= LITTLE_MIB or COPIES * mib <= free_mib / 2:
        return ""
    return (
        f"hold {in_mib(mib)} in memory: trials make up to {COPIES} copies of it, more than "
        f"half of the {in_mib(free_mib)} that are free (read it from files)"
    )
