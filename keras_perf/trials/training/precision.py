"""A copy of a model that computes in another precision."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

FULL = "float32"


def other_policy(model: keras.Model) -> str | None:
    """The policy to try beside the model's own; None where there is nothing to expect of it.

    In half precision on a GPU, whose tensor cores are made for it, and back everywhere.
    """
    present = model.dtype_policy.name
    if present.startswith("mixed"):
        return FULL
    if present != FULL or not tf.config.list_logical_devices("GPU"):
        return None
    return "mixed_float16"


def in_precision(model: keras.Model, policy: str) -> keras.Model:
    """A copy, compiled like the model and with its weights.

    Raises:
        ValueError: it is not made of layers alone, as functional and sequential models are.
    """
    if not type(model).__module__.startswith("keras."):
        raise ValueError(
            f"a copy of {type(model).__name__} cannot be made: only functional and sequential "
            "models say what they are made of"
        )
    usual = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
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
