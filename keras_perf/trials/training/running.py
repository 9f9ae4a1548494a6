"""A training that runs on trial."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any

import keras

from keras_perf.trials.backends.backend import KeptTraining
from keras_perf.trials.backends.chosen import training_backend
from keras_perf.trials.measuring.own_iterator import Feed
from keras_perf.trials.measuring.slices import Stretch, unit_ms
from keras_perf.trials.training.batches.batch_numbers import BatchNumbers
from keras_perf.trials.training.setup import Setup

SLICE_S = 0.15
"""Seconds of one training before it is the other's turn; as long it runs before, not counted."""

SETTLING_S = 3.0
"""Most seconds until a training goes its usual way."""

COMPILES_S = 0.02
"""XLA takes longer to compile a step."""

FAR_LONGER = 5.0
"""An execution in which XLA compiles takes more than so many times as long as the quickest."""

SETTLED = 1.25
"""It does if it has not become so many times as fast."""


class TrainFunctions:
    """The train functions of a model, one for each way to run it, each made once.

    Arguments:
        kept: what is put back afterwards; it learns of the variables that each function uses.
    """

    def __init__(self, kept: KeptTraining) -> None:
        self._kept = kept
        self._made: dict[tuple[int, int, bool, bool], Any] = {}
        self.numbers = BatchNumbers()

    def of(self, setup: Setup, iterator: Any) -> Any:
        """The function for such a training, ready for the iterator.

        Raises:
            LookupError: it is none of Keras's, which alone is known to run several steps.
            ValueError: several replicas train otherwise with it.
        """
        backend, model, steps = training_backend(), setup.model, setup.steps
        settings = {"jit_compile": setup.jit_compile, "run_eagerly": setup.run_eagerly}
        key = id(model), steps, setup.jit_compile, setup.run_eagerly
        if key not in self._made:
            made = backend.train_function(model, steps, iterator, **settings)
            if setup.calls > 1:
                self._kept.also(made, iterator)
                present = partial(self.of, replace(setup, calls=1), iterator)
                backend.require_several(model, made, present, iterator, setup.calls)
            self._made[key] = made
        self._kept.also(self._made[key], iterator)
        return self._made[key]

    def executions(
        self, setup: Setup, function: Any, iterator: Any
    ) -> AbstractContextManager[Callable[[], Any]]:
        """In which such a training's function is called, each time for its logs."""
        backend = training_backend()
        return backend.executions(self._kept, function, setup.model, setup.steps, iterator)


