"""Every call that a page shows fits its signature, and the README's program runs."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf

import keras_perf

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = (README, *sorted((ROOT / "docs").rglob("*.md")))
ARGUMENTS_OF = {
    "profiler": keras_perf.WindowedProfiler,
    "gpu": keras_perf.GPUUtilizationSampler,
    "steps_per_execution": keras_perf.StepsPerExecutionRecommender,
    "try_advice": keras_perf.AdviceTester,
}


def programs(page: Path) -> list[str]:
    """The blocks of Python."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^ *```python\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL)


def calls() -> Iterator[ast.Call]:
    """Of what `keras_perf` offers, by its short name."""
    for page in PAGES:
        for node in (each for text in programs(page) for each in ast.walk(ast.parse(text))):
            if isinstance(node, ast.Call) and re.fullmatch(r"kp\.\w+", ast.unparse(node.func)):
                yield node


def bind(function: object, call: ast.Call) -> None:
    """Raises where these arguments do not fit."""
    keywords = {each.arg: each.value for each in call.keywords if each.arg is not None}
    inspect.signature(function).bind(*call.args, **keywords)


def test_every_documented_call_fits_its_signature():
    found = list(calls())
    assert len(found) > 20
    for call in found:
        bind(getattr(keras_perf, call.func.attr), call)
        for each in call.keywords:
            if isinstance(each.value, ast.Dict):
                given = {ast.literal_eval(key) for key in each.value.keys}
                assert given <= set(inspect.signature(ARGUMENTS_OF[each.arg]).parameters)


def test_the_readme_s_program_trains_and_prints_a_diagnosis(tmp_path, monkeypatch, capsys):
    [program] = programs(README)
    monkeypatch.chdir(tmp_path)
    exec(compile(program, str(README), "exec"), {})
    assert "part of a step" in capsys.readouterr().out
    assert (tmp_path / "logs" / "run1" / "perf").is_dir()


def test_what_the_page_on_retracing_shows_makes_batches_of_few_shapes():
    same_rows, few_lengths = programs(ROOT / "docs" / "symptoms" / "retracing.md")
    names = {"tf": tf, "dataset": tf.data.Dataset.range(200)}
    exec(compile(same_rows, "the last batch", "exec"), names)
    assert {batch.shape[0] for batch in names["dataset"]} == {64}
    lengths = tf.data.Dataset.range(1, 129).repeat(8)
    names["dataset"] = lengths.map(lambda length: (tf.ones([length]), length))
    exec(compile(few_lengths, "lengths", "exec"), names)
    assert {tuple(x.shape) for x, _ in names["dataset"]} == {(64, 32), (64, 64), (64, 128)}
