"""What a command prints: neither a missing character nor a reader who has left makes it fail."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import TextIO

from keras_perf.records.text.plain_characters import PLAINLY
from keras_perf.records.text.visible import visible

CLOSED_PIPE = 141
"""The exit code where whoever read the output has left: a shell's for SIGPIPE."""


def complain(text: str) -> None:
    """One line for whoever watches, not for who reads the output; whatever the names in it."""
    if sys.stderr is not None:
        print(visible(text), file=sys.stderr)


def told_on(stream: TextIO, text: str) -> None:
    """Writes to a stream in what characters it has; where it cannot be written nothing happens."""
    with contextlib.suppress(OSError, ValueError):
        encoding = stream.encoding or "utf-8"
        stream.write(text.encode(encoding, PLAINLY).decode(encoding))
        stream.flush()


@contextlib.contextmanager
def readable_output() -> Iterator[None]:
    """Within it, what an encoding lacks is printed in plain characters.

    Raises:
        OSError: at its end, the output could not be written: BrokenPipeError, whoever read it has
            left. Nothing more is written then, also not when Python ends.
    """
    with contextlib.ExitStack() as streams:
        for stream in (sys.stderr, sys.stdout):
            # A notebook's is another, which shows everything.
            if isinstance(stream, io.TextIOWrapper):
                streams.enter_context(_plain(stream))
        yield


@contextlib.contextmanager
def _plain(stream: io.TextIOWrapper) -> Iterator[None]:
    before = stream.errors
    stream.reconfigure(errors=PLAINLY)
    try:
        yield
    finally:
        try:
            stream.flush()
        except OSError:
            # Python would write what is left once more, and tell of the failure.
            _discard(stream)
            raise
        finally:
            stream.reconfigure(errors=before)


def _discard(stream: io.TextIOWrapper) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
