"""The steps that the tab's timeline asks for."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from answers import parts_of, schema, text_of
from hand_built import write_fit
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_perf.records.run.times.outlier import Cause
from keras_perf.records.run_names import RUN
from keras_perf.report.page.plots import timeline
from keras_perf.report.page.plots.timeline import CAUSE_MARKS, Timeline
from keras_perf.tab import shown_runs
from keras_perf.write.run_writer import RunWriter

TRACED, GONE = "2026_01_01_00_00_00", "2026_02_02_00_00_00"


def capture(first, trace, reason="schedule"):
    steps = {"first_step": first, "last_step": first + 20}
    steps |= {f"asked_{name}": step for name, step in steps.items()}
    costs = {"start_s": 0.1, "stop_s": 0.5, "size_bytes": 1000, "slowdown": None}
    return {"reason": reason, "trace": trace, **steps, **costs}


def outlier(step, excess_ms, cause="input-stall", owner="Map"):
    told = {"step": step, "cause": cause, "owner": owner}
    return told | {"excess_ms": excess_ms, "usual_ms": 4.0}


CONTEXT = {
    "events": [outlier(45, 300.0), outlier(900, 80.0, "callback", "<b>Log.on_batch_end")],
    "captures": [capture(40, TRACED), capture(200, GONE, "a step of 90 ms")],
}


def write_run(folder, intervals=200, long_at=()):
    """Intervals of ten steps of 4 ms; those `long_at` take 90 ms, which is their input's."""
    writer = RunWriter(str(folder))
    for place in range(1, intervals + 1):
        step_ms = 90.0 if place in long_at else 4.0
        values = {"perf/step_time_ms": step_ms, "perf/input_wait_ms": step_ms - 3}
        values |= {"perf/compute_ms": 3.0, "perf/interval_steps": 10.0, "perf/compile_ms": 0.0}
        writer.scalars(place * 10, values, wall_time=float(place))
    writer.scalars(600, {"perf_outliers/retrace_ms": 7.5}, wall_time=600.0)
    writer.context(intervals * 10, CONTEXT)
    writer.close()


@pytest.fixture
def steps(tab, tmp_path):
    """Asks for steps of the run `a`, whose first capture has a trace."""
    write_run(tmp_path / "a", long_at=(77,))
    (tmp_path / "a" / RUN / "plugins" / "profile" / TRACED).mkdir(parents=True)
    ask = tab(tmp_path)

    def of(**query):
        answer = ask("/steps", run="a", **query)
        assert answer.status_code == 200, answer.text
        return answer.json

    of.ask = ask
    return of


def test_few_steps_are_exact(steps):
    told = steps(**{"from": 700, "to": 800, "columns": 100})
    assert (told["exact"], told["intervals"]) == (True, 10)
    columns = told["columns"]
    assert columns["begin"] == [*range(700, 800, 10)]
    assert columns["mean"] == columns["most"] == columns["least"]
    assert columns["mean"][6] == 90.0
    assert columns["parts"] == {
        "input_wait": [ms - 3 for ms in columns["mean"]],
        "compute": [3.0] * 10,
    }


def test_of_many_steps_the_longest_stays_to_be_seen(steps):
    told = steps(columns=10)
    assert (told["exact"], told["intervals"]) == (False, 200)
    columns = told["columns"]
    assert len(columns["mean"]) == 10
    assert max(columns["most"]) == 90.0
    assert columns["mean"][3] == pytest.approx((19 * 4 + 90) / 20)
    assert columns["least"] == [4.0] * 10
    assert columns["longest_at"][3] == 770
    assert (columns["begin"][0], columns["end"][-1]) == (0, 2000)


def test_outliers_and_captures_have_causes_owners_and_traces(steps):
    told = steps()
    first, second, third = told["outliers"]
    assert (first["step"], first["cause"], first["owner"]) == (45, "input stall", "Map")
    assert first["trace"] == f"a/{RUN}/{TRACED}"
    # The run's record holds the worst; others are known by what was logged.
    assert (second["step"], second["cause"], second["usual_ms"]) == (600, "retrace", None)
    assert (third["owner"], third["trace"]) == ("<b>Log.on_batch_end", None)
    assert [each["trace"] for each in told["captures"]] == [f"a/{RUN}/{TRACED}", None]
    assert [each["reason"] for each in told["captures"]] == ["schedule", "a step of 90 ms"]


def test_what_lies_elsewhere_is_left_out(steps):
    told = steps(**{"from": 50, "to": 100})
    assert not told["outliers"]
    assert [each["first"] for each in told["captures"]] == [40]
    assert not steps(**{"from": 5000, "to": 6000})["columns"]["mean"]


def test_of_very_many_outliers_the_longest_are_told(steps, monkeypatch):
    monkeypatch.setattr(timeline, "MOST_OUTLIERS", 2)
    told = steps()
    assert told["outliers_in_range"] == 3
    assert [each["step"] for each in told["outliers"]] == [45, 900]


@pytest.mark.parametrize(
    "query",
    [{"from": "x"}, {"from": 5, "to": 5}, {"columns": 0}, {"to": 10**30}, {"from": -(10**30)}],
)
def test_a_stretch_that_is_none_is_refused(steps, query):
    assert steps.ask("/steps", run="a", **query).status_code == 400
    assert steps.ask("/lanes", run="a", **query).status_code == 400


