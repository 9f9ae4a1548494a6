"""What a custom loop is about to do: context managers around it."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from keras_perf.callbacks.listener import Plan

if TYPE_CHECKING:
    from keras_perf.loop.monitor import LoopMonitor

_OUT_OF_DATA = (StopIteration, tf.errors.OutOfRangeError)


class Call:
    """One call of the loop's train function: a context manager around it.

    Attributes:
        steps: how many steps to run in it.
    """

    __slots__ = ("_arguments", "_marked", "_monitor", "_plan", "steps")

    def __init__(self, monitor: LoopMonitor) -> None:
        self._monitor = monitor
        self._plan: Plan | None = None
        self._marked = False
        self._arguments: tuple[Any, int, int | None] = (None, 0, None)
        self.steps = 0

    def of(self, iterator: Any, steps: int, left: int | None) -> Call:
        """The next call, before it is entered; see `LoopMonitor.execution`."""
        self._arguments = iterator, int(steps if left is None else min(steps, left)), left
        return self

    def __enter__(self) -> Call:
        iterator, self.steps, left = self._arguments
        self._arguments = (None, 0, None)
        self._marked = False
        self._plan = None
        observation = self._monitor.observation
        if observation is None or self.steps < 1 or not self._monitor.takes_turn():
            return self
        try:
            self._plan = plan = observation.call_begins(iterator, self.steps, left)
            self.steps = plan.steps
            if plan.around is not None:
                plan.around.__enter__()
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            self._plan = None
            self._monitor.fails(error)
        return self

    def returned(self, result: Any) -> Any:
        """Marks that the train function has returned; gives its result back.

        On a GPU the work goes on then, and reading the result waits for it:
        `stop = call.returned(train_steps(iterator, n)).numpy()`. Without this, dispatch is not
        measured there.
        """
        observation = self._monitor.observation
        if self._plan is not None and observation is not None and not self._marked:
            self._marked = True
            try:
                observation.returned(self._plan)
            except Exception as error:  # noqa: BLE001  monitoring never kills training
                self._monitor.fails(error)
        return result

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        plan, self._plan = self._plan, None
        if plan is None:
            return
        self._monitor.gives_turn()
        try:
            self._end(plan, kind, error, trace)
        except Exception as failure:  # noqa: BLE001  monitoring never kills training
            self._monitor.fails(failure)

    def _end(
        self,
        plan: Plan,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if plan.around is not None:
            plan.around.__exit__(kind, error, trace)
        observation = self._monitor.observation
        if observation is None:
            return
        if kind is None:
            observation.call_ends(plan, marked=self._marked)
            return
        out_of_data = issubclass(kind, _OUT_OF_DATA)
        observation.call_raises(out_of_data=out_of_data)
        if not out_of_data:
            self._monitor.close(aborted=True)


class Aside:
    """Work of the user's beside the calls: a context manager around it."""

    __slots__ = ("_begin", "_between", "_monitor", "_owner")

    def __init__(self, monitor: LoopMonitor, owner: str, *, between: bool) -> None:
        self._monitor, self._owner, self._between = monitor, owner, between
        self._begin: int | None = None

    def __enter__(self) -> None:
        observation = self._monitor.observation
        if observation is None or not self._monitor.takes_turn():
            return
        try:
            if self._between:
                observation.leaves_steps(self._owner)
            self._begin = observation.now()
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            self._monitor.fails(error)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._begin is None:
            return
        self._monitor.gives_turn()
        observation = self._monitor.observation
        if observation is None:
            return
        try:
            if self._between:
                observation.returns_to_steps(self._owner, self._begin)
            else:
                observation.host(self._owner, self._begin)
        except Exception as failure:  # noqa: BLE001  monitoring never kills training
            self._monitor.fails(failure)
        if kind is not None:
            self._monitor.close(aborted=True)
