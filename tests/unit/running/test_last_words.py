"""What is said when a program has ended: its fits, and its calls outside of them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hand_built import write_fit

from keras_perf.records.run.inference import FIT, PREDICT, Inference
from keras_perf.records.run.run_facts import RunFacts
from keras_perf.running.last_words import reports_of, told
from keras_perf.write.reopened_run import ReopenedRun


def written_calls(log_dir, spent_s):
    call = Inference(1, 100, 100, spent_s, {"compute": spent_s})
    ReopenedRun(str(log_dir)).write(1, {}, RunFacts(inference={PREDICT: call}).to_json())
    return str(log_dir)


@pytest.fixture
def said(tmp_path):
    """Of so many fits of 0.4 s each, and of calls that took so many seconds."""

    def of(fits, *calls_s):
        ended = []
        for place in range(fits):
            write_fit(tmp_path / f"fit_{place}", step_ms=4.0)
            ended.append(SimpleNamespace(log_dir=str(tmp_path / f"fit_{place}")))
        # The first failed, and has written nothing.
        log_dirs = [str(tmp_path / "calls_0")]
        log_dirs += [
            written_calls(tmp_path / f"calls_{place}", spent_s)
            for place, spent_s in enumerate(calls_s, 1)
        ]
        observed = SimpleNamespace(
            fits=SimpleNamespace(ended=ended, started_in=str(tmp_path)),
            calls=SimpleNamespace(log_dirs=log_dirs),
        )
        return told(reports_of(observed))

    return of


def test_calls_that_took_little_beside_the_fits_are_a_line(said):
    assert said(1, 0.01, 0.02).endswith(
        "Written to fit_0.\n\n"
        "evaluate and predict outside of any fit took 0.0 s. Written to calls_1 to calls_2.\n"
    )


def test_longer_calls_are_diagnosed_after_the_fits(said):
    text = said(2, 0.01, 3.0)
    assert text.startswith("2 fits:\n")
    fits, _, calls = text.partition("evaluate and predict outside of any fit of 2 models")
    assert "Written to fit_0 to fit_1." in fits
    assert calls.startswith(", the longest of them, calls_2:\n\ninconclusive: no training")
    assert calls.endswith("\nWritten to calls_1 to calls_2.\n")


def test_calls_of_many_models_count_together(said):
    assert "of 10 models, the longest of them, calls_1:\n\ninconclusive" in said(1, *[0.03] * 10)


def test_calls_alone_are_diagnosed_however_short(said):
    assert said(0, 0.01).startswith("evaluate and predict, calls_1:\n\ninconclusive: no training")


def test_fits_alone_say_nothing_of_calls(said):
    assert said(1).endswith("\nWritten to fit_0.\n")


def test_of_fits_without_a_measured_step_the_last_is_shown_which_knows_of_all(tmp_path):
    ended = []
    for calls in range(1, 13):
        log_dir = str(tmp_path / f"fit_{calls}")
        parts_s = {"starting": 0.02 * calls, "compute": 0.001 * calls}
        fits = Inference(calls, calls, calls, sum(parts_s.values()), parts_s)
        ReopenedRun(log_dir).write(1, {}, RunFacts(inference={FIT: fits}).to_json())
        ended.append(SimpleNamespace(log_dir=log_dir))
    observed = SimpleNamespace(
        fits=SimpleNamespace(ended=ended, started_in=str(tmp_path)),
        calls=SimpleNamespace(log_dirs=[]),
    )
    text = told(reports_of(observed))
    assert text.startswith("12 fits:\n\nNone measured a step. The last, fit_12:\n\ninconclusive")
    assert "`fit` was called 12 times. Of at least 21 ms a call, 20 ms go" in text
