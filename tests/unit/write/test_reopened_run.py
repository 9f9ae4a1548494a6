"""A file that is open only while something is written, and read as any other."""

from __future__ import annotations

import psutil
import pytest

from keras_perf.read.fits import fits_of
from keras_perf.write.reopened_run import ReopenedRun
from keras_perf.write.run_writer import RunWriter


def test_what_is_written_later_is_in_the_same_file(tmp_path):
    run = ReopenedRun(str(tmp_path), clock=lambda: 100.0)
    for step in (1, 2):
        run.write(step, {"evaluate/step_time_ms": 4.0 * step}, {"optimizer": f"the {step}."})
    assert not [f for f in psutil.Process().open_files() if str(tmp_path) in f.path]
    [fit] = fits_of(tmp_path)["perf"]
    assert list(fit.scalars["value"]) == [4.0, 8.0]
    assert list(fit.scalars["step"]) == [1, 2]
    assert fit.facts.settings.optimizer == "the 2."
    assert (fit.identity.sequence, fit.identity.started) == (1, 100.0)


def test_what_a_store_does_not_tell_of_is_not_lost(monkeypatch):
    run = ReopenedRun("memory://reopened", clock=lambda: 100.0)
    run.write(1, {"evaluate/step_time_ms": 4.0}, {})
    # Of a store that is out of reach for a moment.
    monkeypatch.setattr("keras_perf.files.remote_path.RemotePath.exists", lambda path: False)
    run.write(2, {"evaluate/step_time_ms": 8.0}, {})
    monkeypatch.undo()
    [fit] = fits_of("memory://reopened")["perf"]
    assert list(fit.scalars["value"]) == [4.0, 8.0]


def test_it_takes_the_next_sequence(tmp_path):
    RunWriter(str(tmp_path)).close()
    ReopenedRun(str(tmp_path)).write(1, {}, {})
    assert [fit.identity.sequence for fit in fits_of(tmp_path)["perf"]] == [1, 2]


def test_a_file_that_cannot_be_written_raises(tmp_path):
    (tmp_path / "perf").write_text("in the way")
    with pytest.raises(Exception, match="perf"):
        ReopenedRun(str(tmp_path)).write(1, {}, {})
