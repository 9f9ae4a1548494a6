"""What our four callbacks have in common."""

from __future__ import annotations

import logging
import os
from typing import Any

import keras

from keras_perf.callbacks.listener import Listener
from keras_perf.callbacks.observation import Observation
from keras_perf.write.events import RunWriter, writable_log_dir

logger = logging.getLogger("keras_perf")


class ListeningCallback(keras.callbacks.Callback, Listener):
    """Joins the observation when a `fit` begins and lets go of it when it ends."""

    observation: Observation | None = None

    def __init__(self, log_dir: str | os.PathLike[str]) -> None:
        super().__init__()
        self.log_dir = writable_log_dir(log_dir)

    def on_train_begin(self, logs: Any = None) -> None:
        """Joins, or says in one line why not."""
        if keras.backend.backend() != "tensorflow":
            logger.warning(
                "keras_perf: %s observes fit on Keras's TensorFlow backend only, not on %r; "
                "it stays silent.",
                type(self).__name__,
                keras.backend.backend(),
            )
            return
        self.observation = Observation.join(self.model, self)
        self.observation_begins(self.observation)

    def on_train_end(self, logs: Any = None) -> None:
        """Needed only where no CallbackList was found to tell the end."""
        if self.observation is not None and not self.observation.relayed:
            self.observation.close()

    def observation_begins(self, observation: Observation) -> None:
        """The observation has been joined."""

    def observation_ends(self, aborted: bool) -> None:
        """Lets go: a callback that is not in a `fit` can be pickled and used again."""
        self.observation = None

    @property
    def writer(self) -> RunWriter:
        """The run that this callback writes to."""
        assert self.observation is not None
        return self.observation.recording.writer(self.log_dir)


def require_number(name: str, value: object, *, above: float, remedy: str) -> float:
    """`value`, if it is a number above `above`.

    Raises:
        TypeError: not a number.
        ValueError: not above.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, got {type(value).__name__} {value!r}. {remedy}")
    if not value > above:
        raise ValueError(f"{name} must be above {above:g}, got {value!r}. {remedy}")
    return float(value)


def require_bool(name: str, value: object) -> bool:
    """`value`, if it is True or False.

    Raises:
        TypeError: it is neither.
    """
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {type(value).__name__} {value!r}.")
    return value
