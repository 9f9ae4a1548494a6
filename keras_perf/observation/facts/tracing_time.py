"""How long TensorFlow has traced Python functions in this process, how often one, and for whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras_perf.observers.asking import unwarned
from keras_perf.trials.train_functions.keras_function import inner_function


def traced_s() -> float | None:
    """Seconds since the process began; None where TensorFlow does not tell.

    It counts them in a private counter of its Python layer, a function inside another only once.
    Without it the report tells tracing, waiting for the first batch and compiling as one.
    """
    try:
        return unwarned(_counted_us) / 1e6
    except Exception:  # noqa: BLE001  it is private, and only the table of start-up needs it
        return None


def _counted_us() -> int:
    from tensorflow.python.eager.polymorphic_function import tracing_compilation

    return int(tracing_compilation._graph_building_time_counter.get_cell().value())


def trace_counter(function: Any) -> Callable[[], int]:
    """Counts traces of a `tf.function`, or of the one inside Keras's train function.

    Where that is not found (another version, `run_eagerly`), the count stays 0 and retracing is
    not recognised.
    """
    found = inner_function(function)
    return (lambda: 0) if found is None else found.experimental_get_tracing_count


def compiled_by_xla(function: Any) -> bool | None:
    """Whether a `tf.function` was made with `jit_compile`; None where it says nothing of it.

    It is the private `_jit_compile`. Without it a loop has to say so to `LoopMonitor`, or what XLA
    compiles for each length counts as computing.
    """
    told = getattr(function, "_jit_compile", None)
    return told if isinstance(told, bool) else None
