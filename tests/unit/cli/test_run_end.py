"""What `keras-perf run` does when the program has ended."""

from __future__ import annotations

from keras_perf.cli.run import _End, _Voice
from keras_perf.running.observed import Observed
from keras_perf.running.options import Options


def test_the_last_calls_are_written_before_the_diagnosis_is_made(tmp_path, monkeypatch):
    observed, done = Observed(Options(str(tmp_path)), print), []
    monkeypatch.setattr(observed.calls, "finish", lambda: done.append("written"))
    monkeypatch.setattr("keras_perf.cli.run.why_nothing", lambda _: done.append("told"))
    _End(observed, _Voice(quiet=True), None)()
    assert done == ["written", "told"]
