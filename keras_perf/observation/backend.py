"""What observing a training asks of the library that Keras computes with."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, Protocol

import keras

from keras_perf.observation.input_model import InputModel
from keras_perf.observers.asking import Questions
from keras_perf.observers.steps.timeline import Timeline

TrainFunction = Callable[[Any], Any]


class Work(Protocol):
    """Counts what a step multiplies.

    Attributes:
        due: training has ended.
        several: the train function was made anew; how often each ran is not known.
    """

    due: bool
    several: bool

    def was_fed(self, pipeline: InputModel | None) -> None:
        """Training ran on this input."""

    def asked(self, function: Any, **how: Any) -> Any:
        """What a step multiplies; None where that is not counted."""


class Backend(Protocol):
    """What is asked of it; one for each training, which it belongs to."""

    @property
    def end_of_data(self) -> tuple[type[BaseException], ...]:
        """What a train function raises where there are no more batches."""

    @property
    def timeline(self) -> Timeline:
        """Of the training."""

    @property
    def work(self) -> Work:
        """Counts what a step multiplies."""

    @property
    def datasets_alone(self) -> str | None:
        """Why no advice can be tried on other input than theirs; None where it can on arrays."""

    @property
    def counts_by_loss(self) -> bool:
        """Examples are those of the loss metric, which an evaluation begins anew."""

    @property
    def profiler(self) -> ModuleType:
        """`start`, `stop` and `step_marker` of its profiler."""

    # -- a step ----------------------------------------------------------------------------

    def called(self, function: Any) -> TrainFunction:
        """The model's train function, to be called with what it fetches from and nothing else."""

    def stand_in(self, model: keras.Model, execute: TrainFunction) -> Any:
        """What Keras calls in the train function's place, which calls `execute`."""

    def input_model(self, iterator: Any) -> InputModel:
        """The input behind an iterator."""

    def time_workers(self, enqueuer: Any | None) -> None:
        """Times, until `release`, what executions wait for batches that workers make."""

    def trace_counter(self, function: Any) -> Callable[[], int]:
        """Counts how often the train function was traced, or compiled where that is told."""

    def fetches_before_tracing(self, function: Any) -> bool:
        """The train function asks for its batch before what is traced is called with it."""

    def compiles_unseen(self, model: keras.Model) -> bool:
        """XLA may compile the train function for a new shape, and nothing tells."""

    def many_shapes(self, pipeline: InputModel) -> bool:
        """Batches may differ in more than their number of rows."""

    def rows_may_differ(self, pipeline: InputModel) -> bool | None:
        """Batches may have different numbers of rows; None if unknown."""

    # -- facts -----------------------------------------------------------------------------

    def facts_at_begin(self) -> Questions:
        """Asked once, in the thread that trains."""

    def facts(self, model: keras.Model) -> Questions:
        """Of the machine and the model, asked each time that facts are written."""

    def settings(self, model: keras.Model) -> Questions:
        """How Keras trains the model."""

    def operations_in_step(self, function: Any, traces: int) -> list[str]:
        """Types of operations in the train function that print, check or call Python."""

    def examples_per_step(self, model: keras.Model, steps: int) -> float | None:
        """Examples in a step of this epoch, which had so many steps so far."""

    def traced_s(self) -> float | None:
        """Seconds spent on tracing in this process; None where that is not counted."""

    def gpus(self) -> Any:
        """The GPUs of this process, a `Seen`."""

    def allocated_by_tag(self) -> dict[str, float]:
        """Tag → MiB of what is allocated on each GPU."""

    # -- beside the steps ------------------------------------------------------------------

    def trials(self, fit: Any, asked: Any, hooks: Callable[[], Any]) -> Any:
        """What a `fit` allows for trials of other numbers of steps per execution."""

    def validations(self, model: keras.Model, told: Any, clock: Callable[[], int]) -> Any:
        """Watches what `fit` evaluates."""

    def calls_in_hooks(
        self,
        model: keras.Model,
        clock: Callable[[], int],
        raised: Callable[[BaseException], None],
    ) -> Any:
        """Times the calls of `predict` and `evaluate` in hooks."""

    def release(self) -> None:
        """The training is over; again does nothing."""

    @staticmethod
    def watch_call(kind: str, callback: Any, log: Any) -> Any:
        """Logs what is known of the `evaluate` or `predict` that calls; the log for the next."""
