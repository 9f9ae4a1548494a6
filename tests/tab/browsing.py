"""TensorBoard, as a browser finds it."""

import re
import subprocess
import sys
from contextlib import contextmanager

TAB = "data/plugin_entry.html?name=keras_perf"
LOOKS_AGAIN_MS = 60_000
"""For what appears by itself; a machine may be slow."""


@contextmanager
def tensorboard_on(logs):
    """Its address; on this machine only, at a free port."""
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(logs)]
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", "0"], stderr=subprocess.PIPE, text=True
    )
    try:
        for line in process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:\d+/", line):
                yield found.group()
                break
    finally:
        process.kill()
        process.communicate()
