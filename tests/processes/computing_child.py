"""A program: reads the CPU time of a child that computes, and judges what was read.

python computing_child.py fork|spawn|forkserver
"""

from __future__ import annotations

import itertools
import multiprocessing
import sys
import time
from typing import Any

from keras_perf.observers.sensors.started_by_python import child_processes

TAG = "host/child_processes_cpu_pct"


def compute(stop: Any, took: Any) -> None:
    while not stop.is_set():
        sum(range(1000))
    took.value = time.process_time()


def judge(start: str) -> None:
    """What is read of a child that is started so."""
    context, readings = multiprocessing.get_context(start), itertools.count()
    stop, took = context.Event(), context.Value("d", 0.0)
    # With a second from each reading to the next, 100% is a second of CPU time.
    reader = child_processes(clock=lambda: float(next(readings)))
    assert reader.read() == {}
    child = context.Process(target=compute, args=(stop, took))
    child.start()
    pct, end = 0.0, time.monotonic() + 60
    try:
        while not pct and time.monotonic() < end:
            pct = reader.read()[TAG]
            time.sleep(0.01)
    finally:
        stop.set()
        child.join(60)
        child.kill()
    assert 0 < pct / 100 <= took.value
    # It has ended.
    assert reader.read() == {TAG: 0.0}


if __name__ == "__main__":
    judge(sys.argv[1])
