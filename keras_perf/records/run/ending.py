"""How a training ended, as far as its own process could still tell."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from keras_perf.records.shapes import count, each, fact, flag, needed, number, text, word_of


class How(Enum):
    """The last that a training said of itself."""

    RUNNING = "running"
    """It had not ended when this was written: it still runs, or its process was killed."""
    DONE = "done"
    RAISED = "raised"


class Lack(Enum):
    """What else than memory a machine had no more of, though TensorFlow's error is the same."""

    DISK = "disk"
    QUOTA = "quota"
    FILES = "files"


@dataclass(frozen=True, slots=True)
class Ending:
    """How it ended; of an exception what it says.

    `error` is the exception's class, `message` its line that says most, both "" where only Keras
    saw it. `lack` is what was used up if that was no memory. Of memory that could not be had
    `device` is TensorFlow's name of where (`GPU:0`; "" where the message has none, as Python's and
    XLA's), `shape` and `requested_mib` that of the array asked for, `batch` the examples of a
    batch.
    """

    how: How = needed(word_of(How))
    error: str = fact(text, "")
    message: str = fact(text, "")
    lack: Lack | None = fact(word_of(Lack))
    out_of_memory: bool = fact(flag, default=False)
    device: str = fact(text, "")
    shape: tuple[int, ...] = fact(each(count()), ())
    requested_mib: float | None = fact(number())
    batch: int | None = fact(count(1))
