"""The observation of a running `fit`, shared by all of our callbacks on it."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import keras
import tensorflow as tf

from keras_perf.observation.callback_timing import CallbackRelay, fit_arguments, is_being_called
from keras_perf.observation.dataset_graph import dataset_graph
from keras_perf.observation.listener import Plan
from keras_perf.observation.model_facts import (
    compiles_for_shapes,
    count_over_replicas,
    counts_every_step,
    is_endless,
    kind_of_input,
    optimizer_iterations,
    steps_are_capped,
)
from keras_perf.observation.observation import Observation, harmless
from keras_perf.observation.trial_conditions import (
    EAGER_FUNCTIONS,
    called_less_often,
    reason_not_to_try,
)
from keras_perf.observers.asking import Questions
from keras_perf.records.execution import Kind
from keras_perf.trials.repeated_function import RepeatedFunction, each_calls_logs
from keras_perf.trials.train_function import TrainFunction


class FitObservation(Observation):
    """Wraps the model's train function and the callback list for the time of one `fit`.

    Attributes:
        answering: Keras is being answered for steps that have already run, and its hooks are to
            be called as if the execution had not ended yet.
        epochs_differ: epochs were not all of one length.
        known_steps: steps of an epoch as Keras told them before the first one, or None.
        may_run_out: the data may end before the steps of an epoch that `fit` was told.
        replacements: how often a callback has made the train function anew.
    """

    def __init__(
        self,
        model: keras.Model,
        callbacks: keras.callbacks.CallbackList | None,
        when_closed: Callable[[FitObservation], None],
    ) -> None:
        if "train_function" not in vars(model):
            raise ValueError(
                f"train_function must be an attribute of the model, {type(model).__name__} has a "
                "property of that name"
            )
        super().__init__(
            model,
            model.train_function,
            int(model.steps_per_execution),
            first_step=optimizer_iterations(model) or 0,
        )
        self._when_closed = when_closed
        params = callbacks.params if callbacks is not None else {}
        epochs, steps = params.get("epochs"), params.get("steps")
        self.epochs = None if epochs is None else int(epochs)
        self.epoch_steps = self.known_steps = None if steps is None else int(steps)
        self._epoch_iterations: int | None = None
        self.epochs_differ = False
        arguments = fit_arguments()
        self.whole_executions = arguments.get("steps_per_epoch") is not None or steps_are_capped()
        self.may_run_out = self.whole_executions and not is_endless(arguments.get("x"))
        self.input_kind = kind_of_input(arguments.get("x"))
        self._dataset_graph = dataset_graph(arguments.get("x"))
        self._shapes_differ = False
        self._epochs_done = 0
        self._exhausted = False
        self.answering = self._silent = False
        self._answers: Iterator[Any] = iter(())
        self._answers_left = 0
        self.replacements = 0
        self._wrapper: TrainFunction = self._execute
        self._repeated: RepeatedFunction | None = None
        self._tracing_s = 0.0
        self._hooks_have_changed = False
        self._observe_train_function()
        self._list = weakref.ref(callbacks) if callbacks is not None else lambda: None
        self._relay = CallbackRelay(callbacks, self) if callbacks is not None else None
        if self._relay is None:
            # Nobody tells when the loop calls.
            self._put(self._wrapper)

    # -- what only `fit` knows -----------------------------------------------------------

    def is_of(self, callbacks: keras.callbacks.CallbackList | None) -> bool:
        """It observes the `fit` that these callbacks are called from."""
        return self._list() is callbacks

    @property
    def in_a_hook(self) -> bool:
        """A callback of its `fit` is at work: a `fit` that begins now is inside of it."""
        return not self.closed and is_being_called(self._list())

    @property
    def relayed(self) -> bool:
        """The callback list was found: its end is told and its callbacks are timed."""
        return self._relay is not None

    @property
    def batch_hooks(self) -> list[tuple[keras.callbacks.Callback, str]]:
        """Every callback with a batch hook of its own, with `Class.hook`."""
        return self._relay.batch_hooks if self._relay is not None else []

    @property
    def shapes_differ(self) -> bool:
        """XLA compiles the steps, and batches may differ in more than their number of rows."""
        # Between epochs there is no pipeline to ask.
        differ = bool(self.model.jit_compile) and compiles_for_shapes(self.pipeline)
        self._shapes_differ = self._shapes_differ or differ
        return self._shapes_differ

    @property
    def steps_left(self) -> int:
        """Steps until `fit` ends, by the length of an epoch."""
        in_all = (self.epochs or 1) * (self.epoch_steps or 0)
        return max(0, in_all - (self.step - self.first_step))

    @property
    def extra_traces(self) -> int:
        """Loops around the train function that were traced for trials."""
        return 0 if self._repeated is None else self._repeated.traces

    @property
    def tracing_s(self) -> float:
        """Seconds that took."""
        return self._tracing_s

    def settings(self) -> Questions:
        """Keras's settings of the `fit`."""
        model = self.model
        return {
            "run_eagerly": lambda: bool(model.run_eagerly),
            "jit_compile": lambda: bool(model.jit_compile),
            "optimizer": lambda: type(model.optimizer).__name__,
            "strategy": lambda: type(model.distribute_strategy).__name__,
            "replicas": lambda: int(model.distribute_strategy.num_replicas_in_sync),
            "function_replacements": lambda: self.replacements,
            "dataset": lambda: self._dataset_graph,
            "batch_hooks": lambda: sorted({owner for _, owner in self.batch_hooks}),
        }

    def examples_per_step(self) -> float | None:
        """From the loss metric, which counts examples since the epoch began.

        Only Keras's own train step is known to give it the number of examples as weight.
        """
        if not self.batch or type(self.model).train_step is not keras.Model.train_step:
            return None
        for metric in self.model.metrics[:1]:
            if isinstance(metric, keras.metrics.Mean) and metric.name == "loss":
                count = count_over_replicas(metric.count, self.model.distribute_strategy)
                return count / self.batch if count > 0 else None
        return None

    def reason_not_to_try(self) -> str | None:
        """Why no other number of steps per execution can be tried in this `fit`, or None."""
        return reason_not_to_try(
            self.model, self.batch_hooks, self.known_steps, may_run_out=self.may_run_out
        )

    def called_less_often(self) -> list[str]:
        """The user's batch hooks (`Class.hook`) that more steps per execution would call less."""
        return called_less_often(self.batch_hooks)

    def at_most(self, steps: int) -> int:
        """All of them, if so many are left in the epoch and it is not being stopped; else none."""
        if self.model.stop_training:
            return 0
        fits = self.batch + steps <= (self.epoch_steps or 0) and not self.epochs_differ
        return steps if fits else 0

    def refuses(self, steps: int) -> str | None:
        """Looks up what a call with this iterator runs, and puts a loop around it."""
        assert self.pipeline is not None
        if tf.config.functions_run_eagerly():
            return EAGER_FUNCTIONS
        if self._hooks_have_changed:
            self._hooks_have_changed = False
            if (reason := self.reason_not_to_try()) is not None:
                return reason
        begin = time.perf_counter()
        try:
            repeated = self._repeated = self._repeated or RepeatedFunction(self._function)
            repeated.prepare(self.pipeline.iterator)
            return repeated.differs
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            return f"the train function cannot be repeated ({error!r})"
        finally:
            self._tracing_s += time.perf_counter() - begin

    def longer(self, plan: Plan, steps: int, kind: Kind) -> Plan:
        """Keras's next calls are answered for the steps that run ahead of them."""
        assert self._repeated is not None
        calls = steps // plan.steps
        function = partial(self._repeated.run, calls=calls)
        return plan._replace(function=function, steps=steps, kind=kind, calls=calls)

    # -- the hot path --------------------------------------------------------------------

    def _observe_train_function(self) -> None:
        self._function: TrainFunction = self.model.train_function
        self._repeated = None
        self._runs(self._function)

    def _put(self, function: TrainFunction) -> None:
        """Makes it the model's train function.

        Past Keras's own `__setattr__`, which looks for variables to track and takes 3 µs.
        """
        vars(self.model)["train_function"] = function

    def arm(self) -> None:
        """The loop calls the train function next, and it alone finds ours in its place.

        No hook does, so that none can keep it; but a hook may have made a new one.
        """
        found = self.model.train_function
        if found is None:
            # Compiled anew within training, which Keras does not survive.
            return
        if found is not self._function:
            self._follow()
        self._put(self._wrapper)

    def hooks_change(self) -> None:
        """A callback has got a batch hook since training began, or lost one."""
        self._hooks_have_changed = True

    @harmless
    def _follow(self) -> None:
        """The train function was made anew."""
        self.replacements += 1
        self._observe_train_function()
        self._tell("function_replaced")

    def _execute(self, iterator: Any) -> Any:
        """In place of the model's train function."""
        if self.relayed:
            self._put(self._function)
        if self.closed or self._is_of_another(iterator):
            return self._function(iterator)
        if self._answers_left:
            return self._next_answer()
        try:
            plan = self.begin(iterator)
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            self.gives_up(error)
            return self._function(iterator)
        try:
            if plan.around is None:
                logs = plan.function(iterator)
            else:
                with plan.around:
                    logs = plan.function(iterator)
        except (StopIteration, tf.errors.OutOfRangeError):
            self.timeline.discard()
            self._exhausted = True
            raise
        except BaseException:
            self.timeline.discard()
            self.close(aborted=True)
            raise
        self.returned(plan)
        if plan.calls == 1:
            return logs
        self._answers, self._answers_left = each_calls_logs(logs), plan.calls
        # A trial is one to nobody but us; what is applied is as if the user had set it.
        self._silent = plan.kind is not Kind.TRIAL
        return self._next_answer()

    def _is_of_another(self, iterator: Any) -> bool:
        """Another `fit` calls: ours was interrupted between `arm` and its call."""
        pipeline = self.pipeline
        # Without a relay nobody tells when an epoch, and so another iterator, begins.
        return (
            self.relayed
            and self.batch > 0
            and pipeline is not None
            and pipeline.iterator is not iterator
        )

    def _next_answer(self) -> Any:
        """The logs of the next call whose steps have run."""
        logs = next(self._answers)
        # They are read by now, by the first of these at least: the device is done.
        self.timeline.ready(self.now())
        self._answers_left -= 1
        self.answering = self._silent and self._answers_left > 0
        return logs

    # -- what happens between executions -------------------------------------------------

    @harmless
    def epoch_begins(self) -> None:
        """Called before the first execution of an epoch."""
        if not self._epochs_done:
            # Another callback may have restored a checkpoint when training began.
            self.first_step = self.step = optimizer_iterations(self.model) or 0
        self.batch = 0
        self._forget_answers()
        self._epoch_iterations = optimizer_iterations(self.model)
        self.mid_epoch = True
        self._exhausted = False
        self._stretch_limit = self._longest_stretch()

    def _forget_answers(self) -> None:
        self._answers_left, self.answering = 0, False

    @harmless
    def epoch_ends(self, *, validates: bool = False) -> None:
        """Called when an epoch's last execution is over; again calls do nothing."""
        if not self.mid_epoch or (validates and self._answers_left):
            # In the middle of answers it is somebody's callback that evaluates.
            return
        self.mid_epoch = False
        self._forget_answers()
        missing = self._missing_steps()
        self.step -= missing
        self.batch -= missing
        self.epochs_differ |= bool(self._epochs_done) and self.batch != self.epoch_steps
        self.epoch_steps = self.batch
        # XLA compiles for the smaller last batch the first time it comes, without a new trace.
        may_have_compiled = bool(self.model.jit_compile) and not self._epochs_done
        self._epochs_done += 1
        # tf.data's count of gaps after the end of the data is known for single steps only.
        reliable = not self._exhausted or self.steps_per_execution == 1
        self.interrupt(
            int(self._exhausted) if reliable else None,
            validates=validates,
            missing_steps=missing,
            may_have_compiled=may_have_compiled,
        )
        self.pipeline = None

    def _missing_steps(self) -> int:
        """Steps that the epoch's last execution ran fewer than steps_per_execution.

        Where Keras knows the length of the data, that tells. Else the optimizer does, if it
        counts every step: with loss scaling or gradient accumulation it does not.
        """
        if self.steps_per_execution == 1:
            return 0
        expected = self.batch
        if self.known_steps is not None:
            expected = self.batch if self.whole_executions else self.known_steps
        elif self._epoch_iterations is not None and counts_every_step(self.model.optimizer):
            expected = (optimizer_iterations(self.model) or 0) - self._epoch_iterations
        missing = self.batch - expected
        return missing if 0 < missing < self.steps_per_execution else 0

    def _give_back(self) -> None:
        if vars(self.model).get("train_function") is self._wrapper:
            self._put(self._function)
        if self._relay is not None:
            self._relay.restore()
        self._when_closed(self)
