"""How long a thread was at work itself, with clocks of the test's own, and with the system's."""

from __future__ import annotations

import time

from keras_perf.observers.sensors.core_wait import OwnTime


class Waits:
    """For a core, in seconds."""

    def __init__(self) -> None:
        self.waited_s = 7.0
        self.closed = False

    def seconds(self) -> float:
        return self.waited_s

    def close(self) -> None:
        self.closed = True


def test_it_is_the_cpu_time_and_the_wait_for_a_core():
    cpu_ns, waits = [10], Waits()
    own = OwnTime(lambda: cpu_ns[0], waits)
    own.begin()
    cpu_ns[0] += 300
    waits.waited_s += 4e-6
    assert own.take() == 4300
    assert own.take() == 0
    own.close()
    assert waits.closed


def test_another_thread_with_less_behind_it_gives_nothing_below_0():
    cpu_ns = [10]
    own = OwnTime(lambda: cpu_ns[0], Waits())
    own.begin()
    cpu_ns[0] = 0
    assert own.take() == 0


def test_what_a_thread_sleeps_is_not_its_own():
    own = OwnTime()
    begin = time.perf_counter_ns()
    own.begin()
    time.sleep(0.05)
    slept = own.take()
    own.begin()
    enough = time.thread_time_ns() + 3_000_000
    while time.thread_time_ns() < enough:
        pass
    worked = own.take()
    own.close()
    assert slept < time.perf_counter_ns() - begin - 50_000_000
    assert worked >= 3_000_000
