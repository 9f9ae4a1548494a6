"""The observation of a running `fit`, shared by all of our callbacks on it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import keras

from keras_perf.observation.backend import Backend, TrainFunction
from keras_perf.observation.facts.ending_facts import ended_by
from keras_perf.observation.facts.model_facts import require_train_function, trained_steps
from keras_perf.observation.failure_line import given_back_if_it_fails, harmless
from keras_perf.observation.listener import Plan
from keras_perf.observation.observation import Observation
from keras_perf.observation.of_fit.answers_to_keras import Answers
from keras_perf.observation.of_fit.callback_timing import CallbackTiming
from keras_perf.observation.of_fit.calling_fit import asked_of_fit, epochs_from, is_being_called
from keras_perf.observation.of_fit.epoch_length import EpochLength, ExamplesPerStep
from keras_perf.observation.of_fit.own_iterators import OwnIterators
from keras_perf.observation.of_fit.put_train_function import put_train_function
from keras_perf.observation.trials import TrialsInFit
from keras_perf.observers.asking import Questions
from keras_perf.records.execution import Kind


class FitObservation(Observation):
    """Wraps the model's train function and the callback list for the time of one `fit`.

    Attributes:
        answers: what Keras's next calls are given for steps that have run ahead of them.
        validations: watches them.
        examples: of a step.
        data: what it trains on, as it was given; None once the `fit` is over.
        times_callbacks: the callback list was found, which also tells when `fit` ends.
        replacements: how often a callback has made the train function anew.
    """

    def __init__(
        self,
        model: keras.Model,
        backend: Backend,
        callbacks: keras.callbacks.CallbackList | None,
        when_closed: Callable[[FitObservation], None],
        clock: Callable[[], int],
    ) -> None:
        require_train_function(model)
        function, steps = model.train_function, int(model.steps_per_execution)
        first, called = trained_steps(model), backend.called(function)
        super().__init__(model, backend, called, steps, clock=clock, first_step=first)
        self._when_closed, self.times_callbacks = when_closed, callbacks is not None
        self._list = weakref.ref(callbacks) if callbacks is not None else lambda: None
        asked = asked_of_fit(callbacks)
        self.data, enqueuer = asked.data, asked.enqueuer
        self._asked = asked = asked._replace(data=None, enqueuer=None)
        self.epochs, self.epoch_steps = asked.epochs, asked.epoch_steps
        self.input_kind = asked.input_kind
        self.recording.learn({"batch_rows": lambda: asked.batch_rows})
        self._length, self._iterators = EpochLength(model, asked), OwnIterators(in_fit=asked.found)
        tell = partial(self.audience.tell, "validation_ends")
        self.validations = backend.validations(model, tell, clock)
        self.answers, self._epochs_done, self._exhausted, self.replacements = Answers(), 0, False, 0
        self.trials: TrialsInFit = backend.trials(self, asked, lambda: self.batch_hooks)
        with given_back_if_it_fails(self._collector.stop, backend.release) as taken:
            self._collector.start()
            self._wrapper = backend.stand_in(model, self._execute)
            self._observe_train_function()
            self._calls_in_hooks = backend.calls_in_hooks(
                model, clock, lambda error: self.close(aborted=True, ending=ended_by(error))
            )
            taken.append(self._calls_in_hooks.restore)
            evaluates = self._calls_in_hooks.evaluates if backend.counts_by_loss else dict
            self.examples = ExamplesPerStep(model, backend, evaluates, asked.mean_rows)
            backend.time_workers(enqueuer)
            # Last: from here on hooks of the list ask for all that is above.
            self._timing = CallbackTiming(callbacks, self) if callbacks is not None else None
        if self._timing is None:
            # Nobody tells when Keras calls.
            put_train_function(self.model, self._wrapper)

    # -- what only `fit` knows -----------------------------------------------------------

    def is_of(self, callbacks: keras.callbacks.CallbackList | None) -> bool:
        """It observes the `fit` that these callbacks are called from."""
        return self._list() is callbacks

    @property
    def in_a_hook(self) -> bool:
        """A callback of its `fit` is at work: a `fit` that begins now is inside of it."""
        return not self.closed and is_being_called(self._list())

    @property
    def batch_hooks(self) -> list[tuple[keras.callbacks.Callback, str]]:
        """Every callback with a batch hook of its own, with `Class.hook`."""
        return self._timing.batch_hooks if self._timing is not None else []

    @property
    def compiled_by_xla(self) -> bool:
        """As Keras has decided, or was told."""
        return self.backend.compiles_unseen(self.model)

    def settings(self) -> Questions:
        """Keras's settings of the `fit`."""
        return {
            **self.backend.settings(self.model),
            "driver": lambda: self._iterators.driver,
            "epochs_run": lambda: self._epochs_done if self.model.stop_training else None,
            "function_replacements": lambda: self.replacements,
            "predicts": self._calls_in_hooks.predicts,
            "evaluates": self._calls_in_hooks.evaluates,
            "batch_hooks": lambda: sorted({owner for _, owner in self.batch_hooks}),
            **(self._timing.settings() if self._timing else {}),
            **self._asked.facts,
        }

    def examples_per_step(self) -> float | None:
        """As they are counted."""
        return self.examples.after(self.batch)

    # -- the hot path --------------------------------------------------------------------

    def _observe_train_function(self) -> None:
        self._found = self.model.train_function
        self._function: TrainFunction = self.backend.called(self._found)
        self.trials.runs(self._function)
        self._runs(self._function)

    def arm(self) -> None:
        """Keras calls the train function next, and it alone finds ours in its place.

        No hook does, so that none can keep it; but a hook may have made a new one.
        """
        found = self.model.train_function
        if found is None or found is self._wrapper:
            # Compiled anew within training, which Keras does not survive; or not called since.
            return
        if found is not self._found:
            self._follow()
        put_train_function(self.model, self._wrapper)

    @harmless
    def _follow(self) -> None:
        """The train function was made anew."""
        self.replacements += 1
        self.work.several = True
        self._observe_train_function()
        self.audience.tell("function_replaced")

    def _execute(self, *arguments: Any, **named: Any) -> Any:
        """In place of the model's train function; one with other arguments is only called."""
        if self.times_callbacks:
            put_train_function(self.model, self._found)
        if named or len(arguments) != 1:
            return self._found(*arguments, **named)
        iterator = arguments[0]
        pipeline = self.pipeline
        known = pipeline is not None and pipeline.iterator is iterator
        if self.closed or (not known and self._iterators.is_of_another(self._within_epoch)):
            return self._function(iterator)
        if self.answers.left:
            return self._next_answer()
        try:
            plan = self.begin(iterator)
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            self.fails(error)
            return self._function(iterator)
        logs = self._run(plan, iterator)
        self.returned(plan)
        if plan.calls == 1:
            return logs
        # A trial is one to nobody but us; what is applied is as if the user had set it.
        self.answers.fill(logs, plan.calls, as_one=plan.kind is not Kind.TRIAL)
        return self._next_answer()

    def _run(self, plan: Plan, iterator: Any) -> Any:
        try:
            if plan.around is None:
                return plan.function(iterator)
            with plan.around:
                return plan.function(iterator)
        except BaseException as error:
            self.timeline.discard()
            self._exhausted = isinstance(error, self.backend.end_of_data)
            if not self._exhausted:
                self.close(aborted=True, ending=ended_by(error))
            raise

    @property
    def _within_epoch(self) -> bool:
        """Without the callback list nobody tells when one, and so another iterator, begins."""
        return self.times_callbacks and self.batch > 0 and self.pipeline is not None

    def _next_answer(self) -> Any:
        """The logs of the next call whose steps have run."""
        logs = self.answers.take()
        # They are read by now, by the first of these at least: the device is done.
        self.timeline.ready(self.now())
        return logs

    # -- what happens between executions -------------------------------------------------

    @harmless
    def epoch_begins(self, epoch: int) -> None:
        """Called before the first execution of the epoch of this number."""
        if not self._epochs_done:
            # Another callback may have restored a checkpoint when training began.
            self.first_step = self.step = trained_steps(self.model)
            self.epochs = epochs_from(epoch, self.epochs)
        self.batch = 0
        self.answers.forget()
        self._length.epoch_begins()
        self.mid_epoch, self._exhausted = True, False
        self.pace.limit_stretch(self.epoch_steps, self.batch)

    @harmless
    def epoch_ends(self, *, validates: bool = False) -> None:
        """Called when an epoch's last execution is over; again calls do nothing."""
        if not self.mid_epoch or (validates and self.answers.left):
            # In the middle of answers it is somebody's callback that evaluates.
            return
        self.mid_epoch = False
        self.answers.forget()
        missing = self._length.missing_steps(self.batch, self.steps_per_execution)
        self.step, self.batch = self.step - missing, self.batch - missing
        self.trials.epoch_ended(self.batch)
        self.epoch_steps = self.epoch_steps if self.model.stop_training else self.batch
        # XLA compiles for the smaller last batch the first time it comes, without a new trace.
        smaller = self.rows_differ is not False
        compiled = self.compiled_by_xla and smaller and not self._epochs_done
        self._epochs_done += 1
        # tf.data's count of gaps after the end of the data is known for single steps only.
        reliable = not self._exhausted or self.steps_per_execution == 1
        gaps = int(self._exhausted or missing > 0) if reliable else None
        self.interrupt(gaps, validates=validates, missing_steps=missing, may_have_compiled=compiled)
        self.work.was_fed(self.pipeline)
        self.pipeline = None

    def _lets_go(self) -> None:
        self.data = None
        self._when_closed(self)

    def _give_back(self) -> None:
        self.validations.release()
        self._calls_in_hooks.restore()
        if vars(self.model).get("train_function") is self._wrapper:
            put_train_function(self.model, self._found)
        if self._timing is not None:
            self._timing.restore()
