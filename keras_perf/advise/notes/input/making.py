"""What helps where Python code makes batches on cores that computing may need."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.advise.notes.input.slow_input import input_is_advised
from keras_perf.advise.rules.input.waiting_workers import workers_compute
from keras_perf.advise.step.interpreter import KERAS_INPUT
from keras_perf.advise.step.making import compiled_in_fetches_ms, makers_cpu_ms
from keras_perf.advise.verdict.reasons import worth_its_cores
from keras_perf.records.figures import in_ms

WHAT_HELPS = (
    "What helps: NumPy's operations on whole arrays in place of Python code for each example, or "
    "examples prepared once and stored."
)


def making_notes(run: Diagnosed) -> Iterator[str]:
    """On what it compiles, and a sentence or two where nothing is advised on the input."""
    situation, known = run.situation, run.facts.input
    if compiling_ms := compiled_in_fetches_ms(run.summary):
        yield (
            f"For {in_ms(compiling_ms)} of each step JAX compiled what your code makes batches "
            "with: jax.numpy, keras.ops and layers are compiled for each new shape, NumPy is not."
        )
    if known.input_kind not in KERAS_INPUT or input_is_advised(run.advised):
        return
    if run.verdict == "input-bound" and workers_compute(situation):
        taken_ms = makers_cpu_ms(run.summary) or 0.0
        yield (
            f"Making a batch takes {in_ms(taken_ms)} of CPU time, and its workers compute most of "
            f"the time. {WHAT_HELPS}"
        )
    elif situation.making_ms and worth_its_cores(situation):
        as_much = (
            "" if known.input_processes else " Processes that make batches would take as much."
        )
        yield (
            f"Making a batch takes {in_ms(situation.making_ms)} of CPU time, while a step computes "
            f"on the same cores. {WHAT_HELPS}{as_much}"
        )
