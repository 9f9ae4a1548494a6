"""An event file behind a URL: written here, and copied there from time to time.

Nothing is appended to an object store: whoever flushes writes the whole file once more, and a
training of a day has 50 MiB of events. The copies are made in a thread, with pauses of at least
`PAUSE_S` and of `SHARE` times as long as the last copy took: never does training wait for one
before it ends, and the network is busy for at most a twentieth of the time.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from keras_perf.files.remote_path import RemotePath
from keras_perf.write.event_file import EventFile

logger = logging.getLogger("keras_perf")

PAUSE_S = 30.0
SHARE = 19.0


def pause_after(copy_s: float) -> float:
    """Seconds until the next copy, after one that took so many."""
    return max(PAUSE_S, SHARE * copy_s)


class RemoteEventFile:
    """An event file in a remote folder; the first copy is made at once.

    A copy that fails is told of once, and made again after the next pause. What cannot be copied
    at the end stays in the local file, which the error names.

    Arguments:
        folder: of the run, a URL.
        options: `EventFileWriter`'s.

    Raises:
        OSError: it cannot be written.
    """

    def __init__(self, folder: str, **options: Any) -> None:
        self._staging = Path(tempfile.mkdtemp(prefix="keras_perf-events-"))
        self._copying = threading.Lock()
        self._closes = threading.Event()
        self._copied_bytes = 0
        self._failed = False
        file = None
        try:
            file = self._file = EventFile(str(self._staging), **options)
            [self._local] = self._staging.iterdir()
            self._remote = RemotePath.of(folder) / self._local.name
            self._remote.parent.make_folder()
            self._copy()
        except BaseException:
            if file is not None:
                with contextlib.suppress(Exception):
                    file.close()
            shutil.rmtree(self._staging, ignore_errors=True)
            raise
        self._thread = threading.Thread(target=self._keep_copying, daemon=True)
        self._thread.name = "keras_perf-remote-events"
        self._thread.start()

    def add_event(self, event: Any) -> None:
        """See `EventFileWriter.add_event`."""
        self._file.add_event(event)

    def flush(self) -> None:
        """Does nothing: the thread copies when it is time."""

    def flush_now(self) -> None:
        """Copies what there is; returns when it can be read there, or when that failed."""
        self._file.flush()
        try:
            self._copy()
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            self._tell(error)

    def close(self) -> None:
        """Copies all of it, and leaves nothing here.

        Raises:
            OSError: it cannot be copied; the local file stays.
        """
        self._closes.set()
        self._thread.join()
        self._file.close()
        try:
            self._copy()
        except OSError as error:
            raise OSError(
                error.errno or errno.EIO,
                f"it could not be copied ({error.strerror}) and lies in {str(self._local)!r}",
                str(self._remote),
            ) from error
        shutil.rmtree(self._staging, ignore_errors=True)

    def _copy(self) -> None:
        with self._copying:
            content = self._local.read_bytes()
            if len(content) > self._copied_bytes:
                self._remote.write_bytes(content)
                self._copied_bytes = len(content)

    def _keep_copying(self) -> None:
        pause_s = PAUSE_S
        while not self._closes.wait(pause_s):
            begin = time.monotonic()
            self.flush_now()
            pause_s = pause_after(time.monotonic() - begin)

    def _tell(self, error: Exception) -> None:
        if not self._failed:
            self._failed = True
            logger.warning(
                "keras_perf: %s cannot be written now (%s); it is tried again every %.0f s, and "
                "nothing is lost so far.",
                self._remote,
                error,
                PAUSE_S,
            )
