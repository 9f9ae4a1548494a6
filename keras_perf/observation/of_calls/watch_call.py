"""Watches the `evaluate` or `predict` that is calling."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import keras

from keras_perf.observation.of_calls.asked_of_call import asked_of_call
from keras_perf.observation.of_calls.call_hooks import CallTiming, Watch
from keras_perf.observation.of_calls.call_log import CallLog
from keras_perf.observation.of_calls.calling_list import calling_list
from keras_perf.records.run.inference import PREDICT


def watch_call(
    kind: str, model: keras.Model, log: CallLog, clock: Callable[[], int], watch: Watch
) -> None:
    """Logs at its end what is known of the call whose begin hook is being run.

    Arguments:
        kind: `evaluate` or `predict`.
        model: which evaluates or predicts.
        log: is given it; nothing where the call raises.
        clock: nanoseconds; that of the first who watches counts.
        watch: watches it.
    """
    hook = "on_predict_begin" if kind == PREDICT else "on_test_begin"
    callbacks = calling_list(kind, hook)
    if callbacks is None:
        return
    first = callbacks.callbacks[0]
    timing = first if isinstance(first, CallTiming) else CallTiming(callbacks)
    if not timing.at_work:
        asked = asked_of_call(kind, written=not log.knows(kind))
        call = watch(model, kind == PREDICT, asked, clock)
        timing.watches(call, clock)
    timing.tell(partial(log.add, kind))
