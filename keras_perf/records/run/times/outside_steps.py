"""What of a training lies in no interval: between epochs, warm-up, windows and trials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from keras_perf.records.shapes import count, fact, named, needed, number

SECONDS = number(most=1e9)


@dataclass(frozen=True, slots=True)
class OutsideSteps:
    """Sums over a training, in seconds, and how many epoch gaps and validations there were.

    `newest_gap_step` is after how many optimizer steps the newest of the gaps began.
    `usual_validation_s` is the median validation but the first, which traces and compiles;
    `usual_epoch_rest_s` the mean of what `epoch_rest_s` sums, but for the one that took longest,
    of which `epoch_compiling_s` is compiling, as far as JAX tells of it; `usual_iterator_s` is the
    like mean of what making an epoch's iterator takes of that, and `usual_iterator_end_s` of what
    of this looks like a wait for the end of the last one; `usual_first_wait_s` of what the first
    execution that reads a new iterator waits for its input, in a step; `usual_validation_end_s` is
    the same of validations as `usual_iterator_end_s`, and lies behind them or,
    `late_validation_ends` times, before the next one.
    """

    epoch_gaps: int = needed(count())
    validations: int = needed(count())
    usual_validation_s: float = needed(SECONDS)
    validation_s: float = needed(SECONDS)
    epoch_callbacks_s: Mapping[str, float] = needed(named(SECONDS))
    epoch_rest_s: float = needed(SECONDS)
    usual_epoch_rest_s: float | None = fact(SECONDS)
    usual_iterator_s: float | None = fact(SECONDS)
    usual_first_wait_s: float | None = fact(SECONDS)
    usual_iterator_end_s: float | None = fact(SECONDS)
    usual_validation_end_s: float | None = fact(SECONDS)
    newest_gap_step: int | None = fact(count())
    late_validation_ends: int = fact(count(), 0)
    epoch_compiling_s: float = fact(SECONDS, 0.0)
    warmup_steps: int = fact(count(), 0)
    first_execution_s: float = fact(SECONDS, 0.0)
    warmup_s: float = fact(SECONDS, 0.0)
    profiled_s: float = fact(SECONDS, 0.0)
    trial_s: float = fact(SECONDS, 0.0)

    def has_callback(self, ends: tuple[str, ...]) -> bool:
        """Of a class whose name ends so, with hooks of epochs."""
        classes = (owner.partition(".")[0] for owner in self.epoch_callbacks_s)
        return any(each.endswith(ends) for each in classes)

    @property
    def validation_period(self) -> int:
        """Every how many epochs validation comes; 1 where that is not known."""
        return max(1, round(self.epoch_gaps / self.validations)) if self.validations else 1

    @property
    def rest_comes_back(self) -> bool:
        """The rest between epochs is much like that in each of them, not in one alone."""
        if self.usual_epoch_rest_s is None:
            return self.epoch_gaps > 1
        usual_s = self.usual_epoch_rest_s * self.epoch_gaps
        return self.epoch_gaps > 1 and usual_s > self.epoch_rest_s / 2

    @property
    def once_between_s(self) -> float:
        """Of the rest between epochs, what the longest has beyond the usual ones."""
        if self.usual_epoch_rest_s is None:
            return 0.0
        return max(0.0, self.epoch_rest_s - self.usual_epoch_rest_s * self.epoch_gaps)

    def per_step_ms(
        self, steps: int, all_steps: int, *, validation_tuned: bool
    ) -> dict[str, float]:
        """What lies between epochs, in milliseconds per step.

        Arguments:
            steps: that an epoch's end follows, which share what comes back.
            all_steps: of the training, which share what comes once.
            validation_tuned: tf.data tunes its pipeline, so that the end of its iterator may wait.
        """
        usual_s = min(self.usual_validation_s * self.validations, self.validation_s)
        ends_s = (self.usual_validation_end_s or 0.0) * self.validations * validation_tuned
        ends_s = min(ends_s, self.epoch_rest_s)
        tracing_ms = 1e3 * max(0.0, self.validation_s - usual_s) / all_steps
        once_s = self.once_between_s
        rest_ms = 1e3 * (self.epoch_rest_s - once_s) / steps + 1e3 * once_s / all_steps
        ends_ms = min(1e3 * ends_s / steps, rest_ms)
        return {
            "validation": 1e3 * usual_s / steps,
            "validation_tracing": tracing_ms,
            "epoch_callbacks": 1e3 * sum(self.epoch_callbacks_s.values()) / steps,
            "validation_ends": ends_ms,
            "epoch_rest": rest_ms - ends_ms,
        }
