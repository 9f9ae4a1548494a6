"""What a step takes, and of what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from keras_perf.advise.step.fitted import CROWDED


@dataclass(frozen=True)
class StepTime:
    """A step takes its input's time and the rest's, one after the other or overlapped.

    With prefetching the step lasts as long as the longer of the two, without as long as both;
    never shorter than its CPU time divided by the cores.

    Attributes:
        stages: milliseconds per batch of each stage of the input pipeline.
        prefetched: the pipeline runs ahead of training.
        rest: milliseconds per step of everything else, by part; of compute, what goes into
            exchanging gradients is `wire`, and into waiting for slower workers `peer_wait`.
        cpu_ms: CPU time per step, over all cores; 0 where it was not sampled.
        cores: logical CPUs.
        taken_share: of their time, by other processes (0 to 1).
        threads: how many threads each stage keeps busy; one where it is not named.
        side_by_side: how many times as long stages work for a batch as the pipeline takes for one,
            where they work at the same time.
        on_gpu: the compute part does not need the CPU.
        outside: milliseconds per step of what lies between epochs.
        start_up_ms: milliseconds per step of what was done once, before steps were steady.
        start_up_compiling_ms: of these, what compiles for the shapes that batches have.
        compiling_share: of all steps, those that compile as the measured ones do on average.
        once_between_ms: of the rest between epochs, what few of them had.
        undisturbed_ms: compute, with dispatch, of the quickest steps; None where not known.
        on_its_core_ms: of compute, with dispatch, what was no waiting for the one core that there
            is, while the pipeline had it, with what others take of it; None where not known.
        pool: threads that run the functions of parallel maps.
        waiting_share: how much of the time of maps no thread computes for them (0 to 1), at
            least, on a machine without a limit on CPU time; 0 where that is not known.
        without_pauses: a trial's figures are in it, of steps one right after the other.
        least_inside_ms: what computing takes at least, by its CPU time on all cores, where an
            execution waits for the next step's batch meanwhile; 0 elsewhere.
        python: stages run Python code, which takes the interpreter as well as a core.
        per_share: so many times the share of all cores that the input leaves a step is quicker, at
            most, as is expected.
        awake_ms: what computing saved because it no longer follows a long pause.
        first_epoch_ms: what a step takes longer on average while the first epoch fills a cache.
        input_left_ms: what a quicker input may still save of a step, where one on a ready batch
            told; None where that is not known, or nothing was changed.
    """

    stages: Mapping[str, float]
    prefetched: bool
    rest: Mapping[str, float]
    cpu_ms: float = 0.0
    cores: int = 1
    taken_share: float = 0.0
    threads: Mapping[str, int] = field(default_factory=dict)
    side_by_side: float = 1.0
    on_gpu: bool = False
    outside: Mapping[str, float] = field(default_factory=dict)
    start_up_ms: float = 0.0
    start_up_compiling_ms: float = 0.0
    compiling_share: float = 1.0
    once_between_ms: float = 0.0
    undisturbed_ms: float | None = None
    on_its_core_ms: float | None = None
    pool: int = 1
    waiting_share: float = 0.0
    without_pauses: bool = False
    least_inside_ms: float = 0.0
    python: bool = False
    per_share: float = 1.0
    awake_ms: float = 0.0
    first_epoch_ms: float = 0.0
    input_left_ms: float | None = None

    @property
    def produce_ms(self) -> float:
        """Time the pipeline needs for a batch."""
        return sum(self.stages.values())

    def work_ms(self, stages: Mapping[str, float]) -> float:
        """Work for a batch, over all threads, of so much of the stages' time."""
        each = (ms * self.threads.get(name, 1) for name, ms in stages.items())
        return self.side_by_side * sum(each)

    @property
    def rest_ms(self) -> float:
        """Time of everything but input."""
        return sum(self.rest.values())

    @property
    def input_wait_ms(self) -> float:
        """For how long a step waits for its batch."""
        hidden = self.rest_ms if self.prefetched else 0.0
        return max(0.0, self.produce_ms - hidden)

    @property
    def step_ms(self) -> float:
        """Predicted time of a step."""
        both = self.produce_ms, self.rest_ms
        flow = max(both) if self.prefetched else sum(both)
        return max(flow, self.cpu_ms / self.cores) + self.first_epoch_ms

    @property
    def whole_ms(self) -> float:
        """A step with its share of what lies between epochs."""
        return self.step_ms + sum(self.outside.values())

    @property
    def alone_ms(self) -> float | None:
        """Compute, with dispatch, as far as the pipeline did not disturb it; None: not known.

        The quickest steps had their core whole, which others leave them a share of.
        """
        undisturbed = None if self.undisturbed_ms is None else self.undisturbed_ms / self.own_share
        known = undisturbed, self.on_its_core_ms
        return min((ms for ms in known if ms is not None), default=None)

    @property
    def own_share(self) -> float:
        """Of one core, what others leave; 1 where it is not known what computing takes of it."""
        return 1.0 if self.on_its_core_ms is None else 1 - self.taken_share

    @property
    def idle_share(self) -> float:
        """How much of the cores' time nobody uses (0 to 1)."""
        busy = self.cpu_ms / self.cores / self.step_ms if self.step_ms else 0.0
        return max(0.0, 1 - busy - self.taken_share)

    @property
    def crowded(self) -> float:
        """Whether threads of pipeline and training are in each other's way (0 to 1).

        1 where they, and other processes, keep as much of the cores busy as in the trainings that
        were measured, or where that is not known.
        """
        return min(1.0, (1 - self.idle_share) / CROWDED) if self.cpu_ms else 1.0
