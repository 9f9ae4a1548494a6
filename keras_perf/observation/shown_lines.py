"""What a user is shown when a training has ended."""

from __future__ import annotations

import sys

from keras_perf.write.fit_of_process import is_notebook


def show(lines: str) -> None:
    """On standard error, so that what a program prints stays its own; in a notebook as usual.

    A notebook shows standard error as if it were a failure.
    """
    stream = sys.stdout if is_notebook() else sys.stderr
    if stream is not None:
        # Keras may have left its progress bar's line open.
        stream.write(f"\n{lines}")
        stream.flush()
