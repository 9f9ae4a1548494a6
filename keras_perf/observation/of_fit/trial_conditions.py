"""Around which models and callbacks another number of steps per execution can be tried."""

from __future__ import annotations

from collections.abc import Sequence

import keras
import tensorflow as tf

from keras_perf.observation.facts.model_facts import optimizer_iterations
from keras_perf.observation.of_fit.found_hooks import once_an_epoch
from keras_perf.records.reasons.why_no_steps import WhyNoSteps

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
        return WhyNoSteps.RUN_EAGERLY.of()
    if tf.config.functions_run_eagerly():
        return WhyNoSteps.EAGER_FUNCTIONS.of()
    if isinstance(model.distribute_strategy, tf.distribute.MultiWorkerMirroredStrategy):
        return WhyNoSteps.SEVERAL_WORKERS.of()
    if type(model).make_train_function is not keras.Model.make_train_function:
        return WhyNoSteps.OWN_TRAIN_FUNCTION.of(model=type(model).__name__)
    if epoch_steps is None:
        return WhyNoSteps.LENGTH_NOT_KNOWN.of()
    if may_run_out:
        return WhyNoSteps.DATA_MAY_END.of()
    if optimizer_iterations(model) is None:
        return WhyNoSteps.STEPS_NOT_COUNTED.of()
    return next(filter(None, (_reason_of(*each) for each in hooks)), None)


def _reason_of(callback: keras.callbacks.Callback, owner: str) -> str | None:
    """Why not around this callback, or None."""
    # Not what somebody has put on the instance, or into a class made of one of these.
    hook = owner.rpartition(".")[2]
    put_on = {hook, hook.replace("train_", "")} & getattr(callback, "__dict__", {}).keys()
    only_looks = type(callback) in _ONLY_LOOK and not put_on
    if not only_looks and not getattr(callback, "async_safe", False):
        return WhyNoSteps.MAY_STEER.of(owner=owner)
    if getattr(callback, "save_freq", "epoch") != "epoch":
        return WhyNoSteps.SAVES_BETWEEN_BATCHES.of(owner=owner)
    # Private to Keras's TensorBoard. Where it moves, a trial may fall into the window.
    if getattr(callback, "_start_batch", 0):
        return WhyNoSteps.CAPTURES.of(owner=owner)
    if getattr(callback, "write_steps_per_second", False) and works_in_batches(callback):
        return WhyNoSteps.TIMES_BATCHES.of(owner=owner)
    return None


def called_less_often(hooks: BatchHooks) -> list[str]:
    """The user's batch hooks (`Class.hook`) that more steps per execution would call less."""
    return sorted(owner for callback, owner in hooks if works_in_batches(callback))


def works_in_batches(callback: keras.callbacks.Callback) -> bool:
    """Its batch hooks do something that the user would miss if they came less often."""
    return not (isinstance(callback, keras.callbacks.ProgbarLogger) or once_an_epoch(callback))
