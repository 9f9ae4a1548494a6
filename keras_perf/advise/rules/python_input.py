"""Advice on batches that Python code makes."""

from __future__ import annotations

from dataclasses import replace

from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.in_a_loop import own_processes
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step_model import StepModel

SEVERAL_CORES = 1.2
"""A generator that uses so many times the CPU time that it takes has threads of its own."""

HANDED_OVER_MS = 0.8
"""CPU time of a batch of a few KiB that goes from one process to another: what two workers that
computed 6 and 15 ms a batch took beyond half of that."""


@rule("parallel-input", in_a_loop=own_processes)
def parallel_input(situation: Situation) -> Recommendation | None:
    """One Python thread makes the batches."""
    summary, model = situation.summary, situation.model
    kind, wait = summary.facts.input.input_kind, summary.parts.get("input_wait", 0.0)
    if situation.own_dataset and any(name.startswith("Generator") for name in model.stages):
        kind = "generator"
    held = situation.interpreter_ms
    if held and kind not in ("PyDataset", "generator"):
        kind = "map of Python code"
    if kind not in ("PyDataset", "generator") and not held:
        return None
    if not (wait or held) or model.cores < 2:
        return None
    present = 1
    if kind == "PyDataset":
        present = max(1, summary.facts.input.input_workers or 1)
        if summary.facts.input.input_processes and present >= model.cores:
            return None
    beside_ms = model.cpu_ms - model.rest.get("compute", 0.0)
    if kind == "generator" and beside_ms > SEVERAL_CORES * model.produce_ms:
        # Its code runs on several cores as it is, as NumPy's linear algebra does.
        return None

    def change(model: StepModel, optimism: float) -> StepModel:
        # Workers also run ahead of training.
        if not held:
            left = min(1.0, present / model.usable_threads(optimism))
            return replace(model.hidden(left), prefetched=True)
        # Cores are idle beside what holds the interpreter, and processes hand batches over.
        shared = model.hidden(1 / max(1.0, model.cores * (0.95 + 0.05 * optimism)))
        handing_ms = HANDED_OVER_MS * (1 - optimism)
        return replace(shared, cpu_ms=model.cpu_ms + handing_ms, prefetched=True)

    made_of = (
        "class Batches(keras.utils.PyDataset):\n"
        "    def __len__(self):\n"
        "        return batches  # of an epoch\n\n"
        "    def __getitem__(self, index):\n"
        "        return x, y  # batch number index, as NumPy arrays, made by your code\n\n"
    )
    return predicted(
        model,
        change,
        title="Make batches in several processes",
        reason=(
            f"The {kind} holds Python's interpreter for {held:.3g} ms of each step, and one thread "
            f"at a time can; {model.cores} logical CPUs are there for processes of its own."
            if held
            else f"Each step waits {wait:.3g} ms for a {kind} that one thread of Python runs; "
            f"{model.cores} logical CPUs are there to share it."
        ),
        action=(
            f"{made_of if kind != 'PyDataset' else ''}"
            f"model.fit(Batches(workers={model.cores}, use_multiprocessing=True), ...)  "
            "# in place of the dataset"
        ),
        evidence={
            "input_wait_ms": wait,
            "input_kind": kind,
            "cores": model.cores,
            "present": present,
            "advised": model.cores,
        },
    )
