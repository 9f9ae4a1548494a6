"""Batch sizes, one after the other, and the largest that they predict."""

from __future__ import annotations

from collections.abc import Callable

from keras_perf.observers.delayed_signals import interruptible
from keras_perf.records.reasons.why_not_trained import WhyNotTrained
from keras_perf.trials.batch_sizes.child import Answer
from keras_perf.trials.batch_sizes.handed_over import TooLongError
from keras_perf.trials.batch_sizes.memory_line import MemoryLine, memory_line
from keras_perf.trials.batch_sizes.swept import BatchSizeSweep, TriedSize
from keras_perf.trials.measuring.progress import Pace, Progress

Measure = Callable[[int], Answer]


class SizesInTurn:
    """Tries one size after the other.

    Arguments:
        measure: a child's answer for a size.
        limit_s: seconds that a child may take.
        sizes: how many there are.
    """

    def __init__(self, measure: Measure, limit_s: float, sizes: int) -> None:
        self._measure, self._limit_s = measure, limit_s
        # The largest that they predict is one more.
        self._progress, self._pace = Progress(), Pace(sizes + 1)
        self._tried: list[TriedSize] = []
        self._limits: list[float] = []

    def run(self, sizes: list[int], present: int) -> BatchSizeSweep:
        """All of them, and the largest that they predict; until an interrupt.

        Raises:
            KeyboardInterrupt: before one has trained.
            ValueError: none can.
        """
        self._progress.begins(f"{len(sizes)} batch sizes, each in a process of its own")
        line, predicted = None, None
        try:
            with interruptible():
                self._try_all(sizes)
                line = self._line()
                predicted = None if line is None else self._worth_trying(line)
                if predicted is not None:
                    self._try(predicted)
        except KeyboardInterrupt:
            self._leave_out(sizes)
            line, predicted = self._line(), None
        finally:
            self._progress.ends()
        tried = sorted(self._tried, key=lambda each: each.batch_size)
        return BatchSizeSweep(tuple(tried), present, min(self._limits), line, predicted)

    def _try_all(self, sizes: list[int]) -> None:
        stopped = ""
        for size in sizes:
            if stopped:
                self._tried.append(TriedSize(size, reason=stopped))
            else:
                stopped = self._try(size)

    def _leave_out(self, sizes: list[int]) -> None:
        """Those that an interrupt came before."""
        if all(each.failed for each in self._tried):
            raise KeyboardInterrupt
        tried = {each.batch_size for each in self._tried}
        why = WhyNotTrained.INTERRUPTED.of()
        self._tried += [TriedSize(size, reason=why) for size in sizes if size not in tried]

    def _line(self) -> MemoryLine | None:
        """Through the peaks; raises ValueError if no size trained."""
        trained = [each for each in self._tried if not each.failed]
        if not trained:
            first = self._tried[0]
            raise ValueError(
                f"batch_sizes must hold one that trains, got {first.batch_size}: {first.reason}. "
                "Give smaller ones, more memory or more time."
            )
        return memory_line([e.batch_size for e in trained], [e.peak_mib for e in trained])

    def _worth_trying(self, line: MemoryLine) -> int | None:
        """The largest batch by the line, unless what was tried has answered for it."""
        predicted = line.largest_batch(min(self._limits))
        trained = max(each.batch_size for each in self._tried if not each.failed)
        failed = [each.batch_size for each in self._tried if each.failed]
        above = min((size for size in failed if size > trained), default=predicted + 1)
        return predicted if trained < predicted < above else None

    def _try(self, size: int) -> str:
        """Why larger ones need not be tried; empty if they may."""
        self._progress.tries(f"batch size {size}", self._pace.left_s(len(self._tried)))
        try:
            answer = self._measure(size)
        except TooLongError:
            self._tried.append(
                TriedSize(size, reason=WhyNotTrained.NOT_DONE.of(limit_s=self._limit_s))
            )
            return WhyNotTrained.TOO_LONG.of(size=size)
        if not answer.failed:
            self._tried.append(TriedSize.of(size, answer.step_ms, answer.peak_mib))
            self._limits.append(answer.limit_mib)
            return ""
        if not answer.out_of_memory:
            self._tried.append(TriedSize(size, reason=answer.failed))
            return ""
        why = WhyNotTrained.OUT_OF_MEMORY.of(why=answer.failed)
        self._tried.append(TriedSize(size, reason=why))
        return WhyNotTrained.ABOVE_OUT_OF_MEMORY.of(size=size)
