"""Python code that waits for the batches it makes: more can wait at once than there are cores."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from keras_perf.advise.gains.meanwhile import worked_ms
from keras_perf.advise.loaders import reads_in_threads
from keras_perf.advise.python_threads import RATHER_WAITS
from keras_perf.advise.situation import MOSTLY_STEPS, Situation
from keras_perf.advise.step.interpreter import HELD_MS
from keras_perf.advise.step.making import made_by_training, makers_cpu_ms, makes_beside
from keras_perf.advise.step.step_model import StepModel
from keras_perf.analyse.cpu_share import share_when_asked
from keras_perf.records.figures import in_percent

TO_SPARE = 1.25
"""So many times the workers that would just keep up: they do not all wait equally long."""

LOST_S, MOST_LOST = 0.2, 0.5
"""What workers do after the last reading of an epoch, with which they end, is not seen: of shorter
epochs than twice that too much is."""

MOST_TIMES = 8
"""As many times more workers are advised at once: what they wait for may not bear more."""


@dataclass(frozen=True)
class WaitingWorkers:
    """So many make batches, and compute for the smaller part of the time that they have one.

    Attributes:
        present: how many there are.
        advised: how many would keep up with training.
        at_work: see `share_at_work`; at most, where it is `alone`.
        alone: it is the one thread that makes them without any workers.
        threads: they share one interpreter.
    """

    present: int
    advised: int
    at_work: float
    alone: bool = False
    threads: bool = True

    @property
    def why(self) -> str:
        """A clause."""
        share = in_percent(self.at_work)
        if self.alone:
            return (
                f"which computes for at most {share} of the time that it takes for a batch, and "
                "waits for the rest: several threads can wait at once"
            )
        return (
            f"which compute for {share} of the time in which they could: they mostly wait, and "
            "more of them can wait at once"
        )

    def more(self, model: StepModel, optimism: float) -> StepModel:
        """There are as many as is advised; at worst half of those that are new are of use.

        Of threads one at a time computes. Where they are new, training waits for the interpreter
        meanwhile, at worst; at best the one thread computed far less than could be told.
        """
        useful = self.present + (self.advised - self.present) * (3 + optimism) / 4
        left = self.present / useful
        if self.threads and not (self.alone and optimism > 0):
            left = max(left, self.at_work)
        now = model if self.alone else ahead(model)
        if self.alone:
            held_ms = max(0.0, -optimism) * self.at_work * model.produce_ms
            computing_ms = now.rest.get("compute", 0.0) + held_ms
            now = replace(now, rest={**now.rest, "compute": computing_ms})
        return replace(now.hidden(left), prefetched=True)


def ahead(model: StepModel) -> StepModel:
    """Workers make batches while training computes: one takes them the time of a whole step."""
    each = model.step_ms / model.produce_ms if model.produce_ms else 1.0
    return replace(model.hidden(each), prefetched=True)


def share_at_work(situation: Situation) -> float | None:
    """Of the time in which workers that do not keep up could compute, the share in which they do.

    Threads share one interpreter, processes the cores, and all of them what other programs leave.
    None where there are no workers, or that was not sampled, or hardly in epochs this short.
    """
    model, cpu_ms = situation.model, makers_cpu_ms(situation.summary)
    steps = situation.facts.length.epoch_steps
    unseen = LOST_S / (steps * model.step_ms / 1e3) if steps and model.step_ms else 0.0
    if cpu_ms is None or not model.step_ms or unseen > MOST_LOST:
        return None
    in_processes = situation.facts.input.input_processes
    at_once = min(present_workers(situation), model.cores) if in_processes else 1
    could_ms = at_once * situation.share_of_cores * (1 - unseen) * model.step_ms
    return min(1.0, cpu_ms / could_ms)


def workers_compute(situation: Situation) -> bool:
    """They do, for most of the time in which they could."""
    return (share_at_work(situation) or 0.0) > RATHER_WAITS


def present_workers(situation: Situation) -> int:
    """How many make batches; one where nothing says so."""
    return max(1, situation.facts.input.input_workers or 1)


def workers_that_wait(situation: Situation) -> WaitingWorkers | None:
    """None where they compute, or nobody knows."""
    model, at_work = situation.model, share_at_work(situation)
    of_threads = situation.interpreter_ms or reads_in_threads(situation.facts)
    if at_work is None or at_work > RATHER_WAITS or of_threads:
        return None
    present, processes = present_workers(situation), situation.facts.input.input_processes
    keeps_up = TO_SPARE * present * model.step_ms / max(model.rest_ms, 1e-9)
    advised = min(math.ceil(keeps_up), MOST_TIMES * present)
    return WaitingWorkers(present, advised, at_work, threads=not processes)


def thread_that_waits(situation: Situation) -> WaitingWorkers | None:
    """The one thread that makes batches; None where it may compute for most of that time.

    On TensorFlow it may have computed for as much CPU time as the quickest computing leaves, where
    nothing waited for the interpreter; on JAX that of fetching is timed.
    """
    model, facts = situation.model, situation.facts
    held = situation.summary.sensors.get("host/interpreter_wait_ms", 0.0) >= HELD_MS
    mostly_steps = model.step_ms > MOSTLY_STEPS * model.whole_ms
    if makes_beside(facts) or not model.produce_ms:
        return None
    if made_by_training(facts):
        if facts.input.fetch_cpu_ms is None:
            return None
        worked = facts.input.fetch_cpu_ms / share_when_asked(situation.summary)
    elif held or not mostly_steps:
        return None
    else:
        worked = worked_ms(situation, model.produce_ms)
    at_work = worked / model.produce_ms
    if at_work > RATHER_WAITS:
        return None
    # Hooks may go: as many as keep up with computing, and find the interpreter.
    keeps_up = TO_SPARE * model.produce_ms / max(model.inside_ms, 1e-9)
    number = min(MOST_TIMES, keeps_up, TO_SPARE / max(at_work, 1e-9))
    return WaitingWorkers(1, max(2, math.ceil(number)), at_work, alone=True)
