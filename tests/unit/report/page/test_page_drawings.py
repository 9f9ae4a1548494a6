"""What the page draws: axes, lanes, the graph of the input pipeline, curves."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

import pandas as pd
import pytest
from hand_built import facts_of, frame, point, stage
from hypothesis import given
from hypothesis import strategies as st

from keras_perf.analyse.summary import summarize
from keras_perf.report.diagnosis import diagnosis_of
from keras_perf.report.page.cards.lanes_card import lanes_figures
from keras_perf.report.page.cards.machine_card import machine_card
from keras_perf.report.page.cards.steps_curve_card import steps_curve_card
from keras_perf.report.page.cards.workers_card import workers_card
from keras_perf.report.page.plots.drawing import MOST_TICKS, Axis, plot, short
from keras_perf.report.page.plots.lane_plot import MOST, lane_plot
from keras_perf.report.page.plots.pipeline_graph import MOST_LETTERS, pipeline_graphs
from keras_perf.report.page.plots.pipeline_tree import Node, pipeline_tree
from keras_perf.report.page.plots.timeline import timeline_of
from keras_perf.report.run_report import RunReport


def report(context=None, *points):
    scalars = frame(*(points or [point(10 * k, 10, 4.0, input_wait=3.0) for k in (1, 2, 3)]))
    return RunReport("run", diagnosis_of(summarize(scalars, facts_of(context or {}))), scalars)


def said(element: Element, class_: str | None = None) -> list[str]:
    """The text of its elements, of one class or all, in their order."""
    return [
        text
        for each in element.iter()
        if class_ is None or class_ in each.attrib.get("class", "").split()
        if (text := "".join(each.itertext()) if class_ else (each.text or ""))
    ]


# -- axes --------------------------------------------------------------------------------


@given(st.integers(0, 10**9), st.integers(1, 10**9))
def test_ticks_are_few_round_and_within(first, length):
    axis = Axis(first, first + length)
    ticks = axis.ticks(least_distance=1.0)
    assert len(ticks) <= MOST_TICKS + 1
    assert all(first - 1e-6 <= tick <= first + length + 1e-6 for tick in ticks)
    assert all(tick == round(tick) for tick in ticks)


def test_a_logarithmic_axis_has_powers_of_ten():
    axis = Axis(3.0, 5000.0, logarithmic=True)
    assert axis.ticks() == [10.0, 100.0, 1000.0]
    assert axis.percent(3.0) == 0.0
    assert axis.percent(5000.0) == pytest.approx(100.0)


def test_labels_at_the_edges_stay_inside():
    drawn = plot("title", Axis(0, 100), Axis(0, 1), [], height=100)
    edges = [each.attrib["class"] for each in drawn.find("div[@class='steps']")]
    assert (edges[0], edges[-1]) == ("first", "last")
    assert set(edges[1:-1]) == {""}


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (12.5, "12.5"), (9999, "9,999"), (20_000, "20k"), (1.5e6, "1.5M")]
)
def test_an_axis_has_short_numbers(value, text):
    assert short(value) == text


# -- over the steps ----------------------------------------------------------------------


def paths(element):
    return [each.attrib["d"] for each in element.iter("path")]


def test_a_long_run_is_drawn_with_a_bounded_number_of_points():
    samples = pd.Series(range(100_000), index=range(100_000), dtype=float)
    drawn = lane_plot("title", samples, (0, 100_000), 1e5, (samples, samples), ticks=True)
    assert sum(d.count("L") for d in paths(drawn)) <= 3 * MOST


def test_of_few_steps_a_lane_has_every_point_and_the_next_ones():
    samples = pd.Series(range(0, 1_000_000, 10), index=range(0, 1_000_000, 10), dtype=float)
    drawn = lane_plot("title", samples, (5_005, 6_005), 1e5, (samples, samples), ticks=True)
    band, line = paths(drawn)
    assert line.count("L") + 1 == 102
    assert line.startswith("M-5.00 ")
    assert band.count("L") + 1 == 204
    assert drawn.attrib["data-steps"] == "5005 6005"


def test_extremes_are_not_averaged_away():
    low = pd.Series(50.0, index=range(10_000))
    high = low.copy()
    high.iloc[5_000] = 100.0
    drawn = lane_plot("title", low, (0, 10_000), 100.0, (low, high), ticks=True)
    band = paths(drawn)[0]
    assert re.search(r"L[\d.]+ 0\.00(?=[L z])", band)


def test_no_line_joins_readings_between_which_others_are_missing():
    steps = [*range(10), *range(60, 70)]
    samples = pd.Series(1.0, index=steps)
    assert len(paths(lane_plot("title", samples, (0, 70), 1.0, ticks=True))) == 2


# -- lanes -------------------------------------------------------------------------------


GPU = {
    "gpu/0/utilization_pct": 80.0,
    "gpu/0/min_utilization_pct": 10.0,
    "gpu/0/max_utilization_pct": 99.0,
    "gpu/0/memory_used_mib": 1000.0,
    "gpu/0/power_w": 300.0,
    "gpu/0/sm_clock_mhz": 1900.0,
    "gpu/0/throttled_power_cap_pct": 20.0,
    "gpu/0/throttled_thermal_pct": 0.0,
}
HOST = {"host/cpu_pct": 50.0, "host/process_memory_mib": 700.0}


def lanes(context, *points):
    return lanes_figures(report(context, *points), (0, 100))


def test_a_gpu_has_a_lane_for_each_of_its_figures_over_the_same_steps():
    context = {"gpus": {"gpu/0": "H200"}, "gpu_memory_total_mib": 2000.0}
    gpu, host = lanes(context, *((step, GPU | HOST) for step in (50, 100)))
    assert said(gpu, "lane-head") == [
        "utilization, % ?mean 80, 10 to 99",
        "memory in use, MiB ?mean 1,000, 1,000 to 1,000",
        "power, W ?mean 300, 300 to 300",
        "clock, MHz ?mean 1,900, 1,900 to 1,900",
        "clocks lowered by the power limit, % of samples ?mean 20, 20 to 20",
    ]
    assert "H200" in said(gpu, None)[1]
    assert [text.split(" ?")[0] for text in said(host, "lane-head")] == [
        "all CPUs, %",
        "memory of this process, MiB",
    ]
    steps = {
        tuple(said(each))
        for each in [*gpu.iter("div"), *host.iter("div")]
        if each.attrib["class"] == "steps"
    }
    assert len(steps) == 1, "one axis"


def test_without_a_gpu_there_is_one_line_and_without_samples_no_card():
    [host] = lanes({}, (50, HOST), (100, HOST))
    assert " – no GPU was sampled" in said(host)
    assert machine_card(report()) is None


@pytest.mark.fault(2, "a GPU that is lost while it trains")
def test_a_gpu_that_was_lost_says_since_when():
    gpu, _ = lanes({}, *((step, GPU | HOST if step <= 50 else HOST) for step in range(10, 101, 10)))
    assert said(gpu, "state") == ["This GPU gave no reading after step 50."]
    kept, _ = lanes({}, *((step, GPU | HOST) for step in range(10, 101, 10)))
    assert said(kept, "state") == []


def test_a_lane_tells_the_mean_that_notes_and_advice_tell():
    """The first point, of tracing and warm-up, is drawn; each other counts by its time."""
    readings = {10: 90.0, 20: 10.0, 50: 30.0}
    points = [(step, {"host/cpu_pct": pct}) for step, pct in readings.items()]
    found = report({}, *points)
    assert found.summary.sensors["host/cpu_pct"] == pytest.approx(25.0)
    assert said(machine_card(found), "lane-head") == ["all CPUs, % ?mean 25, 10 to 90"]


def test_of_many_gpus_most_are_shown_on_demand():
    values = {f"gpu/{k}/power_w": 100.0 for k in range(8)} | HOST
    figures = lanes({}, (50, values), (100, values))
    assert [each.tag for each in figures] == ["figure", "figure", "details", "figure"]
    assert figures[2].find("summary").text == "6 more GPUs"
    assert len(figures[2].findall("figure")) == 6


def test_each_figure_says_what_it_means():
    for figure_ in lanes({}, *((step, GPU | HOST) for step in (50, 100))):
        heads = [each for each in figure_.iter("div") if each.attrib.get("class") == "lane-head"]
        assert all(head.find(".//button").attrib["popovertarget"] for head in heads)


# -- the input pipeline ------------------------------------------------------------------


def of_chain(kind, function="", **more):
    return {"kind": kind, "function": function, **more}


ZIP = {
    "stages": [
        stage("TensorSlice", 0.1, inputs=0),
        stage("TFRecord", 2.0, inputs=0),
        stage("ParallelInterleave", 1.0, parallelism=4, inputs=2),
        stage("ParallelMap", 40.0, parallelism=4, inputs=1),
        stage("TensorSlice", 0.1, inputs=0),
        stage("Map", 1.0, inputs=1),
        stage("Zip", 0.1, inputs=2),
        stage("Shuffle", 0.1, inputs=1, buffered=7),
        stage("BatchV2", 0.1, inputs=1),
        stage("Prefetch", 0.1, inputs=1, buffer_size=4),
    ],
    "prefetch_fill": 0.25,
    "cpu_count": 8,
    "dataset": {
        "chains": [
            [of_chain("zip"), of_chain("shuffle", buffer=10), of_chain("batch")],
            [of_chain("tensor_slice"), of_chain("map", "label")],
            [
                of_chain("tensor_slice"),
                of_chain("interleave", "records"),
                of_chain("map", "decode"),
            ],
        ]
    },
}


def shape(node: Node):
    """Its name, what feeds it, and the user's function."""
    return (
        node.pace.name,
        [shape(each) for each in node.inputs],
        shape(node.inner) if node.inner else None,
        node.written.function if node.written else None,
    )


