"""Executes the notebooks as they stand and stores their outputs and plots.

    python notebooks/run_all.py [NAME ...]

Each runs in an empty folder. Stored outputs name no folder and no host of the machine.
Where a cell fails, or a notebook takes over two minutes, nothing is stored and the exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import re
import socket
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError

FOLDER = Path(__file__).parent
LIMIT_S = 120
"""What a whole notebook may take."""

OF_TENSORFLOW = re.compile(
    r"^(WARNING: All log messages before absl|To enable the following instr|[IWEF]\d{4} \d).*\n?",
    re.M,
)
"""What its C++ prints of the machine's drivers before anything can silence it."""

CELL_FILE = re.compile(r"\S*/ipykernel_\d+/\d+\.py")
"""What Python calls the file of a cell."""


def executed(path: Path, limit_s: float = LIMIT_S) -> nbformat.NotebookNode:
    """The notebook with what it shows, run in an empty folder.

    Arguments:
        path: of the notebook.
        limit_s: seconds that all its cells together may take.

    Raises:
        CellExecutionError: a cell failed.
        CellTimeoutError: the time was over.
    """
    notebook, end = nbformat.read(path, as_version=4), time.monotonic() + limit_s

    def left_s(_cell: nbformat.NotebookNode) -> int:
        return max(1, int(end - time.monotonic()))

    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        client = NotebookClient(
            notebook, timeout_func=left_s, resources=resources, record_timing=False
        )
        client.execute()
    return notebook


def names_of_this_machine() -> list[str]:
    """What no stored output may hold."""
    folders = {str(FOLDER.parent), sys.prefix, os.path.realpath(sys.prefix), str(Path.home())}
    names = {*folders, socket.gethostname(), tempfile.gettempdir()} - {"/", "/root", "localhost"}
    return sorted(names, key=len, reverse=True)


def without_machine(text: str) -> str:
    """What a cell shows, without the machine's folders and name."""
    text = CELL_FILE.sub("this notebook", OF_TENSORFLOW.sub("", text))
    for name in names_of_this_machine():
        text = text.replace(name, "…")
    return text


def stored(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Outputs as anybody may read them."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            shown = output.get("data", output)
            for kind in ("text", "text/plain", "text/html"):
                if kind in shown:
                    shown[kind] = without_machine(shown[kind])
        if "outputs" in cell:
            cell.outputs = [each for each in cell.outputs if each.get("text", "shown").strip()]
    # A kernel tells its version of Python, which every machine would change.
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def main() -> int:
    """Runs them one after the other."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="such as first_look")
    chosen = parser.parse_args().names or sorted(path.stem for path in FOLDER.glob("*.ipynb"))
    failed = 0
    for name in chosen:
        path = FOLDER / f"{name}.ipynb"
        begin = time.monotonic()
        try:
            nbformat.write(stored(executed(path)), path)
            told = "stored"
        except (CellExecutionError, CellTimeoutError) as error:
            failed, told = 1, f"FAILED\n{error}"
        print(f"{name}: {time.monotonic() - begin:.0f} s, {told}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
