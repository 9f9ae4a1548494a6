"""How long a training is."""

from __future__ import annotations

from dataclasses import dataclass

from keras_perf.records.shapes import count, fact, flag, number


@dataclass(frozen=True)
class Length:
    """From which optimizer step to which, and in what portions.

    `epochs` were asked for; `epochs_run` came to their end where training was then stopped, as by
    `EarlyStopping`. `ends_by_steps`: an epoch ends after so many steps, as `fit` was told, not
    where its data end: a pass through them may take several epochs. `batch_rows` are those of a
    whole batch as the input tells them, before one was trained on; `examples_per_step` are counted,
    on average. `loop_pass_steps` are those in which a custom loop goes through its one dataset to
    its end; 0 where it has not, or reads several.
    """

    first_step: int | None = fact(count())
    last_step: int | None = fact(count())
    epoch_steps: int | None = fact(count())
    epochs: int | None = fact(count())
    epochs_run: int | None = fact(count())
    ends_by_steps: bool = fact(flag, default=False)
    examples_per_step: float | None = fact(number(1e-9))
    batch_rows: int | None = fact(count(1))
    loop_pass_steps: float = fact(number(), 0.0)

    @property
    def steps(self) -> int:
        """Steps of the training; 0 where that is not known."""
        if self.first_step is None or self.last_step is None:
            return 0
        return max(0, self.last_step - self.first_step)

    @property
    def epochs_in_all(self) -> int | None:
        """Of the training, as far as it is known."""
        return self.epochs_run or self.epochs

    @property
    def passes(self) -> float | None:
        """Epochs, or what a custom loop has in their place; None where that is not known."""
        if self.epoch_steps:
            return self.epochs_in_all
        return self.steps / self.loop_pass_steps if self.loop_pass_steps else None

    @property
    def pass_steps(self) -> float | None:
        """Steps of one of them."""
        return self.epoch_steps or self.loop_pass_steps or None
