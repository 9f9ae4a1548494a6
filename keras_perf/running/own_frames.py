"""A traceback as it would be without us."""

from __future__ import annotations

import os
import sys
from types import TracebackType

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def hide_our_frames() -> None:
    """What is being raised now, if nobody catches it, is shown without our frames.

    What shows it is the program's own `sys.excepthook`, where it has one.
    """
    shows = sys.excepthook

    def show(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        sys.excepthook = shows
        error.__traceback__ = _behind_our_first(error.__traceback__)
        _clean(error)
        shows(kind, error, error.__traceback__)

    sys.excepthook = show


def _clean(error: BaseException) -> None:
    """The error's traceback, and those of the errors that led to it."""
    found: dict[int, BaseException] = {}
    left: list[BaseException | None] = [error]
    while left:
        each = left.pop()
        if each is not None and id(each) not in found:
            found[id(each)] = each
            each.__traceback__ = without_our_frames(each.__traceback__)
            left += [each.__cause__, each.__context__]


def without_our_frames(traceback: TracebackType | None) -> TracebackType | None:
    """The same frames less those of this package."""
    kept = []
    while traceback is not None:
        if not _is_ours(traceback):
            kept.append(traceback)
        traceback = traceback.tb_next
    cleaned = None
    for each in reversed(kept):
        cleaned = TracebackType(cleaned, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return cleaned


def _behind_our_first(traceback: TracebackType | None) -> TracebackType | None:
    """What lies before is what started us."""
    found = traceback
    while found is not None and not _is_ours(found):
        found = found.tb_next
    return found or traceback


def _is_ours(traceback: TracebackType) -> bool:
    return traceback.tb_frame.f_code.co_filename.startswith(_OURS)
