"""An error in one line."""

from __future__ import annotations

import pytest

from keras_perf.records.text.error_line import LONGEST, error_line

OUT_OF_MEMORY = "Graph execution error:\n\nDetected at node x\nnodes\nOOM when allocating tensor\n"
SHAPES = "Graph execution error:\n\nDetected at node x\nIncompatible shapes: [2] vs [3]\n\t [[x]]"
REFUSED = "Refused: graph __inference_one_12[_XlaMustCompile=true,proto=1]: PyFunc (no op)"


class MuteError(Exception):
    def __str__(self):
        raise TypeError


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("odd\n and  more"), "ValueError: odd and more"),
        (ValueError(SHAPES), "ValueError: Incompatible shapes: [2] vs [3]"),
        (MemoryError(OUT_OF_MEMORY), "MemoryError: OOM when allocating tensor"),
        (ValueError("Exception encountered: odd"), "ValueError: Exception encountered: odd"),
        # Its attributes stand before what it is about.
        (
            ValueError(REFUSED),
            "ValueError: Refused: graph __inference_one_12: PyFunc (no op)",
        ),
        (ValueError("File a, line 3"), "ValueError: File a, line 3"),
        (KeyError(), "KeyError"),
        (MuteError(), "MuteError"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
    ],
)
def test_the_line_that_says_most_is_told(error, line):
    assert error_line(error) == line


def test_a_long_one_is_cut_between_words():
    told = error_line(ValueError("word " * 100))
    assert told.endswith("word …")
    assert len(told) <= LONGEST + len("ValueError:  …")


def test_of_one_long_word_the_begin_is_told():
    assert error_line(ValueError("/a" * 100)) == f"ValueError: {'/a' * (LONGEST // 2)} …"
