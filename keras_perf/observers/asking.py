"""Asks others (psutil, TensorFlow, a user's model) for values, each of which may fail alone."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from keras_perf.records.text.error_line import error_line

Answer = TypeVar("Answer")
Questions = Mapping[str, Callable[[], Any]]

_filters = threading.Lock()


def unwarned(ask: Callable[..., Answer], *arguments: Any) -> Answer:
    """What `ask` answers, also where Python makes an error of each warning (`-W error`).

    Where that has happened, it is asked once more with warnings ignored: only for questions that
    may be asked twice. The filters are the whole program's, so they are not touched otherwise.
    """
    try:
        return ask(*arguments)
    except Warning:
        with _filters, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ask(*arguments)


def answers(questions: Questions, not_known: dict[str, str]) -> dict[str, Any]:
    """Name → answer. What fails is absent.

    Arguments:
        questions: name → what is asked.
        not_known: is given name → reason of each that failed; loses those that did not.
    """
    known = {}
    for name, ask in questions.items():
        try:
            known[name] = unwarned(ask)
        except Exception as error:  # noqa: BLE001  one value's failure costs no other
            not_known[name] = error_line(error)
        else:
            not_known.pop(name, None)
    return known
