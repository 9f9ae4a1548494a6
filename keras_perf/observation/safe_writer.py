"""A run's writer whose failure costs what is written, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from keras_perf.observation.failure_line import warn_of
from keras_perf.observers.asking import unwarned
from keras_perf.records.run_names import RUN
from keras_perf.write.run_writer import RunWriter


class SafeWriter:
    """Writes a run until that fails for the first time, which is said once; then nothing more.

    After a failure a record may be cut off in its middle, and what follows one cannot be read.
    A value that cannot be written (TypeError, ValueError) is raised: the fault is the caller's.

    Arguments:
        log_dir: the directory that TensorBoard is started on.
        run: the run's name under it.

    Attributes:
        lost: something could not be written.
    """

    def __init__(self, log_dir: str, run: str = RUN) -> None:
        self.lost = False
        self._log_dir = log_dir
        self._events: RunWriter | None = None
        self._try(self._open, log_dir, run)

    @property
    def fit(self) -> str | None:
        """The id of the fit that is written; None where nothing is."""
        return None if self._events is None else self._events.fit.id

    def scalars(
        self, step: int, values: Mapping[str, float], wall_time: float | None = None
    ) -> None:
        """See `RunWriter.scalars`; of now where no time is given."""
        if self._events is not None:
            at = time.time() if wall_time is None else wall_time
            self._try(self._events.scalars, step, values, at)

    def text(self, step: int, tag: str, markdown: str) -> None:
        """See `RunWriter.text`."""
        if self._events is not None:
            self._try(self._events.text, step, tag, markdown)

    def picture(self, step: int, tag: str, png: bytes, size: tuple[int, int]) -> None:
        """See `RunWriter.picture`."""
        if self._events is not None:
            self._try(self._events.picture, step, tag, png, size)

    def context(self, step: int, context: Mapping[str, Any]) -> None:
        """See `RunWriter.context`."""
        if self._events is not None:
            self._try(self._events.context, step, context)

    def flush(self) -> None:
        """See `RunWriter.flush`."""
        if self._events is not None:
            self._try(self._events.flush)

    def flush_now(self) -> None:
        """See `RunWriter.flush_now`."""
        if self._events is not None:
            self._try(self._events.flush_now)

    def close(self) -> None:
        """Gives thread and file back; again does nothing."""
        events, self._events = self._events, None
        if events is not None:
            try:
                events.close()
            except Exception as error:  # noqa: BLE001  monitoring never kills training
                self._fails(error)

    def _open(self, log_dir: str, run: str) -> None:
        self._events = RunWriter(log_dir, run)

    def _try(self, write: Callable[..., None], *arguments: Any) -> None:
        try:
            unwarned(write, *arguments)
        except (TypeError, ValueError):
            raise
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            self._fails(error)
            self.close()

    def _fails(self, error: Exception) -> None:
        if not self.lost:
            self.lost = True
            what = f"writing to {self._log_dir!r}"
            warn_of(error, what, "what was to be logged from here on is missing")
