"""What Keras's calls are answered when their steps have run ahead of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class Answers:
    """The logs of several of Keras's calls whose steps were run in one execution.

    Attributes:
        left: so many calls are still to be answered.
        hide_hooks: batch hooks are to be called as if the execution had not ended yet.
    """

    def __init__(self) -> None:
        self._logs: Iterator[Any] = iter(())
        self._as_one = False
        self.left = 0
        self.hide_hooks = False

    def fill(self, logs: Any, calls: int, *, as_one: bool) -> None:
        """Calls that follow are answered.

        Arguments:
            logs: each a tensor with a row a call.
            calls: how many.
            as_one: to callbacks, all of them are one execution.
        """
        # Only TensorFlow's train functions can be repeated.
        from keras_perf.trials.train_functions.repeated_function import each_calls_logs

        self._logs, self.left, self._as_one = each_calls_logs(logs), calls, as_one

    def take(self) -> Any:
        """The logs of the next call; the first one waits for the device."""
        logs = next(self._logs)
        self.left -= 1
        self.hide_hooks = self._as_one and self.left > 0
        return logs

    def forget(self) -> None:
        """No call is answered any more."""
        self.left, self.hide_hooks = 0, False
