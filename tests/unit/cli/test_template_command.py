"""keras-perf template: the program as it is shipped, and never over another file."""

from __future__ import annotations

from importlib.resources import files

import pytest

from keras_perf.cli.main import main


def test_writes_the_program_that_is_shipped_and_tested(tmp_path, capsys):
    file = tmp_path / "mine.py"
    assert main(["template", str(file)]) == 0
    shipped = files("keras_perf") / "loop" / "template.py"
    assert file.read_text(encoding="utf-8") == shipped.read_text(encoding="utf-8")
    assert capsys.readouterr().out == f"Written: {file}. Try it: python {file}\n"


def test_the_command_to_try_it_can_be_pasted_whatever_the_file_is_called(tmp_path, capsys):
    file = tmp_path / "my loop.py"
    assert main(["template", str(file)]) == 0
    assert capsys.readouterr().out == f"Written: {file}. Try it: python '{file}'\n"


def test_is_named_train_py_where_no_name_is_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["template"]) == 0
    assert (tmp_path / "train.py").exists()


@pytest.mark.parametrize("name", ["there.py", "missing/train.py"])
def test_wrong_files_are_named_and_nothing_is_overwritten(tmp_path, name, capsys):
    there = tmp_path / "there.py"
    there.write_text("mine")
    assert main(["template", str(tmp_path / name)]) == 2
    assert repr(str(tmp_path / name)) in capsys.readouterr().err
    assert there.read_text() == "mine"


def test_can_be_read_in_one_sitting():
    program = (files("keras_perf") / "loop" / "template.py").read_text(encoding="utf-8")
    assert len(program.splitlines()) <= 260
    assert program.count("EDIT") >= 6
