"""What our four callbacks have in common."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import keras

from keras_perf.backends.chosen import chosen_backend
from keras_perf.files.any_path import absolute
from keras_perf.observation.failure_line import harmless, warn_of
from keras_perf.observation.listener import Listener
from keras_perf.observation.observation import Observation
from keras_perf.observation.of_fit.fit import FitObservation
from keras_perf.observation.of_fit.running_fits import join
from keras_perf.observation.safe_writer import SafeWriter
from keras_perf.observers.asking import unwarned
from keras_perf.records.reasons.why_no_steps import WhyNoSteps
from keras_perf.records.text.error_line import error_line
from keras_perf.write.writable_log_dir import writable_log_dir


class ObservingCallback(keras.callbacks.Callback, Listener):
    """Joins the observation when a `fit` begins and lets go of it when it ends.

    A copy, pickled or not, is as the callback was before any `fit`: without the model, and
    without what belongs to the `fit` that runs.

    Attributes:
        clock: nanoseconds; all times of a `fit` are read from that of its first callback.
        observes_training: trials, which are none, leave it out.
    """

    observation: Observation | None = None
    clock: Callable[[], int] = time.perf_counter_ns
    observes_training = True
    _told_of: Any = None

    def __init__(self, log_dir: str | os.PathLike[str]) -> None:
        super().__init__()
        chosen_backend()
        self.log_dir = writable_log_dir(log_dir)
        self._log_dir_given = self.log_dir, os.fspath(log_dir)

    def __getstate__(self) -> dict[str, Any]:
        """What a copy is made of."""
        copied = object.__new__(type(self))
        # `params` and `_model` are Keras's: of the `fit` that runs.
        copied.__dict__ |= self.__dict__ | {"observation": None, "params": None, "_model": None}
        copied._forget()
        return copied.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy on another machine writes below where it is made."""
        self.__dict__ |= state
        made, given = state.get("_log_dir_given", (None, ""))
        if made is not None and made == self.log_dir:
            self.log_dir = absolute(given)
            self._log_dir_given = self.log_dir, given

    def _forget(self) -> None:
        """Sets all that belongs to one training as it is before any."""

    def fails(self, error: Exception) -> None:
        """Something of ours has gone wrong in a hook of Keras's."""
        if self.observation is not None:
            self.observation.audience.fails(self, error)
            return
        with suppress(Exception):
            self.not_observed(WhyNoSteps.NOT_OBSERVED.of(error=error_line(error)))
        # Keras gives the callbacks of a call the same `params`.
        if self.params is None or ObservingCallback._told_of is not self.params:
            ObservingCallback._told_of = self.params
            warn_of(error, type(self).__name__, "this fit, evaluate or predict is not observed")

    @harmless
    def on_train_begin(self, logs: Any = None) -> None:
        """Joins, or says in one line why not."""
        joined = join(self.model, self, self._of_fit, self.clock, chosen_backend())
        if joined is None:
            if self.observation is None:
                self.not_observed(WhyNoSteps.INSIDE_ANOTHER.of())
        elif joined is not self.observation:
            self._begins(joined)

    @harmless
    def on_train_end(self, logs: Any = None) -> None:
        """Needed only where no CallbackList was found to tell the end."""
        if self._of_fit is not None and not self._of_fit.times_callbacks:
            self._of_fit.close()

    @property
    def _of_fit(self) -> FitObservation | None:
        return self.observation if isinstance(self.observation, FitObservation) else None

    def observe(self, observation: Observation) -> None:
        """Joins the observation of a custom loop."""
        observation.audience.add(self)
        self._begins(observation)

    def _begins(self, observation: Observation) -> None:
        self.observation = observation
        try:
            unwarned(self.observation_begins, observation)
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            observation.audience.drop(self, error)

    def not_observed(self, why: str) -> None:
        """The `fit` that begins cannot be observed."""

    def observation_begins(self, observation: Observation) -> None:
        """The observation has been joined."""

    def leaves(self, aborted: bool) -> None:
        """The observation ends; gives back what is held."""

    def observation_ends(self, aborted: bool) -> None:
        """Lets go: a callback that is not in a `fit` can be pickled and used again."""
        try:
            self.leaves(aborted)
        finally:
            self.observation = None

    @property
    def _training(self) -> Observation:
        """The observation, from its begin to its end."""
        assert self.observation is not None
        return self.observation

    @property
    def writer(self) -> SafeWriter:
        """The run that this callback writes to."""
        return self._training.recording.writer(self.log_dir)
