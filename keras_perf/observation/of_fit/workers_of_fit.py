"""Workers that make the batches of a `PyDataset` for a `fit`, and how long it waits for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from keras_perf.observation.facts.input.tf_data import tensorflow_of

Told = Callable[[int, int], None]


def enqueuer_in(frame: FrameType | None) -> Any | None:
    """What hands the workers' batches to this `fit`, one after the other; None without workers.

    It is private to Keras's `fit`: where Keras keeps it elsewhere one day, the input wait of such a
    training is missing. None also where a strategy fetches batches ahead of a step.
    """
    epochs: Any = None if frame is None else frame.f_locals.get("epoch_iterator")
    dataset = getattr(epochs, "_distributed_dataset", None)
    enqueuer = getattr(getattr(epochs, "data_adapter", None), "enqueuer", None)
    ahead = dataset is not None and tensorflow_of(dataset) is None
    return enqueuer if callable(getattr(enqueuer, "get", None)) and not ahead else None


def time_batches(enqueuer: Any, told: Told, clock: Callable[[], int]) -> Callable[[], None]:
    """Tells when each batch was asked for, and when it came, in the clock's nanoseconds.

    Returns:
        Gives the enqueuer back as it was.
    """
    get = enqueuer.get

    def timed() -> Iterator[Any]:
        begin = clock()
        for batch in get():
            told(begin, clock())
            yield batch
            begin = clock()

    enqueuer.get = timed

    def give_back() -> None:
        if vars(enqueuer).get("get") is timed:
            del enqueuer.get

    return give_back
