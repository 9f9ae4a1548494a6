"""What a model tells about itself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import keras

from keras_perf.observation.facts.frozen_layers import frozen_in_front
from keras_perf.observation.facts.input.tf_data import tensorflow_of
from keras_perf.observers.asking import Questions, unwarned
from keras_perf.records.text.compiled_with import takes_options


def model_facts(model: keras.Model) -> Questions:
    """Name → what is asked of a model."""
    return {
        "dtype_policy": lambda: str(getattr(model.dtype_policy, "name", model.dtype_policy)),
        "parameters": lambda: int(model.count_params()) if model.built else None,
        "trainable_parameters": lambda: _sizes(model.trainable_weights) or None,
        "frozen_in_front": partial(frozen_in_front, model),
        "float16_softmax": partial(ends_in_float16_softmax, model),
        "layer_widths": partial(layer_widths, model),
        "output_widths": partial(output_widths, model),
        "supports_jit": partial(supports_jit, model),
    }


def _kept_of_each_step(optimizer: Any) -> int | None:
    """Numbers that it keeps; None where it gathers several steps before it updates anything."""
    if getattr(optimizer, "gradient_accumulation_steps", None):
        return None
    return _sizes(getattr(optimizer, "variables", ()))


def _sizes(variables: Iterable[Any]) -> int:
    """How many numbers all of them hold."""
    return sum(math.prod(variable.shape) for variable in variables)


def supports_jit(model: keras.Model) -> bool:
    """Keras compiles its steps with XLA if asked; else it warns, and trains without.

    Its private `model_supports_jit` tells. Without it layers are asked that public attributes tell,
    and nobody whether operations are to be deterministic, which Keras keeps from XLA.
    """
    try:
        from keras.src.trainers.trainer import model_supports_jit

        return bool(model_supports_jit(model))
    except Exception:  # noqa: BLE001  private, and a layer may be the user's
        return all(getattr(layer, "supports_jit", True) for layer in _layers_of(model))


def keras_settings(model: keras.Model) -> Questions:
    """Name → what is asked of how Keras trains a model."""
    return {
        "run_eagerly": lambda: bool(model.run_eagerly),
        "jit_compile": lambda: bool(model.jit_compile),
        "optimizer": lambda: type(model.optimizer).__name__,
        "optimizer_values": lambda: _kept_of_each_step(model.optimizer),
        "batches_per_update": lambda: batches_per_update(model),
        "own_compile": lambda: not takes_options(model.compile),
        "own_train_step": lambda: _trains_otherwise(model),
    }


def require_train_function(model: keras.Model) -> None:
    """Nothing, if the model's train function can be wrapped.

    Raises:
        ValueError: it cannot.
    """
    if "train_function" not in vars(model):
        raise ValueError(
            f"train_function must be an attribute of the model, {type(model).__name__} has a "
            "property of that name"
        )


def optimizer_iterations(model: keras.Model) -> int | None:
    """The optimizer's step counter; a device read, so only for an epoch's end.

    Of one that scales the loss it is the inner one's: before Keras 3.8 it counted none itself.
    """
    iterations = getattr(_inner(model), "iterations", None)
    return None if iterations is None else int(unwarned(keras.ops.convert_to_numpy, iterations))


def _inner(model: keras.Model) -> Any:
    optimizer = getattr(model, "optimizer", None)
    return getattr(optimizer, "inner_optimizer", optimizer)


def trained_steps(model: keras.Model) -> int:
    """Steps that were trained before, by the optimizer: an update may gather several batches."""
    return (optimizer_iterations(model) or 0) * batches_per_update(model)


def batches_per_update(model: keras.Model) -> int:
    """Whose gradients the optimizer gathers before it changes weights."""
    return getattr(_inner(model), "gradient_accumulation_steps", None) or 1


def counts_every_step(optimizer: Any) -> bool:
    """Its counter advances by one with every step: not where steps are skipped or gathered."""
    scaled = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
    return not scaled and not getattr(optimizer, "gradient_accumulation_steps", None)


def examples_per_step(model: keras.Model, steps: int) -> float | None:
    """From the loss metric, which counts examples since the epoch began, so many steps ago.

    Only Keras's own train step is known to give it the number of examples as weight, and before
    3.10 Keras counts those of several replicas wrong.
    """
    if not steps or _trains_otherwise(model) or not _counts_right(model):
        return None
    count = _counted_by_loss(model)
    return None if count is None else count / steps


def evaluated_examples(model: keras.Model) -> float | None:
    """From the loss metric, which counts examples since the evaluation began.

    Only Keras's own test step is known to give it the number of examples as weight.
    """
    own = type(model).test_step is not keras.Model.test_step
    return None if own or not _counts_right(model) else _counted_by_loss(model)


def metrics_add_up() -> bool:
    """Before 3.10 Keras keeps metrics in variables that replicas overwrite for each other."""
    return keras_is_at_least(3, 10)


def keras_is_at_least(*release: int) -> bool:
    """Of major and minor number."""
    return tuple(int(part) for part in keras.__version__.split(".")[:2]) >= release


def _trains_otherwise(model: keras.Model) -> bool:
    return type(model).train_step is not keras.Model.train_step


def _counts_right(model: keras.Model) -> bool:
    return model.distribute_strategy.num_replicas_in_sync == 1 or metrics_add_up()


def _counted_by_loss(model: keras.Model) -> float | None:
    """Of all replicas together; a device read, so only for an epoch's end."""
    for metric in model.metrics[:1]:
        if isinstance(metric, keras.metrics.Mean) and metric.name == "loss":
            count = float(keras.ops.convert_to_numpy(metric.count))
            return count if count > 0 else None
    return None


