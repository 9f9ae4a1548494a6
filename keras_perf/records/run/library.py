"""What Keras computed with in a run."""

from __future__ import annotations

from keras_perf.records.run.run_facts import RunFacts


def library_of(facts: RunFacts) -> str:
    """Its name, as a reader is told it."""
    return "JAX" if on_jax(facts) else "TensorFlow"


def on_jax(facts: RunFacts) -> bool:
    """It was JAX, whose train function runs from Python where XLA does not compile it."""
    return "jax" in facts.versions
