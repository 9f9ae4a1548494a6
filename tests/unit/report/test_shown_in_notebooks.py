"""What a notebook shows of results, and the figures that they draw of themselves."""

from __future__ import annotations

import io
from xml.etree.ElementTree import fromstring

import pandas as pd
import pytest
from hand_built import stage, summary
from matplotlib.figure import Figure
from test_diagnosis import FAST, SLOW_INPUT

from keras_perf.report.compared.comparison import comparison_of
from keras_perf.report.diagnosis import diagnosis_of
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