def is_endless(x: Any) -> bool:
    """It says of itself that it never ends."""
    tf = tensorflow_of(x)
    return tf is not None and int(x.cardinality()) == tf.data.INFINITE_CARDINALITY


def steps_are_capped() -> bool:
    """An epoch ends after `keras.config.set_max_steps_per_epoch` steps, newer than Keras 3.9."""
    cap = getattr(keras.config, "max_steps_per_epoch", lambda: None)
    return bool(cap())


def layer_widths(model: keras.Model) -> list[int]:
    """The different numbers of units and filters of a model's layers."""
    found: set[int] = set()
    for layer in _layers_of(model):
        widths = (getattr(layer, name, None) for name in ("units", "filters"))
        found.update(width for width in widths if type(width) is int)
    return sorted(found)


def output_widths(model: keras.Model) -> list[int]:
    """The different lengths of the outputs' last axes; none of a model without known outputs."""
    shapes = [each.shape for each in getattr(model, "outputs", None) or ()]
    return sorted({shape[-1] for shape in shapes if shape and shape[-1]})


_INNER = ("layer", "forward_layer", "backward_layer", "cell")
"""Attributes in which Keras's layers keep one that they call."""


def _layers_of(model: keras.Model) -> Iterator[keras.layers.Layer]:
    """The model and all layers in it that public attributes tell."""
    pending, seen = [model], {id(model)}
    while pending:
        layer = pending.pop()
        yield layer
        # A user's layer may call anything `layers`, and one layer may be in several places.
        inner = getattr(layer, "layers", ())
        new = list(inner) if isinstance(inner, list | tuple) else []
        new += [getattr(layer, name, None) for name in _INNER]
        new = [each for each in new if isinstance(each, keras.layers.Layer)]
        pending.extend(each for each in new if id(each) not in seen)
        seen.update(map(id, new))


def ends_in_float16_softmax(model: keras.Model) -> bool:
    """The last layer computes a softmax in float16, whose small probabilities become 0."""
    if not model.layers:
        return False
    last = model.layers[-1]
    softmax = isinstance(last, keras.layers.Softmax)
    softmax |= getattr(last, "activation", None) is keras.activations.softmax
    return bool(softmax and last.compute_dtype == "float16")
