"""What it costs that processes make batches, in place of threads of the process that trains."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from keras_perf.advise.rules.input.handing_over import handed_beside_computing, handed_over_ms
from keras_perf.advise.rules.input.on_one_core import PROCESSES, has_to_wait, of_use
from keras_perf.advise.rules.input.waiting_workers import TO_SPARE, ahead
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.interpreter import LOADERS
from keras_perf.advise.step.step_model import StepModel, between
from keras_perf.analyse.cpu_share import share_when_asked
from keras_perf.records.figures import in_ms

LOST, LOST_APART = 0.25, 0.2
"""Of computing's own time, and how far off that may be: where processes fill the cores, its threads
wait for one of them that has lost its core. Of nine trainings on two cores that computed, steps
came to 0.94 to 1.09 of what that predicts: see `benchmarks/making_batches.py`."""

UNSEEN = 0.5
"""Of the time of making a batch without CPU time, what is expected to be work all the same, where
nothing else leaves the cores idle."""

NOTICEABLY = 1.02

STARTED_MS = 40.0
"""Starting one process takes training so long, in each epoch, and up to twice that."""


@dataclass(frozen=True)
class InProcesses:
    """Processes make what threads made, or fewer processes.

    Attributes:
        situation: as it is.
        present: so many share what a batch takes now.
    """

    situation: Situation
    present: int

    @cached_property
    def number(self) -> int:
        """As make batches as fast as a step computes; one a core at most, if these do not wait."""
        model = self._ahead(self.situation.model)
        wanted = TO_SPARE * self.present * model.produce_ms / max(model.inside_ms, 1e-9)
        most = PROCESSES if has_to_wait(self.situation) else model.cores
        return min(most, max(2, self.present + 1, math.ceil(min(wanted, most))))

    def made(self, model: StepModel, optimism: float) -> StepModel:
        """What a step is then."""
        if self.situation.interpreter_ms:
            # Cores are idle beside what holds the interpreter.
            useful, now = model.cores * (0.95 + 0.05 * optimism), model
        else:
            useful, now = model.usable_threads(optimism), self._ahead(model)
            if has_to_wait(self.situation):
                useful = of_use(self.number, optimism)
        left = min(1.0, self.present / max(1.0, min(useful, self.number)))
        shared = replace(now.hidden(left), prefetched=True)
        if not self.situation.interpreter_ms:
            shared = shared.apart(optimism)
        more = self.number - self.present * self.situation.facts.input.input_processes
        crowded = self._crowded(model, shared, now.produce_ms, optimism)
        return with_started(crowded, self.situation, more, optimism)

    def costs(self) -> str:
        """Sentences where a step may take longer, or starting them does take long; else ""."""
        model, told = self.situation.model, ""
        longer = self.made(model, -1.0).step_ms / model.step_ms
        if longer >= NOTICEABLY:
            told += (
                " They take the cores that computing uses too: at worst a step takes "
                f"{longer:.2f} times as long as now."
            )
        expected = self.made(model, 0.0)
        starting_ms = expected.outside.get("starting", 0.0)
        if starting_ms > (NOTICEABLY - 1) * expected.whole_ms:
            steps = self.situation.facts.length.epoch_steps or 0
            told += (
                f" Each epoch starts them anew, which takes about {in_ms(starting_ms * steps)}: "
                "longer epochs do so less often."
            )
        return told

    def _ahead(self, model: StepModel) -> StepModel:
        """Workers run ahead of training already."""
        alone = self.present == 1 and not self.situation.facts.input.input_processes
        return model if alone else ahead(model)

    def _crowded(
        self, before: StepModel, model: StepModel, making_ms: float, optimism: float
    ) -> StepModel:
        """Batches are handed over, and computing loses time where no core is left.

        Nothing says how much it loses on more than two cores, or on a machine whose kernel is
        quicker or slower at handing over. Processes that are there already do both anyway, but in
        part while training waits for them.
        """
        if self.situation.facts.input.input_processes:
            return handed_beside_computing(self.situation, before, model, optimism)
        handed_ms = handed_over_ms(self.situation, optimism)
        if self.situation.interpreter_ms:
            # What waited for the interpreter computes little, and no longer tries in vain.
            return replace(model, cpu_ms=model.cpu_ms + handed_ms)
        cpu_ms = _cpu_ms(self.situation, model, making_ms, optimism) + handed_ms
        most_ms = 0.0 if model.on_gpu else model.cores * model.inside_ms
        # The fewer of many cores they use, the less computing meets them.
        lost = max(0.0, LOST * self.number / model.cores - LOST_APART * optimism)
        return replace(model, cpu_ms=cpu_ms + lost * min(cpu_ms, most_ms))


def _cpu_ms(situation: Situation, model: StepModel, making_ms: float, optimism: float) -> float:
    """CPU time of making a batch and of a step.

    A thread that makes batches for longer than it computes waits, or its work is not counted, as
    that of a sandbox's kernel: at worst all of it is work, on the cores that other programs leave,
    and as is expected the more of it the busier the cores are. Where CPU time was not sampled,
    computing uses all cores at worst, else one of them. On one core it is known to wait where it
    neither computes nor asks for the core, and others that use it are no sign of work.
    """
    inside_ms = 0.0 if model.on_gpu else model.inside_ms
    if not model.cpu_ms:
        return making_ms + (1 + (model.cores - 1) * max(0.0, -optimism)) * inside_ms
    most_ms = max(model.cpu_ms, situation.share_of_cores * (making_ms + inside_ms))
    usual = 0.0 if has_to_wait(situation) else UNSEEN * (1 - situation.model.idle_share)
    work = between(1.0, usual, 0.0, optimism)
    return model.cpu_ms + work * (most_ms - model.cpu_ms)


def with_started(model: StepModel, situation: Situation, more: int, optimism: float) -> StepModel:
    """So many more processes are started, and CPU time has what it gets of the cores when it asks.

    At best half of the rest too. Keras starts its processes when an epoch begins; loaders, as they
    are advised, and custom loops keep theirs.
    """
    left = share_when_asked(situation.summary)
    left += (1 - left) / 2 * max(0.0, optimism)
    facts, outside = situation.facts, dict(model.outside)
    steps = None if facts.settings.in_a_loop else facts.length.epoch_steps
    if more and steps and facts.input.input_kind not in LOADERS:
        outside["starting"] = more * STARTED_MS * (1 - optimism) / steps
    return replace(model, cpu_ms=model.cpu_ms / left, outside=outside)
