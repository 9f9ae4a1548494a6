"""Imports TensorFlow once, then forks workers as it is asked to on its standard input.

The import takes longer than most trainings of the tests. TensorFlow's runtime is not started
here, so that each worker starts its own.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import sys
import time
import traceback
from pathlib import Path

import keras_perf.loop.template  # noqa: F401  the import that takes long


def main():
    for line in sys.stdin:
        request = json.loads(line)
        keeper = os.fork()
        if keeper == 0:
            keep(request)
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def keep(request):
    """Forks the workers, waits for them, and writes each one's exit code and when it ended."""
    folder = Path(request["folder"])
    ranks = {}
    for rank in range(request["count"]):
        pid = os.fork()
        if pid == 0:
            os._exit(work(request, rank))
        ranks[pid] = rank
    write(folder / "pids", json.dumps(list(ranks)))
    while ranks:
        pid, status = os.wait()
        code = os.waitstatus_to_exitcode(status)
        write(folder / f"ended_{ranks.pop(pid)}", json.dumps([code, time.monotonic()]))
    os._exit(0)


def work(request, rank):
    """Does a job as this worker; its exit code."""
    folder = Path(request["folder"])
    with open(folder / f"output_{rank}", "wb") as output, open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    os.environ.update(request["environ"])
    if request["addresses"]:
        task = {"type": "worker", "index": request["indices"][rank]}
        cluster = {"worker": request["addresses"]}
        os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": task})
    sys.path += [folder for folder in request["path"] if folder not in sys.path]
    module, _, function = request["job"].partition(":")
    try:
        job = getattr(importlib.import_module(module), function)
        result = job(rank, folder, **request["arguments"])
        write(folder / f"result_{rank}", json.dumps(result))
        code = result if isinstance(result, int) else 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001  what it was is in the worker's output
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    if request["whole_exit"]:
        sys.exit(code)
    return code


def script(rank, folder, path, arguments):
    """A job: runs a program."""
    sys.argv = [path, *arguments]
    runpy.run_path(path, run_name="__main__")


def write(path, text):
    """Whole or not at all."""
    path.with_name(f"{path.name}.part").write_text(text)
    path.with_name(f"{path.name}.part").rename(path)


if __name__ == "__main__":
    main()
