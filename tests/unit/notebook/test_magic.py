"""The magic %%keras_perf, in a shell of IPython's, on a Keras that stands in for the real one."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest
from hand_built import write_fit
from IPython.core.interactiveshell import InteractiveShell

import keras_perf
from keras_perf.report.diagnosis import Diagnosis
from keras_perf.running.fits import ObservedFits

CELL = """
def twice(x):
    return 2 * x

kept = keras.Model().fit()
twice(kept)
"""


@pytest.fixture
def shell(monkeypatch, tmp_path):
    keras = ModuleType("keras")
    keras.Model = type(
        "Model", (type("Trainer", (), {"fit": lambda self, callbacks=None: 21}),), {}
    )
    keras.callbacks = SimpleNamespace(CallbackList=tuple)
    keras.tree = SimpleNamespace(flatten=list)
    keras.config = SimpleNamespace(backend=lambda: "tensorflow")
    monkeypatch.setitem(sys.modules, "keras", keras)
    monkeypatch.chdir(tmp_path)

    def callbacks(self, log_dir):
        write_fit(log_dir, step_ms=4.0)
        return []

    monkeypatch.setattr(ObservedFits, "_callbacks", callbacks)
    shell = InteractiveShell(user_ns={"keras": keras})
    keras_perf.load_ipython_extension(shell)
    yield shell
    shell.history_manager.end_session()
    assert "fit" not in vars(keras.Model)


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


def test_a_cell_that_raises_shows_the_diagnosis_and_raises(shell, shown):
    with pytest.raises(ZeroDivisionError):
        shell.run_cell_magic("keras_perf", "", CELL + "1 / 0")
    assert len(shown) == 1


def test_without_a_fit_it_says_so_and_quiet_says_nothing(shell, shown, capsys):
    assert shell.run_cell_magic("keras_perf", "", "x = 1") is None
    assert "called no Model.fit" in capsys.readouterr().out
    shell.run_cell_magic("keras_perf", "--quiet", CELL)
    assert (shown, capsys.readouterr().out) == ([], "")


def test_a_wrong_option_raises_before_the_cell_runs(shell):
    with pytest.raises(ValueError, match="unrecognized arguments: --wrong"):
        shell.run_cell_magic("keras_perf", "--wrong", "x = 1")
    assert "x" not in shell.user_ns
