"""Runs as they are reported, and several of them in one table."""

from __future__ import annotations

import pandas as pd
import pytest
from hand_built import summary, write_fit

from keras_perf.read.event_files import NoRunError
from keras_perf.report.diagnosis import diagnosis_of
from keras_perf.report.run_report import RunReport, first_measured, run_reports
from keras_perf.report.runs_table import RunsTable


def report(name="a", steps=200, examples=None, **parts):
    context = {} if examples is None else {"examples_per_step": examples}
    found = diagnosis_of(summary(steps, context=context, **parts))
    return RunReport(name, found, pd.DataFrame())


ENERGY = {"gpu/0/energy_per_step_j": 1.0, "gpu/1/energy_per_step_j": 0.6}
SLOW = report(
    "slow", 200, 32, sensors=ENERGY, input_wait=8.0, compute=2.0, callbacks=0.0, dispatch=0.0
)
QUICK = report("quick", examples=64, input_wait=0.0, compute=4.0, callbacks=1.0)
EMPTY = report("empty", steps=0)

TEXT = """\
run           verdict  step ms  input wait  compute  dispatch  callbacks  other host work  \
compile  steps/s  examples/s  J/example  × the first
-----  --------------  -------  ----------  -------  --------  ---------  ---------------  \
-------  -------  ----------  ---------  -----------
slow      input-bound   10.000       8.000    2.000     0.000      0.000                – \
       –    100.0       3,200       0.05        1.00×
quick  callback-bound    5.000       0.000    4.000         –      1.000                – \
       –    200.0      12,800          –        4.00×
empty    inconclusive        –           –        –         –          –                – \
       –        –           –          –            –

* Parts are in ms per step; – was not measured, and such a part lies in compute.
* J/example: joules per training example, of the sampled GPUs alone.
* × the first: times as fast as the first run that was measured, per example where both know \
their batch size, else per step. Whether it is the same program is not asked: keras-perf history \
keeps different \
ones apart, and compare tells what differs.
* A run's recommendations: keras-perf report RUN.
"""


# -- figures -----------------------------------------------------------------------------


def test_speed_is_compared_per_example_where_both_know_their_batch_size():
    assert QUICK.times_as_fast_as(SLOW) == pytest.approx(4.0)


def test_speed_is_compared_per_step_where_one_does_not():
    assert report(compute=5.0).times_as_fast_as(SLOW) == pytest.approx(2.0)


def test_a_run_without_steps_has_no_figures():
    assert EMPTY.step_ms is EMPTY.steps_per_sec is EMPTY.examples_per_sec is None
    assert EMPTY.times_as_fast_as(SLOW) is SLOW.times_as_fast_as(EMPTY) is None
    assert set(EMPTY.parts.values()) == {None}


def test_energy_is_that_of_all_sampled_gpus_for_each_example_and_else_unknown():
    assert SLOW.joules_per_example == pytest.approx(0.05)
    assert QUICK.joules_per_example is EMPTY.joules_per_example is None
    assert report(sensors=ENERGY, compute=5.0).joules_per_example is None


def test_a_part_that_was_not_measured_is_not_zero():
    assert QUICK.parts["dispatch"] is None
    assert QUICK.parts["input_wait"] == 0.0


# -- from directories --------------------------------------------------------------------


def test_the_runs_below_a_directory_are_named_by_their_own_in_the_order_of_training(tmp_path):
    write_fit(tmp_path / "second", step_ms=4.0)
    write_fit(tmp_path / "first", step_ms=2.0)
    names = [found.name for found in run_reports([tmp_path])]
    assert names == [str(tmp_path / "second"), str(tmp_path / "first")]
    assert [found.name for found in run_reports(names)] == names


def test_runs_of_several_directories_come_in_the_order_given(tmp_path):
    write_fit(tmp_path / "a", step_ms=4.0)
    write_fit(tmp_path / "b", step_ms=2.0)
    found = run_reports([tmp_path / "b", tmp_path / "a"])
    assert [(one.name, one.step_ms) for one in found] == [
        (str(tmp_path / "b"), 2.0),
        (str(tmp_path / "a"), 4.0),
    ]


def test_a_directory_given_to_the_callbacks_is_reported_alone(tmp_path):
    write_fit(tmp_path, step_ms=4.0)
    write_fit(tmp_path / "below", step_ms=2.0)
    assert [found.name for found in run_reports([tmp_path])] == [str(tmp_path)]


def test_a_run_s_own_directory_keeps_its_name(tmp_path):
    write_fit(tmp_path, step_ms=4.0)
    assert [found.name for found in run_reports([tmp_path / "perf"])] == [str(tmp_path / "perf")]


def test_of_several_directories_the_one_without_a_run_is_named(tmp_path):
    write_fit(tmp_path / "a", step_ms=4.0)
    with pytest.raises(NoRunError, match="none"):
        run_reports([tmp_path / "a", tmp_path / "none"])


# -- to the letter -----------------------------------------------------------------------


def test_several_runs_read_like_this_in_a_terminal():
    assert str(RunsTable([SLOW, QUICK, EMPTY])) == TEXT


def test_runs_stand_beside_the_first_that_was_measured():
    assert first_measured([EMPTY, SLOW, QUICK]) is SLOW
    assert first_measured([EMPTY]) is EMPTY
    rows = RunsTable([EMPTY, SLOW, QUICK]).to_markdown().splitlines()[2:5]
    assert [row.split("|")[-2].strip() for row in rows] == ["–", "1.00×", "4.00×"]


def test_several_runs_are_a_markdown_table_in_which_a_name_cannot_break_a_row():
    lines = RunsTable([report("a|b", compute=5.0), SLOW]).to_markdown().splitlines()
    assert lines[0].startswith("| run | verdict | step ms | input wait |")
    assert lines[2].startswith("| a\\|b | ")
    assert {line.replace("\\|", "").count("|") for line in lines[:4]} == {14}
