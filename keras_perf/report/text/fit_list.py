"""list_fits: everything that wrote into a log directory."""

from __future__ import annotations

import os

import pandas as pd

from keras_perf.read.fits import fits_of
from keras_perf.report.text.forms import Terminal

COLUMNS = (
    "run",
    "fit",
    "sequence",
    "started",
    "host",
    "process",
    "program",
    "steps",
    "measured",
)


def list_fits(log_dir: str | os.PathLike[str]) -> pd.DataFrame:
    """All fits below a log directory, one row each, run by run and the oldest first.

    Returns:
        A frame with the columns `run` (path below `log_dir`), `fit` (the id that `diagnose`
        takes), `sequence` (from 1 in its run; 0 of earlier versions), `started` (UTC; NaT if
        unknown), `host`, `process`, `program`, `steps` (that were measured) and `measured`
        (whether there are any).

    Arguments:
        log_dir: the directory given to the callbacks, or one above it.

    Raises:
        NoRunError: (a FileNotFoundError) nothing of ours is there, or it cannot be read.
    """
    rows = [
        (
            run,
            fit.identity.id,
            fit.identity.sequence,
            fit.identity.started or None,
            fit.identity.host,
            fit.identity.process,
            fit.identity.program,
            fit.steps,
            fit.steps > 0,
        )
        for run, fits in fits_of(log_dir).items()
        for fit in fits
    ]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    frame["started"] = pd.to_datetime(frame["started"].astype("float64"), unit="s", utc=True)
    return frame


def fits_text(fits: pd.DataFrame) -> str:
    """The frame of `list_fits` for a terminal."""
    shown = fits.assign(
        started=fits["started"].dt.strftime("%Y-%m-%d %H:%M:%S").fillna("unknown"),
        measured=fits["measured"].map({True: "yes", False: "no"}),
    )
    header = ["started (UTC)" if name == "started" else name for name in COLUMNS]
    form = Terminal()
    form.table(header, [list(map(str, row)) for row in shown.itertuples(index=False)])
    return str(form)
