"""Tables that xprof makes of a trace.

xprof writes caches beside the file it reads, logs page after page and takes gigabytes for large
traces: it works on a temporary copy, in a process of its own.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from keras_perf.files.any_path import AnyPath

_SCRIPT = """
import sys
from xprof.convert.raw_to_tool_data import xspace_to_tool_data
content, _ = xspace_to_tool_data(sys.argv[2:], sys.argv[1], {"use_saved_result": False})
sys.stdout.buffer.write(content if isinstance(content, bytes) else content.encode())
"""


def xprof_tool(paths: Sequence[AnyPath], tool: str) -> Any:
    """What one of xprof's tools says of a trace, as decoded JSON.

    Arguments:
        paths: its `.xplane.pb` files, one a host; nothing is written beside them.
        tool: xprof's name for it, such as `overview_page`.

    Raises:
        RuntimeError: xprof is not installed, or fails on this trace.
    """
    with tempfile.TemporaryDirectory(prefix="keras_perf_xprof_") as folder:
        copies = [Path(folder, path.name) for path in paths]
        for path, copy in zip(paths, copies, strict=True):
            if isinstance(path, Path):
                shutil.copyfile(path, copy)
            else:
                copy.write_bytes(path.read_bytes())
        command = [sys.executable, "-c", _SCRIPT, tool, *map(str, copies)]
        done = subprocess.run(command, capture_output=True, cwd=folder, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["nothing"]
        raise RuntimeError(
            f"xprof's {tool} failed on {str(paths[0])!r} (status {done.returncode}): {said[-1]}. "
            "It comes with tensorboard-plugin-profile."
        )
    return json.loads(done.stdout)


def table(described: Mapping[str, Any]) -> pd.DataFrame:
    """One of its tables (Google's DataTable) as a frame with the columns' ids as names."""
    columns = [column["id"] for column in described["cols"]]
    rows = [[cell.get("v") for cell in row["c"]] for row in described["rows"]]
    return pd.DataFrame(rows, columns=columns)


def properties(tables: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Notes beside the tables, of all of them."""
    notes: dict[str, str] = {}
    for described in tables:
        notes.update(described.get("p") or {})
    return notes