def test_branches_are_told_apart_and_each_function_stands_in_its_own():
    last = pipeline_tree(facts_of(ZIP))
    label = ("Map (6)", [("TensorSlice (5)", [], None, None)], None, "label")
    source, reader = ("TensorSlice (1)", [], None, None), ("TFRecord (2)", [], None, None)
    decode = (
        "ParallelMap (4)",
        [("ParallelInterleave (3)", [source], reader, "records")],
        None,
        "decode",
    )
    joined = ("Shuffle (8)", [("Zip (7)", [label, decode], None, None)], None, "")
    assert shape(last) == ("Prefetch (10)", [("BatchV2 (9)", [joined], None, None)], None, None)


def test_stages_of_an_older_record_are_a_chain():
    last = pipeline_tree(facts_of({"stages": [stage("TensorSlice", 1.0), stage("Map", 2.0)]}))
    assert shape(last) == ("Map (2)", [("TensorSlice (1)", [], None, None)], None, None)


def test_where_stages_were_fused_no_function_is_named():
    stages = [stage("TensorSlice", 1.0, inputs=0), stage("MapAndBatch", 2.0, inputs=1)]
    chain = [of_chain("map", "one"), of_chain("map", "two"), of_chain("batch")]
    last = pipeline_tree(facts_of({"stages": stages, "dataset": {"chains": [chain]}}))
    assert last.written is None


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_whatever_a_record_says_of_inputs_there_is_a_graph(inputs):
    stages = [stage(f"S{k}", 1.0, inputs=count) for k, count in enumerate(inputs)]
    assert pipeline_graphs(report({"stages": stages}))


