"""What a custom loop is about to do: context managers around it."""

from __future__ import annotations

from threading import get_ident
from typing import Any

import tensorflow as tf

from keras_perf.observation.facts.ending_facts import ended_by
from keras_perf.observation.failure_line import warn_of
from keras_perf.observation.listener import Plan
from keras_perf.observation.of_loop.loop import LoopObservation
from keras_perf.records.run.ending import Ending

OUT_OF_DATA = (StopIteration, tf.errors.OutOfRangeError)


class Turns:
    """The observation of a loop, and whether the loop is inside of a call or of other work.

    Attributes:
        observation: while nothing has failed; else None.
    """

    __slots__ = ("_no_memory", "_taken", "_thread", "observation")

    def __init__(self) -> None:
        self.observation: LoopObservation | None = None
        self._no_memory: Ending | None = None
        self._taken, self._thread = False, get_ident()

    def begin(self, observation: LoopObservation) -> None:
        """A training begins."""
        self.observation, self._no_memory = observation, None
        self._taken, self._thread = False, get_ident()

    def take_call(self) -> bool:
        """A call begins; False as in `take`. The loop's thread is that of its newest call."""
        if not self._taken:
            self._thread = get_ident()
        return self.take()

    def take(self) -> bool:
        """A call or other work begins.

        False if it is a part of what has begun before, or of another thread than the loop's.
        """
        if self._thread != get_ident():
            return False
        free, self._taken = not self._taken, True
        return free

    def give(self) -> None:
        """It is over."""
        self._taken = False

    def called(self, error: BaseException | None) -> None:
        """A call has ended, or raised: a loop that catches it and ends has run out of memory."""
        ending = ended_by(error) if error is not None else None
        self._no_memory = ending if ending is not None and ending.out_of_memory else None

    def fails(self, error: Exception) -> None:
        """Ends the observation, not the training."""
        warn_of(error, "LoopMonitor", "the rest of this training is not observed")
        self.close(aborted=True)

    def close(self, *, aborted: bool = False, error: BaseException | None = None) -> None:
        """Writes what is left; again does nothing.

        Arguments:
            aborted: training has raised, or is observed no longer.
            error: what it has raised.
        """
        observation, self.observation = self.observation, None
        if observation is not None:
            caught = None if aborted else self._no_memory
            ending = ended_by(error) if error is not None else caught
            observation.close(aborted=aborted or ending is not None, ending=ending)


class Call:
    """One call of the loop's train function: a context manager around it.

    Arguments:
        turns: of its loop.
        iterator, steps, left: see `LoopMonitor.execution`.

    Attributes:
        steps: how many steps to run in it.
    """

    __slots__ = ("_iterator", "_left", "_marked", "_plan", "_turns", "steps")

    def __init__(self, turns: Turns, iterator: Any, steps: int, left: int | None) -> None:
        self._turns, self._iterator, self._left = turns, iterator, left
        self.steps = int(steps if left is None else min(steps, left))
        self._plan: Plan | None = None
        self._marked = False

    def __enter__(self) -> Call:
        # An iterator that is over must let go of its pipeline, whoever keeps this.
        iterator, self._iterator = self._iterator, None
        observation = self._turns.observation
        if observation is None or self.steps < 1 or not self._turns.take_call():
            return self
        try:
            self._plan = plan = observation.call_begins(iterator, self.steps, self._left)
            self.steps = plan.steps
            if plan.around is not None:
                plan.around.__enter__()
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            self._plan = None
            self._turns.fails(error)
        return self

    def returned(self, result: Any) -> Any:
        """Marks that the train function has returned; gives its result back.

        On a GPU the work goes on then, and reading the result waits for it:
        `stop = call.returned(train_steps(iterator, n)).numpy()`. Without this, dispatch is not
        measured there.
        """
        observation = self._turns.observation
        if self._plan is not None and observation is not None and not self._marked:
            self._marked = True
            try:
                observation.returned(self._plan)
            except Exception as error:  # noqa: BLE001  monitoring never kills training
                self._turns.fails(error)
        return result

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        plan, self._plan = self._plan, None
        if plan is None:
            return
        self._turns.give()
        try:
            self._end(plan, kind, error, trace)
            self._turns.called(error)
        except Exception as failure:  # noqa: BLE001  monitoring never kills training
            self._turns.fails(failure)

    def _end(self, plan: Plan, kind: Any, error: BaseException | None, trace: Any) -> None:
        if plan.around is not None:
            plan.around.__exit__(kind, error, trace)
        observation = self._turns.observation
        if observation is None:
            return
        if kind is None:
            observation.call_ends(plan, marked=self._marked)
            return
        # Whoever catches it goes on; what ends the loop, the monitor is told of.
        at_end = issubclass(kind, OUT_OF_DATA)
        observation.call_raises(plan, marked=self._marked, out_of_data=at_end)


class Aside:
    """Work of the user's beside the calls: a context manager around it."""

    __slots__ = ("_begin", "_between", "_owner", "_turns")

    def __init__(self, turns: Turns, owner: str, *, between: bool) -> None:
        self._turns, self._owner, self._between = turns, owner, between
        self._begin: int | None = None

    def __enter__(self) -> None:
        observation = self._turns.observation
        if observation is None or not self._turns.take():
            return
        try:
            if self._between:
                observation.leaves_steps(self._owner)
            self._begin = observation.now()
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            self._turns.fails(error)

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        begin, self._begin = self._begin, None
        if begin is None:
            return
        self._turns.give()
        observation = self._turns.observation
        if observation is None:
            return
        try:
            if self._between:
                cut_off = kind is not None and not issubclass(kind, OUT_OF_DATA)
                observation.returns_to_steps(self._owner, begin, cut_off=cut_off)
            else:
                observation.host(self._owner, begin)
        except Exception as failure:  # noqa: BLE001  monitoring never kills training
            self._turns.fails(failure)
