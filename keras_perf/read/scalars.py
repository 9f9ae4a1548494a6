"""Scalars of a log directory."""

from __future__ import annotations

import os

import pandas as pd

from keras_perf.read.fits import fits_of


def load_scalars(log_dir: str | os.PathLike[str]) -> pd.DataFrame:
    """All scalars that keras_perf logged under `log_dir`.

    Returns:
        A frame with one row a value and the columns `run` (path below `log_dir`), `tag`, `step`
        (optimizer step), `wall_time` (seconds since the epoch) and `value`, in the order in
        which they were written. Values carry the precision of a float32.

    Arguments:
        log_dir: the directory given to the callbacks, or one above it.

    Raises:
        NoRunError: (a FileNotFoundError) nothing of ours is there, or it cannot be read.

    All fits are in it, the oldest first; `list_fits` tells them apart. What is damaged, or cut
    off by a killed process, is left out with a warning that names the file.
    """
    parts = [fit.logged for fits in fits_of(log_dir).values() for fit in fits]
    frame = pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]
    return frame.astype({"run": "category", "tag": "category"})
