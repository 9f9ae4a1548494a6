"""The identity of a `fit` that begins to write."""

from __future__ import annotations

import os
import secrets
import socket
import sys

from keras_perf.files.any_path import any_path, names_in
from keras_perf.records.fit_identity import FitIdentity, sequence_of


def identity_of_fit(folder: str, started: float) -> FitIdentity:
    """The identity of the next `fit` in a directory of event files.

    Arguments:
        folder: the directory; it need not exist.
        started: seconds since the epoch.

    Two that begin at the same moment get the same sequence, and are told apart by the others.
    """
    return FitIdentity(
        id=secrets.token_hex(3),
        sequence=_next_sequence(folder, started),
        started=started,
        host=socket.gethostname(),
        process=os.getpid(),
        program=program_name(),
    )


def _next_sequence(folder: str, started: float) -> int:
    """One more than the highest that is there.

    Where the directory cannot be listed, the clock's seconds stand in: they are more than any
    that was counted, and less than those of the next.
    """
    try:
        return 1 + max(map(sequence_of, names_in(any_path(folder))), default=0)
    except Exception:  # noqa: BLE001  file systems elsewhere fail in ways of their own
        return max(1, int(started))


def is_notebook() -> bool:
    """Whether a Jupyter kernel runs this process; what starts kernels imports `ipykernel` too."""
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    return hasattr(get_ipython(), "kernel")


def program_name() -> str:
    """The script's name, `-m module`, `notebook` or `interactive`."""
    if is_notebook():
        return "notebook"
    main = sys.modules.get("__main__")
    specification = getattr(main, "__spec__", None)
    if specification is not None and specification.name:
        return f"-m {specification.name.removesuffix('.__main__')}"
    if getattr(main, "__file__", None) is None:
        return "interactive"
    return os.path.basename(str(getattr(main, "__file__", "")))
