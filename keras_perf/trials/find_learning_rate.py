"""The learning rate at which the loss falls fastest, found by Smith's range test."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import keras
import numpy as np
from numpy.typing import NDArray

from keras_perf.observers.delayed_signals import interruptible, uninterrupted
from keras_perf.records.arguments import require_int, require_number
from keras_perf.records.reasons.why_not_tried import EndedBy
from keras_perf.trials.backends.chosen import trial_backend
from keras_perf.trials.compiled import require_compiled
from keras_perf.trials.kept_draws import kept_draws
from keras_perf.trials.kept_in_run import KeptInRun
from keras_perf.trials.learning_rate.learning_rate_curve import (
    LearningRateCurve,
    curve_of,
    first_diverged,
    smoothed_losses,
    window_of,
)
from keras_perf.trials.learning_rate.losses import Losses
from keras_perf.trials.measuring.progress import Pace, Progress

if TYPE_CHECKING:
    import tensorflow as tf

AT_ONCE = 10
"""Steps in one call: between two calls divergence is noticed, and Ctrl-C."""


@kept_draws()
def find_learning_rate(
    model: keras.Model,
    dataset: tf.data.Dataset | tuple[Any, ...],
    *,
    lowest: float = 1e-7,
    highest: float = 10.0,
    steps: int = 100,
    smoothing: float = 0.9,
    log_dir: str | os.PathLike[str] | None = None,
) -> LearningRateCurve:
    """The learning rate at which the loss falls steepest while the rate grows.

    This is the range test of L. N. Smith, "Cyclical Learning Rates for Training Neural Networks",
    2017 (arXiv:1506.01186), with a rate that grows by the same factor from step to step. The steps
    are the model's own train function, in a loop around it. Weights, optimizer with its learning
    rate and iterations, metrics and random seeds are put back as they were, bit for bit, also when
    a step raises. So does Ctrl-C, which ends the test with the rates tried by then.

    The rule: each batch's loss is smoothed by an exponential mean without bias. With `smoothing`
    0.9, which is about a mean of w = 10 steps, the first w smoothed losses are left out, and those
    behind the least one. Where the smoothed loss falls most within w steps, the rate in the middle
    is suggested; a smoothed loss counts for the mean of the steps it is made of, by their weights,
    not for the last one. A sudden fall is placed too low, by about a factor of two. It is
    inconclusive if the loss falls by less than five times the standard error of such a fall, or
    falls most at either end of the range.

    Returns:
        A `LearningRateCurve`: `.suggestion` (NaN if inconclusive), `.reason`, `.to_frame()`,
        `.plot()`; print it. It ends where the smoothed loss is not finite, or lies above its least
        by three times the least or three times what it had fallen, whichever is more.

    Arguments:
        model: compiled, with a learning rate that is a number.
        dataset: batches, as given to `fit`; it is repeated without end. Steps take a copy, so
            that its shuffles keep their orders. Where TensorFlow can write no copy
            (`from_generator`, more than 2 GiB in memory), it is iterated itself. On JAX also
            arrays, `(x, y)`, in batches of 32.
        lowest: rate of the first step.
        highest: rate of the last step.
        steps: steps of training at most.
        smoothing: weight of the past in the exponential mean, at least 0 and below 1.
        log_dir: of the callbacks: the curve is written there, and the HTML page and TensorBoard's
            Performance tab show it with the run. None writes nothing.

    Raises:
        TypeError: `dataset` is no `tf.data.Dataset` (on JAX: nor arrays), or a number is none.
        ValueError: the model is not compiled, runs eagerly, has a schedule as its learning rate, or
            logs no loss, or its train step writes or changes what is no variable (`try_advice`
            says what); the dataset is empty or not batched, writes files of the user's, or holds
            more in memory than copies have room for; or a number is out of its range.
        LookupError: the model makes a train function of its own.
        OSError: `log_dir` cannot be written.
        NotImplementedError: Keras computes with neither TensorFlow nor JAX.

    What it cannot see: a rate that suits a later phase of training; warm-up or decay; a loss that
    drifts because the batches are sorted. State that a `train_step` keeps in Python is not put
    back.

    Example:
    >>> found = keras_perf.find_learning_rate(model, dataset)
    >>> print(found)
    >>> if found.suggestion == found.suggestion:  # no NaN
    ...     model.optimizer.learning_rate = found.suggestion
    """
    _check(model, dataset)
    lowest, highest, smoothing = _numbers(lowest, highest, smoothing)
    least = 5 * window_of(smoothing)
    remedy = f" smoothing={smoothing} needs {least} to tell a fall."
    steps = require_int("steps", steps, least, remedy)
    run = KeptInRun(log_dir)
    ramp = trial_backend().ramp(model, dataset)
    rates = np.geomspace(lowest, highest, steps)
    losses: list[float] = []
    with uninterrupted(), ramp as made:
        stopped = _ramp(made, rates, smoothing, losses)
    tried = rates[: len(losses)] if stopped else rates
    curve = curve_of(tried.tolist(), losses, smoothing)
    if stopped:
        curve = curve.cut_short(stopped)
    run.keep({"learning_rates": curve.record})
    return curve


def _ramp(
    made: Callable[[], Losses], rates: NDArray[np.float64], smoothing: float, losses: list[float]
) -> str:
    """Adds the loss at each rate, until it diverges; returns what ended it before, or "".

    Arguments:
        made: the steps, which are compiled when they first run.
        rates: from the lowest.
        smoothing: of the losses.
        losses: those of the steps that were run.
    """
    progress, pace = Progress(), Pace(len(rates))
    progress.begins(f"learning rates, in {len(rates)} steps of training at most")
    try:
        with interruptible():
            train = made()
            for begin in range(0, len(rates), AT_ONCE):
                progress.tries(f"rates from step {begin + 1} of {len(rates)}", pace.left_s(begin))
                losses.extend(train(rates[begin : begin + AT_ONCE]).tolist())
                if first_diverged(smoothed_losses(losses, smoothing)) is not None:
                    break
    except KeyboardInterrupt:
        return EndedBy.INTERRUPT.of()
    finally:
        progress.ends()
    return ""


def _check(model: keras.Model, dataset: Any) -> None:
    trial_backend().check_data(dataset)
    require_compiled(model)
    if model.run_eagerly:
        raise ValueError(
            "model must not run eagerly, got run_eagerly=True. Compile without it for this test."
        )
    if not hasattr(getattr(model.optimizer, "learning_rate", None), "assign"):
        raise ValueError(
            "learning rate must be a number that can be set, got a schedule or function. Compile "
            "with a number for this test, Adam(1e-3) say; the suggestion is for the peak of the "
            "schedule."
        )


def _numbers(lowest: float, highest: float, smoothing: float) -> tuple[float, float, float]:
    lowest = require_number("lowest", lowest, above=0, remedy="The default is 1e-7.")
    highest = require_number("highest", highest, above=lowest, remedy="It must be above lowest.")
    smoothing = require_number("smoothing", smoothing, above=-1e-9, remedy="The default is 0.9.")
    if smoothing >= 1:
        raise ValueError(f"smoothing must be below 1, got {smoothing!r}. The default is 0.9.")
    return lowest, highest, smoothing
