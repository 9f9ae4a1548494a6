"""TensorBoard's writer of event files, which leaves nothing behind where it cannot open one."""

from __future__ import annotations

import contextlib
from typing import Any, Protocol

from tensorboard.summary.writer.event_file_writer import EventFileWriter


class Events(Protocol):
    """What takes events."""

    def add_event(self, event: Any) -> None:
        """Takes one."""

    def flush(self) -> None:
        """Lets others read soon what was written."""

    def flush_now(self) -> None:
        """Lets others read at once what was written."""

    def close(self) -> None:
        """Flushes and closes the file."""


class EventFile(EventFileWriter):
    """An event file, written by a thread of TensorBoard's.

    Arguments:
        folder: of the run.
        options: `EventFileWriter`'s.

    Raises:
        OSError, tensorflow.errors.OpError: it cannot be made, or the disk is full.
    """

    def __init__(self, folder: str, **options: Any) -> None:
        try:
            super().__init__(folder, **options)
        except BaseException:
            # On a full disk the first flush fails, when the thread runs already.
            with contextlib.suppress(Exception):
                self.close()
            raise

    def flush_now(self) -> None:
        """As `flush`: a local file is cheap to flush."""
        self.flush()
