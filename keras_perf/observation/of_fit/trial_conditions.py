"""Around which models and callbacks another number of steps per execution can be tried."""

from __future__ import annotations

from collections.abc import Sequence

import keras
import tensorflow as tf

from keras_perf.observation.facts.model_facts import optimizer_iterations

BatchHooks = Sequence[tuple[keras.callbacks.Callback, str]]
"""Callbacks with a batch hook of their own, and `Class.hook`."""

_ONLY_LOOK = (
    keras.callbacks.ProgbarLogger,
    keras.callbacks.History,
    keras.callbacks.CSVLogger,
    keras.callbacks.TensorBoard,
    keras.callbacks.ModelCheckpoint,
    keras.callbacks.BackupAndRestore,
)
"""Callbacks whose batch hooks do not steer training. Others can say so with Keras's own
`async_safe = True`: a callback that may be called late cannot steer, and needs no model as it was
at that batch."""


EAGER_FUNCTIONS = "tf.config.run_functions_eagerly(True) runs every step from Python"


def reason_not_to_try(
    model: keras.Model, hooks: BatchHooks, epoch_steps: int | None, *, may_run_out: bool
) -> str | None:
    """Why no other number of steps per execution can be tried in this `fit`, or None.

    Arguments:
        model: being trained.
        hooks: what is called in each batch.
        epoch_steps: as Keras told them before the first epoch, or None.
        may_run_out: the data may end before the steps of an epoch that `fit` was told.
    """
    if model.run_eagerly:
        return "run_eagerly=True runs every step from Python"
    if tf.config.functions_run_eagerly():
        return EAGER_FUNCTIONS
    if isinstance(model.distribute_strategy, tf.distribute.MultiWorkerMirroredStrategy):
        return "several workers would have to try at the same steps"
    if type(model).make_train_function is not keras.Model.make_train_function:
        return f"{type(model).__name__} has a make_train_function of its own"
    if epoch_steps is None:
        return (
            "the length of an epoch is not known before its end, which a longer execution must "
            "not cross; steps_per_epoch, or dataset.apply(tf.data.experimental.assert_cardinality"
            "(batches)), tells it"
        )
    if may_run_out:
        return (
            "with steps_per_epoch the data may end within a longer execution; dataset.repeat() "
            "never does"
        )
    if optimizer_iterations(model) is None:
        return "the model's optimizer does not count its steps"
    for callback, owner in hooks:
        # Not what somebody has put on the instance, or into a class made of one of these.
        hook = owner.rpartition(".")[2]
        put_on = {hook, hook.replace("train_", "")} & getattr(callback, "__dict__", {}).keys()
        only_looks = type(callback) in _ONLY_LOOK and not put_on
        if not only_looks and not getattr(callback, "async_safe", False):
            return (
                f"{owner} may steer training step by step; if it only looks, say so with "
                "async_safe = True on the callback"
            )
        if getattr(callback, "save_freq", "epoch") != "epoch":
            return (
                f"{owner} saves the model between batches, when a trial would have trained it "
                "further; with save_freq='epoch' it does not"
            )
        # Private to Keras's TensorBoard. Where it moves, a trial may fall into the window.
        if getattr(callback, "_start_batch", 0):
            return f"{owner} captures a trace (profile_batch), in which a trial would stand"
    return None


def called_less_often(hooks: BatchHooks) -> list[str]:
    """The user's batch hooks (`Class.hook`) that more steps per execution would call less."""
    return sorted(owner for callback, owner in hooks if works_in_batches(callback))


def works_in_batches(callback: keras.callbacks.Callback) -> bool:
    """Its batch hooks do something that the user would miss if they came less often."""
    if isinstance(callback, keras.callbacks.ProgbarLogger):
        return False
    for name in ("save_freq", "update_freq"):
        if hasattr(callback, name):
            return bool(getattr(callback, name) != "epoch")
    return True
