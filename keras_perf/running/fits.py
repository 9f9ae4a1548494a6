"""Each `fit` of a program gets our callbacks, and a log directory of its own."""

from __future__ import annotations

import functools
import inspect
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from keras_perf.records.observed_backends import OBSERVED, refusal
from keras_perf.running.given_callbacks import has_ours, with_ours
from keras_perf.running.numbered_directories import NumberedDirectories, without_path
from keras_perf.running.options import Options
from keras_perf.running.replaced_methods import ReplacedMethods

if TYPE_CHECKING:
    from keras_perf.callbacks.observing_callback import ObservingCallback

MANY_FITS = 20
"""So many are observed, however short they are."""

SHORT_FIT_S = 10.0
"""Of more, they are observed only if those before took as long on average."""


@dataclass(frozen=True)
class ObservedFit:
    """One that has ended."""

    log_dir: str
    seconds: float


class ObservedFits(ReplacedMethods):
    """Stands in place of `keras.Model.fit`, until it is removed.

    Arguments:
        options: what is asked.
        say: gets a line for the user.

    Attributes:
        ended: those that were observed, in their order.
        left_alone: how many had our callbacks from the program.
        started_in: the working directory before the program ran.
    """

    names = ("fit",)
    one = "a fit"

    def __init__(self, options: Options, say: Callable[[str], None]) -> None:
        super().__init__(say)
        self._options = options
        self._directories = NumberedDirectories(options.log_dir, "fit")
        self.started_in = os.getcwd()
        self._thread, self._lock = threading.local(), threading.Lock()
        self._running = 0
        self.ended: list[ObservedFit] = []
        self.left_alone = 0

    def _around(self, original: Callable[..., Any], signature: inspect.Signature) -> Any:
        @functools.wraps(original)
        def observed(model: Any, *args: Any, **named: Any) -> Any:
            begun = self._begun(model, self._bound(signature, model, args, named))
            outer, self._thread.in_fit = self.in_a_fit, True
            self._count(1)
            try:
                if begun is None:
                    return original(model, *args, **named)
                return original(*begun.arguments.args, **begun.arguments.kwargs)
            except BaseException as error:
                if begun is not None:
                    begun.ends(error)
                raise
            finally:
                self._count(-1)
                self._thread.in_fit = outer
                if begun is not None:
                    begun.ends(None)
                    self._has_ended(begun)

        return observed

    @property
    def in_a_fit(self) -> bool:
        """Whether this thread is in one, observed or not."""
        return getattr(self._thread, "in_fit", False)

    @property
    def any_runs(self) -> bool:
        """Whether any thread is in one: its input may call models in threads of TensorFlow's."""
        return self._running > 0

    def _count(self, more: int) -> None:
        with self._lock:
            self._running += more

    def _begun(self, model: Any, arguments: inspect.BoundArguments | None) -> _BegunFit | None:
        """The `fit` with our callbacks; None where it is to run as it is, as inside another."""
        if arguments is None or self.in_a_fit:
            return None
        log_dir = None
        try:
            given = arguments.arguments.get("callbacks")
            if self._is_to_run_as_it_is(given):
                return None
            log_dir = self._directories.next()
            ours = self._callbacks(log_dir)
            begun = _BegunFit(log_dir, ours, arguments, with_ours(given, ours, model, self._keras))
        except Exception as error:  # noqa: BLE001  the program goes on
            self._not(without_path(error))
            if log_dir is not None:
                self._directories.leave_no_empty(log_dir)
            return None
        return begun

    def _is_to_run_as_it_is(self, given: Any) -> bool:
        backend = self._keras.config.backend()
        if backend not in OBSERVED:
            self._not(refusal(backend).rstrip("."))
            return True
        if has_ours(given, self._keras):
            self.left_alone += 1
            return True
        seconds = sum(fit.seconds for fit in self.ended)
        if len(self.ended) >= MANY_FITS and seconds < SHORT_FIT_S * len(self.ended):
            self._not(f"the first {len(self.ended)} took less than {SHORT_FIT_S:.0f} s on average")
            return True
        return False

    def _callbacks(self, log_dir: str) -> list[ObservingCallback]:
        from keras_perf.callbacks.perf_callbacks import perf_callbacks

        return perf_callbacks(log_dir, **self._options.of_callbacks)

    def _has_ended(self, begun: _BegunFit) -> None:
        self._directories.leave_no_empty(begun.log_dir)
        self.ended.append(ObservedFit(begun.log_dir, time.monotonic() - begun.at))


class _BegunFit:
    """A `fit` that runs with our callbacks among its own."""

    def __init__(
        self,
        log_dir: str,
        ours: list[ObservingCallback],
        arguments: inspect.BoundArguments,
        callbacks: Any,
    ) -> None:
        self.log_dir, self.arguments = log_dir, arguments
        self._ours, self._callbacks = ours, callbacks
        self.arguments.arguments["callbacks"] = callbacks
        self.at = time.monotonic()

    def ends(self, error: BaseException | None) -> None:
        """Closes what is still open: where `fit` has raised in a place that only Keras sees."""
        from keras_perf.observation.facts.ending_facts import ended_by
        from keras_perf.observation.failure_line import ends_harmlessly

        for each in self._ours:
            if each.observation is not None:
                ending = ended_by(error)
                ends_harmlessly(each.observation.close, aborted=True, ending=ending)
        if not isinstance(self._callbacks, list | dict):
            # The program's own CallbackList, as it was.
            theirs = self._callbacks.callbacks
            theirs[:] = [each for each in theirs if not any(each is ours for ours in self._ours)]
