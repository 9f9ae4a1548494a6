"""What Keras computed with in a run."""

from __future__ import annotations

from keras_perf.records.run.inference import Inference
from keras_perf.records.run.input.pipeline import InputFacts
from keras_perf.records.run.run_facts import RunFacts


def library_of(facts: RunFacts) -> str:
    """Its name, as a reader is told it."""
    return "JAX" if on_jax(facts) else "TensorFlow"


def on_jax(facts: RunFacts) -> bool:
    """It was JAX, whose train function runs from Python where XLA does not compile it."""
    return "jax" in facts.versions


def is_tuned(facts: RunFacts, known: InputFacts | Inference) -> bool:
    """A thread of tf.data's tunes the making of these batches while they are made.

    On TensorFlow Keras makes a dataset of whatever it is given.
    """
    if known.dataset is not None:
        return known.dataset.autotuned
    return known.input_kind == "tf.data" or not on_jax(facts)
