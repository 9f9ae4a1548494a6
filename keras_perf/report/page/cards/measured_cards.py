"""What was measured of a run, as cards of the page: owners, calls, events, the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element

import pandas as pd

from keras_perf.records.run.settings import DEFAULT_STRATEGY
from keras_perf.records.run.times.outlier import CAUSES, cause_name
from keras_perf.report.compared.differing_settings import asked, told
from keras_perf.report.page.html import card, element, table
from keras_perf.report.page.meanings import explained, explained_rows
from keras_perf.report.run_report import RunReport
from keras_perf.report.text.efficiency_table import EFFICIENCY, HEADER, efficiency_rows
from keras_perf.report.text.measured_tables import (
    DEVICES,
    EVENTS,
    INFERENCE,
    OWNERS,
    START_UP,
    measured_tables,
)

SHOWN_EVENTS = 10

VERSIONS = {
    "TensorFlow": "tensorflow",
    "JAX": "jax",
    "Keras": "keras",
    "Python": "python",
    "keras_perf": "keras_perf",
}
"""Of programs, by the name that the page gives them."""

FACTS = {
    "system": "gpu_use.system",
    "logical CPUs": "machine.cpu_count",
    "memory, MiB": "machine.memory_total_mib",
    "GPUs": "gpu.gpus",
    "GPUs that TensorFlow sees": "gpu_use.gpus_visible",
    "GPU thread mode": "machine.gpu_thread_mode",
    "training": "settings.driver",
    "strategy": "settings.strategy",
    "workers": "settings.workers",
    "replicas": "settings.replicas",
    "input": "input.input_kind",
    "workers of the input": "input.input_workers",
    "precision": "settings.dtype_policy",
    "TensorFloat-32": "machine.tensor_float_32",
    "optimizer": "settings.optimizer",
    "parameters": "settings.parameters",
    "of them trained": "settings.trainable_parameters",
    "examples per step": "length.examples_per_step",
    "steps per execution": "settings.steps_per_execution",
    "steps per epoch": "length.epoch_steps",
    "validation steps": "settings.validation_steps",
    "epochs": "length.epochs",
    "XLA": "settings.jit_compile",
    "eager": "settings.run_eagerly",
}
"""What the page tells of the run, and where the record has it: any other path raises."""

OWNER_TAGS = {"ms": "perf_callbacks/<owner>_ms", "share": "share of a step"}
USE_TAGS = {
    "multiplications": "multiplications",
    "model FLOPs utilization": "model FLOPs utilization",
    "FLOP per byte": "arithmetic intensity",
    "device memory's bandwidth": "gpu/<i>/dram_bandwidth_pct",
    "GPU energy per step": "gpu/<i>/energy_per_step_j",
    "GPU energy per epoch": "energy of an epoch",
    "GPU energy per epoch, price": "price",
    "time of an epoch, price": "price",
}
"""How a row begins → what its figure is; the last that fits counts."""

NO_TAGS: Mapping[str, str] = {}

NOTHING: tuple[Any, ...] = (None, {}, "", DEFAULT_STRATEGY)


def devices_card(report: RunReport) -> Element | None:
    """The memory of each device."""
    caption = (
        "As the allocator of TensorFlow, or of JAX, counts it. With twice the batch all that a "
        "step needs for itself is taken to double, gradients too, which do not."
    )
    return _table_card(report, DEVICES, caption)


def owners_card(report: RunReport) -> Element | None:
    """Host time by owner."""
    caption = "Mean milliseconds per step; smaller ones are left out."
    return _table_card(report, OWNERS, caption, OWNER_TAGS)


def inference_card(report: RunReport) -> Element | None:
    """Validation, and calls of `evaluate` and `predict`."""
    return _table_card(report, INFERENCE, "Mean milliseconds; the batches of all calls together.")


def totals_card(report: RunReport) -> Element | None:
    """Events by cause and owner."""
    return _table_card(report, EVENTS, "Sums over the whole training, the largest first.")


def start_up_card(report: RunReport) -> Element | None:
    """What came before steps were steady."""
    return _table_card(report, START_UP, "Seconds beyond what the same steps take once steady.")


def _table_card(
    report: RunReport, wanted: str, caption: str, tags: Mapping[str, str] = NO_TAGS
) -> Element | None:
    for title, header, rows in measured_tables(report.summary):
        if title == wanted:
            shown = table(explained(header, tags), [list(row) for row in rows], caption)
            return card(title, shown)
    return None


def efficiency_card(report: RunReport) -> Element | None:
    """FLOPs and their share of the peak, memory traffic, energy and prices."""
    rows = efficiency_rows(report.diagnosis.efficiency)
    caption = (
        "Multiplications as the graph of a step has them, by the mean time of a step. Energy "
        "counts the sampled GPUs alone."
    )
    if not rows:
        return None
    tags = {
        name: tag for name, *_ in rows for begin, tag in USE_TAGS.items() if name.startswith(begin)
    }
    return card(EFFICIENCY, table([*HEADER], explained_rows(rows, tags), caption))


def outliers_card(report: RunReport) -> Element | None:
    """The worst steps and pauses."""
    if not report.events:
        return None
    shown = report.events[:SHOWN_EVENTS]
    rows = [
        [
            f"{event.step:,}",
            cause_name(event.cause.value),
            f"{event.excess_ms:,.1f}",
            f"{event.usual_ms:,.2f}" if event.usual_ms > 0 else "–",
            event.owner or "–",
            CAUSES[event.cause],
        ]
        for event in shown
    ]
    header = ["step", "cause", "longer by, ms", "usual, ms", "owner", "what happened"]
    caption = f"The worst {len(shown)} of {len(report.events)} that were recorded."
    return card("Longest steps and pauses", table(header, rows, caption, class_="events"))


def facts_card(report: RunReport) -> Element | None:
    """Versions, machine and settings."""
    known = report.summary.facts
    found: dict[str, Any] = {label: known.versions.get(name) for label, name in VERSIONS.items()}
    found |= {label: asked(known, path) for label, path in FACTS.items()}
    found["workers"] = known.settings.workers or None
    facts = {label: value for label, value in found.items() if value not in NOTHING}
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
    shown = ", ".join(map(str, value.values())) if isinstance(value, Mapping) else value
    return told(shown) or ""
