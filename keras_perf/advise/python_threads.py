"""What more threads gain where the function of a stage is Python code."""

from __future__ import annotations

from keras_perf.advise.as_written import WORK, runs_as, written_as
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.interpreter import AT_WORK
from keras_perf.advise.step.step_model import MOSTLY_WAITING, between
from keras_perf.records.figures import in_ms, in_percent
from keras_perf.records.run.run_facts import RunFacts

UNKNOWN_GAIN, AT_WORK_GAIN = 0.5, 0.25
"""Of what threads save at best, what is expected where nobody knows whether the function waits,
and where the CPU time tells that it computes: it may still let go of the interpreter."""

RATHER_WAITS = 0.5
"""A stage rather waits if CPU time beyond that of computing is at most this share of its time. It
is less sure than where no thread computed: computing may take less than a core, as while it waits
for the interpreter."""

ALONE = 0.7
"""Where other processes leave less of the CPUs than this, CPU time does not tell who waits."""

MUCH_SLOWER = 1.2
"""Steps that take so many times as long as the quickest ones may be held up."""

BETTER_CODE = (
    " Try first to write the same in TensorFlow's operations, or in NumPy's on whole arrays, most "
    "of which let go of the interpreter: num_parallel_calls then shares the work without processes."
)
"""What it buys depends on how it is written, which nobody can measure beforehand."""

HOLDS_IT = (
    " It is Python code: a function that computes holds the interpreter, and several threads "
    "take as long as one; only a function that waits (files, sockets) or releases the lock gains."
)
"""Where it is not known to wait."""


def calls_python(name: str, facts: RunFacts) -> bool:
    """The function of this stage is Python code, or that of some stage where it is not certain."""
    written = written_as(name, facts)
    if written is not None:
        return written.python
    stages = facts.input.written
    return any(s.python and s.kind in WORK and runs_as(s.kind, name) for s in stages)


def useful_threads(situation: Situation, name: str, threads: float, optimism: float) -> float:
    """How many of so many threads shorten this stage; all of them where none runs Python.

    One thread at a time runs Python code. What waits (for files, for sockets) lets go of the
    interpreter meanwhile, and so does what computes in much of NumPy.
    """
    if not calls_python(name, situation.facts):
        return threads
    waits, at_work = situation.model.waiting_share, _share_at_work(situation, name)
    return useful_for_python(threads, optimism, waits, at_work)


def useful_for_python(
    threads: float, optimism: float, waits: float = 0.0, at_work: float | None = None
) -> float:
    """How many of so many threads shorten what Python code takes.

    Arguments:
        threads: that there would be.
        optimism: from −1 to 1.
        waits: share of its time for which no thread computes, at least.
        at_work: for which one does, at most; None if not known.
    """
    least = 1 / threads
    if waits > MOSTLY_WAITING:
        worst, expected = max(least, 1 - waits), max(least, at_work or 0.0)
    else:
        gained = AT_WORK_GAIN if (at_work or 0.0) >= AT_WORK else UNKNOWN_GAIN
        worst, expected = 1.0, 1 - gained * (1 - least)
        if at_work is not None and at_work <= RATHER_WAITS:
            expected = (expected + max(least, at_work)) / 2
    expected = min(worst, expected)
    return 1 / between(worst, expected, least, optimism)


def may_wait(situation: Situation, name: str) -> bool:
    """Threads may shorten this stage: it is no Python code, or CPU time tells that it may wait.

    Nobody knows where CPU time was not sampled, or where others took the CPUs: what waits for a
    core looks like what waits for a file.
    """
    model = situation.model
    if not calls_python(name, situation.facts) or not model.cpu_ms:
        return True
    busy = situation.share_of_cores < ALONE and not computes_in_python(situation)
    rather_waits = (_share_at_work(situation, name) or 0.0) <= RATHER_WAITS
    return model.waiting_share > MOSTLY_WAITING or rather_waits or busy


def computes_in_python(situation: Situation) -> bool:
    """The longest map is Python code that one thread runs, and CPU time says that it computes."""
    model = situation.model
    maps = {name: ms for name, ms in model.stages.items() if name.startswith("Map")}
    name = max(maps, key=lambda each: maps[each], default="")
    if not name or model.threads.get(name, 1) > 1 or not calls_python(name, situation.facts):
        return False
    at_work = _share_at_work(situation, name) or 0.0
    return model.waiting_share <= MOSTLY_WAITING and at_work >= AT_WORK


def about_quickest(situation: Situation) -> str:
    """A sentence where Python code beside the steps may be why most of them are slow; else ""."""
    model = situation.model
    inside_ms, quickest_ms = model.inside_ms, model.undisturbed_ms
    if not model.python or quickest_ms is None or inside_ms < MUCH_SLOWER * quickest_ms:
        return ""
    return (
        f" The train function takes {in_ms(inside_ms)} on average and {in_ms(quickest_ms)} in the "
        "quickest executions: Python code that runs beside it may slow it, and the upper bound "
        "counts what ending that would gain."
    )


def about_python(situation: Situation, name: str) -> str:
    """Sentences on what holds the interpreter; "" where no Python code runs."""
    if not calls_python(name, situation.facts):
        return ""
    waits = situation.model.waiting_share
    if waits > MOSTLY_WAITING:
        return (
            f" It is Python code; for at least {in_percent(waits)} of its time no thread "
            "computed, so it mostly waits, and several threads can wait at once."
        )
    at_work = _share_at_work(situation, name)
    alone = situation.share_of_cores >= ALONE
    if alone and at_work is not None and at_work <= RATHER_WAITS:
        return (
            f"{HOLDS_IT} CPU time beyond what computing takes is {in_percent(at_work)} of its "
            "time, so it rather waits; try_advice measures what it gains."
        )
    unknown = " Which of these it does was not measured; try_advice measures what it gains."
    if situation.facts.advice_trials is not None:
        unknown = ""
    return f"{HOLDS_IT}{unknown}{BETTER_CODE}"


def _share_at_work(situation: Situation, name: str) -> float | None:
    """Of the stage's time, at most: CPU time of the process beside what computing takes."""
    model = situation.model
    stage_ms = situation.paces.get(name, 0.0)
    if not model.cpu_ms or not stage_ms:
        return None
    computing_ms = 0.0 if model.on_gpu else model.rest.get("compute", 0.0)
    return min(1.0, max(0.0, model.cpu_ms - computing_ms) / stage_ms)
