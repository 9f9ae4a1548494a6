"""What a worker prints, line by line, with the worker's name before each."""

from __future__ import annotations

import os
import threading
import time
from typing import IO

_LONGEST_LINE = 1 << 20

FULL_S = 0.01
"""Until a reader who is behind is asked again."""


STOPPED_S = 0.5
"""Nobody is waited for who has read nothing for so long, where the workers have ended."""


class SharedOutput:
    """A stream to which several threads write, each in whole pieces.

    An unbuffered one (PYTHONUNBUFFERED) has no lock of its own, and may take a part of a piece.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._lock = stream, threading.Lock()

    def write(self, piece: bytes) -> None:
        """All of it, before or after what others write."""
        left = memoryview(piece)
        with self._lock:
            while left:
                taken = self._taken(left)
                if not taken:
                    time.sleep(FULL_S)
                left = left[taken:]
            while not self._flushed():
                time.sleep(FULL_S)

    def _taken(self, piece: memoryview) -> int:
        """How much is; a terminal or pipe that does not block takes nothing while it is full."""
        try:
            return self._stream.write(piece) or 0
        except BlockingIOError as full:
            return full.characters_written

    def _flushed(self) -> bool:
        try:
            self._stream.flush()
        except BlockingIOError:
            return False
        return True


class PrefixedOutput:
    """A thread that passes on whole lines as they come.

    Arguments:
        source: the end of a pipe that is read; closed when nobody writes to it any more.
        target: where the lines go, which may be the target of others too.
        prefix: stands before each line.

    Attributes:
        error: why nothing can be written to `target` any more; None while it can.
    """

    def __init__(self, source: IO[bytes], target: SharedOutput, prefix: bytes) -> None:
        self._source, self._target, self._prefix = source, target, prefix
        self.error: OSError | None = None
        self._held = b""
        self._over = False
        self._lock = threading.Lock()
        # A daemon: a process that the worker left behind may hold the pipe open for ever.
        self._thread = threading.Thread(target=self._run, name="keras_perf-output", daemon=True)

    def start(self) -> None:
        """Begins to read."""
        self._thread.start()

    def finish(self, within_s: float) -> None:
        """Passes on the rest and ends a line that has begun; nothing is passed on later.

        Of a reader who has stopped to read no more is waited for.
        """
        self._thread.join(within_s)
        self._over = True
        if self._lock.acquire(timeout=STOPPED_S):
            try:
                if self._held and self.error is None:
                    self._print([self._held])
            finally:
                self._lock.release()

    def _run(self) -> None:
        try:
            with self._source:
                while read := os.read(self._source.fileno(), 1 << 16):
                    self._pass_on(read)
        except OSError as error:
            self.error = self.error or error

    def _pass_on(self, read: bytes) -> None:
        """What cannot be written is read all the same: a worker that saves may print meanwhile."""
        with self._lock:
            if self.error is not None:
                return
            *lines, self._held = (self._held + read).split(b"\n")
            if len(self._held) > _LONGEST_LINE:
                lines.append(self._held)
                self._held = b""
            if not self._over:
                try:
                    self._print(lines)
                except OSError as error:
                    self.error = error

    def _print(self, lines: list[bytes]) -> None:
        # In one piece, so that another worker's lines come before or after it.
        self._target.write(b"".join(self._prefix + line + b"\n" for line in lines))
