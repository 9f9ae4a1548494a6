"""What was measured of a run, as cards of the page: plots, input pipeline, events, the run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element

import pandas as pd

from keras_perf.analyse.stage_paces import StagePace, shown_paces
from keras_perf.records.figures import figure, in_bytes
from keras_perf.records.run.outlier import CAUSES
from keras_perf.report.page.html import card, element, table
from keras_perf.report.page.plots import events_plot, parts_plot, utilization_plot
from keras_perf.report.run_report import RunReport
from keras_perf.report.text.efficiency_table import EFFICIENCY, HEADER, efficiency_rows
from keras_perf.report.text.measured_tables import (
    DEVICES,
    EVENTS,
    INFERENCE,
    OWNERS,
    START_UP,
    WORKERS,
    measured_tables,
)

SHOWN_EVENTS = 10

FACTS = {
    "TensorFlow": "tensorflow",
    "Keras": "keras",
    "Python": "python",
    "keras_perf": "keras_perf",
    "logical CPUs": "cpu_count",
    "GPUs": "gpus",
    "replicas": "replicas",
    "precision": "dtype_policy",
    "optimizer": "optimizer",
    "parameters": "parameters",
    "examples per step": "examples_per_step",
    "steps per execution": "steps_per_execution",
    "steps per epoch": "epoch_steps",
    "epochs": "epochs",
    "XLA": "jit_compile",
    "eager": "run_eagerly",
}
"""What the facts tell of the run, by the name that the page gives it."""


def plots_card(report: RunReport, name: str) -> Element | None:
    """Parts, events and utilization over the steps; `name` sets its ids apart."""
    span = _span(report)
    figures = []
    if report.summary.steps:
        drawn = parts_plot(report.summary.intervals, span, f"{name}-parts")
        figures.append(_figure("Parts of a step", "a mean per interval", drawn))
    if report.events:
        drawn = events_plot(report.events, span, f"{name}-events")
        figures.append(_figure("Longest steps and pauses", "by cause", drawn))
    figures += utilization_figures(report, name)
    return card("Over the training", *figures) if figures else None


def utilization_figures(report: RunReport, name: str) -> list[Element]:
    """Utilization over the steps; empty where nothing was sampled."""
    series = _utilization(report.scalars)
    if not series:
        return []
    drawn = utilization_plot(series, _span(report), f"{name}-utilization")
    return [_figure("Utilization", "share of time in use", drawn)]


def _span(report: RunReport) -> tuple[int, int]:
    begin = report.summary.facts.length.first_step or 0
    logged = report.scalars["step"].max() if len(report.scalars) else 0
    return begin, max(int(logged), begin + 1, *(event.step for event in report.events))


def _figure(title: str, what: str, drawn: Element) -> Element:
    return element("figure", element("figcaption", title, element("small", f" – {what}")), drawn)


def _utilization(scalars: pd.DataFrame) -> dict[str, pd.Series]:
    """Percent by step of each GPU, or of the CPUs where no GPU was sampled."""
    tags = [str(tag) for tag in scalars["tag"].unique()]
    gpus = sorted(t for t in tags if re.fullmatch(r"gpu/\d+/utilization_pct", t))
    names = {tag: "GPU " + tag.split("/")[1] for tag in gpus} or {"host/cpu_pct": "all CPUs"}
    return {
        name: scalars[scalars["tag"] == tag].set_index("step")["value"]
        for tag, name in names.items()
        if tag in tags
    }


def stages_card(report: RunReport) -> Element | None:
    """What each stage of the input pipeline costs, with the pace-setter marked."""
    if not report.stages:
        return None
    paces = shown_paces(report.summary.facts)
    slowest = max(pace.ms for pace in paces)
    rows: list[list[str | Element]] = [
        [
            _stage_name(pace),
            f"{pace.threads}",
            in_bytes(pace.stage.bytes_per_batch),
            f"{pace.stage.cost_ms:.3f}",
            f"{pace.ms:.3f}",
            _bar(pace.ms, slowest),
        ]
        for pace in paces
    ]
    header = ["stage", "threads", "size", "work, ms", "time, ms", ""]
    caption = (
        "Per batch, from the source to the last stage. Time is work shared among the stage's "
        "threads; the stage that takes longest sets the pace."
    )
    return card("Input pipeline", table(header, rows, caption))


def _stage_name(pace: StagePace) -> Element:
    name = element("span", pace.name)
    if pace.sets_the_pace:
        name.append(element("span", "sets the pace", class_="tag"))
    return name


def _bar(value: float, largest: float) -> Element:
    width = value / largest if largest else 0.0
    filled = element("span", class_="pace" if value == largest else "", style=f"width: {width:.2%}")
    return element("span", filled, class_="bar", aria_hidden="true")


def workers_card(report: RunReport) -> Element | None:
    """Where the steps of each of several workers go."""
    caption = (
        "Mean milliseconds per step. Compute is without communication, which holds the waiting "
        "for slower workers; host is all the rest."
    )
    return _table_card(report, WORKERS, caption)


def devices_card(report: RunReport) -> Element | None:
    """The memory of each device."""
    caption = (
        "As TensorFlow's allocator counts it. With twice the batch all that a step needs for "
        "itself is taken to double, gradients too, which do not."
    )
    return _table_card(report, DEVICES, caption)


def owners_card(report: RunReport) -> Element | None:
    """Host time by owner."""
    return _table_card(report, OWNERS, "Mean milliseconds per step; smaller ones are left out.")


def inference_card(report: RunReport) -> Element | None:
    """Validation, and calls of `evaluate` and `predict`."""
    return _table_card(report, INFERENCE, "Mean milliseconds; the batches of all calls together.")


def totals_card(report: RunReport) -> Element | None:
    """Events by cause and owner."""
    return _table_card(report, EVENTS, "Sums over the whole training, the largest first.")


def start_up_card(report: RunReport) -> Element | None:
    """What came before steps were steady."""
    return _table_card(report, START_UP, "Seconds beyond what the same steps take once steady.")


def _table_card(report: RunReport, wanted: str, caption: str) -> Element | None:
    for title, header, rows in measured_tables(report.summary):
        if title == wanted:
            return card(title, table(list(header), [list(row) for row in rows], caption))
    return None


def efficiency_card(report: RunReport) -> Element | None:
    """FLOPs and their share of the peak, memory traffic, energy and prices."""
    rows = efficiency_rows(report.diagnosis.efficiency)
    caption = (
        "Multiplications as the graph of a step has them, by the mean time of a step. Energy is "
        "that of the sampled GPUs alone."
    )
    return card(EFFICIENCY, table([*HEADER], [[*row] for row in rows], caption)) if rows else None


def events_card(report: RunReport) -> Element | None:
    """The worst steps and pauses."""
    if not report.events:
        return None
    shown = report.events[:SHOWN_EVENTS]
    rows = [
        [
            f"{event.step:,}",
            event.cause.value,
            event.owner or "–",
            CAUSES[event.cause],
            f"{event.excess_ms:,.1f}",
            f"{event.usual_ms:,.2f}",
        ]
        for event in shown
    ]
    header = ["step", "cause", "owner", "what happened", "longer by, ms", "usual, ms"]
    caption = f"The worst {len(shown)} of {len(report.events)} that were recorded."
    return card("Longest steps and pauses", table(header, rows, caption, class_="events"))


def facts_card(report: RunReport) -> Element | None:
    """Versions, machine and settings."""
    known = {**report.summary.facts.to_json(), **report.summary.facts.versions}
    facts = {label: known[key] for label, key in FACTS.items() if known.get(key) is not None}
    if len(report.scalars):
        end = pd.Timestamp(report.scalars["wall_time"].max(), unit="s", tz="UTC")
        facts["last logged"] = f"{end:%Y-%m-%d %H:%M} UTC"
    if not facts:
        return None
    shown = [
        element("div", element("dt", label), element("dd", _told(value)))
        for label, value in facts.items()
    ]
    return card("The run", element("dl", *shown, class_="facts"))


def _told(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(map(str, value.values()))
    return figure(value) if isinstance(value, float) else str(value)
