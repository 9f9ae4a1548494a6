"""Runs a command where there is no network but loopback."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from functools import lru_cache

import nursery
import pytest

_works = lru_cache(nursery.namespaces_work)


def run(command: Sequence[str], *, limit_s: float) -> subprocess.CompletedProcess[str]:
    """Runs it to its end; after `limit_s` kills it, and what it started in its session.

    Where a namespace cannot be made the test is skipped, or fails if CI is set.
    """
    if not _works():
        why = "a network namespace cannot be made here (unshare -rn, ip)"
        pytest.fail(why) if os.environ.get("CI") else pytest.skip(why)
    process = subprocess.Popen(
        [*nursery.IN_NAMESPACE, *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=limit_s)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        print(*process.communicate(), sep="\n")
        raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)
