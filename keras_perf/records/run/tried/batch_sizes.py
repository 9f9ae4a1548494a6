"""What came of training with other batch sizes, and how that is told."""

from __future__ import annotations

from dataclasses import dataclass

from keras_perf.records.figures import figure, in_mib
from keras_perf.records.reasons.reason import worded
from keras_perf.records.reasons.why_not_trained import WhyNotTrained
from keras_perf.records.shapes import any_of, count, fact, flag, needed, number, record


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSize:
    """One size; without its figures it did not train, and `reason` says why."""

    batch_size: int = needed(count(1))
    step_ms: float | None = fact(number(1e-9, 1e12))
    examples_per_sec: float | None = fact(number(1e-9))
    peak_mib: float | None = fact(number())
    reason: str = fact(worded(WhyNotTrained), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSizes:
    """What `sweep_batch_size` found.

    Attributes:
        tried: all sizes, smallest first.
        present: the dataset's own.
        recommended: the smallest within 2% of the best throughput, of those asked for.
        predicted: the largest that fits by the line of memory; None if it was not tried.
        limit_mib: memory that training could have taken.
        fixed_mib, per_example_mib: the line of peak memory; None where there is none.
        predict: steps are calls of `predict_on_batch`.
    """

    tried: tuple[BatchSize, ...] = fact(any_of(record(BatchSize)), ())
    present: int = needed(count(1))
    recommended: int = needed(count(1))
    predicted: int | None = fact(count(1))
    limit_mib: float = fact(number(), 0.0)
    fixed_mib: float | None = fact(number(-1e15))
    per_example_mib: float | None = fact(number())
    predict: bool = fact(flag, default=False)

    @property
    def trained(self) -> tuple[BatchSize, ...]:
        """Those that did not fail."""
        return tuple(each for each in self.tried if each.step_ms and each.examples_per_sec)

    @property
    def largest(self) -> int | None:
        """The predicted largest batch if it trained, else None."""
        sizes = [each.batch_size for each in self.trained]
        return self.predicted if self.predicted in sizes else None

    @property
    def reason(self) -> str:
        """Which size, and what it gains."""
        speeds = {each.batch_size: each.examples_per_sec or 0.0 for each in self.trained}
        chosen = speeds.get(self.recommended)
        text = f"Batch size {self.recommended}: {figure(chosen)} examples per second"
        if chosen and self.present in speeds and self.present != self.recommended:
            text += f", {chosen / speeds[self.present]:.2f}× as many as at {self.present}"
        if self.recommended == max((size for size in speeds if size != self.predicted), default=0):
            return text + ". It is the largest asked for that trained; larger ones may have more."
        return text + ". No other size asked for has over 2% more."

    @property
    def memory(self) -> str:
        """What a batch takes, and the largest that fits."""
        if self.fixed_mib is None or self.per_example_mib is None:
            return "The peaks of memory lie on no rising line: no largest batch is predicted."
        text = (
            f"Memory: {in_mib(self.fixed_mib)} and {in_mib(self.per_example_mib)} an "
            f"example, of {in_mib(self.limit_mib)}."
        )
        if self.predicted is None:
            return text + " It leads to no other size that is worth trying."
        outcome = "trained" if self.largest is not None else "failed"
        return text + f" {self.predicted} examples fit by that line; tried once, they {outcome}."
