"""The picture of a diagnosis."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hand_built import summary
from PIL import Image
from test_diagnosis import SLOW_INPUT

from keras_perf.records.interval import PARTS
from keras_perf.report.diagnosis import Diagnosis, diagnosis_of
from keras_perf.report.summary_picture import (
    ALONE,
    BAR_PX,
    BAR_TOP,
    BESIDE_GPUS,
    MARGIN,
    PLOT_BOTTOM,
    PLOT_TOP,
    SIZE,
    picture_tag,
    summary_picture,
)
from keras_perf.showing.colours import PART_COLOURS


def pixels(diagnosis: Diagnosis) -> np.ndarray:
    """Rows, columns, red, green and blue."""
    return np.asarray(Image.open(io.BytesIO(summary_picture(diagnosis))))


def share(drawn: np.ndarray, part: str) -> float:
    """Of these pixels, those in the part's colour."""
    colour = [int(PART_COLOURS[part][at : at + 2], 16) for at in (1, 3, 5)]
    return float((drawn == colour).all(axis=-1).mean())


def test_the_bar_has_each_part_with_its_share():
    found = diagnosis_of(summary(**SLOW_INPUT))
    drawn = pixels(found)
    assert drawn.shape == (SIZE[1], SIZE[0], 3)
    bar = drawn[BAR_TOP + BAR_PX // 2, MARGIN : SIZE[0] - MARGIN]
    for part in ("input_wait", "compute"):
        expected = found.breakdown[part] / found.breakdown["step"]
        assert abs(share(bar, part) - expected) < 0.01


def test_over_the_steps_the_parts_are_stacked_and_rare_long_steps_cut_off():
    found = diagnosis_of(summary(**SLOW_INPUT))
    step_ms = [10.0] * 400 + [10_000.0]
    intervals = pd.DataFrame(
        {"steps": 10, "input_wait": 0.8 * np.array(step_ms), "compute": 0.2 * np.array(step_ms)},
        index=range(10, 4020, 10),
    )
    found = replace(found, summary=replace(found.summary, intervals=intervals))
    plot = pixels(found)[PLOT_TOP:PLOT_BOTTOM, MARGIN : SIZE[0] - MARGIN]
    assert 0.6 < share(plot, "input_wait") < 0.8
    assert share(plot, "compute") > 0.1


def test_over_the_steps_each_part_is_drawn_that_the_bar_has():
    found = diagnosis_of(summary(**dict.fromkeys(PARTS, 2.0)))
    plot = pixels(found)[PLOT_TOP:PLOT_BOTTOM, MARGIN : SIZE[0] - MARGIN]
    for part in PARTS:
        assert abs(share(plot, part) - 1 / 1.1 / len(PARTS)) < 0.02, part


def test_without_steps_and_with_letters_that_the_font_lacks_there_is_a_picture():
    found = diagnosis_of(summary(steps=0))
    assert pixels(replace(found, explanation="Größe 大きい " * 40)).shape[2] == 3


@pytest.mark.parametrize(
    ("sensor", "tag"), [("host/cpu_pct", ALONE), ("gpu/0/utilization_pct", BESIDE_GPUS)]
)
def test_the_picture_leaves_the_step_open_beside_the_figures_of_gpus(sensor, tag):
    assert picture_tag(diagnosis_of(summary(**SLOW_INPUT, sensors={sensor: 50.0}))) == tag