def test_the_graph_names_work_threads_buffers_and_who_sets_the_pace():
    wide, narrow = pipeline_graphs(report(ZIP))
    for drawn in (wide, narrow):
        told = [each.text for each in drawn.iter("text")]
        assert "ParallelMap (4) · decode()" in told
        assert "▶ sets the pace; 40 ms work, 4 threads" in told
        assert sum(text.startswith("▶") for text in told if text) == 1
        assert "0.1 ms work, 1 thread; buffer 7 of 10" in told
        assert "0.1 ms work, 1 thread; buffer of 4 25% full" in told
        assert "one for each element" in told
        assert "waits 3 ms of it for its batch" in told
        assert "Map (6) · label()" in drawn.find("title").text
    assert float(wide.attrib["width"]) > 900
    assert float(narrow.attrib["width"]) < 330, "400 pixels, less the page's margins"


def test_no_box_leaves_the_drawing_or_covers_another():
    for drawn in pipeline_graphs(report(ZIP)):
        boxes = [
            tuple(map(float, re.findall(r"[\d.]+", each.attrib["transform"])))
            for each in drawn.findall("g")
        ]
        assert len(set(boxes)) == 11
        for x, y in boxes:
            assert x + 300 <= float(drawn.attrib["width"])
            assert y + 62 <= float(drawn.attrib["height"])
            assert not [
                b for b in boxes if b != (x, y) and abs(b[0] - x) < 300 and abs(b[1] - y) < 62
            ]


def test_a_long_name_stays_in_its_box_and_is_whole_on_demand():
    name = "a_function_with_a_name_that_is_far_too_long"
    chain = {"chains": [[of_chain("map", name)]]}
    [drawn] = pipeline_graphs(report({"stages": [stage("Map", 1.0, inputs=0)], "dataset": chain}))
    box = drawn.find("g")
    shown, time, _ = box.findall("text")
    assert len(shown.text) + len(time.text) == MOST_LETTERS
    assert f"{name}()" in box.find("title").text


