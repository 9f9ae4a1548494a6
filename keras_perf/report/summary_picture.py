"""A diagnosis as a picture, for TensorBoard's Images and Time Series tabs.

matplotlib would draw it, and takes half a second to import, which every training would wait for.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from keras_perf.analyse.of_intervals.epoch_begins import as_measured
from keras_perf.records.figures import in_ms, in_percent
from keras_perf.records.interval import PARTS
from keras_perf.records.text.plain_characters import PLAINLY
from keras_perf.report.diagnosis import Diagnosis
from keras_perf.report.in_a_sentence import in_short
from keras_perf.report.text.gain import gain_of
from keras_perf.report.text.html_form import coloured
from keras_perf.showing.colours import PART_COLOURS

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

ALONE, BESIDE_GPUS = "at_a_glance", "perf/training_at_a_glance"
"""TensorBoard sorts by name and opens two groups. Alone, the picture is the first card, and `perf/`
is open below it; where `gpu/` comes before `perf/`, it is the last card of that."""

SIZE = 760, 720
"""Pixels. A card of TensorBoard is half as wide, so letters are large."""

MARGIN = 16
LARGE, TEXT, SMALL = 40, 26, 22
"""Heights of letters."""

BAR_TOP, BAR_PX = 300, 48
PLOT_TOP, PLOT_BOTTOM = 500, 670

INK, FAINT, GROUND = "#1a1a1a", "#666666", "#ffffff"

LINE = 56
"""Characters of a line that fit."""

SHOWN = 0.01
"""Of a step: a part that takes less is drawn, but not named."""

MOST_COLUMNS = 300
"""Of what is drawn over the steps: more intervals than that are thinned."""


def summary_picture(diagnosis: Diagnosis) -> bytes:
    """Verdict, best advice, a step's parts as a bar and over the steps: a PNG of `SIZE` pixels."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", SIZE, GROUND)
    draw = ImageDraw.Draw(image)
    _words(draw, diagnosis)
    if parts := coloured(diagnosis.breakdown):
        _bar(draw, parts)
        _over_steps(draw, diagnosis)
    stream = io.BytesIO()
    image.save(stream, format="png")
    return stream.getvalue()


def picture_tag(diagnosis: Diagnosis) -> str:
    """Where TensorBoard shows it; with a GPU's figures in the run it stands below them."""
    of_gpus = any(tag.startswith("gpu/") for tag in diagnosis.summary.sensors)
    return BESIDE_GPUS if of_gpus else ALONE


def _words(draw: ImageDraw, diagnosis: Diagnosis) -> None:
    _text(draw, (MARGIN, 12), diagnosis.verdict, LARGE)
    _text(draw, (MARGIN, 72), _two_lines(in_short(diagnosis)), TEXT)
    advice = _two_lines(diagnosis.closing)
    if diagnosis.recommendations:
        best = diagnosis.recommendations[0]
        advice = f"{_two_lines(f'best advice: {best.title}')}\n{gain_of(best)}"
    _text(draw, (MARGIN, 160), advice, TEXT, FAINT)


def _two_lines(text: str) -> str:
    return "\n".join(textwrap.wrap(text, LINE, max_lines=2, placeholder=" …"))


def _bar(draw: ImageDraw, parts: Mapping[str, tuple[float, str]]) -> None:
    """The parts side by side, and below each colour what it stands for."""
    whole_ms = sum(ms for ms, _ in parts.values())
    width = SIZE[0] - 2 * MARGIN
    left, word, y = float(MARGIN), float(MARGIN), BAR_TOP + BAR_PX + 14
    for name, (ms, colour) in parts.items():
        right = left + width * ms / whole_ms
        draw.rectangle((left, BAR_TOP, right, BAR_TOP + BAR_PX), fill=colour)
        left = right
        if ms < SHOWN * whole_ms:
            continue
        said = _plain(f"{name} {in_ms(ms)} ({in_percent(ms / whole_ms)})")
        takes = 28 + draw.textlength(said, font=_font(SMALL))
        if word + takes > MARGIN + width:
            word, y = float(MARGIN), y + 32
        draw.rectangle((word, y + 4, word + 18, y + 22), fill=colour)
        _text(draw, (word + 28, y), said, SMALL)
        word += takes + 24


def _over_steps(draw: ImageDraw, diagnosis: Diagnosis) -> None:
    """The parts stacked over the steps."""
    intervals = as_measured(diagnosis.summary.intervals)
    if len(intervals) < 2:
        return
    chosen = np.unique(np.linspace(0, len(intervals) - 1, MOST_COLUMNS).astype(int))
    shown = intervals.iloc[chosen]
    columns = [part for part in PARTS if diagnosis.breakdown.get(part, 0.0) > 0]
    tops = np.cumsum(shown.reindex(columns=columns).fillna(0.0).to_numpy(dtype=float), axis=1)
    # What is far longer than usual is cut off: the others would lie on the ground.
    most = float(np.quantile(tops[:, -1], 0.98)) * 1.1 or 1.0
    steps = [float(shown.index[0] - shown["steps"].iloc[0]), *map(float, shown.index)]
    width, height = SIZE[0] - 2 * MARGIN, PLOT_BOTTOM - PLOT_TOP
    xs = [MARGIN + width * (s - steps[0]) / max(1.0, steps[-1] - steps[0]) for s in steps]
    colours = [PART_COLOURS[part] for part in columns]
    for (begin, end), heights in zip(pairwise(xs), tops, strict=True):
        for top, colour in zip(reversed(heights), reversed(colours), strict=True):
            y = PLOT_BOTTOM - height * min(1.0, top / most)
            draw.rectangle((begin, y, end, PLOT_BOTTOM), fill=colour)
    _text(draw, (MARGIN, PLOT_TOP - 34), f"over the training, up to {in_ms(most)}", SMALL, FAINT)
    last = f"step {steps[-1]:,.0f}"
    _text(draw, (MARGIN, PLOT_BOTTOM + 8), f"step {steps[0]:,.0f}", SMALL, FAINT)
    at = SIZE[0] - MARGIN - draw.textlength(last, font=_font(SMALL))
    _text(draw, (at, PLOT_BOTTOM + 8), last, SMALL, FAINT)


def _font(size: int) -> ImageFont | FreeTypeFont:
    from PIL import ImageFont

    return ImageFont.load_default(size)


def _plain(text: str) -> str:
    # Pillow's own font has ASCII's letters only.
    return text.encode("ascii", PLAINLY).decode()


def _text(
    draw: ImageDraw, at: tuple[float, float], text: str, size: int, colour: str = INK
) -> None:
    draw.text(at, _plain(text), fill=colour, font=_font(size))
