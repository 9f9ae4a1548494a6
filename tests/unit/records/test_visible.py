"""Foreign text as one line that can be seen."""

from __future__ import annotations

import ast
import logging
from pathlib import Path

import pytest
from any_text import ANY_TEXT
from hypothesis import given

import keras_perf
from keras_perf.read.left_out import LeftOutWarning, warn_left_out
from keras_perf.records.fit_identity import FitIdentity
from keras_perf.records.text.visible import visible, visible_lines, visible_record


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Map (2) é 数 🙂", "Map (2) é 数 🙂"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("a\nb\r\tc\0", r"a\nb\r\tc\x00"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("a\u2028b\u0085", r"a\u2028b\x85"),
        ("run\udcff", r"run\udcff"),
        ('it\'s a "name" \\ path', 'it\'s a "name" \\ path'),
    ],
)
def test_what_cannot_be_seen_is_written_out(text, shown):
    assert visible(text) == shown


@given(ANY_TEXT)
def test_any_text_becomes_one_printable_line_that_can_be_encoded(text):
    shown = visible(text)
    assert shown.isprintable()
    assert visible(shown) == shown
    shown.encode()


@given(ANY_TEXT)
def test_printable_text_stays_as_it_is(text):
    assert (visible(text) == text) == text.isprintable()


def test_text_of_several_lines_keeps_them():
    assert visible_lines("if a:\n\tb\x1b\n") == "if a:\n\\tb\\x1b\n"


def test_a_record_is_visible_in_its_names_and_its_texts():
    record = {"a\n": [{"name": "\x1b"}, 1.5, None, True], "b": ("\u202e",)}
    assert visible_record(record) == {
        "a\\n": [{"name": "\\x1b"}, 1.5, None, True],
        "b": ["\\u202e"],
    }


# -- warnings ----------------------------------------------------------------------------


@pytest.mark.fault(2, "such names in a warning")
def test_a_warning_stays_one_line_whatever_it_names(said):
    logging.getLogger("keras_perf").warning("%s failed: %s.", "My\x1b[31mCallback", "one\ntwo")
    assert said() == [r"My\x1b[31mCallback failed: one\ntwo."]


def test_what_was_left_out_of_a_log_directory_is_told_in_one_line():
    with pytest.warns(LeftOutWarning) as caught:
        warn_left_out("logs/\x1b[31m\nx is damaged")
    assert str(caught[0].message) == r"logs/\x1b[31m\nx is damaged"


def test_who_wrote_a_file_is_told_in_visible_names():
    written = FitIdentity("3f", 1, host="a\nb", program="\x1b.py", process=3)
    found = FitIdentity.from_json(written.to_json())
    assert found is not None
    assert found.writer == r"\x1b.py, process 3 on a\nb"


def test_every_module_warns_by_the_logger_that_keeps_to_one_line():
    calls = [
        ast.unparse(node)
        for path in Path(keras_perf.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("getLogger")
    ]
    assert len(calls) > 5
    assert set(calls) <= {"logging.getLogger('keras_perf')", "logging.getLogger(__name__)"}
