"""What a notebook shows of results, and the figures that they draw of themselves."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from xml.etree.ElementTree import fromstring

import pandas as pd
import pytest
from hand_built import stage, summary
from matplotlib.figure import Figure
from test_diagnosis import FAST, SLOW_INPUT

from keras_perf.records.interval import PARTS
from keras_perf.records.run.tried.steps_trial import StepsTrial
from keras_perf.report.compared.comparison import comparison_of
from keras_perf.report.diagnosis import diagnosis_of
from keras_perf.report.steps_per_execution import StepsPerExecution
from keras_perf.showing.colours import PART_COLOURS
from keras_perf.trace.trace import Trace

NASTY = '<script>alert("&amp;")</script>'


def parsed(shown):
    """The pieces of HTML as one element: they are well-formed."""
    return fromstring(shown)


def text_of(shown):
    return " ".join(parsed(shown).itertext())


def trace():
    parts = {"input_wait_ms": 1.0, "execution_ms": 2.0, "python_ms": 0.5, "gap_ms": 0.5}
    frame = pd.DataFrame([{"step_ms": 4.0, **parts}] * 3)
    return Trace((), ("host",), 3, 3, "markers", {**parts, "step_ms": 4.0}, (NASTY,), frame)


def slow():
    stages = [stage("TensorSlice", 1.0), stage(NASTY, 6.0), stage("Batch", 1.0)]
    return diagnosis_of(summary(**{**SLOW_INPUT, "stages": stages}))


def fast():
    return diagnosis_of(summary(**FAST))


@pytest.mark.parametrize("result", [slow(), fast(), comparison_of(slow(), fast()), trace()])
def test_it_is_well_formed_and_foreign_names_are_text(result):
    shown = result._repr_html_()
    tags = {each.tag for each in parsed(shown).iter()}
    assert "script" not in tags
    assert "table" in tags
    assert "style" not in tags


def test_a_diagnosis_has_the_words_and_rows_of_its_text():
    found = slow()
    shown = text_of(found._repr_html_())
    for words in ("input-bound", "input wait 8.000 80%", "dispatch in compute", "Mine.on_train"):
        assert words in shown
    assert NASTY in shown
    for advice in found.recommendations:
        assert advice.title in shown
        assert advice.action in shown


def test_parts_are_drawn_as_wide_as_they_are():
    styles = [each.get("style", "") for each in parsed(slow()._repr_html_()).iter("span")]
    wanted = f"width: 80.00%; background: {PART_COLOURS['input_wait']}"
    assert sum(wanted in style for style in styles) == 1


def test_a_run_without_steps_is_shown_without_bars_and_draws_none():
    nothing = diagnosis_of(summary(0))
    assert "background" not in nothing._repr_html_()
    assert not nothing.plot().axes[0].patches


@pytest.mark.parametrize("result", [slow(), fast(), comparison_of(slow(), fast()), trace()])
def test_each_draws_itself(result):
    figure = result.plot()
    assert isinstance(figure, Figure)
    stream = io.BytesIO()
    figure.savefig(stream, format="png")
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_a_diagnosis_draws_its_parts_and_a_step_with_each_advice():
    found = slow()
    [axes] = found.plot().axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["as it is", *(each.id for each in found.recommendations)]
    widths = [bar.get_width() for bar in axes.patches]
    assert widths[:4] == pytest.approx([8.0, 1.0, 0.4, 0.6])
    assert widths[4:] == pytest.approx(
        [10.0 / each.predicted_speedup for each in found.recommendations]
    )


def widths_in_percent(shown):
    styles = " ".join(each.get("style", "") for each in parsed(shown).iter("span"))
    return [float(each) for each in re.findall(r"width: ([\d.]+)%", styles)]


def measured(found):
    """Its parts that took a time, in their order."""
    return [found.breakdown[part] for part in PARTS if found.breakdown[part] > 0]


def test_a_comparison_has_the_parts_before_and_after_as_wide_as_they_are():
    found = comparison_of(slow(), fast())
    for words in (found.headline, "input wait 8.000 0.000 8.000", "compute 1.000 9.900 -8.950"):
        assert words in text_of(found._repr_html_())
    both = [*measured(found.before), *measured(found.after)]
    assert widths_in_percent(found._repr_html_()) == pytest.approx([10 * ms for ms in both])
    [axes] = found.plot().axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["before", "after"]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx(both)
    rows = [round(bar.get_y() + bar.get_height() / 2) for bar in axes.patches]
    assert rows == [0] * len(measured(found.before)) + [1] * len(measured(found.after))


def test_a_trace_has_its_mean_parts_and_draws_each_traced_step():
    found = trace()
    shown = found._repr_html_()
    for words in ("3 traced steps", "input wait 1.000 25%", NASTY):
        assert words in text_of(shown)
    assert widths_in_percent(shown) == [25.0, 50.0, 12.5, 12.5]
    longer = replace(found, frame=found.frame.mul([1.0, 2.0, 3.0], axis=0))
    [axes] = longer.plot().axes
    heights = [0.0] * 3
    for bar in axes.patches:
        heights[round(bar.get_x() + bar.get_width() / 2)] += bar.get_height()
    assert heights == [4.0, 8.0, 12.0]


COST = {"in_graph_ms": 0.5, "per_execution_ms": 1.5}
TRIED = StepsPerExecution.of(
    StepsTrial(
        steps_per_execution=64,
        predicted_speedup=3.8,
        low=3.0,
        high=3.9,
        trials={1: 1.9, 4: 0.85, 16: 0.6},
        host_ms=0.1,
        called_less_often=(NASTY,),
        **COST,
    )
)


def test_a_number_of_steps_is_shown_beside_what_each_that_was_tried_took():
    shown = parsed(TRIED._repr_html_())
    assert "script" not in {each.tag for each in shown.iter()}
    words = text_of(TRIED._repr_html_())
    assert "steps_per_execution=64: a step 3.80× (3.00–3.90) as fast" in words
    assert TRIED.reason.partition(": ")[2] in words
    rows = [[cell.text for cell in row][:3] for row in shown.iter("tr")]
    assert rows[1:] == [
        ["1, set", "2.000", "2.000"],
        ["4", "0.875", "0.875"],
        ["16", "0.606", "0.594"],
        ["64, recommended", "–", "0.523"],
    ]
    styles = [each.get("style", "") for each in shown.iter("div")]
    widths = [float(found[1]) for each in styles if (found := re.match(r"width: ([\d.]+)%", each))]
    assert widths == pytest.approx([100.0, 43.8, 30.3, 26.2])


def test_it_draws_what_was_measured_and_the_curve_to_the_number_that_is_recommended():
    [axes] = TRIED.plot().axes
    measured, curve, chosen = axes.lines
    assert dict(measured.get_xydata()) == pytest.approx({1: 2.0, 4: 0.875, 16: 0.60625})
    (first, first_ms), *_, (last, last_ms) = curve.get_xydata()
    assert (first, first_ms, last, last_ms) == pytest.approx((1, 2.0, 64, 0.5 + 1.5 / 64))
    assert list(chosen.get_xdata()) == [64, 64]


@pytest.mark.parametrize(
    ("trial", "why"),
    [
        (StepsTrial(not_tried="run_eagerly is set"), "Not tried: run_eagerly is set."),
        (StepsTrial(trials={1: 2.0, 2: 1.9}, **COST), "No change: a step costs 0.5 ms"),
    ],
)
def test_a_number_that_stays_is_shown_with_the_reason_and_drawn_without_trials_too(trial, why):
    found = StepsPerExecution.of(trial)
    words = text_of(found._repr_html_())
    assert "steps_per_execution=1 stays" in words
    assert why in words
    assert found.plot()._repr_png_().startswith(b"\x89PNG")
    assert ("1, set, recommended" in words) == bool(trial.trials)
