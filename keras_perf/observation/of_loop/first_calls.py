"""What the first calls of a loop tell of all."""

from __future__ import annotations

import logging
from collections.abc import Callable

from keras_perf.observation.input_model import InputModel
from keras_perf.observation.of_loop.fetches_outside import FetchesOutside
from keras_perf.observation.of_loop.python_steps import PythonSteps

logger = logging.getLogger("keras_perf")


class FirstCalls:
    """Whether batches are fetched in them, and whether Python runs their operations.

    Arguments:
        traced_s: seconds that were spent on tracing so far; None where that is not told.
        fetch: each call fetches a batch at least.
    """

    def __init__(self, traced_s: Callable[[], float | None], *, fetch: bool) -> None:
        self._outside, self._python = FetchesOutside(), PythonSteps(traced_s)
        self._fetch = fetch

    @property
    def fetches_outside(self) -> bool:
        """Batches are fetched between the calls."""
        return self._outside.found

    @property
    def run_by_python(self) -> bool:
        """Python runs a step's operations one by one."""
        return self._python.found

    def begins(self, pipeline: InputModel | None) -> None:
        """A call begins that reads from this pipeline."""
        if pipeline is not None and self._fetch:
            self._outside.call_begins(pipeline)
            _tell(pipeline, gaps=not self._outside.found)
        self._python.call_begins()

    def ends(self, pipeline: InputModel | None) -> None:
        """It has ended."""
        self._python.call_ends()
        if pipeline is not None and self._outside.call_ends(pipeline):
            logger.warning(
                "keras_perf: steps fetch nothing inside of `with monitor.execution(...)`, so that "
                "waiting for input cannot be told from the loop's own work. Fetch there, as by "
                "`train_step(*next(iterator))`."
            )
            _tell(pipeline, gaps=False)

    def raises(self) -> None:
        """It has raised."""
        self._python.call_ends()


def _tell(pipeline: InputModel, *, gaps: bool) -> None:
    """Between calls that fetch nothing the gap times hold what lies outside of them."""
    pipeline.tells_gaps = gaps
