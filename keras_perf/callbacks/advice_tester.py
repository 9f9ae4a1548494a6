"""AdviceTester."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from keras_perf.advise.step.step_model import OUTSIDE
from keras_perf.analyse.training import newest_training
from keras_perf.callbacks.observing_callback import ObservingCallback
from keras_perf.callbacks.tried_already import has_tried, tried_already, what_is_tried
from keras_perf.observation.facts.input.tf_data import tensorflow_of
from keras_perf.observation.observation import Observation
from keras_perf.observation.of_fit.calling_fit import batches_of_arrays
from keras_perf.observation.of_fit.fit import FitObservation
from keras_perf.records.advice_ids import RAISE_STEPS_PER_EXECUTION
from keras_perf.records.arguments import existing_directory, require_bool, require_number
from keras_perf.records.text.error_line import error_line
from keras_perf.trials.environment.settings import named_settings
from keras_perf.trials.rewriting.allowed import Allowed


class AdviceTester(ObservingCallback):
    """Tries, when `fit` is over, all advice that a machine can follow; see `try_advice`.

    The diagnosis then shows what was measured in place of what it would predict. Model, optimizer,
    metrics and seeds are as `fit` left them, but for what `try_advice` cannot see; Ctrl-C ends the
    trials, and what was found is kept.

    Arguments:
        log_dir: the directory that TensorBoard is started on; str or os.PathLike.
        any_order, any_random_numbers: what may change of the examples, as in `try_advice`.
        budget_s: seconds to spend at most; what would take longer than what is left is not begun.
        environment_s: seconds more for settings of the environment; None tries none.
        environment: variables of your own to try then, too.
        cache_dir: an existing directory, where a cache on trial may keep what does not fit into
            half of the free memory. What pays stays there, for the code shown.

    Raises:
        TypeError, ValueError, OSError: a wrong argument, or `log_dir` cannot be written.

    How many steps to run per execution is left to `StepsPerExecutionRecommender`, where there is
    one. Callbacks with hooks of batches are left out on trial, one by one, to tell what each costs:
    copies of them are called, of those whose code names nothing but what is known to compute, wait
    or read. Others, which may write files or steer training, are named as not tried.

    After another `fit` of the same model, optimizer, input and callbacks nothing is tried again, as
    in a loop that calls `fit`: the trials stand in the report as those of an earlier training. A
    model that was compiled again, or a pipeline of other stages, is tried; for one whose stages
    have other numbers call `try_advice`.

    Of arrays Keras's own batches are read again, without a copy of the arrays and with the weights
    of classes and examples; nothing of that pipeline is rewritten, and settings of the environment
    are not tried. It tries nothing, and says why, where the input is neither arrays nor a
    `tf.data.Dataset`, where the model trains on several workers, or on arrays under a strategy that
    shares their batches out; and nothing after a `fit` that failed. `class_weight` of a `fit` on a
    dataset is not in the trials. On JAX only a `tf.data.Dataset` is tried.

    >>> import keras_perf as kp
    >>> callbacks = kp.perf_callbacks("logs/run1", try_advice=True)
    """

    ends_last = True

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        *,
        any_order: bool = False,
        any_random_numbers: bool = False,
        budget_s: float = 30.0,
        environment_s: float | None = None,
        environment: Mapping[str, str] | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(log_dir)
        self.allowed = Allowed(
            order=require_bool("any_order", any_order),
            random_numbers=require_bool("any_random_numbers", any_random_numbers),
        )
        self.budget_s = require_number("budget_s", budget_s, above=0, remedy="The default is 30.0.")
        if environment_s is not None:
            remedy = "None tries none."
            environment_s = require_number("environment_s", environment_s, above=0, remedy=remedy)
        self.environment_s = environment_s
        self.named = named_settings(environment, environment_s)
        self.cache_dir = existing_directory("cache_dir", cache_dir)

    def observation_begins(self, observation: Observation) -> None:
        """The run that is written to."""
        observation.recording.writer(self.log_dir)

    def leaves(self, aborted: bool) -> None:
        """Tries, unless there is nothing to try it on."""
        fit = self.observation
        if aborted or not isinstance(fit, FitObservation) or not fit.step > fit.first_step:
            return
        recording = fit.recording
        # A larger batch on trial needs more than the training did.
        recording.settle("device_memory", "gpu_memory_peak_mib", "dataset")
        own = self.allowed, self.budget_s, self.environment_s, self.named, self.cache_dir
        what = what_is_tried(fit, own)
        if (before := tried_already(fit.model, what)) is not None:
            recording.facts = replace(recording.facts, tried_before=before)
            return
        try:
            trials = self._tried(fit)
        except Exception as error:  # noqa: BLE001  what TensorFlow, Keras or the user's code raises
            recording.not_known["advice_trials"] = error_line(error)
            return
        recording.facts = replace(recording.facts, advice_trials=trials)
        has_tried(fit.model, what, trials)

    def _tried(self, fit: FitObservation) -> Any:
        data, graph = self._input(fit)
        from keras_perf.callbacks.copied_callbacks import copied
        from keras_perf.trials.backends.chosen import training_backend
        from keras_perf.trials.trying import tried_advice

        start_up = fit.recording.facts.start_up
        hooked = [callback for callback, _ in fit.batch_hooks]
        callbacks, left_out = copied(hooked)
        named = {each.where for each in left_out}
        others = [callback for callback in hooked if type(callback).__name__ in named]
        trials = tried_advice(
            fit.model,
            data,
            graph=graph,
            callbacks=callbacks,
            others_wait=bool(others) and training_backend().waits(others),
            mid_epoch=True,
            # That of an epoch that was stopped says nothing.
            epoch_steps=None if fit.model.stop_training else fit.epoch_steps,
            allowed=self.allowed,
            budget_s=self.budget_s,
            environment_s=self.environment_s,
            named=self.named,
            cache_dir=self.cache_dir,
            without=(RAISE_STEPS_PER_EXECUTION,) if fit.recording.facts.trial else (),
            outside_ms=self._outside_ms(fit),
            making_s=0.0 if start_up is None else start_up.first_execution_s,
        ).trials
        return replace(trials, not_tried=(*trials.not_tried, *left_out))

    def _input(self, fit: FitObservation) -> tuple[Any, Any]:
        """A dataset, and what stands for it where it is not to be written as a graph.

        Raises:
            ValueError: the input cannot be read a second time.
        """
        if tensorflow_of(fit.data) is not None:
            return fit.data, None
        if (why := fit.backend.datasets_alone) is not None:
            raise ValueError(why)
        made = batches_of_arrays()
        if made is None and fit.input_kind == "arrays":
            raise ValueError(f"what Keras made of {type(fit.data).__name__} was not found")
        if made is None:
            raise ValueError(
                "only arrays and a tf.data.Dataset can be read a second time, got "
                f"{type(fit.data).__name__}"
            )
        if tensorflow_of(made.dataset) is None:
            made_by = type(fit.model.distribute_strategy).__name__
            raise ValueError(f"batches of arrays under {made_by} are not tried")
        from keras_perf.trials.rewriting.array_batches import ArrayBatches

        return made.dataset, ArrayBatches(made.dataset, made.rows, made.number)

    def _outside_ms(self, fit: FitObservation) -> float:
        """Of a step, as it was measured; 0 where StepGapDetector was not there to measure."""
        fit.recording.flush_now()
        if self.writer.fit is None:
            return 0.0
        try:
            parts = newest_training(self.log_dir, self.writer.fit).summary().parts
        except (OSError, ValueError):
            return 0.0
        return sum(parts.get(part, 0.0) for part in OUTSIDE)
