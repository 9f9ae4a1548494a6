"""A training that runs on trial."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import keras
import tensorflow as tf

from keras_perf.trials.measuring.own_iterator import Feed
from keras_perf.trials.train_functions.function_on_trial import function_on_trial
from keras_perf.trials.train_functions.on_replicas import differs_on_replicas
from keras_perf.trials.train_functions.restored import KeptState
from keras_perf.trials.train_functions.train_function import (
    TrainFunction,
    inner_function,
    read_logs,
    require_keras_function,
)
from keras_perf.trials.training.batch_numbers import BatchNumbers
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


@dataclass(frozen=True)
class _Executions:
    """Calls of the present train function, beside one of Keras's that runs all of their steps."""

    concrete: Any
    all_at_once: TrainFunction

    def run(self, iterator: Any, calls: int) -> Any:
        return self.all_at_once(iterator)


class TrainFunctions:
    """The train functions of a model, one for each way to run it, each made once.

    Arguments:
        kept: what is put back afterwards; it learns of the variables that each function uses.
    """

    def __init__(self, kept: KeptState) -> None:
        self._kept = kept
        self._made: dict[tuple[int, int, bool, bool], TrainFunction] = {}
        self.numbers = BatchNumbers()

    def of(self, setup: Setup, iterator: Any) -> TrainFunction:
        """The function for such a training, traced for the iterator unless it runs eagerly.

        Raises:
            LookupError: it is none of Keras's, which alone is known to run several steps.
            ValueError: several replicas train otherwise with it.
        """
        model, steps = setup.model, setup.steps
        settings = {"jit_compile": setup.jit_compile, "run_eagerly": setup.run_eagerly}
        key = id(model), steps, setup.jit_compile, setup.run_eagerly
        if key not in self._made:
            made = function_on_trial(model, steps, iterator, **settings)
            if setup.calls > 1:
                require_keras_function(made)
            self._made[key] = made
            self._kept.also(made, iterator)
            if setup.calls > 1 and setup.strategy is not None:
                self._require_equal(setup, setup.strategy, made, iterator)
        self._kept.also(self._made[key], iterator)
        return self._made[key]

    def _require_equal(
        self, setup: Setup, strategy: tf.distribute.Strategy, made: TrainFunction, iterator: Any
    ) -> None:
        present: Any = inner_function(self.of(replace(setup, calls=1), iterator))
        both = _Executions(present.get_concrete_function(iterator), made)
        if why := differs_on_replicas(strategy, both, iterator, setup.calls):
            raise ValueError(why)


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
        with self.feed.held() as iterator, _eager_only(setup.run_eagerly):
            self._execute = functions.of(setup, iterator)
        self.making_s, self._has_run = clock() - begin, False
        self._steps, self._numbers = setup.steps, functions.numbers
        if setup.callbacks and self._numbers.of_epoch is None:
            self._numbers.of_epoch = setup.graph.batches
        self._quickest_s, self._long_s = float("inf"), list[float]()
        # Of the model that they have, also where a copy of it is trained.
        model = setup.callbacks[0].model if setup.callbacks else setup.model
        self._hooks = hooks_of(model, setup.callbacks) if setup.keras_loop else None

    def settle(self) -> None:
        """Runs until it goes its usual way: functions are compiled, and threads tuned."""
        before_ms = float("inf")
        with self.feed.held():
            self._run_first()
            begin = self._clock()
            while self._clock() - begin < SETTLING_S:
                steps, seconds = self._run_for(SLICE_S / 2)
                now_ms = 1e3 * seconds / steps
                if now_ms * SETTLED > before_ms:
                    return
                before_ms = now_ms

    def _run_first(self) -> None:
        """The first execution, in which XLA compiles."""
        if not self._has_run:
            self.making_s += self._run_for(0.0)[1]
            self._has_run = True

    def step_ms(self) -> float:
        """A step of the present batch size, in a slice of training."""
        with self.feed.held(), _resting_collector(self._setup.collector_rests):
            self._run_for(SLICE_S)
            steps, seconds = self._run_for(SLICE_S)
        return 1e3 * seconds / steps

    @property
    def compilations_s(self) -> list[float]:
        """Seconds of each execution so far in which XLA seems to have compiled for a length.

        What it cannot see: compilations hardly longer than the quickest execution; whether
        something else on the machine made it so long.
        """
        longer_s = FAR_LONGER * self._quickest_s
        return [s for s in self._long_s if self.compiles and s > longer_s]

    def _run_for(self, seconds: float) -> tuple[int, float]:
        """Steps of the present batch size, in so many seconds; at least one execution."""
        with self.feed.held() as iterator, _eager_only(self._setup.run_eagerly):
            steps, begin = 0, self._clock()
            while not steps or self._clock() - begin < seconds:
                began = self._clock()
                self._execution(iterator, self._numbers.take(self._steps))
                steps += self._steps
                self._note(self._clock() - began)
            return steps * self._setup.rows, self._clock() - begin

    def _note(self, lasted_s: float) -> None:
        self._quickest_s = min(self._quickest_s, lasted_s)
        if lasted_s > COMPILES_S:
            self._long_s.append(lasted_s)

    def _execution(self, iterator: Any, step: int) -> None:
        """As in Keras's loop; to read the logs waits for the device."""
        if self._hooks is None:
            read_logs(self._execute(iterator))
            return
        self._hooks.on_train_batch_begin(step)
        logs = self._execute(iterator)
        self._hooks.on_train_batch_end(step + self._steps - 1, logs)


def hooks_of(
    model: keras.Model, callbacks: Sequence[keras.callbacks.Callback]
) -> keras.callbacks.CallbackList:
    """As `fit` calls them in an epoch whose number of steps it does not know."""
    told = {"epochs": 1, "steps": None, "verbose": 0}
    # In place of the history that `fit` adds, whose hooks of batches do nothing either.
    return keras.callbacks.CallbackList(
        [*callbacks, keras.callbacks.Callback()], model=model, **told
    )


@contextmanager
def _eager_only(runs_eagerly: bool) -> Iterator[None]:
    """One that is not to run eagerly does not, whatever the program has set for functions."""
    if runs_eagerly or not tf.config.functions_run_eagerly():
        yield
        return
    tf.config.run_functions_eagerly(False)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(True)


@contextmanager
def _resting_collector(rests: bool) -> Iterator[None]:
    """As the advice `tune-gc` has it, for a while."""
    if not rests:
        yield
        return
    thresholds = gc.get_threshold()
    try:
        # Without collecting before, as the advice does once: here it would be in each slice.
        gc.freeze()
        gc.set_threshold(100_000, 50, 100)
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
