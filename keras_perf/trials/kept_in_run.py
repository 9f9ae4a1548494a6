"""The outcome of a trial, written beside a training's own figures."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from keras_perf.records.run.run_facts import RunFacts
from keras_perf.write.reopened_run import ReopenedRun
from keras_perf.write.writable_log_dir import writable_log_dir


class KeptInRun:
    """Writes what was found into a log directory, if there is one.

    Arguments:
        log_dir: as given to the callbacks; None writes nothing.

    Raises:
        TypeError, ValueError, OSError: as `writable_log_dir`, before anything was tried.
    """

    def __init__(self, log_dir: str | os.PathLike[str] | None) -> None:
        self._log_dir = None if log_dir is None else writable_log_dir(log_dir)

    def keep(
        self, found: Mapping[str, Any], scalars: Mapping[int, Mapping[str, float]] | None = None
    ) -> None:
        """The facts that were found, and scalars by the step at which TensorBoard plots them.

        Raises:
            OSError: the file cannot be written.
        """
        if self._log_dir is None:
            return
        run, facts = ReopenedRun(self._log_dir), RunFacts(**found).to_json()
        run.write(0, {}, {name: facts[name] for name in found})
        for step, values in (scalars or {}).items():
            run.scalars(step, values)
