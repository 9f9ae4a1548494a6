"""What the command prints, where characters or permissions are missing."""

from __future__ import annotations

import ast
import io
import os
import sys
from pathlib import Path

import pytest
from hand_built import stage, write_fit

import keras_perf
from keras_perf.cli import main as command
from keras_perf.cli.main import main
from keras_perf.cli.output import complain, readable_output
from keras_perf.read import file_content
from keras_perf.records.text.plain_characters import PLAIN
from keras_perf.report.diagnosis import diagnose

ESCAPE = "\x1b]0;title\x07\u202e"


@pytest.fixture
def log_dirs(tmp_path):
    for name, step_ms in {"a": 4.0, "b×": 2.0}.items():
        write_fit(tmp_path / name, step_ms=step_ms, context={"stages": [stage("Map", 1.0)]})
    return [str(tmp_path / name) for name in ("a", "b×")]


def test_without_a_place_for_messages_none_is_among_the_output(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", None)
    complain("lost")
    assert capsys.readouterr().out == ""


# -- characters --------------------------------------------------------------------------


@pytest.mark.fault(2, "`PYTHONIOENCODING=ascii`")
@pytest.mark.parametrize("form", [[], ["--markdown"], ["--json"]])
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_every_form_can_be_printed_in_every_encoding(log_dirs, monkeypatch, encoding, form):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    assert main(["report", log_dirs[1], *form]) == 0
    stream.flush()
    assert stream.errors == "strict"
    assert stream.buffer.getvalue()


def test_every_character_of_ours_beyond_ascii_has_a_plain_one():
    package = Path(keras_perf.__file__).parent
    found = {
        character
        for folder in ("report", "advise", "cli", "observers", "callbacks")
        for path in (package / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for character in node.value
        if not character.isascii()
    }
    assert found - {"ü"} <= PLAIN.keys()
    assert "".join(PLAIN.values()).isascii()


def test_what_has_no_plain_character_is_written_out(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    with readable_output():
        print("2× 数 \udcff")
    assert stream.buffer.getvalue() == b"2x \\u6570 \\udcff\n"


def test_an_error_with_such_names_is_one_line_of_visible_characters(tmp_path, capsys):
    assert main(["report", str(tmp_path / f"none\n{ESCAPE}")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error.removesuffix("\n").isprintable()


def test_wrong_use_with_such_names_shows_them_too(capsys):
    with pytest.raises(SystemExit):
        main(["report", "a", f"--{ESCAPE}"])
    error = capsys.readouterr().err
    assert error.replace("\n", "").isprintable()


def test_only_one_function_prints_to_stderr():
    calls = [
        node.name
        for path in Path(command.__file__).parent.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and "file=sys.stderr" in ast.unparse(node)
    ]
    assert calls == ["complain"]


# -- directories -------------------------------------------------------------------------


@pytest.mark.fault(2, "a log directory without permission")
@pytest.mark.parametrize("arguments", [["report"], ["report", "--json"], ["compare", "b×"]])
def test_a_directory_without_permission_is_one_line_and_exit_code_2(
    log_dirs, monkeypatch, capsys, arguments
):
    def refuse(path, *_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.chdir(Path(log_dirs[0]).parent)
    monkeypatch.setattr(file_content, "bytes_from", refuse)
    assert main([*arguments, "a"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "permission denied" in error
    assert "events.out.tfevents" in error


def test_a_directory_whose_name_is_no_unicode_can_be_reported(log_dirs, tmp_path, capsys):
    name = os.fsdecode(os.fsencode(tmp_path) + b"/run\xff\x1b")
    os.rename(log_dirs[0], name)
    page = tmp_path / "page.html"
    for arguments in ([], ["--markdown"], ["--json"], ["--html", str(page)]):
        assert main(["report", name, log_dirs[1], *arguments]) == 0
    assert main(["compare", name, log_dirs[1]]) == 0
    told = capsys.readouterr().out
    assert r"run\udcff\x1b" in told
    assert told.replace("\n", "").isprintable()
    assert r"run\udcff\x1b" in page.read_text(encoding="utf-8")


@pytest.mark.fault(2, "NUL in a LOGDIR")
@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"])
def test_a_name_that_no_directory_has_is_one_line(name, capsys):
    with pytest.raises(FileNotFoundError, match="no directory"):
        diagnose(name)
    assert main(["report", name]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert repr(name) in error
