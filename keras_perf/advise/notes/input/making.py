"""What helps where Python code makes batches on cores that computing may need."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.advise.notes.input.slow_input import input_is_advised
from keras_perf.advise.step.interpreter import KERAS_INPUT
from keras_perf.advise.verdict.reasons import worth_its_cores
from keras_perf.records.figures import in_ms


def making_notes(run: Diagnosed) -> Iterator[str]:
    """A sentence, where training does not wait for them and nothing is advised on the input."""
    situation = run.situation
    if not situation.making_ms or situation.facts.input.input_kind not in KERAS_INPUT:
        return
    if not worth_its_cores(situation) or input_is_advised(run.advised):
        return
    as_much = " Processes that make batches would take as much."
    yield (
        f"Making a batch takes {in_ms(situation.making_ms)} of CPU time, while a step computes on "
        "the same cores: NumPy's operations on whole arrays in place of Python code for each "
        "example, or examples prepared once and stored, leave it more of them."
        f"{'' if situation.facts.input.input_processes else as_much}"
    )
