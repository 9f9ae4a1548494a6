"""Where the demo trains: it replaces its own earlier runs, and nobody else's."""

from __future__ import annotations

import shutil
from pathlib import Path

from keras_perf.files.any_path import AnyPath, absolute, folders_below

OWN = "logs/demo"
"""The directory in which `before` and `after` are the demo's."""


def make_room(log_dir: AnyPath) -> None:
    """Removes the two runs of an earlier demo.

    Raises:
        ValueError: in another directory one of the two holds files already.
    """
    for folder in (log_dir / "before", log_dir / "after"):
        if log_dir == Path(absolute(OWN)):
            shutil.rmtree(folder, ignore_errors=True)
        elif any(names for _, names in folders_below(folder, lambda error: None)):
            raise ValueError(
                f"LOGDIR must not hold files in before or after yet, got {str(log_dir)!r}. Give "
                f"another directory, or none: the demo replaces its own runs in {OWN}."
            )
