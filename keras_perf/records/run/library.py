"""What Keras computed with in a run, and what a reader has to know of it."""

from __future__ import annotations

from dataclasses import dataclass

from keras_perf.records.run.inference import Inference
from keras_perf.records.run.input.pipeline import InputFacts
from keras_perf.records.run.run_facts import RunFacts


@dataclass(frozen=True)
class Library:
    """What Keras computes with, and how it differs from another.

    Attributes:
        name: its own, as a reader is told it.
        backend: Keras's name for it.
        by_tf_function: the train function is a `tf.function`, which takes batches of `tf.data`
            inside of it: it is traced and waits for the first one in one call.
        batches_by_tf_data: of arrays and generators, too, Keras makes a `tf.data` pipeline.
        graphs_without_xla: what XLA does not compile runs as a graph; else from Python, one
            operation after the other.
        tells_rows_ahead: Keras tells before a dataset is read whether its batches may differ in
            rows; else they have to come first.
        tells_compiling: it tells of each compilation, as it happens.
        has_thread_settings: it lets be set which threads compute, and which launch a GPU's kernels.
        replicas_run_as_one: several devices run one program; else each replica computes gradients
            of its own, of which Keras's optimizer sees one replica's where it accumulates them, or
            looks for overflows.
        updates_used_rows: an optimizer can leave out an embedding's rows that no example used.
        has_layout_optimizer: Grappler's, by which convolutions compute channels first on a GPU, or
            last in half precision.
    """

    name: str
    backend: str
    by_tf_function: bool
    batches_by_tf_data: bool
    graphs_without_xla: bool
    tells_rows_ahead: bool
    tells_compiling: bool
    has_thread_settings: bool
    replicas_run_as_one: bool
    updates_used_rows: bool
    has_layout_optimizer: bool


TENSORFLOW = Library(
    "TensorFlow",
    "tensorflow",
    by_tf_function=True,
    batches_by_tf_data=True,
    graphs_without_xla=True,
    tells_rows_ahead=True,
    tells_compiling=False,
    has_thread_settings=True,
    replicas_run_as_one=False,
    updates_used_rows=True,
    has_layout_optimizer=True,
)
JAX = Library(
    "JAX",
    "jax",
    by_tf_function=False,
    batches_by_tf_data=False,
    graphs_without_xla=False,
    tells_rows_ahead=False,
    tells_compiling=True,
    has_thread_settings=False,
    replicas_run_as_one=True,
    updates_used_rows=False,
    has_layout_optimizer=False,
)


def library_of(facts: RunFacts) -> Library:
    """By the versions that were noted; TensorFlow where none was."""
    return JAX if JAX.backend in facts.versions else TENSORFLOW


def is_tuned(facts: RunFacts, known: InputFacts | Inference) -> bool:
    """A thread of tf.data's tunes the making of these batches while they are made."""
    if known.dataset is not None:
        return known.dataset.autotuned
    return known.input_kind == "tf.data" or library_of(facts).batches_by_tf_data