def test_the_machine_is_told_of_a_stretch_of_steps(steps, tab, tmp_path):
    assert steps.ask("/lanes", run="a").json == {"content": None}
    writer = RunWriter(str(tmp_path / "b"))
    for step in range(10, 2010, 10):
        writer.scalars(step, {"perf/step_time_ms": 4.0, "host/cpu_pct": step / 100}, float(step))
    writer.close()
    told = tab(tmp_path)("/lanes", run="b", **{"from": 500, "to": 600}).json["content"]
    parts = [attributes for _, attributes, _ in parts_of(told)]
    assert "500 600" in [each.get("data-steps") for each in parts]
    assert "mean 10" in text_of(told)
    assert sum(each.get("d", "").count("L") for each in parts) < 20


def test_only_runs_that_were_found_have_steps(steps):
    assert steps.ask("/steps", run="../a").status_code == 404
    assert steps.ask("/steps").status_code == 404
    assert steps.ask("/lanes", run="../a").status_code == 404


@pytest.mark.parametrize("trace", ["", "..", f"../profile/{TRACED}", "nul\0"])
def test_a_trace_is_looked_for_where_traces_lie(tab, tmp_path, trace, monkeypatch):
    monkeypatch.setitem(CONTEXT, "captures", [capture(40, trace)])
    write_run(tmp_path / "a")
    (tmp_path / "a" / RUN / "plugins" / "profile" / TRACED).mkdir(parents=True)
    [told] = tab(tmp_path)("/steps", run="a").json["captures"]
    assert told["trace"] is None


def test_the_profile_tab_shows_nothing_of_several_directories(tab, tmp_path):
    write_run(tmp_path / "a")
    (tmp_path / "a" / RUN / "plugins" / "profile" / TRACED).mkdir(parents=True)
    spec = SimpleNamespace(logdir_spec=f"x:{tmp_path}")
    told = tab("", spec)("/steps", run="x/a").json
    assert [each["trace"] for each in told["captures"]] == [None, None]


def test_a_run_in_the_log_directory_itself_has_the_name_of_tensorboard(tab, tmp_path):
    write_run(tmp_path)
    (tmp_path / RUN / "plugins" / "profile" / TRACED).mkdir(parents=True)
    for logdir, name in ((tmp_path, f"{RUN}/{TRACED}"), (tmp_path / RUN, TRACED)):
        assert tab(logdir)("/steps", run=".").json["captures"][0]["trace"] == name


def test_a_run_without_steps_has_an_empty_timeline(tab, tmp_path):
    writer = RunWriter(str(tmp_path))
    writer.scalars(1, {"host/cpu_pct": 5.0}, wall_time=1.0)
    writer.close()
    told = tab(tmp_path)("/steps", run=".").json
    assert told["columns"]["mean"] == []


def test_each_cause_has_a_mark_that_the_browser_draws():
    outlier = schema("steps")["properties"]["outliers"]["items"]["properties"]
    shapes = outlier["mark"]["properties"]["shape"]
    assert {shape for _, shape in CAUSE_MARKS.values()} == set(shapes["enum"])
    assert CAUSE_MARKS.keys() == set(Cause)
    drawn = (Path(timeline.__file__).parents[1] / "static" / "timeline_marks.js").read_text()
    for shape in shapes["enum"]:
        assert f'"{shape}":' in drawn or f" {shape}: " in drawn


def test_a_file_is_read_once_however_often_its_steps_are_asked_for(tab, tmp_path, monkeypatch):
    reads, reports = [], []
    content_of, report_of = shown_runs.ReadFiles.content, shown_runs.report_of
    monkeypatch.setattr(
        shown_runs.ReadFiles,
        "content",
        lambda self, path: reads.append(path) or content_of(self, path),
    )
    monkeypatch.setattr(
        shown_runs, "report_of", lambda *given: reports.append(given) or report_of(*given)
    )
    write_fit(tmp_path / "a", step_ms=4.0)
    ask = tab(tmp_path)
    ask("/page", run="a")
    for begin in range(5):
        assert ask("/steps", run="a", **{"from": begin, "to": 50}).status_code == 200
    ask("/page", run="a")
    ask("/table")
    assert (len(reads), len(reports)) == (1, 1)


TIMES = st.lists(st.floats(0.01, 1e6), min_size=1, max_size=60)


@settings(max_examples=100, deadline=None)
@given(TIMES, st.integers(1, 30), st.integers(-20, 700), st.integers(1, 700))
def test_no_interval_is_lost_or_shown_twice(times, columns, first, length):
    end = np.arange(1, len(times) + 1) * 10
    step_ms, steps = np.array(times), np.full(len(times), 10.0)
    shown = Timeline(0, 700, end - 10, end, steps, step_ms, {"compute": step_ms}, (), ())
    told = shown.between(first, first + length, columns, lambda _: None)
    inside = (end > first) & (end - 10 < first + length)
    found = told["columns"]
    assert told["intervals"] == inside.sum()
    assert len(found["mean"]) == min(columns, inside.sum())
    if inside.any():
        widths = np.array(found["end"]) - np.array(found["begin"])
        assert widths.sum() == 10 * inside.sum()
        assert max(found["most"]) == pytest.approx(step_ms[inside].max(), abs=1e-4)
        total = (np.array(found["mean"]) * widths).sum()
        assert total == pytest.approx(step_ms[inside].sum() * 10, rel=1e-3)
