"""One bad value costs one value: whatever is damaged, every form of the report comes out."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

import damaged
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from keras_perf.read.left_out import LeftOutWarning
from keras_perf.records.run.machine import Machine
from keras_perf.records.run.run_facts import RunFacts, from_json
from keras_perf.records.run_names import worker_run
from keras_perf.report.as_json import reports_json
from keras_perf.report.compared.comparison import comparison_of
from keras_perf.report.diagnosis import Diagnosis, diagnose
from keras_perf.report.page.page import page_html
from keras_perf.report.run_report import run_reports
from keras_perf.report.runs_table import RunsTable

NONSENSE = re.compile(r"(?<![a-z])(nan|inf|infinity)(?![a-z])", re.IGNORECASE)

pytestmark = pytest.mark.filterwarnings("ignore::keras_perf.read.left_out.LeftOutWarning")

PHASES = tuple(phase for phase in Phase if phase is not Phase.shrink)
"""An example takes a quarter of a second, and to make it smaller takes minutes."""

often = settings(max_examples=12, deadline=None, phases=PHASES)
seldom = settings(max_examples=2, deadline=None, phases=PHASES)


def assert_sense(*told: str) -> None:
    for text in told:
        found = NONSENSE.search(text)
        assert found is None, text[max(0, found.start() - 200) : found.end() + 80]


def assert_all_forms_come_out(log_dir: str | Path) -> Diagnosis:
    """Those of one run, and of a comparison with itself."""
    reports = run_reports([log_dir])
    [report] = reports
    found = report.diagnosis
    assert found.to_frame()["ms_per_step"].notna().any() == bool(found.summary.steps)
    assert_sense(str(found), found.to_markdown())
    told = reports_json(reports)
    assert_sense(told)
    json.loads(told, parse_constant=pytest.fail)
    if found.summary.steps:
        compared = comparison_of(found, found)
        assert_sense(str(compared), compared.to_markdown())
        compared.to_frame(), compared.advice_frame()
    assert_sense(str(RunsTable([report, report])), RunsTable([report, report]).to_markdown())
    return found


def test_what_is_whole_comes_out_in_every_form_without_a_warning(tmp_path, recwarn):
    damaged.write_damaged(tmp_path)
    found = assert_all_forms_come_out(tmp_path)
    assert found.summary.steps == 130
    told, written = found.summary.facts.to_json(), damaged.CONTEXT.items()
    assert {key for key, value in written if value is not None} <= told.keys()
    assert found.summary.facts == from_json(dict(written))[0]
    assert not [each for each in recwarn if each.category is LeftOutWarning]


@pytest.mark.fault(2, "infinite, negative, zero or missing figures and settings")
@given(figures=damaged.figures, context=damaged.contexts)
@often
def test_any_damaged_figures_and_settings_come_out_without_nonsense(figures, context):
    with tempfile.TemporaryDirectory() as log_dir:
        damaged.write_damaged(log_dir, figures, context)
        assert_all_forms_come_out(log_dir)


@pytest.mark.fault(2, "one setting of a wrong type")
@given(damage=st.tuples(st.sampled_from(damaged.PLACES), st.sampled_from(("drop", *damaged.WRONG))))
@often
def test_any_one_damaged_setting_costs_no_step(damage):
    with tempfile.TemporaryDirectory() as log_dir:
        damaged.write_damaged(log_dir, context=[damage])
        assert assert_all_forms_come_out(log_dir).summary.steps == 130


@pytest.mark.fault(2, "damaged figures of several workers")
@given(figures=damaged.figures, context=damaged.contexts)
@often
def test_a_damaged_custom_loop_of_several_workers_comes_out_without_nonsense(figures, context):
    with tempfile.TemporaryDirectory() as log_dir:
        in_loop = [(("driver",), "loop"), *context]
        damaged.write_damaged(log_dir, context=in_loop, run=worker_run(0))
        damaged.write_damaged(log_dir, figures, run=worker_run(1))
        assert_all_forms_come_out(log_dir)


@pytest.mark.fault(2, "flipped bytes")
@given(
    flipped=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), max_size=40)
)
@often
def test_any_flipped_bytes_leave_figures_that_were_written(flipped):
    with tempfile.TemporaryDirectory() as log_dir:
        path = damaged.write_damaged(log_dir)
        data = bytearray(path.read_bytes())
        for place, bits in flipped:
            data[int(place * len(data))] ^= bits
        path.write_bytes(data)
        found = assert_all_forms_come_out(log_dir)
        assert set(found.summary.intervals["step"]) <= {10.0, 11.0, 12.0}


@pytest.mark.fault(2, "a page of a damaged run")
@given(figures=damaged.figures, context=damaged.contexts)
@example(figures=[("perf/step_time_ms", float("inf"), 1)], context=[])
@seldom
def test_any_damaged_run_has_a_page_without_nonsense(figures, context):
    with tempfile.TemporaryDirectory() as log_dir:
        damaged.write_damaged(log_dir, figures, context)
        reports = run_reports([log_dir])
        assert_sense(page_html(reports), page_html(reports * 2))


@pytest.mark.fault(2, "a figure that cannot be")
@pytest.mark.parametrize("wrong", damaged.WRONG_FIGURES)
def test_a_wrong_figure_is_told_with_its_tag_and_costs_one_interval(tmp_path, wrong):
    damaged.write_damaged(tmp_path, [("perf/step_time_ms", wrong, 13)])
    if wrong != wrong:
        assert diagnose(tmp_path).summary.steps == 120
        return
    with pytest.warns(LeftOutWarning, match=r"left out: perf/step_time_ms .* at step 150\."):
        assert diagnose(tmp_path).summary.steps == 120


@pytest.mark.fault(2, "a step time of zero")
def test_a_step_time_of_zero_makes_no_worker_wait(tmp_path):
    damaged.write_damaged(tmp_path, [("perf/step_time_ms", 0.0, 1)], [(("exchange",), "drop")])
    with pytest.warns(LeftOutWarning):
        assert "slower workers" not in str(diagnose(tmp_path))


@pytest.mark.fault(2, "a setting that cannot be")
@pytest.mark.parametrize(
    ("place", "wrong", "costs"),
    [
        (("stages",), "x", "stages"),
        (("stages", 1, "cost_ms"), float("nan"), "stages"),
        (("events", 0, "cause"), "magic", "events"),
        (("outside", "epoch_rest_s"), float("inf"), "outside"),
        (("first_step",), 200, "first_step, last_step"),
        (("exchange", "slowest_worker"), 2, "exchange"),
        (("versions",), [], "versions"),
        (("threads", "inter_op"), -1, "threads"),
        (("examples_per_step",), 0, "examples_per_step"),
        (("epochs",), "nan", "epochs"),
    ],
)
def test_a_wrong_setting_is_told_with_its_name(tmp_path, place, wrong, costs):
    path = damaged.write_damaged(tmp_path, context=[(place, wrong)])
    with pytest.warns(LeftOutWarning) as caught:
        diagnose(tmp_path)
    [warning] = caught
    assert str(warning.message) == (
        f"{path}: parts of its record of settings cannot be read and are left out: {costs}."
    )


@pytest.mark.fault(2, "one wrong outlier among others")
def test_a_wrong_event_costs_no_other(tmp_path):
    damaged.write_damaged(tmp_path, context=[(("events", 0, "step"), None)])
    with pytest.warns(LeftOutWarning):
        assert len(diagnose(tmp_path).events) == 2


def test_a_number_that_numpy_wrote_as_text_is_a_number(tmp_path):
    damaged.write_damaged(tmp_path, context=[(("epochs",), "3")])
    assert diagnose(tmp_path).summary.facts.length.epochs == 3


@pytest.mark.fault(2, "settings that are no JSON")
def test_settings_that_are_no_json_leave_those_before_them(tmp_path, monkeypatch):
    writer_of = damaged.RunWriter

    class Breaking(writer_of):
        def context(self, step, context):
            super().context(step, {"cpu_count": 3})
            self._string(step, "perf/context", b'{"cpu_count": 4,,', "keras_perf")

    monkeypatch.setattr(damaged, "RunWriter", Breaking)
    damaged.write_damaged(tmp_path)
    with pytest.warns(LeftOutWarning, match="a record of settings is damaged"):
        assert diagnose(tmp_path).summary.facts == RunFacts(machine=Machine(cpu_count=3))
