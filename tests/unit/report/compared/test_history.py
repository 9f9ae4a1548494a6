"""Many runs in the order of time: what changed is marked, chance is not."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

import numpy as np
import pytest
from hand_built import write_fit

from keras_perf.cli.main import main
from keras_perf.records.run_names import RUN, worker_run
from keras_perf.report.history import history_of
from keras_perf.write import fit_of_process
from keras_perf.write.run_writer import RunWriter

DAY = 86400.0
BEGIN = 1.7e9


def write(log_dir, day: float, step_ms: Sequence[float], run=RUN, examples=0.0, model=None):
    """A `fit` of that day with these intervals."""
    clock = itertools.count(BEGIN + day * DAY, 0.5)
    writer = RunWriter(str(log_dir), run, clock=lambda: next(clock))
    for place, ms in enumerate(step_ms, 1):
        values = {"perf/step_time_ms": ms, "perf/interval_steps": 10.0}
        writer.scalars(10 * place, values, wall_time=next(clock))
    known = {"examples_per_step": examples} if examples else {}
    if context := known | (model or {}):
        writer.context(1, context)
    writer.close()
    return writer.fit.id


def spread(mean_ms, seed, count=40):
    return np.random.default_rng(seed).normal(mean_ms, 0.05 * mean_ms, count)


def marks(history):
    return [
        tuple(None if change is None else change.word for change in (e.since_before, e.since_first))
        for e in history.entries
    ]


def test_runs_are_told_by_time_and_what_changed_is_marked(tmp_path):
    for day, name, mean in ((3, "a", 5.0), (1, "b", 4.0), (2, "c", 4.0), (4, "d", 3.0)):
        write(tmp_path / name, day, spread(mean, day))
    history = history_of(tmp_path)
    assert [e.report.name for e in history.entries] == [str(tmp_path / n) for n in "bcad"]
    assert marks(history) == [(None, None), ("", ""), ("slower", "slower"), ("faster", "faster")]
    for entry in history.entries:
        assert entry.low < entry.report.step_ms < entry.high


def test_nothing_is_marked_where_only_chance_differs(tmp_path):
    for day in range(6):
        write(tmp_path / "nightly", day, spread(4.0, day))
    history = history_of(tmp_path)
    assert [e.fit.sequence for e in history.entries] == [1, 2, 3, 4, 5, 6]
    assert {*itertools.chain(*marks(history)[1:])} == {""}


def test_a_fit_that_measured_nothing_is_left_out(tmp_path):
    write(tmp_path, 1, spread(4.0, 1))
    write(tmp_path, 2, [])
    assert len(history_of(tmp_path).entries) == 1


def test_different_programs_are_not_compared_with_each_other(tmp_path):
    models = [("a", 100, 5.0), ("b", 900, 50.0), ("a2", 100, 4.0), ("b2", 900, 50.0)]
    for day, (name, parameters, mean) in enumerate(models):
        write(tmp_path / name, day, spread(mean, day), model={"parameters": parameters})
    history = history_of(tmp_path)
    assert marks(history) == [(None, None), (None, None), ("faster", "faster"), ("", "")]
    assert [len(entries) for entries in history.programs.values()] == [2, 2]
    titles = [line for line in str(history).splitlines() if line.endswith(" parameters")]
    assert [title.rpartition(", ")[2] for title in titles] == ["100 parameters", "900 parameters"]
    assert "compare BEFORE AFTER" in str(history)


def test_a_run_whose_model_is_unknown_goes_with_those_of_its_script(tmp_path):
    write(tmp_path / "a", 1, [4.0] * 40)
    write(tmp_path / "b", 2, [4.0] * 40, model={"parameters": 100})
    write(tmp_path / "c", 3, [4.0] * 40, model={"parameters": 100, "layer_widths": [10, 10]})
    write(tmp_path / "d", 4, [4.0] * 40, model={"parameters": 100, "layer_widths": [5, 20]})
    names = [entry.program for entry in history_of(tmp_path).entries]
    assert names[0] == names[1] == names[2] != names[3]


def test_per_example_where_both_know_their_batch(tmp_path):
    write(tmp_path / "a", 1, [4.0] * 40, examples=32.0)
    write(tmp_path / "b", 2, [6.0] * 40, examples=64.0)
    write(tmp_path / "c", 3, [6.0] * 40)
    _, second, third = history_of(tmp_path).entries
    assert second.since_before.ratio == 0.75
    assert third.since_before.ratio == 1.0
    assert third.since_first.ratio == 1.5


def test_several_workers_are_a_row(tmp_path):
    for day in (1, 2):
        for number in (0, 1):
            write(tmp_path, day, [4.0] * 40, worker_run(number))
    entries = history_of(tmp_path).entries
    assert [len(entry.report.summary.workers) for entry in entries] == [2, 2]


def test_several_machines_are_said(tmp_path, monkeypatch):
    write(tmp_path / "a", 1, [4.0] * 12)
    assert "several machines" not in str(history_of(tmp_path))
    monkeypatch.setattr(fit_of_process.socket, "gethostname", lambda: "another")
    write(tmp_path / "b", 2, [4.0] * 12)
    assert "They ran on several machines (another, " in str(history_of(tmp_path))


def test_a_history_reads_like_this(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ids = [write("a", 1, [4.0] * 40, examples=32.0), write("b", 2, [5.0] * 40, examples=32.0)]
    assert main(["history", "."]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[2:4]] == [
        f"a {ids[0]} 2023-11-15 22:13 UTC 4.000 4.000 to 4.000 8,000 inconclusive – –".split(),
        f"b {ids[1]} 2023-11-16 22:13 UTC 5.000 5.000 to 5.000 6,400 inconclusive "
        "+25.0% slower +25.0% slower".split(),
    ]
    assert main(["history", ".", "--markdown"]) == 0
    assert capsys.readouterr().out.startswith("| run | fit | began |")


def test_a_history_for_programs(tmp_path, capsys):
    write(tmp_path / "a", 1, [4.0] * 40)
    write(tmp_path / "b", 2, [5.0] * 40)
    assert main(["history", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == 1
    first, second = found["runs"]
    assert first["since_before"] is None
    assert (second["run"], second["step_ms"], second["high"]) == (str(tmp_path / "b"), 5.0, 5.0)
    assert second["started"] == BEGIN + 2 * DAY
    expected = {"ratio": 1.25, "low": 1.25, "high": 1.25, "word": "slower"}
    assert second["since_before"] == second["since_first"] == expected


def test_a_history_behind_a_url(tmp_path):
    write_fit("memory://history/a", step_ms=4.0)
    assert len(history_of("memory://history").entries) == 1


@pytest.mark.parametrize("measured", [None, []])
def test_without_measured_steps_there_is_no_history(measured, tmp_path, capsys):
    if measured is not None:
        write(tmp_path, 1, measured)
    assert main(["history", str(tmp_path)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert str(tmp_path) in line
