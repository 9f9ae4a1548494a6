"""The input pipeline drawn: a box a stage, from the sources down to the training step."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from keras_perf.records.figures import in_bytes, in_ms, in_percent
from keras_perf.report.page.html import element
from keras_perf.report.page.plots.pipeline_tree import Node, pipeline_tree
from keras_perf.report.run_report import RunReport

BOX, HEIGHT, ACROSS, DOWN = 300, 62, 18, 34
"""Pixels: a box's width and height, and what lies between two."""

EDGE, GUTTER = 2, 14
MOST_LETTERS, MOST_TOLD = 32, 50
"""Of a stage's name, its function and its time; of what it does: more would leave the box."""

Places = dict[int, tuple[float, float]]
"""The left upper corner of each node's box, by its `id`; of the training step's, by `TRAINING`."""

TRAINING = 0


def pipeline_graphs(report: RunReport) -> list[Element]:
    """The pipeline drawn for wide windows and, where it has branches, for narrow ones."""
    last = pipeline_tree(report.summary.facts)
    if last is None:
        return []
    columns, rows = _columns(last), _rows(last)
    places: Places = {TRAINING: _place(0, columns, rows)}
    _side_by_side(last, 0, rows - 1, places)
    if columns == 1:
        return [_graph(report, last, places, "graph")]
    stages = enumerate(_all(last))
    stacked: Places = {id(node): (EDGE + GUTTER, EDGE + k * (HEIGHT + DOWN)) for k, node in stages}
    stacked[TRAINING] = EDGE + GUTTER, EDGE + len(stacked) * (HEIGHT + DOWN)
    wide = _graph(report, last, places, "graph wide")
    return [wide, _graph(report, last, stacked, "graph narrow")]


def _graph(report: RunReport, last: Node, places: Places, class_: str) -> Element:
    slowest = max(node.pace.ms for node in _all(last))
    fill = report.summary.facts.input.prefetch_fill
    drawn = [*_drawn(last, places, slowest, fill), *_training(report, last, places)]
    return element(
        "svg",
        element("title", f"The input pipeline: {_in_words(last)}, training"),
        *drawn,
        class_=class_,
        role="img",
        width=f"{max(x for x, _ in places.values()) + BOX + EDGE:g}",
        height=f"{max(y for _, y in places.values()) + HEIGHT + EDGE:g}",
    )


def name_of(node: Node) -> str:
    """A stage with the user's function, or what its kind is in the user's program."""
    written = node.written
    function = f" · {written.function}()" if written is not None and written.function else ""
    return f"{node.pace.name}{function}"


def _all(node: Node) -> Iterator[Node]:
    for each in node.feeding:
        yield from _all(each)
    yield node


def _in_words(node: Node) -> str:
    return ", ".join(
        name_of(each) + (" (sets the pace)" if each.pace.sets_the_pace else "")
        for each in _all(node)
    )


def _columns(node: Node) -> int:
    return max(1, sum(map(_columns, node.feeding)))


def _rows(node: Node) -> int:
    return 1 + max(map(_rows, node.feeding), default=0)


def _place(column: int, columns: int, row: int) -> tuple[float, float]:
    """The left upper corner of a box in the middle of so many columns."""
    x = (column + (columns - 1) / 2) * (BOX + ACROSS) + EDGE
    return x, row * (HEIGHT + DOWN) + EDGE


def _side_by_side(node: Node, column: int, row: int, places: Places) -> None:
    """Branches beside each other, each row further up than what it feeds."""
    places[id(node)] = _place(column, _columns(node), row)
    for each in node.feeding:
        _side_by_side(each, column, row - 1, places)
        column += _columns(each)


def _drawn(node: Node, places: Places, slowest: float, fill: float | None) -> Iterator[Element]:
    """The stage, and before it what feeds it."""
    for each in node.feeding:
        told = _size(each.pace.stage.bytes_per_batch)
        if each is node.inner:
            told = "one for each element"
        yield from _arrow(places[id(each)], places[id(node)], told)
        # Only of the last prefetch it was noted how full it was on average.
        passed = fill if node.pace.stage.name != "Prefetch" else None
        yield from _drawn(each, places, slowest, passed)
    yield _box(node, *places[id(node)], slowest, fill)


