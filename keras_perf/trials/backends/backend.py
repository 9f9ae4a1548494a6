"""What trials ask of the library that Keras computes with."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

import keras

from keras_perf.trials.backends.host_memory import TrainingMemory
from keras_perf.trials.learning_rate.losses import Losses


class TrialBackend(Protocol):
    """A module of functions. A `batch` is what `first_batch` has returned."""

    # -- where the trial is asked for ------------------------------------------------------

    def check_data(self, data: Any) -> None:
        """Raises TypeError or ValueError unless batches can be taken of it."""

    def first_batch(self, data: Any) -> Any:
        """Of the data, which were checked; raises ValueError where there is none."""

    def examples(self, batch: Any) -> int:
        """Rows of a batch."""

    def build(self, model: keras.Model, batch: Any) -> None:
        """Makes the weights and the optimizer's variables, if nobody did, without training."""

    def check_alone(self, model: keras.Model) -> None:
        """Raises ValueError where the model is for several devices."""

    def check_room(self) -> None:
        """Raises ValueError where this process leaves others no memory on a GPU."""

    def save(self, batch: Any, place: str) -> None:
        """Writes a batch; raises what the library raises."""

    def step_ms_within(
        self, model: keras.Model, batch: Any, seconds: float, clock: Callable[[], float]
    ) -> float:
        """Milliseconds of a step on an element of a `tf.data.Dataset`; the model is put back."""

    def ramp(self, model: keras.Model, data: Any) -> AbstractContextManager[Callable[[], Losses]]:
        """Makes the steps of other learning rates; at its end the model is put back."""

    # -- in a process of its own -----------------------------------------------------------

    def only_so_much(self, limit_mib: float | None) -> None:
        """Gives the library this much of each GPU, where it can be told; before it starts these."""

    def load(self, place: str) -> Any:
        """A batch that was saved."""

    def tiled(self, batch: Any, batch_size: int) -> Any:
        """A batch of this size, of the examples of a smaller or larger one, again and again."""

    def execution(self, model: keras.Model, batch: Any) -> tuple[Callable[[], object], int]:
        """Trains on the batch and waits for the end, as often as it is called; its steps."""

    def prediction(self, model: keras.Model, batch: Any) -> Callable[[], object]:
        """Calls `predict_on_batch` on the batch's inputs as often as it is called."""

    def training_memory(self, limit_mib: float | None) -> TrainingMemory:
        """Of the first GPU if there is one, else of this process."""
