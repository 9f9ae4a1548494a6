"""The recommender's curve, for TensorBoard."""

from __future__ import annotations

from keras_perf.observers.steps_trial.cost_curve import CostCurve
from keras_perf.records.figures import in_s
from keras_perf.records.run.tried.steps_trial import StepsPerExecution
from keras_perf.report.text.forms import Markdown

SHOWN = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def recommendation_scalars(curve: CostCurve, record: StepsPerExecution) -> dict[str, float]:
    """Tag → value of what the trials found."""
    return {
        "steps_per_execution/recommended_steps": float(record.steps_per_execution),
        "steps_per_execution/predicted_speedup_ratio": record.predicted_speedup,
        "steps_per_execution/in_graph_ms": curve.in_graph_ms,
        "steps_per_execution/per_execution_ms": record.per_execution_ms or 0.0,
    }


def curve_markdown(curve: CostCurve, record: StepsPerExecution) -> str:
    """The reason, the curve as a table with the recommended row marked, and what it cost."""
    chosen, trials, host_ms = record.steps_per_execution, record.trials or {}, record.host_ms or 0.0
    rows = [
        [
            f"{n} ←" if n == chosen else str(n),
            f"{curve.step_ms(n):.3f}",
            f"{trials[n] + host_ms / n:.3f}" if n in trials else "",
        ]
        for n in sorted({*SHOWN, *trials, chosen})
    ]
    form = Markdown()
    form.paragraph(record.reason)
    form.table(["steps_per_execution", "predicted ms", "measured ms"], rows)
    form.paragraph(
        f"Measured in {record.trial_executions} executions of other lengths, in "
        f"{in_s(record.trial_s)} of training steps."
    )
    return str(form)
