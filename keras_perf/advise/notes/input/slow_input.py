"""Why nothing is advised for an input that training waits for."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from keras_perf.advise.rules.all_rules import known_of
from keras_perf.advise.situation import Situation
from keras_perf.records.figures import in_ms


def slow_input_notes(situation: Situation, verdict: str, advised: Collection[str]) -> Iterator[str]:
    """A sentence, where the verdict is the input and no advice is on it."""
    if verdict != "input-bound" or input_is_advised(advised):
        return
    if not situation.paces:
        if situation.facts.input.input_kind == "arrays":
            yield (
                "Keras makes these batches of arrays in memory, and how long each of its stages "
                "takes was not recorded: larger batches are fetched less often."
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


def input_is_advised(advised: Collection[str]) -> bool:
    """Some advice is on the input."""
    return any(known_of(id).on == "input" for id in advised)
