"""What threads wait for a core: of this one, and of all where the process has one core."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import time

import pytest

from keras_perf.observers.sensors.core_wait import EVERY_S, CoreWait, core_waits

TAG = "host/process_core_wait_pct"
MS = 1_000_000


def test_what_this_thread_waited_for_a_core_is_known_or_nothing():
    core = CoreWait()
    assert core.seconds() >= 0.0
    core.close()
    core.close()
    # Another thread may have closed it in the middle of an execution.
    assert core.seconds() == 0.0
    assert core._file is None


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_it_is_this_thread_s_and_grows_where_threads_share_a_core():
    mine, ends, core = os.sched_getaffinity(0), threading.Event(), CoreWait()

    def busy():
        os.sched_setaffinity(0, {min(mine)})
        much = bytes(10_000_000)
        while not ends.is_set():
            hashlib.sha256(much)  # without the interpreter

    other = threading.Thread(target=busy)
    os.sched_setaffinity(0, {min(mine)})
    other.start()
    try:
        before, until = core.seconds(), time.monotonic() + 20
        while core.seconds() <= before and time.monotonic() < until:
            pass
        assert core.seconds() > before
    finally:
        os.sched_setaffinity(0, mine)
        ends.set()
        other.join()
        core.close()


def test_of_all_threads_it_is_added_up_and_one_that_has_ended_takes_none_away():
    now, waited_ms = [100.0], [10.0]
    reader = core_waits(lambda: now[0], lambda _: int(waited_ms[0] * MS), cores=1)
    assert reader.read() == {}
    now[0], waited_ms[0] = 102.0, 510.0
    found = reader.read()[TAG]
    # Half a second in two of each thread that there is, at least of this one.
    assert found >= 25.0
    now[0] += EVERY_S / 2
    assert reader.read() == {}
    now[0], waited_ms[0] = 104.0, 0.0
    assert reader.read() == {TAG: 0.0}


@pytest.mark.parametrize(("waited_ns", "cores"), [(MS, 2), (0, 1)])
def test_with_more_cores_and_where_nobody_tells_there_is_nothing(waited_ns, cores):
    now = [100.0]
    reader = core_waits(lambda: now[0], lambda _: waited_ns, cores=cores)
    assert reader.read() == {}
    now[0] += 2.0
    assert reader.read() == {}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_threads_that_share_a_core_wait_for_it():
    mine, ends = os.sched_getaffinity(0), threading.Event()

    def busy():
        much = bytes(10_000_000)
        while not ends.is_set():
            hashlib.sha256(much)  # without the interpreter

    others = [threading.Thread(target=busy) for _ in range(2)]
    os.sched_setaffinity(0, {min(mine)})
    try:
        reader = core_waits()
        for other in others:
            other.start()
        until, found = time.monotonic() + 20, reader.read()
        while not found.get(TAG) and time.monotonic() < until:
            time.sleep(EVERY_S)
            found = reader.read()
        assert found[TAG] > 0
    finally:
        os.sched_setaffinity(0, mine)
        ends.set()
        for other in others:
            other.join()
