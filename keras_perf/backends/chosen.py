"""The backend that Keras computes with here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import keras

from keras_perf.records.observed_backends import refusal

if TYPE_CHECKING:
    from keras_perf.backends.on_jax import OnJax
    from keras_perf.backends.on_tensorflow import OnTensorFlow


def chosen_backend() -> type[OnTensorFlow] | type[OnJax]:
    """Its class, of which each training has one.

    Raises:
        NotImplementedError: Keras computes with something that is not observed.
    """
    name = keras.backend.backend()
    if name == "tensorflow":
        from keras_perf.backends.on_tensorflow import OnTensorFlow

        return OnTensorFlow
    if name == "jax":
        from keras_perf.backends.on_jax import OnJax

        return OnJax
    raise NotImplementedError(refusal(name))