def _box(node: Node, x: float, y: float, slowest: float, fill: float | None) -> Element:
    pace = node.pace
    name, time = name_of(node), in_ms(pace.ms)
    most = MOST_LETTERS - len(time)
    shown = name if len(name) <= most else f"{name[: most - 1]}…"
    work = f"{in_ms(pace.stage.cost_ms)} work, {pace.threads} thread{'s' * (pace.threads != 1)}"
    mark = "▶ sets the pace" if pace.sets_the_pace else ""
    told = "; ".join(filter(None, (mark, work, _buffer(node, fill))))
    # The title has all of it.
    fits = told if len(told) <= MOST_TOLD else "; ".join(filter(None, (mark, work)))
    width = (BOX - 24) * pace.ms / slowest if slowest else 0.0
    source = "" if node.written is None or node.written.source is None else node.written.source
    said = f"{name}: {time} a batch; {told}"
    return element(
        "g",
        element("title", f"{said}; {source}" if source else said),
        element("rect", class_="box", x="0", y="0", width=str(BOX), height=str(HEIGHT), rx="7"),
        element("text", shown, class_="name", x="12", y="21"),
        element("text", time, class_="time", x=str(BOX - 12), y="21"),
        element("text", fits, class_="told", x="12", y="39"),
        element("rect", class_="track", x="12", y="48", width=str(BOX - 24), height="6", rx="3"),
        element("rect", class_="fill", x="12", y="48", width=f"{width:.1f}", height="6", rx="3"),
        class_="stage pace" if pace.sets_the_pace else "stage",
        transform=f"translate({x:g} {y:g})",
    )


def _buffer(node: Node, fill: float | None) -> str:
    """How full its buffer was, on average where that is known, else when it was asked."""
    stage, written = node.pace.stage, node.written
    if stage.name == "Prefetch" and fill is not None:
        return f"buffer of {stage.buffer_size} {in_percent(fill)} full"
    size = stage.buffer_size or (written.buffer if written is not None else 0) or 0
    if size:
        return f"buffer {stage.buffered:,} of {size:,}"
    return f"{stage.buffered:,} in its buffer" if stage.buffered else ""


def _training(report: RunReport, last: Node, places: Places) -> Iterator[Element]:
    """What takes the batches, and how long it waits for one."""
    x, y = places[TRAINING]
    yield from _arrow(places[id(last)], (x, y), _size(last.pace.stage.bytes_per_batch))
    step, wait = report.step_ms, report.parts.get("input_wait")
    time = in_ms(step) if step else ""
    told = "" if step is None or wait is None else f"waits {in_ms(wait)} of it for its batch"
    yield element(
        "g",
        element("rect", class_="box", x="0", y="0", width=str(BOX), height=str(HEIGHT), rx="7"),
        element("text", "training step", class_="name", x="12", y="26"),
        element("text", time, class_="time", x=str(BOX - 12), y="26"),
        element("text", told, class_="told", x="12", y="46"),
        class_="stage training",
        transform=f"translate({x:g} {y:g})",
    )


def _arrow(begin: tuple[float, float], end: tuple[float, float], told: str) -> Iterator[Element]:
    """From the box in one place to that in another, with what passes there."""
    (x, y), (to_x, to_y) = begin, end
    rows = round((to_y - y) / (HEIGHT + DOWN))
    if x == to_x and rows > 1:
        # Others lie between them: along their left side, a long way outside a short one.
        side, middle, to_middle = x - min(GUTTER, 3 * rows), y + HEIGHT / 2, to_y + HEIGHT / 2
        path = f"M{x:g} {middle:g}H{side:g}V{to_middle:g}H{to_x - 7:g}"
        yield element("path", class_="arrow", d=path)
        yield element("path", class_="head", d=f"M{to_x:g} {to_middle:g}l-8-5v10z")
        return
    x, y, to_x = x + BOX / 2, y + HEIGHT, to_x + BOX / 2
    yield element("path", class_="arrow", d=f"M{x:g} {y:g}v9H{to_x:g}V{to_y - 7:g}")
    yield element("path", class_="head", d=f"M{to_x:g} {to_y:g}l-5-8h10z")
    anchor = "end" if x > to_x else "start"
    at = x + (-8 if anchor == "end" else 10)
    yield element(
        "text", told, class_="told", x=f"{at:g}", y=f"{y + 25:g}", style=f"text-anchor: {anchor}"
    )


def _size(size: float) -> str:
    return f"{in_bytes(size)} a batch" if size else ""
