"""Runs programs at the same time, given as JSON in the first argument; prints how they ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time


def run(program: dict) -> dict:
    """A program has `code` and may have `environ`, and `start_after_s` and `continue_after_s`.

    `continue_after_s` counts from where it stops itself; one that ends before is not continued.
    """
    time.sleep(program.get("start_after_s", 0))
    process = subprocess.Popen(
        [sys.executable, "-c", program["code"]],
        env={**os.environ, **program.get("environ", {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    begin = time.monotonic()
    if "continue_after_s" in program:
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(program["continue_after_s"])
        process.send_signal(signal.SIGCONT)
    out, err = process.communicate()
    lasted_s = time.monotonic() - begin
    return {"code": process.returncode, "out": out, "err": err, "lasted_s": lasted_s}


if __name__ == "__main__":
    programs = json.loads(sys.argv[1])
    ended = [{} for _ in programs]
    threads = [
        threading.Thread(target=lambda i=i, p=program: ended[i].update(run(p)))
        for i, program in enumerate(programs)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(ended))
