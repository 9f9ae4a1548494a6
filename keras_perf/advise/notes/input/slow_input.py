"""Why nothing is advised for an input that training waits for."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from keras_perf.advise.situation import Situation
from keras_perf.records.figures import in_ms

ON_INPUT = {
    "prefetch",
    "parallel-map",
    "parallel-input",
    "private-threadpool",
    "batch-before-map",
    "interleave",
    "nondeterministic-order",
    "cache",
    "cheaper-shuffle",
}


def slow_input_notes(situation: Situation, verdict: str, advised: Collection[str]) -> Iterator[str]:
    """A sentence, where the verdict is the input and no advice is on it."""
    if verdict != "input-bound" or ON_INPUT & set(advised):
        return
    if not situation.paces:
        if situation.facts.input.input_kind == "arrays":
            yield (
                "Keras makes these batches of arrays in memory, and how long each of its stages "
                "takes was not recorded: larger batches are fetched less often."
            )
        elif situation.own_dataset:
            yield (
                "Nothing is advised on the input: tf.data told nothing of its stages. It does with "
                "options.autotune.enabled at its default and TensorFlow 2.18 or newer."
            )
        return
    slowest = max(situation.paces, key=lambda name: situation.paces[name])
    instead = ""
    if situation.runs_python:
        instead = (
            " TensorFlow's operations, or NumPy's on whole arrays, in place of Python code let "
            "threads share the work."
        )
    yield (
        f"No change to the pipeline is known to help: of its {in_ms(situation.able_ms)} per "
        f"batch, on the threads that it has, {slowest} takes {in_ms(situation.paces[slowest])}. "
        "What would: less work per example, examples prepared once and stored, or other machines "
        f"for the input (tf.data service).{instead}"
    )
