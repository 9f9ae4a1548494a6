"""Which directory each `fit`, or each model that evaluates or predicts, writes to."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from pathlib import Path

from keras_perf.cluster.worker_number import place_among_workers
from keras_perf.files.any_path import any_path, names_in
from keras_perf.files.remote_path import RemotePath
from keras_perf.records.run_names import RUN


def without_path(error: Exception) -> str:
    """The error in a line that is the same for each directory."""
    return f"{type(error).__name__}: {getattr(error, 'strerror', None) or error}"


class NumberedDirectories:
    """`fit_1`, `fit_2` and so on below a log directory, after those that are there already.

    Of several workers each counts its own from 1, so that all write the same `fit` to the same
    directory.

    Arguments:
        log_dir: which they are below.
        name: what stands before the number, such as `fit`.
    """

    def __init__(self, log_dir: str, name: str) -> None:
        self._log_dir, self._name = log_dir, name
        self._given = 0
        self._made: set[Path] = set()
        self._lock = threading.Lock()

    def next(self) -> str:
        """The directory of the next one; a local one is made.

        Raises:
            OSError: it cannot be made.
        """
        alone = place_among_workers(os.environ.get("TF_CONFIG"))[0] is None
        with self._lock:
            if alone:
                self._given = max(self._given, self._highest())
            while True:
                self._given += 1
                made = any_path(self._log_dir) / f"{self._name}_{self._given}"
                if isinstance(made, RemotePath) or not alone:
                    return str(made)
                missing = {each for each in made.parents if not each.exists()}
                try:
                    made.mkdir(parents=True)
                except FileExistsError:
                    if not os.path.lexists(made):
                        # A link that leads nowhere is in the way of a folder above it.
                        raise
                    continue
                self._made |= missing
                return str(made)

    def leave_no_empty(self, made: str) -> None:
        """Removes what `next` made, where nothing was written: all failed before a step."""
        folder = any_path(made)
        if isinstance(folder, RemotePath):
            return
        with self._lock:
            above = (each for each in folder.parents if each in self._made)
            for each in (folder / RUN, folder, *above):
                with contextlib.suppress(OSError):
                    each.rmdir()

    def _highest(self) -> int:
        numbered = re.compile(rf"{self._name}_(\d+)")
        found = filter(None, map(numbered.fullmatch, names_in(any_path(self._log_dir))))
        return max((int(each[1]) for each in found), default=0)
