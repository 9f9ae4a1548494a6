"""How a step of Keras on JAX is called."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import keras

from keras_perf.backends.jax_batches import Batches, described
from keras_perf.backends.jax_input import TimedIterator
from keras_perf.observers.steps.overlapping import OverlappingTimeline
from keras_perf.observers.steps.row import Row
from keras_perf.trials.backends.jax_training import shares_executions

PATIENCE_S = 10.0
"""A device that takes longer for its last steps is no longer waited for."""


def stacks_batches(model: keras.Model) -> bool:
    """Keras fetches the batches of an execution as one, stacked."""
    return shares_executions() and int(model.steps_per_execution) > 1


def compiles_executions(model: keras.Model) -> bool:
    """Keras compiles the steps of an execution into one call, and does not loop over them."""
    return shares_executions() and bool(model.jit_compile) and not model.run_eagerly


class StandIn:
    """What Keras calls in place of the train function, which takes the state of the model too.

    Attributes:
        execute: is called with the iterator, and calls the train function.
        batches: what the iterator has given.
        function: the train function, as Keras made it last.
        state: shapes and formats of what it is called with; None where they are not known.
    """

    def __init__(self, timeline: OverlappingTimeline, clock: Callable[[], int]) -> None:
        self._timeline, self._now = timeline, clock
        self.execute: Callable[[Any], Any] = lambda iterator: None
        self.function: Any = None
        self.state: Any = None
        self._called = False
        self._state: Any = None
        self._at_work: deque[tuple[Row, Any]] = deque()
        self._awaits: threading.Thread | None = None
        self.batches = Batches()
        self._timed: TimedIterator | None = None

    def stands_in(self, model: keras.Model) -> None:
        """For the function of this model."""
        self.batches.stacked = self._timeline.fetches_once = stacks_batches(model)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Takes the state until the train function is called with it.

        One with other arguments is the user's, and only called.
        """
        if named or len(arguments) != 2:
            return self.function(*arguments, **named)
        state, iterator = arguments
        timed = self._timed
        if timed is None or timed.source is not iterator:
            timed = TimedIterator(iterator, self._timeline, self.batches, self._now)
            self._timed = timed
        self.note_what_is_done()
        self._state = state
        result = self.execute(timed)
        row, log = self._timeline.newest, _an_array(result[0])
        if row is not None and log is not None:
            self._at_work.append((row, log))
        self.note_what_is_done()
        return result

    def note_what_is_done(self) -> None:
        """Who reads the logs in another thread may come to know of it much later.

        That thread waits for the interpreter, and behind hooks that are called late.
        """
        at_work = self._at_work
        while at_work:
            row, log = at_work[0]
            if not row.ready:
                try:
                    if not log.is_ready():
                        return
                    row.ready = self._now()
                except RuntimeError:
                    # Somebody has deleted the array.
                    pass
            at_work.popleft()

    def await_the_rest(self) -> None:
        """No execution follows that would tell of the last ones, and hooks may be called late."""
        self.note_what_is_done()
        at_work = tuple(self._at_work)
        self._at_work = deque()
        if at_work:
            name = "keras_perf-awaits"
            awaits = threading.Thread(target=self._await, args=(at_work,), name=name, daemon=True)
            try:
                awaits.start()
            except RuntimeError:
                # The system has no thread to spare: Keras's own tells, if later.
                return
            self._awaits = awaits

    def _await(self, at_work: tuple[tuple[Row, Any], ...]) -> None:
        for row, log in at_work:
            try:
                log.block_until_ready()
            except RuntimeError:
                # Somebody has deleted the array, or the step failed, which Keras tells.
                continue
            row.ready = row.ready or self._now()

    def let_go(self) -> None:
        """Training is over: holds neither batches nor what was computed.

        Of the state it is called with in another thread meanwhile, the call itself lets go.
        """
        self._timed = None
        self._at_work = deque()
        if self._awaits is not None:
            self._awaits.join(PATIENCE_S)

    def called(self, function: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
        """The train function with the state that is held; it donates it, so it is let go of."""
        self.function = function

        def call(iterator: Any) -> Any:
            state, self._state = self._state, None
            if not self._called:
                self._called, self.state = True, described(state)
            return function(state, iterator)

        return call


def _an_array(logs: Any) -> Any | None:
    """One of the logs, with which the others are ready too; None where none tells."""
    found = next(iter(logs.values()), None) if isinstance(logs, dict) else logs
    return found if hasattr(found, "is_ready") else None