def test_what_a_stage_does_stays_in_its_box_and_is_whole_on_demand():
    slow = stage("Shuffle", 1234.5, inputs=0, buffer_size=10_000, buffered=9_999)
    [drawn] = pipeline_graphs(report({"stages": [slow]}))
    box = drawn.find("g")
    assert said(box, "told") == ["▶ sets the pace; 1,234 ms work, 1 thread"]
    assert "1 thread; buffer 9,999 of 10,000" in box.find("title").text


# -- what was tried ----------------------------------------------------------------------


TRIAL = {"recommended": 16, "predicted_speedup": 1.2, "low": 1.1, "high": 1.3, "present": 1}
MEASURED = {"in_graph_ms": 10.0, "per_execution_ms": 4.0, "trials": {"1": 13.5, "16": 10.2}}


def test_steps_per_execution_are_a_curve_with_what_was_measured():
    trial = TRIAL | MEASURED | {"host_ms": 0.5}
    card = steps_curve_card(report({"steps_per_execution_trial": trial}))
    rows = [[*map("".join, (cell.itertext() for cell in row))] for row in card.find(".//tbody")]
    assert rows == [["1set", "14.000", "14.000"], ["16recommended", "10.250", "10.231"]]
    title = card.find(".//svg[@role='img']/title").text
    assert title == "Milliseconds per step over steps per execution: 1: 14.000, 16: 10.231"
    assert "steps_per_execution=16 shares that" in card.find("p").text


@pytest.mark.parametrize("trial", [{}, {"trials": {"1": 9.0}}, {"not_tried": "no time"}])
def test_without_trials_there_is_no_curve(trial):
    assert steps_curve_card(report({"steps_per_execution_trial": TRIAL | trial})) is None
    assert steps_curve_card(report()) is None


# -- workers -----------------------------------------------------------------------------


def test_workers_stand_side_by_side_with_skew_and_exchange():
    exchange = {"communication": 2.0, "peer_wait": 1.0, "skew": 0.5}
    values = point(10, 10, 4.0, input_wait=1.0, compute=3.0, **exchange)[1] | {
        "perf/slowest_worker": 1.0
    }
    facts = {"workers": 2, "bytes_per_step": 2**20, "slowest_worker": 1, "steadily_ms": 0.4}
    found = report({"exchange": facts}, (10, values), (20, values))
    summary = found.summary
    both = tuple(summary.as_worker(number) for number in range(2))
    object.__setattr__(summary, "workers", both)
    card = workers_card(found)
    assert said(card, "bars")[0].count("worker") == 3
    told = dict(
        zip(
            (next(e.itertext()).strip() for e in card.iter("dt")),
            (e.text for e in card.iter("dd")),
            strict=True,
        )
    )
    assert told == {
        "exchanging gradients": "2 ms",
        "of it waiting for others": "1 ms",
        "slowest worker beyond the mean": "0.5 ms",
        "gradients": "1 MiB a step",
        "busy longest on the whole": "worker 1",
    }
    heads = [text.split(" ?")[0] for text in said(machine_card(found), "lane-head")]
    assert heads == [
        "exchanging gradients, ms",
        "of it waiting for others, ms",
        "slowest worker beyond the mean, ms",
    ]


def test_the_exchange_over_the_steps_has_the_means_of_the_workers_card():
    taken = {10: 2.0, 40: 1.0}
    points = [
        (step, point(step, steps, 4.0, compute=3.0, communication=ms, peer_wait=0.5 * ms, skew=0.1))
        for (step, ms), steps in zip(taken.items(), (10, 30), strict=True)
    ]
    scalars = [(step, values | {"perf/slowest_worker": 0.0}) for step, (_, values) in points]
    found = report({}, *scalars)
    assert found.summary.exchange["communication"] == pytest.approx(1.25)
    [exchange, *_] = said(machine_card(found), "lane-head")
    assert exchange == "exchanging gradients, ms ?mean 1.25, to 2"


def test_one_worker_alone_has_no_such_card():
    assert workers_card(report()) is None


def test_all_plots_begin_and_end_at_the_same_steps():
    context = {
        "events": [
            {"step": 25, "cause": "callback", "owner": "", "excess_ms": 9.0, "usual_ms": 1.0}
        ]
    }
    points = [(step, point(step, 10, 4.0, input_wait=1.0)[1] | HOST) for step in (10, 20, 30)]
    found = report(context, *points)
    axes = {
        tuple("".join(e.itertext()) for e in axis)
        for axis in machine_card(found).iter("div")
        if axis.attrib.get("class") == "steps"
    }
    assert axes == {("0", "5", "10", "15", "20", "25", "30")}
    timeline = timeline_of(found)
    assert (timeline.first, timeline.last) == (0, 30)
