"""What a training does before its steps are steady."""

from __future__ import annotations

from dataclasses import dataclass

from keras_perf.records.run.times.outside_steps import SECONDS
from keras_perf.records.shapes import count, fact, needed


@dataclass(frozen=True, slots=True)
class StartUp:
    """The begin of a training, in seconds; None is what could not be measured.

    `before_first_step_s` is from where it begins to be observed (`on_train_begin`) to its first
    execution, which runs `first_steps` steps in `first_execution_s`. Of these, TensorFlow traces
    Python functions for `tracing_s`, and for `computing_s` its batches are there: XLA compiles, and
    steps compute for the first time. The rest waits for the first batch and prepares the graph.
    `warmup_wait_s` is how long the other steps of the warm-up wait for input, `warmup_compiling_s`
    how long they compile, which only JAX tells.

    What it cannot see: what `fit` does before `on_train_begin`. It takes in the data, and under a
    strategy it builds the model with a batch that it asks for.
    """

    before_first_step_s: float = needed(SECONDS)
    first_steps: int = needed(count(1))
    first_execution_s: float = needed(SECONDS)
    tracing_s: float | None = fact(SECONDS)
    computing_s: float | None = fact(SECONDS)
    warmup_wait_s: float | None = fact(SECONDS)
    warmup_compiling_s: float = fact(SECONDS, 0.0)

    @property
    def first_batch_s(self) -> float | None:
        """Waiting for the first batch, with preparing the graph; None where it is not known."""
        if self.tracing_s is None or self.computing_s is None:
            return None
        return max(0.0, self.first_execution_s - self.tracing_s - self.computing_s)
