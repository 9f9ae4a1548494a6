"""The backend that trials run on here."""

from __future__ import annotations

import keras

from keras_perf.records.observed_backends import NOT_TRIED_THERE
from keras_perf.trials.backends.backend import TrainingBackend, TrialBackend


def trial_backend() -> TrialBackend:
    """Its module.

    Raises:
        NotImplementedError: Keras computes with something that nothing is tried on.
    """
    name = keras.backend.backend()
    if name == "tensorflow":
        from keras_perf.trials.backends import tensorflow_trials

        return tensorflow_trials
    if name == "jax":
        from keras_perf.trials.backends import jax_trials

        return jax_trials
    raise NotImplementedError(f"keras_perf: {NOT_TRIED_THERE}.")


def training_backend() -> TrainingBackend:
    """Its module for whole trainings; raises as `trial_backend`."""
    name = keras.backend.backend()
    if name == "tensorflow":
        from keras_perf.trials.backends import tensorflow_training

        return tensorflow_training
    if name == "jax":
        from keras_perf.trials.backends import jax_training

        return jax_training
    raise NotImplementedError(f"keras_perf: {NOT_TRIED_THERE}.")
