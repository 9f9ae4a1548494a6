"""TensorBoard's writer of event files, which leaves nothing behind where it cannot open one."""

from __future__ import annotations

import contextlib
from typing import Any

from tensorboard.summary.writer.event_file_writer import EventFileWriter


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
