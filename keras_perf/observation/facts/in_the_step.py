"""Operations in a train step that print, check or call Python."""

from __future__ import annotations

from typing import Any

from keras_perf.trials.train_functions.repeated_function import PYTHON
from keras_perf.trials.train_functions.traced_step import operations_of, traces_of

NAMED = {"Print", "PrintV2", "Assert", "CheckNumerics", "CheckNumericsV2", *PYTHON}


class OperationsInTheStep:
    """Asks a train function's newest trace, once for each trace."""

    def __init__(self) -> None:
        self._asked: tuple[Any, int] | None = None
        self._found: list[str] = []

    def __call__(self, function: Any, traces: int) -> list[str]:
        """Types of those of `NAMED` that are there; [] also where no trace can be found.

        Arguments:
            function: the train function.
            traces: how often it was traced.
        """
        if self._asked != (function, traces):
            self._asked = function, traces
            traced = traces_of(function)
            self._found = sorted(operations_of(traced[-1]) & NAMED) if traced else []
        return self._found
