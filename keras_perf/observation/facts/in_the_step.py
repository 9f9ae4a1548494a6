"""Operations in a train step that print, check or call Python."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from keras_perf.observation.facts.source_lines import LIBRARIES
from keras_perf.trials.train_functions.repeated_function import PYTHON
from keras_perf.trials.train_functions.traced_step import operations_of, traces_of

CHECK = "Assert"
NAMED = {"Print", "PrintV2", CHECK, "CheckNumerics", "CheckNumericsV2", *PYTHON}

_MAKES_CHECKS = tuple(
    os.path.join("tensorflow", "python", *each)
    for each in (
        ("autograph", ""),
        ("eager", ""),
        ("framework", ""),
        ("util", ""),
        ("ops", "check_ops.py"),
        ("ops", "cond.py"),
        ("ops", "cond_v2.py"),
        ("ops", "control_flow_assert.py"),
        ("ops", "gen_logging_ops.py"),
    )
)
"""Files of TensorFlow between a `tf.debugging.assert_...` that somebody calls and its operation."""


class OperationsInTheStep:
    """Asks a train function's newest trace, once for each trace."""

    def __init__(self) -> None:
        self._asked: tuple[Any, int] | None = None
        self._found: list[str] = []

    def __call__(self, function: Any, traces: int) -> list[str]:
        """Types of those of `NAMED` that are there; [] also where no trace can be found.

        Checks of shapes and values that TensorFlow's and Keras's functions make themselves are
        not among them: nobody can leave them out.

        Arguments:
            function: the train function.
            traces: how often it was traced.
        """
        if self._asked != (function, traces):
            self._asked = function, traces
            traced = traces_of(function)
            found = operations_of(traced[-1]) & NAMED if traced else set()
            if CHECK in found and not any(map(_is_asked_for, _checks(traced[-1].graph))):
                found.remove(CHECK)
            self._found = sorted(found)
        return self._found


def _checks(graph: Any) -> Iterator[Any]:
    """Operations that check, of a graph and of all functions in it.

    Those of functions have no public name; without the private one no check in them is found.
    """
    pending, seen = [graph], set[int]()
    while pending:
        graph = pending.pop()
        if id(graph) in seen:
            continue
        seen.add(id(graph))
        yield from (each for each in graph.get_operations() if each.type == CHECK)
        functions = getattr(graph, "_functions", {}).values()
        pending += filter(None, (getattr(each, "graph", None) for each in functions))


def _is_asked_for(operation: Any) -> bool:
    """The user's code calls what checks, and no function of a library that does so by itself."""
    for frame in reversed(operation.traceback or ()):
        if not frame.filename.startswith(LIBRARIES):
            return True
        if not any(each in frame.filename for each in _MAKES_CHECKS):
            return False
    return False
