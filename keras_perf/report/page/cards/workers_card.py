"""Several workers side by side, as a card of the page."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from keras_perf.analyse.worker import Worker
from keras_perf.records.figures import in_bytes, in_ms
from keras_perf.report.page.html import card, element, table
from keras_perf.report.page.meanings import explained
from keras_perf.report.page.plots.drawing import keys
from keras_perf.report.run_report import RunReport
from keras_perf.report.text.measured_tables import WORKERS, measured_tables

CAPTION = (
    "Mean milliseconds per step. Compute is without communication, which holds the waiting "
    "for slower workers; host is all the rest."
)
COLOURS = {
    "input wait": "input_wait",
    "compute": "compute",
    "communication": "communication",
    "host": "other_host",
}
TAGS = {
    "step ms": "perf/step_time_ms",
    "input wait": "perf/input_wait_ms",
    "compute": "perf/compute_ms",
    "communication": "perf/communication_ms",
    "host": "host",
    "exchanging gradients": "perf/communication_ms",
    "of it waiting for others": "perf/peer_wait_ms",
    "slowest worker beyond the mean": "perf/skew_ms",
    "busy longest on the whole": "perf/slowest_worker",
}
"""Name → what its figures are."""

EXCHANGE_NAMES = {
    "communication": "exchanging gradients",
    "peer_wait": "of it waiting for others",
    "skew": "slowest worker beyond the mean",
}


def workers_card(report: RunReport) -> Element | None:
    """Where the steps of each go, to one scale, and what their exchange takes."""
    workers = report.summary.workers
    if not workers:
        return None
    [(_, header, rows)] = [each for each in measured_tables(report.summary) if each[0] == WORKERS]
    longest = max(each.step_ms for each in workers)
    bars = [(f"worker {each.number}", _bar(each, longest)) for each in workers]
    return card(
        WORKERS,
        table(("worker", ""), bars, "Parts of a step, all on one scale.", class_="bars"),
        keys((name, f"var(--{colour})", "s") for name, colour in COLOURS.items()),
        table(explained(header, TAGS), [list(row) for row in rows], CAPTION),
        *_exchange(report),
    )


def _bar(worker: Worker, longest: float) -> Element:
    parts = {**worker.busy_with, "communication": worker.communication_ms or 0.0}
    shown = [
        element(
            "span",
            title=f"{name}: {parts[name]:.3f} ms",
            style=f"--part: var(--{colour}); width: {max(0.0, parts[name]) / longest:.3%}",
        )
        for name, colour in COLOURS.items()
    ]
    return element("div", *shown, class_="stack", aria_hidden="true")


def _exchange(report: RunReport) -> list[Element]:
    """Its means, and who is steadily the slowest."""
    means, facts = report.summary.exchange, report.summary.facts.exchange
    figures = {name: in_ms(means[part]) for part, name in EXCHANGE_NAMES.items() if part in means}
    if facts is not None:
        figures["gradients"] = f"{in_bytes(facts.bytes_per_step)} a step"
        if facts.slowest_worker is not None:
            figures["busy longest on the whole"] = f"worker {facts.slowest_worker}"
    if not figures:
        return []
    pairs = [
        element("div", element("dt", *explained([name], TAGS)), element("dd", value))
        for name, value in figures.items()
    ]
    return [element("dl", *pairs, class_="facts")]
