"""What tests that judge times are asked again, and that their run tells of it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from two_of_three import LINE, WRONG

TESTS = Path(__file__).parents[1]
PROGRAM = """
import pytest

made, asked = [], []


@pytest.fixture(scope="module")
def shared():
    made.append(1)
    yield len(made)


@pytest.fixture
def last():
    yield
    assert {last_right}[len(asked) - 1], "left behind"


@pytest.mark.{mark}
def test_it(shared, last):
    asked.append(1)
    assert shared == len(asked), "not made anew"
    assert {right}[len(asked) - 1], "too slow"


def test_the_next(shared):
    assert len(asked) == {times}
"""


def ran(folder, *, mark="timing", right=(1, 1, 1), last_right=(1, 1, 1), times):
    """The exit code, and what the run said, of a test that is right in these of its runs."""
    program = PROGRAM.format(mark=mark, right=right, last_right=last_right, times=times)
    (folder / "test_program.py").write_text(program, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    timing\n    usual\n")
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "two_of_three", "test_program.py"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(TESTS), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
    )
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("runs", "code", "counts"),
    [
        ({"right": (1, 0, 0), "times": 1}, 0, "2 passed"),
        ({"right": (0, 1, 1), "times": 3}, 0, "2 passed"),
        ({"right": (0, 1, 0), "times": 3}, 1, "1 failed, 1 passed"),
        ({"right": (0, 0, 1), "times": 2}, 1, "1 failed, 1 passed"),
        ({"right": (0, 1, 1), "times": 1, "mark": "usual"}, 1, "1 failed, 1 passed"),
        ({"last_right": (0, 1, 1), "times": 3}, 0, "2 passed"),
    ],
    ids=["at once", "two more times", "once more", "not again", "not timing", "a fixture"],
)
def test_what_was_wrong_once_must_be_right_two_more_times(runs, code, counts, tmp_path):
    found, said = ran(tmp_path, **runs)
    assert found == code, said
    assert re.search(rf"^{counts}\b", said, re.M), said


def test_a_run_names_what_was_wrong_the_first_time(tmp_path):
    _, said = ran(tmp_path, right=(0, 1, 1), times=3)
    assert LINE.findall(said) == ["test_program.py::test_it"], said
    assert f"{WRONG}: test_program.py::test_it - AssertionError: too slow" in said
    at_once = tmp_path / "at_once"  # the same file, changed within a second, is read from its cache
    at_once.mkdir()
    _, said = ran(at_once, times=1)
    assert WRONG not in said
