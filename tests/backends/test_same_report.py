"""One program on TensorFlow and on JAX: the same report but for what the documentation names."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.whole,
    pytest.mark.xdist_group("both backends"),
    pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed"),
]

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "jax.md"

MEASURED = {
    "captures",
    "event_totals",
    "events",
    "hooks",
    "inference",
    "memory_available_mib",
    "outside",
    "prefetch_fill",
    "stages",
    "start_up",
    "step_work",
    "trace_agreement",
    "undisturbed_ms",
}
"""No two runs have the same figures: what is compared is that they are there, and of what."""

BLOCKED = """
import sys
for name in ("tensorflow", "keras", "jax"):
    sys.modules[name] = None  # what an import meets where it is not installed
from keras_perf.cli.main import main
before, after, page = sys.argv[1:]
for command in (["compare", before, after], ["report", after], ["report", after, "--html", page]):
    assert not main(command), command
"""


def python(*arguments, **environ):
    path = os.pathsep.join(filter(None, sys.path))
    environ |= {"PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, *map(str, arguments)]
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=280, env=os.environ | environ
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("both")


@pytest.fixture(scope="module")
def found(folder):
    def train(backend):
        told = python(HERE / "same_program.py", folder / backend, KERAS_BACKEND=backend)
        return json.loads(told.splitlines()[-1])

    with ThreadPoolExecutor() as both:
        backends = ("tensorflow", "jax")
        return dict(zip(backends, both.map(train, backends), strict=True))


def named():
    """The keys in the first column of the page's table."""
    rows = re.findall(r"^\| (`.*?) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {key for row in rows for key in re.findall(r"`(\w+)`", row)}


def told_of(facts, key):
    """The fact, or what is left of it without its figures."""
    value = facts.get(key)
    if key not in MEASURED or not value:
        return value
    if isinstance(value, dict):
        return {name: sorted(of) if isinstance(of, dict) else None for name, of in value.items()}
    if key == "stages":
        return [(each["name"], each["parallelism"], each["buffer_size"]) for each in value]
    return "measured"


def test_nothing_differs_but_what_is_named(found):
    mine, theirs = (found[backend]["facts"] for backend in ("jax", "tensorflow"))
    keys = mine.keys() | theirs.keys()
    # Which Keras does them, the page says in words.
    newer = {"compiles_executions", "function_traces"}
    of_some = newer if mine.get("compiles_executions") else set()
    assert {key for key in keys if told_of(mine, key) != told_of(theirs, key)} == named() | of_some


def test_the_same_parts_are_measured(found):
    assert found["jax"]["parts"] == found["tensorflow"]["parts"]
    parts = [each["facts"]["inference"]["validation"]["parts_s"] for each in found.values()]
    assert parts[0].keys() == parts[1].keys()


def test_the_same_bottleneck_is_found_and_the_same_advice_comes_first(found):
    expected = {"verdict": "callback-bound", "first": "amortize-callback"}
    assert [each["slow"] for each in found.values()] == [expected, expected]


def test_the_same_tables_are_shown(found):
    def titles(text):
        under = re.findall(r"^(\S.*)\n.*\n-+  -+", text, re.MULTILINE)
        return [title for title in under if title != "Steps and pauses far longer than usual"]

    assert titles(found["jax"]["text"]) == titles(found["tensorflow"]["text"])
    assert "Validation, evaluate and predict, per batch" in titles(found["jax"]["text"])
    assert "Input pipeline, per batch" in titles(found["jax"]["text"])


def test_the_same_is_multiplied(found):
    mine, theirs = (found[backend]["facts"]["step_work"] for backend in ("jax", "tensorflow"))
    assert mine["flops"] == theirs["flops"]
    assert mine["product_bytes"] == pytest.approx(theirs["product_bytes"], rel=0.01)


def test_the_same_is_validated(found):
    mine, theirs = (found[each]["facts"]["inference"]["validation"] for each in found)
    for key in ("calls", "executions", "steps", "examples", "batch_size", "input_kind", "traces"):
        assert mine[key] == theirs[key], key


# By hand, as for TensorFlow: the first layer's input needs no gradient, and so it counts twice.
DENSE = 2 * (7 * 5 * 2 + 5 * 3 * 3)
CONVOLUTIONS = 80 * 18 * 2 + 45 * 24 * 3 + 45 * 9 * 3 + 45 * 8 * 3
ATTENTION = 6 * 8 * 8 * (3 * 2 + 3) + 2 * (2 * 6 * 6 * 4) * 3 + 6 * 8 * 3 * 3
BY_HAND = {
    "dense": DENSE,
    "convolutions": 2 * CONVOLUTIONS,
    "one axis": 2 * 8 * 4 * (3 * 3 * 2 + 3 * 2 * 3),
    "grouped": 2 * 36 * 8 * 18 * 2,
    "a kernel beyond the picture": 2 * 4 * 4 * (9 * 3 * 2 + 9 * 4 * 3),
    "recurrent": 2 * (7 * (6 * 20 * 2 + 5 * 20 * 3) + 5 * 3 * 3),
    "attention": 2 * ATTENTION,
}


@pytest.mark.parametrize("name", BY_HAND)
def test_what_jax_traces_counts_as_it_does_by_hand(found, name):
    flops, _, passed_over = found["jax"]["traced"][name]
    assert (flops, passed_over) == ({"float32": 4 * BY_HAND[name]}, [])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rounds", [{"float32": 5 * 54.0}, 5 * 3 * 36.0, []]),
        ("a loop", "loop"),
        ("alike", [{"float32": 54.0}, 3 * 36.0, []]),
        ("different", "branch"),
        ("passed over", [{"float32": 54.0}, 3 * 36.0, ["svd"]]),
        ("unused", [{"float32": 54.0}, 3 * 36.0, []]),
        ("half", [{"bfloat16": 54.0}, 3 * 18.0, []]),
    ],
)
def test_what_is_not_known_before_the_run_is_not_counted(found, name, expected):
    assert found["jax"]["traced"][name] == expected


def test_both_are_reported_and_compared_where_neither_is_installed(found, folder):
    page = folder / "report.html"
    told = python("-c", BLOCKED, folder / "tensorflow", folder / "jax", page)
    assert re.search(r"^TensorFlow +\S+ +–", told, re.MULTILINE)
    assert re.search(r"^JAX +– +\S", told, re.MULTILINE)
    assert "Start-up, until steps were steady" in told
    assert "</html>" in page.read_text(encoding="utf-8")
