"""What is being tried, on a terminal."""

import io
import logging
import sys

import pytest
from batch_models import dataset, model

import keras_perf as kp
from keras_perf.trials.measuring.progress import Pace, Progress
from keras_perf.trials.training.search import Search


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_one_line_changes_and_goes(monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    progress = Progress()
    progress.tries("cache (map(f))", 12.4)
    progress.ends()
    assert terminal.getvalue() == "\r\x1b[Ktrying cache (map(f)), 12 s left\r\x1b[K"


def test_no_half_line_stays_where_a_trial_raises(monkeypatch):
    def raises(search):
        search._trier.say("the input alone")
        raise ValueError("odd")

    monkeypatch.setattr(Search, "run", raises)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with pytest.raises(ValueError, match="odd"):
        kp.try_advice(model(), dataset())
    assert "trying the input alone" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_the_first_line_says_what_it_may_take_and_how_to_end_it(monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream := io.StringIO())
    Progress().begins("advice on this training", 30.0)
    assert stream.getvalue() == (
        "keras_perf tries advice on this training, for 30 s at most. "
        "Ctrl-C ends it with what is known by then, and everything is put back.\n"
    )


def test_where_the_time_is_not_known_none_is_told(monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    progress = Progress()
    progress.begins("3 batch sizes")
    progress.tries("batch size 16", None)
    first, line = terminal.getvalue().split("\n")
    assert first.startswith("keras_perf tries 3 batch sizes. Ctrl-C ends it")
    assert line.endswith("\x1b[Ktrying batch size 16")


def test_parts_that_are_left_take_what_those_before_took():
    now = iter([100.0, 106.0, 112.0])
    pace = Pace(4, lambda: next(now))
    assert pace.left_s(0) is None
    assert pace.left_s(1) == 18.0
    assert pace.left_s(3) == 4.0


def test_nothing_is_written_where_nobody_sees_a_line_change(monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream := io.StringIO())
    Progress().tries("cache", 1.0)
    Progress().ends()
    assert stream.getvalue() == ""


def test_whoever_turns_warnings_off_sees_nothing(monkeypatch, caplog):
    caplog.set_level(logging.ERROR, logger="keras_perf")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    progress = Progress()
    progress.begins("advice on this training", 30.0)
    progress.tries("cache", 1.0)
    progress.ends()
    assert terminal.getvalue() == ""
