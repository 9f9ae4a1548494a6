"""Advice on batches that Python code makes."""

from __future__ import annotations

from typing import Any

from keras_perf.advise.as_written import at
from keras_perf.advise.loaders import reads_in_threads
from keras_perf.advise.python_threads import BETTER_CODE, about_quickest, computes_in_python
from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.followed import has_more_workers
from keras_perf.advise.rules.in_a_loop import own_workers
from keras_perf.advise.rules.input.code_of_workers import with_workers
from keras_perf.advise.rules.input.handing_over import handed_beside_computing
from keras_perf.advise.rules.input.made_in_processes import InProcesses, with_started
from keras_perf.advise.rules.input.on_one_core import has_to_wait
from keras_perf.advise.rules.input.waiting_workers import (
    WaitingWorkers,
    present_workers,
    thread_that_waits,
    workers_that_wait,
)
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.interpreter import KERAS_INPUT, LOADERS
from keras_perf.advise.step.making import compiled_in_fetches_ms
from keras_perf.advise.step.step_model import StepModel
from keras_perf.records.advice_ids import PARALLEL_INPUT
from keras_perf.records.figures import in_ms
from keras_perf.records.run.input.pipeline import InputFacts
from keras_perf.records.run.source_line import SourceLine

SEVERAL_CORES = 1.2
"""A generator that uses so many times the CPU time that it takes has threads of its own."""

PYTHON_MAP = "map of Python code"

TO_THREADS = ("generator", "PyDataset")
"""Kinds of input whose one thread several of a `PyDataset`'s can replace."""

WITH_WORKERS = ("PyDataset", *LOADERS)
"""Kinds of input that can be told to use processes."""


@rule(
    PARALLEL_INPUT,
    on="input",
    leaves="the work stays, shared by several threads or processes",
    followed=has_more_workers,
    in_a_loop=own_workers,
)
def parallel_input(situation: Situation) -> Recommendation | None:
    """One Python thread makes the batches, or too few workers do."""
    kind = _kind(situation)
    waits = situation.summary.parts.get("input_wait", 0.0) or situation.interpreter_ms
    if kind is None or not waits or compiled_in_fetches_ms(situation.summary):
        # What JAX compiles for batches each process would compile again, if it may at all.
        return None
    waiting = workers_that_wait(situation)
    if waiting is None and kind in TO_THREADS:
        waiting = thread_that_waits(situation)
    if waiting is not None:
        return _more_workers(situation, kind, waiting)
    if situation.model.cores < 2 and not has_to_wait(situation):
        return None
    return _in_processes(situation, kind)


def _in_processes(situation: Situation, kind: str) -> Recommendation | None:
    """None where there are as many, or the code has cores of its own."""
    known, held = situation.facts.input, situation.interpreter_ms
    wait, cores = situation.summary.parts.get("input_wait", 0.0), situation.model.cores
    present = present_workers(situation) if kind in WITH_WORKERS else 1
    if known.input_processes and (held or present >= cores):
        return None
    if kind != "PyDataset" and not known.input_processes and _uses_cores(situation):
        return None
    moved = InProcesses(situation, 1 if held else present)
    if moved.number <= present > 1 and cores < 2:
        return None
    better = BETTER_CODE if kind == PYTHON_MAP else ""
    return predicted(
        situation.model,
        moved.made,
        title="Make batches in several processes",
        reason=(
            f"The {_named(kind, known)} holds Python's interpreter for {in_ms(held)} of each step, "
            f"and one thread at a time can; {cores} logical CPUs are there for processes of "
            f"its own.{better}"
            if held
            else f"Each step waits {in_ms(wait)} for a {_named(kind, known)} that "
            f"{_makers(present, known)}; {_who_shares_it(situation)}.{better}"
            f"{about_quickest(situation)}"
        )
        + moved.costs(),
        action=with_workers(kind, situation, moved.number, threads=False),
        evidence=_evidence(kind, situation, present, moved.number)
        | {"in_processes": True, "present_processes": present * known.input_processes},
    )


def _who_shares_it(situation: Situation) -> str:
    if has_to_wait(situation):
        return "this process mostly waits, and several can wait at a time"
    return f"{situation.model.cores} logical CPUs are there to share it"


def _more_workers(situation: Situation, kind: str, waiting: WaitingWorkers) -> Recommendation:
    facts, number = situation.facts, waiting.advised
    wait, known = situation.summary.parts.get("input_wait", 0.0), facts.input
    started = number - waiting.present if known.input_processes else 0

    def change(model: StepModel, optimism: float) -> StepModel:
        more = waiting.more(model, optimism)
        later = more.awake(model.step_ms - more.step_ms, optimism, waited=True)
        if known.input_processes:
            later = handed_beside_computing(situation, model, later, optimism)
        return with_started(later, situation, started, optimism)

    return predicted(
        situation.model,
        change,
        title=f"Let {'several threads' if waiting.alone else 'more workers'} make batches",
        reason=(
            f"Each step waits {in_ms(wait)} for a {_named(kind, known)} that "
            f"{_makers(waiting.present, known)}, {waiting.why}."
        ),
        action=with_workers(kind, situation, number, threads=waiting.threads),
        evidence=_evidence(kind, situation, waiting.present, number)
        | {"in_processes": known.input_processes},
    )


def _evidence(kind: str, situation: Situation, present: int, advised: int) -> dict[str, Any]:
    return {
        "input_wait_ms": situation.summary.parts.get("input_wait", 0.0),
        "input_kind": kind,
        "cores": situation.model.cores,
        "present": present,
        "advised": advised,
    }


def _named(kind: str, known: InputFacts) -> str:
    return f"{LOADERS.get(kind, kind)}{at(_source(known))}"


def _makers(present: int, known: InputFacts) -> str:
    if known.input_processes:
        return f"{present} processes make" if present > 1 else "one process makes"
    return f"{present} threads of Python make" if present > 1 else "one thread of Python runs"


def _kind(situation: Situation) -> str | None:
    """What makes batches in Python; None where nothing does."""
    kind, model = situation.facts.input.input_kind, situation.model
    named = {} if situation.facts.input.hidden else model.stages
    of_generators = sum(ms for name, ms in named.items() if name.startswith("Generator"))
    slow = of_generators > model.produce_ms / 2 or situation.interpreter_ms
    if situation.own_dataset and of_generators and slow:
        kind = "generator"
    if kind in KERAS_INPUT:
        return kind
    slow = situation.own_dataset and computes_in_python(situation)
    return PYTHON_MAP if situation.interpreter_ms or slow else None


def _source(known: InputFacts) -> SourceLine | None:
    """Where the Python code stands; None where several maps run such code."""
    of_maps = [stage.source for stage in known.written if stage.python]
    return known.input_source or (of_maps[0] if len(of_maps) == 1 else None)


def _uses_cores(situation: Situation) -> bool:
    """Its code runs on several cores as it is, as NumPy's linear algebra does, or in threads."""
    model = situation.model
    beside_ms = model.cpu_ms - model.rest.get("compute", 0.0)
    if _kind(situation) == PYTHON_MAP:
        return False
    if not situation.interpreter_ms and reads_in_threads(situation.facts):
        return True
    return beside_ms > SEVERAL_CORES * model.produce_ms
