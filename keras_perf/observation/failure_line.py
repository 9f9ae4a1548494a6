"""How a failure of ours is told: training goes on, so it is a warning."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from keras_perf.records.text.error_line import error_line

logger = logging.getLogger("keras_perf")


def warn_of(error: Exception, what: str, consequence: str) -> None:
    """One line: what failed, why, and what is lost. Raises nothing, whoever listens to it."""
    with contextlib.suppress(Exception):
        logger.warning(
            "keras_perf: %s failed (%s); %s.",
            what,
            error_line(error),
            consequence,
            exc_info=logger.isEnabledFor(logging.DEBUG),
        )


class Fails(Protocol):
    """What may fail, and training goes on."""

    def fails(self, error: Exception) -> None:
        """It has."""


def harmless(work: Callable[..., None]) -> Callable[..., None]:
    """What Keras, or the driver of an observation, calls of ours: it raises nothing of ours.

    Every hook of our callbacks is one, but not those of subclasses that are a user's.
    """

    @functools.wraps(work)
    def guarded(self: Fails, *arguments: Any, **named: Any) -> None:
        try:
            work(self, *arguments, **named)
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            self.fails(error)

    return guarded


@contextlib.contextmanager
def given_back_if_it_fails(*taken: Callable[[], None]) -> Iterator[list[Callable[[], None]]]:
    """If what is inside raises, all is done that is in the list, to which more may come."""
    give_back = [*taken]
    try:
        yield give_back
    except BaseException:
        for each in reversed(give_back):
            ends_harmlessly(each)
        raise


def ends_harmlessly(work: Callable[..., None], *arguments: Any, **named: Any) -> None:
    """Does one of the things that end a run; if it fails, that costs a line."""
    try:
        work(*arguments, **named)
    except Exception as error:  # noqa: BLE001  monitoring never kills training
        warn_of(error, "writing the end of the run", "what was logged before remains")
