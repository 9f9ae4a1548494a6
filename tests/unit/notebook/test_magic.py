"""The magic %%keras_perf, in a shell of IPython's, on a Keras that stands in for the real one."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest
from hand_built import write_fit
from IPython.core.interactiveshell import InteractiveShell

import keras_perf
from keras_perf.records.run.inference import PREDICT, Inference
from keras_perf.records.run.run_facts import RunFacts
from keras_perf.report.diagnosis import Diagnosis
from keras_perf.running.calls import ObservedCalls
from keras_perf.running.fits import ObservedFits
from keras_perf.write.reopened_run import ReopenedRun

CELL = """
def twice(x):
    return 2 * x

kept = keras.Model().fit()
twice(kept)
"""


def write_calls(log_dir, spent_s):
    call = Inference(1, 100, 100, spent_s, {"compute": spent_s})
    ReopenedRun(log_dir).write(1, {}, RunFacts(inference={PREDICT: call}).to_json())


@pytest.fixture
def shell(monkeypatch, tmp_path):
    keras = ModuleType("keras")

    def called(self, callbacks=None):
        return 21

    trainer = type("Trainer", (), dict.fromkeys(("fit", "evaluate", "predict"), called))
    keras.Model = type("Model", (trainer,), {})
    keras.callbacks = SimpleNamespace(CallbackList=tuple)
    keras.tree = SimpleNamespace(flatten=list)
    keras.config = SimpleNamespace(backend=lambda: "tensorflow")
    monkeypatch.setitem(sys.modules, "keras", keras)
    monkeypatch.chdir(tmp_path)

    def callbacks(self, log_dir):
        write_fit(log_dir, step_ms=4.0)
        return []

    def watches(self, log_dir):
        write_calls(log_dir, spent_s=30.0)
        return SimpleNamespace(set_model=lambda model: None, finish_calls=lambda: None)

    monkeypatch.setattr(ObservedFits, "_callbacks", callbacks)
    monkeypatch.setattr(ObservedCalls, "_callback", watches)
    shell = InteractiveShell(user_ns={"keras": keras})
    keras_perf.load_ipython_extension(shell)
    yield shell
    shell.history_manager.end_session()
    assert not {"fit", "evaluate", "predict"} & set(vars(keras.Model))


@pytest.fixture
def shown(monkeypatch):
    found = []
    monkeypatch.setattr("IPython.display.display", found.append)
    return found


def test_the_diagnosis_is_shown_and_the_cell_gives_what_it_gives(shell, shown, tmp_path):
    assert shell.run_cell_magic("keras_perf", "", CELL) == 42
    assert (shell.user_ns["kept"], shell.user_ns["twice"](2)) == (21, 4)
    [diagnosis] = shown
    assert isinstance(diagnosis, Diagnosis)
    assert (tmp_path / "logs" / "notebook" / "fit_1").is_dir()


def test_a_semicolon_at_the_end_hides_the_value(shell, shown):
    assert shell.run_cell_magic("keras_perf", "", f"{CELL.rstrip()};\n") is None


def test_of_several_fits_one_is_shown_below_a_line_for_each(shell, shown, capsys):
    shell.run_cell_magic("keras_perf", "--log-dir 'my logs'", CELL + CELL)
    assert len(shown) == 1
    first, second = capsys.readouterr().out.splitlines()
    assert "my logs/fit_1: " in first
    assert "my logs/fit_2: " in second
    assert "shown below" in first + second


def test_calls_outside_of_a_fit_are_shown_below_it(shell, shown, tmp_path):
    shell.run_cell_magic("keras_perf", "", "keras.Model().predict()")
    shell.run_cell_magic("keras_perf", "", f"{CELL}keras.Model().evaluate()")
    alone, fit, calls = shown
    assert not fit.summary.facts.calls_only
    assert alone.summary.facts.calls_only
    assert calls.summary.facts.calls_only
    assert (tmp_path / "logs" / "notebook" / "calls_2").is_dir()


def test_a_cell_that_raises_shows_the_diagnosis_and_raises(shell, shown):
    with pytest.raises(ZeroDivisionError):
        shell.run_cell_magic("keras_perf", "", CELL + "1 / 0")
    assert len(shown) == 1


def test_a_diagnosis_that_fails_keeps_neither_a_value_nor_an_exception(
    shell, shown, capsys, monkeypatch
):
    def fails(observed):
        raise KeyError("ours")

    monkeypatch.setattr("keras_perf.running.last_words.reports_of", fails)
    assert shell.run_cell_magic("keras_perf", "", CELL + "6 * 7") == 42
    assert "cannot be shown: KeyError" in capsys.readouterr().out
    with pytest.raises(ZeroDivisionError):
        shell.run_cell_magic("keras_perf", "", CELL + "1 / 0")


def test_without_a_fit_it_says_so_and_quiet_says_nothing(shell, shown, capsys):
    assert shell.run_cell_magic("keras_perf", "", "x = 1") is None
    assert "called no Model.fit" in capsys.readouterr().out
    shell.run_cell_magic("keras_perf", "--quiet", CELL)
    assert (shown, capsys.readouterr().out) == ([], "")


def test_a_wrong_option_raises_before_the_cell_runs(shell):
    with pytest.raises(ValueError, match="unrecognized arguments: --wrong"):
        shell.run_cell_magic("keras_perf", "--wrong", "x = 1")
    assert "x" not in shell.user_ns
