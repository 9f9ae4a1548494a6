"""What asks for windows, and how long captures take, on a scripted clock."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from keras_perf.capture.captures import Captures
from keras_perf.capture.trace_files import Saved
from keras_perf.capture.triggers import REMOTE_LOOK_S, EverySeconds, OnTouch
from keras_perf.observers.capture_windows.windows import Window


class Clock:
    def __init__(self) -> None:
        self.now_s = 1e6

    def __call__(self) -> int:
        return round(1e9 * self.now_s)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_window_is_asked_for_each_time_that_so_many_seconds_have_passed(clock):
    asked: list[str] = []
    trigger = EverySeconds(600.0, lambda why: asked.append(why) or True, clock)
    for seconds in (599.0, 1.0, 1.0, 598.0, 1.0):
        clock.now_s += seconds
        trigger.interval_ends()
    assert asked == ["every 600 s"] * 2


def test_a_request_that_was_refused_is_made_again(clock):
    answers = [False, True, True]
    trigger = EverySeconds(10.0, lambda why: answers.pop(0), clock)
    for _ in range(4):
        clock.now_s += 10.0 if len(answers) == 3 else 1.0
        trigger.interval_ends()
    assert answers == [True]


def test_a_remote_file_is_looked_at_now_and_then(clock, monkeypatch):
    looks: list[float] = []
    monkeypatch.setattr(OnTouch, "_touched_ns", lambda self: looks.append(clock.now_s))
    trigger = OnTouch("gs://bucket/logs", lambda why: True, clock)
    for _ in range(25):
        clock.now_s += 1.0
        trigger.interval_ends()
    begin, *later = looks
    assert [each - begin for each in later] == [REMOTE_LOOK_S, 2 * REMOTE_LOOK_S]


def test_a_capture_tells_how_long_starting_and_saving_it_blocked(clock):
    def passes(seconds: float) -> None:
        clock.now_s += seconds

    def stop() -> Saved:
        passes(0.75)
        return Saved("logs/plugins/profile/trace", 2048)

    profiler = SimpleNamespace(start=lambda log_dir: passes(0.25), stop=stop)
    captures = Captures("logs", profiler, clock)
    captures.begin(20, Window(20, 40, "schedule"))
    passes(5.0)
    captures.end(40)
    capture = captures.settle()
    assert (capture.start_s, capture.stop_s) == pytest.approx((0.25, 0.75))
