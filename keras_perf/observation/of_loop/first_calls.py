"""What the first calls of a loop tell of all."""

from __future__ import annotations

import logging
from collections.abc import Callable

from keras_perf.observation.input_model import InputModel
from keras_perf.observation.of_loop.fetches_outside import FetchesOutside
from keras_perf.observation.of_loop.python_steps import PythonSteps
from keras_perf.observers.asking import Questions

logger = logging.getLogger("keras_perf")


class FirstCalls:
    """Whether batches are fetched in them, and whether Python runs their operations.

    The very first is not looked at: it traces, and makes ready what fetches.

    Arguments:
        traced_s: seconds that were spent on tracing so far; None where that is not told.
        fetch: each call fetches a batch at least.
        compiled: it is known that a `tf.function` runs them.
    """

    def __init__(
        self, traced_s: Callable[[], float | None], *, fetch: bool, compiled: bool
    ) -> None:
        self._outside, self._python = FetchesOutside(), PythonSteps(traced_s)
        self._fetch, self._compiled, self._begun = fetch, compiled, False

    def facts(self) -> Questions:
        """What is asked of how they fetch."""
        return {
            "fetches_outside": lambda: self._outside.found and self._fetch,
            "fetches_rarely": lambda: self._outside.rarely,
        }

    @property
    def fetch(self) -> bool:
        """Each of them fetches a batch, as far as that was looked at."""
        return self._outside.fetching and not self._outside.rarely

    @property
    def run_by_python(self) -> bool:
        """Python runs a step's operations one by one."""
        return self._python.found

    def begins(self, pipeline: InputModel | None) -> None:
        """A call begins that reads from this pipeline."""
        if self._begun and pipeline is not None and self._outside.call_begins(pipeline):
            self._warn()
        self._tell_no_gaps(pipeline)
        if self._begun and not self._compiled:
            self._python.call_begins()
        self._begun = True

    def ends(self, pipeline: InputModel | None) -> None:
        """It has ended."""
        self._python.call_ends()
        if pipeline is not None:
            self._outside.call_ends(pipeline)

    def _warn(self) -> None:
        if self._fetch:
            logger.warning(
                "keras_perf: steps fetch nothing inside of `with monitor.execution(...)`, so that "
                "waiting for input cannot be told from the loop's own work. Fetch there, as by "
                "`train_step(*next(iterator))`."
            )

    def looks_no_more(self) -> None:
        """It has raised, or was the last of its iterator, or nobody observes its end."""
        self._python.looks_no_more()
        self._outside.looks_no_more()

    def _tell_no_gaps(self, pipeline: InputModel | None) -> None:
        """Between calls that fetch nothing the gap times hold what else they and others do."""
        if pipeline is not None and self._outside.rarely:
            pipeline.tells_gaps = False
