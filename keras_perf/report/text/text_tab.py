"""What TensorBoard's Text tab shows beside the diagnosis: the GPUs, outliers, the trials' curve."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from keras_perf.observers.steps_trial.cost_curve import CostCurve
from keras_perf.records.figures import UNKNOWN, in_s
from keras_perf.records.run.times.outlier import CAUSES, Outlier
from keras_perf.records.run.tried.steps_trial import StepsTrial
from keras_perf.report.text.forms import Markdown

SHOWN_OUTLIERS = 20
SHOWN_LENGTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""Steps per execution; beside those that were tried."""


def gpus_markdown(gpus: Iterable[tuple[str, str, Sequence[str]]]) -> str:
    """Which GPU is which, and what it does not tell.

    Arguments:
        gpus: of each the beginning of its tags, its name and what it does not tell.
    """
    rows = [[tag, name, ", ".join(missing) or UNKNOWN] for tag, name, missing in gpus]
    form = Markdown()
    form.table(["tags", "GPU", "not supported"], rows)
    return str(form)


def outliers_markdown(outliers: Sequence[Outlier]) -> str | None:
    """The worst as a table; None where there is none."""
    events = outliers[:SHOWN_OUTLIERS]
    if not events:
        return None
    rows = [
        [
            CAUSES[event.cause] + (f" {event.owner}" if event.owner else ""),
            f"{event.step:,}",
            f"{event.excess_ms:,.1f}",
            f"{event.usual_ms:,.2f}" if event.usual_ms > 0 else "–",
        ]
        for event in events
    ]
    header = ["what happened", "step", "longer by, ms", "usual, ms"]
    form = Markdown()
    form.paragraph(f"The worst {len(rows)}:")
    form.table(header, rows)
    return str(form)


def curve_markdown(curve: CostCurve, record: StepsTrial) -> str:
    """The reason, the curve as a table with the recommended row marked, and what it cost."""
    chosen, measured = record.steps_per_execution, record.measured_ms
    rows = [
        [
            f"{n} ←" if n == chosen else str(n),
            f"{curve.step_ms(n):.3f}",
            f"{measured[n]:.3f}" if n in measured else "",
        ]
        for n in sorted({*SHOWN_LENGTHS, *measured, chosen})
    ]
    form = Markdown()
    form.paragraph(record.reason)
    form.table(["steps_per_execution", "predicted ms", "measured ms"], rows)
    form.paragraph(
        f"Measured in {record.trial_executions} executions of other lengths, in "
        f"{in_s(record.trial_s)} of training steps."
    )
    return str(form)
