"""The report for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from keras_perf.advise.recommendation import Recommendation
from keras_perf.analyse.change import Change
from keras_perf.analyse.hardware.efficiency import Efficiency
from keras_perf.analyse.start_up_shares import start_up_time
from keras_perf.records.run.json_form import plain
from keras_perf.report.compared.comparison import Comparison
from keras_perf.report.compared.judgement import judged
from keras_perf.report.run_report import RunReport, first_measured

SCHEMA = 1
"""Raised when a key is renamed, removed or changes its meaning; new keys may come without."""


def reports_json(reports: Sequence[RunReport]) -> str:
    """The runs as JSON, with the same keys whether there is one or several.

    What was not measured, NaN and infinity are null. Times are in milliseconds, per step unless
    an event's or, among the stages, per batch; those of the start-up are in seconds.
    """
    first = first_measured(reports)
    runs = [_run(report, first) for report in reports]
    return json_text({"schema": SCHEMA, "runs": runs})


def comparison_json(comparison: Comparison, tolerance: float | None = None) -> str:
    """A comparison as JSON, with `exceeded` as `judged` has it."""
    found = {
        "schema": SCHEMA,
        "speedup": comparison.speedup,
        "low": comparison.low,
        "high": comparison.high,
        "whole_speedup": comparison.whole_speedup,
        "verdicts": [comparison.before.verdict, comparison.after.verdict],
        "change": change_record(comparison.change),
        "tolerance": tolerance,
        "exceeded": None if tolerance is None else judged(comparison, tolerance).exceeded,
        "parts": comparison.to_frame().to_dict("records"),
        "advice": comparison.advice_frame().to_dict("records"),
        "settings": [setting._asdict() for setting in comparison.settings],
        "closing": comparison.closing,
    }
    return json_text(found)


def change_record(change: Change | None) -> dict[str, Any] | None:
    """A change as it stands in JSON."""
    return None if change is None else {**asdict(change), "word": change.word or None}


def json_text(value: Any) -> str:
    """JSON with a line's end; NaN and infinity are null."""
    return json.dumps(_finite(value), indent=2, allow_nan=False) + "\n"


def _run(report: RunReport, first: RunReport) -> dict[str, Any]:
    diagnosis, spent = report.diagnosis, start_up_time(report.summary)
    return {
        "run": report.name,
        "alerts": diagnosis.alerts,
        "verdict": diagnosis.verdict,
        "explanation": diagnosis.explanation,
        "steps": report.summary.steps,
        "breakdown": {**report.parts, "step": report.step_ms},
        "steps_per_sec": report.steps_per_sec,
        "examples_per_sec": report.examples_per_sec,
        "joules_per_example": report.joules_per_example,
        "times_as_fast_as_first": report.times_as_fast_as(first),
        "recommendations": [_recommendation(advice) for advice in diagnosis.recommendations],
        "combined_speedup": _bounded(diagnosis.combined_speedup),
        "combined_whole_speedup": _bounded(diagnosis.combined_whole_speedup),
        "outside_ms": report.summary.outside,
        "start_up_s": None if spent is None else spent.parts,
        "start_up_steps": None if spent is None else spent.steps,
        "exchange_ms": report.summary.exchange,
        "workers": [worker._asdict() for worker in report.summary.workers],
        "owners_ms": report.summary.owners,
        "event_totals": [plain(each) for each in report.summary.facts.outliers.event_totals],
        "efficiency": _efficiency(diagnosis.efficiency),
        "notes": diagnosis.notes,
        "details": diagnosis.details,
        "inference": plain(report.summary.facts.inference),
        "predicts": plain(report.summary.facts.predicts),
        "evaluates": plain(report.summary.facts.evaluates),
        "advice_trials": plain(report.summary.facts.advice_trials),
        "tried_before": plain(report.summary.facts.tried_before),
        "input_changes": plain(report.summary.facts.input_changes),
        "batch_sizes": plain(report.summary.facts.batch_sizes),
        "learning_rates": plain(report.summary.facts.learning_rates),
        "stages": [plain(stage) for stage in report.stages],
        "events": [plain(event) for event in report.events],
    }


def _efficiency(found: Efficiency) -> dict[str, Any]:
    known = {each.name: getattr(found, each.name) for each in fields(found)}
    return {name: plain(value) for name, value in known.items()}


def _bounded(speedup: tuple[float, float, float]) -> dict[str, float]:
    return dict(zip(("expected", "low", "high"), speedup, strict=True))


def _recommendation(advice: Recommendation) -> dict[str, Any]:
    return {
        "id": advice.id,
        "title": advice.title,
        "reason": advice.reason,
        "action": advice.action,
        "predicted_speedup": advice.predicted_speedup,
        "low": advice.low,
        "high": advice.high,
        "speedup_after_others": advice.speedup_after_others,
        "of": advice.of,
        "tried": advice.tried,
        "evidence": advice.evidence,
    }


def _finite(value: Any) -> Any:
    """The value in types that JSON has."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
