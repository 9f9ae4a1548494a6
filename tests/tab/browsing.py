"""TensorBoard and a browser, for the tests and for the documentation's screenshots."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Playwright

TAB = "data/plugin_entry.html?name=keras_perf"
"""The tab alone, without TensorBoard around it."""

LOOKS_AGAIN_MS = 60_000
"""For what appears by itself; a machine may be slow."""

RUN = ".bar-of-tools select >> nth=0"
"""Where the run is chosen."""

FITS = "width => document.documentElement.scrollWidth <= width"
"""To be waited for: what is drawn to the window's width is drawn anew in the next frame."""


WITHOUT_TENSORFLOW = """
import sys
sys.modules["tensorflow"] = None
from tensorboard.main import run_main
run_main()
"""
"""Starts in a third of the time."""


@contextmanager
def tensorboard_on(logs: Path | None, *flags: str, tensorflow: bool = True) -> Iterator[str]:
    """The address of a TensorBoard at a free port, for this machine only.

    Arguments:
        logs: its log directory; None where the flags say what it shows.
        flags: others of its command line.
        tensorflow: False for a Python in which it is not installed.
    """
    starts = ["-m", "tensorboard.main"] if tensorflow else ["-c", WITHOUT_TENSORFLOW]
    command = [sys.executable, *starts, "--host", "127.0.0.1", "--port", "0"]
    shown = [] if logs is None else ["--logdir", str(logs)]
    process = subprocess.Popen([*command, *shown, *flags], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:\d+/\S*", line):
                yield found.group()
                break
    finally:
        process.kill()
        process.communicate()


def chromium_of(playwright: Playwright, **options: Any) -> Browser:
    """Debian's chromium, without a window."""
    executable = shutil.which("chromium")
    assert executable, "chromium must be installed: apt-get install chromium"
    return playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"], **options)
