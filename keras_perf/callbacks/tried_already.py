"""Whether an earlier `fit` of a model was followed by the same trials."""

from __future__ import annotations

import weakref
from typing import Any

import keras

from keras_perf.observation.of_fit.fit import FitObservation
from keras_perf.records.reasons.why_not_tried import EndedBy
from keras_perf.records.run.tried.advice_trials import AdviceTrials

Tried = tuple[tuple[Any, ...], AdviceTrials]
"""What was tried, and what came of it."""

_NEWEST: weakref.WeakKeyDictionary[keras.Model, Tried] = weakref.WeakKeyDictionary()
"""Of each model, whatever callback tried it: a loop may make one for each of hundreds of fits."""


def what_is_tried(fit: FitObservation, settings: tuple[Any, ...]) -> tuple[Any, ...]:
    """Equal for two fits after which nothing else could be found.

    Arguments:
        fit: that is over.
        settings: of the trials.

    What it cannot see: that a function of the pipeline does something else by now, or a stage has
    another number, as of threads or of what it prefetches.
    """
    facts, model = fit.recording.facts, fit.model
    arrays = [each for each in keras.tree.flatten(fit.data) if hasattr(each, "shape")]
    return (
        settings,
        None if model.optimizer is None else weakref.ref(model.optimizer),
        (model.jit_compile, model.run_eagerly, fit.steps_per_execution, fit.epoch_steps),
        facts.trial is None,
        type(fit.data),
        getattr(fit.data, "element_spec", None),
        [(tuple(each.shape), str(each.dtype)) for each in arrays if hasattr(each, "dtype")],
        facts.input.dataset,
        facts.length.batch_rows,
        [type(callback) for callback, _ in fit.batch_hooks],
    )


def tried_already(model: keras.Model, what: tuple[Any, ...]) -> AdviceTrials | None:
    """What came of it, if just that was tried on the model last."""
    last, trials = _NEWEST.get(model, ((), None))
    return trials if last == what else None


def has_tried(model: keras.Model, what: tuple[Any, ...], trials: AdviceTrials) -> None:
    """That came of it; after an interrupt it is tried again."""
    if trials.stopped != EndedBy.INTERRUPT.of():
        _NEWEST[model] = what, trials
