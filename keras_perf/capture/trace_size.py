"""How long a window may be: a trace grows with every step, by the nodes that the step runs."""

from __future__ import annotations

import logging
import sys
from typing import Any

from keras_perf.observers.capture_windows.cost import (
    BYTES_PER_OP,
    LARGEST_BYTES,
    UNKNOWN_BYTES_PER_STEP,
    longest_window,
)

logger = logging.getLogger("keras_perf")


def affordable_steps(
    wanted: int, function: Any, at_least: int, bytes_per_step: float | None
) -> int:
    """How many of the `wanted` steps are captured; if not all, that is said.

    Arguments:
        wanted: steps of the window.
        function: the train function.
        at_least: steps of its first execution; one is always captured.
        bytes_per_step: what a step took in the trace before; None where that is not known.
    """
    if bytes_per_step is None:
        nodes = nodes_of_a_step(function)
        bytes_per_step = nodes * BYTES_PER_OP if nodes else UNKNOWN_BYTES_PER_STEP
    longest = max(longest_window(bytes_per_step), at_least)
    if wanted <= longest:
        return wanted
    logger.warning(
        "keras_perf: this window is shortened from %d steps to %d: at about %.0f KiB a step its "
        "trace would take %.0f MiB; saving more than %.0f MiB stops training for seconds and takes "
        "a gigabyte of memory or more. Lower active_steps.",
        wanted,
        longest,
        bytes_per_step / 2**10,
        wanted * bytes_per_step / 2**20,
        LARGEST_BYTES / 2**20,
    )
    return longest


def nodes_of_a_step(train_function: Any) -> int | None:
    """Nodes of a train function's graph that one step runs.

    None where there is no graph, as with `run_eagerly`, or none is found. Takes milliseconds.
    """
    if sys.modules.get("tensorflow") is None:
        return None
    from keras_perf.capture.executed_nodes import executed_nodes
    from keras_perf.trials.train_functions.traced_step import traces_of

    traced = traces_of(train_function)
    if not traced:
        return None
    return executed_nodes(traced[-1].graph.as_graph_def())
