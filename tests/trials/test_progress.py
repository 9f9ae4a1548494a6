"""What is being tried, on a terminal."""

import io
import logging
import sys

from keras_perf.trials.measuring.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_one_line_changes_and_goes(monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    progress = Progress()
    progress.tries("cache (map(f))", 12.4)
    progress.ends()
    assert terminal.getvalue() == "\r\x1b[Ktrying cache (map(f)), 12 s left\r\x1b[K"


def test_the_first_line_says_what_it_may_take_and_how_to_end_it(monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream := io.StringIO())
    Progress().begins("advice on this training", 30.0)
    assert stream.getvalue() == (
        "keras_perf tries advice on this training, for 30 s at most. "
        "Ctrl-C ends it with what is known by then, and everything is put back.\n"
    )


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
