"""A copy of a model that computes in another precision."""

from __future__ import annotations

from typing import Any

import keras

from keras_perf.observers.cpu_formats import cpu_has_bfloat16
from keras_perf.records.reasons.why_not_tried import WhyNotTried
from keras_perf.records.run.machine import BFLOAT16
from keras_perf.trials.backends.chosen import training_backend
from keras_perf.trials.methods_of_object import method_of_object

FULL = "float32"


def other_policy(model: keras.Model) -> str | None:
    """The policy to try beside the model's own; None where there is nothing to expect of it.

    In half precision on a GPU, whose tensor cores are made for it, and on a processor that has
    instructions for it; back everywhere.
    """
    present = model.dtype_policy.name
    if present.startswith("mixed"):
        return FULL
    if present != FULL:
        return None
    backend = training_backend()
    if not backend.on_gpu():
        return "mixed_bfloat16" if cpu_has_bfloat16() else None
    if (backend.gpu_capability() or BFLOAT16) >= BFLOAT16:
        return "mixed_bfloat16"
    # Of several replicas Keras looks for an overflow in the first one's gradients only.
    return None if backend.strategy(model) is not None else "mixed_float16"


def why_no_other_policy(model: keras.Model) -> str:
    """Why there is none to try."""
    present = model.dtype_policy.name
    if present == FULL and training_backend().on_gpu():
        return WhyNotTried.SCALES_ON_ONE.of()
    if present == FULL:
        return WhyNotTried.NO_BFLOAT16.of()
    return WhyNotTried.OTHER_POLICY.of(policy=present)


def in_precision(model: keras.Model, policy: str) -> keras.Model:
    """A copy, compiled like the model, with its weights and on its replicas.

    Raises:
        ValueError: it is not made of layers alone, as functional and sequential models are, or
            trains by a method of its own.
    """
    if method := method_of_object(model):
        raise ValueError(
            f"a copy of the model has no {method} that was set on it, not in its class"
        )
    if not type(model).__module__.startswith("keras."):
        raise ValueError(
            f"a copy of {type(model).__name__} cannot be made: only functional and sequential "
            "models say what they are made of"
        )
    usual = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        with training_backend().scope(model):
            copy = type(model).from_config(_with_policy(model.get_config(), policy))
            if not copy.built:
                copy.build(model.input_shape)
            copy.set_weights(model.get_weights())
            copy.compile_from_config(model.get_compile_config())
    finally:
        keras.config.set_dtype_policy(usual)
    if all(layer.dtype_policy.name != policy for layer in copy.layers):
        raise ValueError(f"this Keras makes no copy in {policy}")
    return copy


def _with_policy(config: Any, policy: str) -> Any:
    if isinstance(config, list | tuple):
        return [_with_policy(each, policy) for each in config]
    if not isinstance(config, dict):
        return config
    if config.get("class_name") == "DTypePolicy":
        return {**config, "config": {"name": policy}}
    return {name: _with_policy(value, policy) for name, value in config.items()}
