"""The backend that trials run on here."""

from __future__ import annotations

import keras

from keras_perf.records.observed_backends import NOT_TRIED_THERE
from keras_perf.trials.backends.backend import TrialBackend


def trial_backend() -> TrialBackend:
    """Its module.

    Raises:
        NotImplementedError: Keras computes with something that nothing is tried on.
    """
    name = keras.backend.backend()
    if name == "tensorflow":
        from keras_perf.trials.backends import on_tensorflow

        return on_tensorflow
    if name == "jax":
        from keras_perf.trials.backends import on_jax

        return on_jax
    raise NotImplementedError(f"keras_perf: {NOT_TRIED_THERE}.")
