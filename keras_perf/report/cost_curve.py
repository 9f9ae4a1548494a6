"""The recommender's curve, for TensorBoard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from keras_perf.observers.cost_curve import CostCurve
from keras_perf.observers.steps_choice import StepsPerExecution
from keras_perf.report.tables import markdown_table

SHOWN = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class CurvePoint(NamedTuple):
    """Step time at one number of steps per execution, in milliseconds."""

    steps_per_execution: int
    predicted_ms: float
    measured_ms: float | None

    def scalars(self) -> dict[str, float]:
        """Tag → value; what was not measured is absent."""
        values = {"steps_per_execution/predicted_ms": self.predicted_ms}
        if self.measured_ms is not None:
            values["steps_per_execution/measured_ms"] = self.measured_ms
        return values


def curve_points(curve: CostCurve, record: StepsPerExecution) -> list[CurvePoint]:
    """The curve where it was measured, at the recommended number and at powers of two."""
    trials, host_ms = record.evidence["trials"], record.evidence["host_ms"]
    return [
        CurvePoint(n, curve.step_ms(n), trials[n] + host_ms / n if n in trials else None)
        for n in sorted({*SHOWN, *trials, record.steps_per_execution})
    ]


def curve_markdown(points: Sequence[CurvePoint], record: StepsPerExecution) -> str:
    """The reason, the curve as a table with the recommended row marked, and what it cost."""
    marks = {record.steps_per_execution: " ←"}
    rows = [
        [
            f"{p.steps_per_execution}{marks.get(p.steps_per_execution, '')}",
            f"{p.predicted_ms:.3f}",
            "" if p.measured_ms is None else f"{p.measured_ms:.3f}",
        ]
        for p in points
    ]
    table = markdown_table(["steps_per_execution", "predicted ms", "measured ms"], rows)
    cost = record.evidence
    return (
        f"{record.reason}\n\n{table}\n\nMeasured in {cost['trial_executions']} executions of "
        f"other lengths, {cost['extra_traces']} of them tracing, in {cost['trial_s']:.2f} s of "
        "training steps.\n"
    )