class RunningTraining:
    """Executions as `fit` runs them, in an epoch without an end.

    Arguments:
        setup: what is trained, and how.
        functions: where its train function comes from.
        clock: seconds.
        feed: of the same input, to share; another one if it is None.

    Attributes:
        feed: where its batches come from.
        compiles: the steps, with XLA.
        making_s: seconds until its train function was there and had run once.
        hooks_s: seconds in hooks of callbacks so far, of `executed_s` in executions with them.
    """

    def __init__(
        self,
        setup: Setup,
        functions: TrainFunctions,
        clock: Callable[[], float] = time.perf_counter,
        feed: Feed | None = None,
    ) -> None:
        self._setup, self._clock = setup, clock
        self.feed = feed or Feed(setup.dataset(), setup.strategy)
        self.compiles = setup.jit_compile
        begin = clock()
        self._backend, self._functions = training_backend(), functions
        with self.feed.held() as iterator, self._backend.eager_only_if(setup.run_eagerly):
            self._function = functions.of(setup, iterator)
        self.making_s, self._has_run = clock() - begin, False
        self._steps, self._numbers = setup.steps, functions.numbers
        if setup.callbacks and self._numbers.of_epoch is None:
            self._numbers.of_epoch = setup.graph.batches
        self._quickest_s, self._long_s, self._slices_s = float("inf"), list[float](), list[float]()
        self.hooks_s = self.executed_s = 0.0
        # Of the model that they have, also where a copy of it is trained.
        model = setup.callbacks[0].model if setup.callbacks else setup.model
        self._waits = setup.others_wait or self._backend.waits(setup.callbacks)
        self._hooks = None
        if setup.keras_loop:
            self._hooks = _begun(hooks_of(model, setup.callbacks, reads=setup.others_wait))

    def settle(self) -> float:
        """Runs until it goes its usual way, compiled and tuned; milliseconds of a step then."""
        before_ms = float("inf")
        with self.feed.held():
            self._run_first()
            begin = self._clock()
            while self._clock() - begin < SETTLING_S:
                now_ms = self._run_for(SLICE_S / 2).unit_ms
                if now_ms * SETTLED > before_ms:
                    return now_ms
                before_ms = now_ms
        return before_ms

    def _run_first(self) -> None:
        """The first execution, in which XLA compiles."""
        if not self._has_run:
            self.making_s += self._run_for(0.0).seconds
            self.hooks_s = self.executed_s = 0.0
            self._has_run = True

    def step_ms(self) -> float:
        """A step of the present batch size, in a slice of training."""
        begin = self._clock()
        rests = self._setup.collector_rests
        with self.feed.held(), _resting_collector() if rests else nullcontext():
            step_ms = unit_ms(self._run_for, SLICE_S)
        self._slices_s.append(self._clock() - begin)
        return step_ms

    @property
    def slice_s(self) -> float:
        """Seconds of one of its slices, the median, with what comes before; 0 before the first."""
        return median(self._slices_s) if self._slices_s else 0.0

    @property
    def compilations_s(self) -> list[float]:
        """Seconds of each execution so far in which XLA seems to have compiled for a length.

        What it cannot see: compilations hardly longer than the quickest execution; whether
        something else on the machine made it so long.
        """
        longer_s = FAR_LONGER * self._quickest_s
        return [s for s in self._long_s if self.compiles and s > longer_s]

    def _run_for(self, seconds: float) -> Stretch:
        """Steps of the present batch size, in so many seconds; at least one execution."""
        setup, backend = self._setup, self._backend
        with (
            self.feed.held() as iterator,
            backend.eager_only_if(setup.run_eagerly),
            self._functions.executions(setup, self._function, iterator) as execute,
        ):
            lasted, begin = list[float](), self._clock()
            while not lasted or self._clock() - begin < seconds:
                began = self._clock()
                logs = self._execution(execute, self._numbers.take(self._steps))
                lasted.append(self._clock() - began)
                self._note(lasted[-1])
            if not self._waits:
                backend.read_logs(logs)
            units, calls = len(lasted) * self._steps * setup.rows, len(lasted)
            return Stretch(units, self._clock() - begin, calls, max(lasted))

    def _note(self, lasted_s: float) -> None:
        if not self._waits:
            # What was waited for may be other executions.
            return
        self._quickest_s = min(self._quickest_s, lasted_s)
        if lasted_s > COMPILES_S:
            self._long_s.append(lasted_s)

    def _execution(self, execute: Callable[[], Any], step: int) -> Any:
        """As in Keras's loop; to read the logs waits for the device."""
        if self._hooks is None:
            logs = execute()
            if self._waits:
                self._backend.read_logs(logs)
            return logs
        begin = self._clock()
        self._hooks.on_train_batch_begin(step)
        called = self._clock()
        logs = execute()
        returned = self._clock()
        self._hooks.on_train_batch_end(step + self._steps - 1, logs)
        lasted = self._clock() - begin
        self.hooks_s += lasted - (returned - called)
        self.executed_s += lasted
        return logs


def hooks_of(
    model: keras.Model, callbacks: Sequence[keras.callbacks.Callback], *, reads: bool = False
) -> keras.callbacks.CallbackList:
    """As `fit` calls them in an epoch whose number of steps it does not know.

    Arguments:
        model: that the callbacks are told.
        callbacks: to call.
        reads: there is another one, for which Keras reads the logs of each execution.
    """
    told = {"epochs": 1, "steps": None, "verbose": 0}
    # In place of the history that `fit` adds, whose hooks of batches do nothing either.
    added = keras.callbacks.Callback()
    if reads:
        added = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: None)
    return keras.callbacks.CallbackList([*callbacks, added], model=model, **told)


def _begun(hooks: keras.callbacks.CallbackList) -> keras.callbacks.CallbackList:
    """With the threads that Keras makes at a training's beginning; of no callback that is told."""
    callbacks, hooks.callbacks = hooks.callbacks, []
    hooks.on_train_begin()
    hooks.callbacks = callbacks
    return hooks


@contextmanager
def _resting_collector() -> Iterator[None]:
    """As the advice `tune-gc` has it, for a while."""
    thresholds = gc.get_threshold()
    try:
        # Without collecting before, as the advice does once: here it would be in each slice.
        gc.freeze()
        gc.set_threshold(100_000, 50, 100)
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
