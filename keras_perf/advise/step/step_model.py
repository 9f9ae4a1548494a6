"""What a change makes of a step, to predict what it buys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from keras_perf.advise.step.fitted import (
    AFTER_WAITING_MS,
    AFTER_WORK_MS,
    BUSY_THREADS,
    LESS_UNDISTURBED,
    LONG_PAUSE_MS,
    MOST_OF_COMPUTING,
    MOST_OUTSIDE,
    OPTIMISTIC_PAUSE_MS,
    OPTIMISTIC_THREADS,
    SHORT_PAUSE_MS,
)
from keras_perf.advise.step.step_time import StepTime

INSIDE = ("compute", "dispatch")
"""Parts of the rest that the train function takes."""

OUTSIDE = ("callbacks", "hooks_for_a_core", "other_host")
"""Parts of the rest that lie between two executions."""

MOSTLY_WAITING = 0.5
"""A pipeline that waits for more than this share of its time can use more threads than cores."""


def between(worst: float, expected: float, best: float, optimism: float) -> float:
    """What is expected, or from there as far to the worst (−1) or the best (+1) as one hopes."""
    end = best if optimism > 0 else worst
    return expected + abs(optimism) * (end - expected)


@dataclass(frozen=True)
class StepModel(StepTime):
    """A step's time, and what it is once something is changed."""

    @property
    def inside_ms(self) -> float:
        """What a step takes in the train function."""
        return sum(self.rest.get(part, 0.0) for part in INSIDE)

    @property
    def training_ms(self) -> float:
        """A step with its share of all that this training took: see `analyse.whole_training`."""
        whole_ms = self.whole_ms + self.start_up_ms
        if self.compiling_share < 1:
            without_ms = self.with_rest({"compile": 0.0}).step_ms
            whole_ms -= (1 - self.compiling_share) * (self.step_ms - without_ms)
        return whole_ms

    def usable_threads(self, optimism: float) -> float:
        """Threads' worth of work that a parallel stage gets.

        All of the pool's where they mostly wait; where they compute, all cores if these are idle.
        """
        idle = (1 - BUSY_THREADS) * self.idle_share
        share = min(1.0, BUSY_THREADS + idle + OPTIMISTIC_THREADS * optimism)
        most = self.pool
        if self.waiting_share <= MOSTLY_WAITING:
            most = min(self.pool, self.cores)
        return max(1.0, most * share)

    def with_threads(self, stage: str, threads: float) -> StepModel:
        """One stage's work is shared by so many threads; the work stays."""
        shared = {**self.stages, stage: self.stages[stage] / threads}
        now = {**self.threads, stage: round(self.threads.get(stage, 1) * threads)}
        return replace(self, stages=shared, threads=now)

    def hidden(self, factor: float) -> StepModel:
        """Only this part of the input's time is left to be seen; the work stays."""
        return replace(self, stages={name: ms * factor for name, ms in self.stages.items()})

    def with_less_work(self, factors: Mapping[str, float], optimism: float) -> StepModel:
        """Some stages do only a part of their work.

        On a CPU the threads of the pipeline and those of the training share the cores, and
        compute shrinks too when the pipeline lets go of some: where all of it goes, to nine
        tenths of what the quickest steps took with it. (Steps of 0.65 to 6.7 ms came to 0.65 to
        1.0 of that once a pipeline was gone that had kept 70% of two cores busy.) No more is
        expected than the share of all cores that becomes free (`per_share` times that): of 5 to 28%
        of two cores, steps of ten programs gained 0.3 to 1.2 times as much, and 1.6 times where
        threads of Python kept the interpreter, too. Where the quickest steps are not known, half
        to all of it is.
        """
        stages = {name: ms * factors.get(name, 1.0) for name, ms in self.stages.items()}
        saved = self.own_share * (self.work_ms(self.stages) - self.work_ms(stages))
        gone = 1 - sum(stages.values()) / self.produce_ms if self.produce_ms else 0.0
        if gone and self.cpu_ms:
            # What the rest cannot have used was the pipeline's, counted by tf.data or not; what
            # computing must have used was not: stages may wait in place of working. It is what the
            # quickest steps took: the others waited for a core.
            least = self.cpu_ms - self.cores * self.rest_ms
            computing = self.rest.get("compute", 0.0)
            if self.alone_ms is not None:
                computing = min(computing, self.alone_ms) * self.own_share
            most = self.cpu_ms - computing
            saved = gone * max(0.0, least, min(saved / gone, most))
        left = 1.0
        inside = self.inside_ms
        if not self.on_gpu and self.prefetched and self.step_ms:
            freed = min(1.0, saved / self.own_share / self.step_ms / self.cores)
            quicker = min(1.0, self.per_share * freed)
            left = 1 - quicker * (3 + optimism) / 4
            if self.alone_ms is not None and inside:
                less, apart = LESS_UNDISTURBED
                alone = 1 - freed * (less + apart * optimism)
                quickest = min(1.0, self.alone_ms / inside * alone)
                left = 1 - gone * (1 - quickest) * self.crowded
            if optimism <= 0:
                # Steps are uneven for other reasons, too.
                left = max(left, 1 - (1 + optimism / 2) * quicker)
            if inside and not ((self.python or self.per_share > 1) and optimism > 0):
                # No more can be gained than the work that goes, unless more went with it.
                left = max(left, 1 - saved / self.own_share / inside)
            if inside:
                left = max(left, min(1.0, self.least_inside_ms / inside))
        rest = {p: ms * (left if p in INSIDE else 1.0) for p, ms in self.rest.items()}
        changed = replace(self, stages=stages, rest=rest, cpu_ms=max(0.0, self.cpu_ms - saved))
        work = self.work_ms(stages)
        # Computing uses all cores at worst, and one at best.
        used = 1 + (self.cores - 1) * (1 - optimism) / 2
        return replace(changed, cpu_ms=min(changed.cpu_ms, work + used * changed.rest_ms))

    def apart(self, optimism: float) -> StepModel:
        """Python code of the pipeline runs in other processes, and leaves training the interpreter.

        Only at best is anything gained, for steps may be uneven for other reasons: computing then
        takes what the quickest steps took, and the code itself, which both slow, half of its time.
        """
        if not self.python or self.undisturbed_ms is None or not self.inside_ms:
            return self
        quickest, best = min(1.0, self.undisturbed_ms / self.inside_ms), max(0.0, optimism)
        computing = self.with_inside(1 - (1 - quickest) * best)
        return computing.hidden(1 - best * (1 - max(0.5, quickest)))

    def not_held_up(self, gone_ms: float, optimism: float, at_work: float = 1.0) -> StepModel:
        """Python code of a pipeline that does not keep up is held up by other such code, now gone.

        At best it stood still for as long as that ran, at worst it did not notice. (A `PyDataset`
        behind which a hook called `predict` for 64 of 214 ms a step gained half to all of what the
        hook no longer took, on two cores that others used, too. One beside 3 ms of entering an
        execution in steps of 10 ms gained all of that, and more.)

        Arguments:
            gone_ms: so much less other Python code computes.
            optimism: from the worst (-1) over what is expected (0) to the best (1).
            at_work: share of its time in which the pipeline's computes, at most.
        """
        behind = self.prefetched and self.produce_ms >= self.rest_ms
        if not (self.python and behind and self.produce_ms):
            return self
        working = (1 + optimism) / 2 * min(at_work, 1 - self.waiting_share)
        held_up_ms = working * min(gone_ms, self.produce_ms)
        return self.hidden(1 - held_up_ms / self.produce_ms)

    def with_rest(self, factors: Mapping[str, float]) -> StepModel:
        """Some parts of the rest take their time times a factor.

        Compiling uses all cores, and with it goes that of the start-up.
        """
        rest = {part: ms * factors.get(part, 1.0) for part, ms in self.rest.items()}
        saved = self.rest_ms - sum(rest.values())
        compiling = self.rest.get("compile", 0.0) - rest.get("compile", 0.0)
        saved += (self.cores - 1) * compiling
        gone_ms = self.start_up_compiling_ms * (1 - factors.get("compile", 1.0))
        return replace(
            self,
            rest=rest,
            cpu_ms=max(0.0, self.cpu_ms - saved),
            start_up_ms=self.start_up_ms - gone_ms,
            start_up_compiling_ms=self.start_up_compiling_ms - gone_ms,
        )

    def with_inside(self, factor: float, *, compiling: float = 1.0) -> StepModel:
        """The train function takes its time times a factor, compiling times another one."""
        return self.with_rest({"compile": compiling, **dict.fromkeys(INSIDE, factor)})

    def faster(self, gain: float, *, by_input: bool = False, none_left: bool = False) -> StepModel:
        """A step takes so many times less, of which callbacks and Keras's loop save nothing.

        Arguments:
            gain: step time before, divided by that after.
            by_input: the input alone gets quicker, as long as that is enough.
            none_left: of the input nothing is left that a step waits for.
        """
        aim_ms = self.step_ms / gain
        if by_input and aim_ms >= self.rest_ms and not none_left:
            wanted_ms = aim_ms if self.prefetched else aim_ms - self.rest_ms
            left = min(1.0, wanted_ms / self.produce_ms) if self.produce_ms else 1.0
            stages = {name: ms * left for name, ms in self.stages.items()}
            return self._as_tried(stages, self.rest, gain)
        outside = sum(self.rest.get(part, 0.0) for part in OUTSIDE)
        kept = min(outside, MOST_OUTSIDE * aim_ms)
        base_ms = self.rest_ms if by_input else self.step_ms
        left = (aim_ms - kept) / max(1e-9, base_ms - outside)
        of_input = 0.0 if by_input else 1 / gain if self.prefetched else left
        stages = {name: ms * of_input for name, ms in self.stages.items()}
        beside = kept / max(1e-9, outside)
        rest = {n: ms * (beside if n in OUTSIDE else left) for n, ms in self.rest.items()}
        return self._as_tried(stages, rest, gain)

    def _as_tried(
        self, stages: Mapping[str, float], rest: Mapping[str, float], gain: float
    ) -> StepModel:
        cpu_ms = self.cpu_ms / gain
        return replace(self, stages=stages, rest=rest, cpu_ms=cpu_ms, without_pauses=True)

    def awake(
        self, shorter_ms: float, optimism: float, *, every: int = 1, waited: bool = False
    ) -> StepModel:
        """Computes faster because its cores no longer pause for long between two steps.

        While training waits for a callback or for input, the other cores fall asleep and caches
        go cold. To get going again takes time, which depends little on how long the step is: on
        two cores of one machine steps that take 1.0, 1.7 and 3.5 ms without pauses took 1.3, 1.6
        and 1.5 ms longer after pauses of 30 ms, and 0.4, 0.8 and 0.7 after pauses of 3 ms; on
        another one steps that take 1.9, 4.0 and 3.7 ms took 0.7, 2.0 and 1.8 ms longer after 5, 10
        and 12 ms. Where the pipeline worked meanwhile, caches stayed warmer: after pauses that
        were `waited` steps took 0.4 to 1 ms longer. What was tried has nothing of it left to gain.

        Arguments:
            shorter_ms: so much less of a pause there is for a step.
            optimism: from the worst (-1) over what is expected (0) to the best (1).
            every: steps from one pause to the next, which is so many times as long, and after which
                one step of them is slower.
            waited: the pipeline worked meanwhile.
        """
        inside_ms = self.inside_ms
        if self.on_gpu or self.without_pauses or not inside_ms:
            return self
        over = (every * shorter_ms - SHORT_PAUSE_MS) / (LONG_PAUSE_MS - SHORT_PAUSE_MS)
        expected_ms = AFTER_WAITING_MS if waited else AFTER_WORK_MS
        most_ms = max(0.0, expected_ms + OPTIMISTIC_PAUSE_MS * optimism)
        saved_ms = most_ms * min(1.0, max(0.0, over)) / every
        # The most that one step saves of its own time, as a share of the mean of all `every`.
        share = MOST_OF_COMPUTING / (MOST_OF_COMPUTING + (1 - MOST_OF_COMPUTING) * every)
        least_ms = max((1 - share) * inside_ms, self.least_inside_ms)
        saved_ms = min(saved_ms, max(0.0, inside_ms - least_ms))
        awake = self.with_inside(1 - saved_ms / inside_ms)
        return replace(awake, awake_ms=self.awake_ms + saved_ms)

    def with_outside(self, factors: Mapping[str, float]) -> StepModel:
        """Some of what lies between epochs takes its time times a factor."""
        outside = {name: ms * factors.get(name, 1.0) for name, ms in self.outside.items()}
        return replace(self, outside=outside)
