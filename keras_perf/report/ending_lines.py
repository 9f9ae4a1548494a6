"""What is printed when a training ends: four lines at most."""

from __future__ import annotations

import shlex

from keras_perf.advise.gains.of_a_part import PARTS_OF
from keras_perf.records.figures import in_ms, in_percent
from keras_perf.records.interval import part_name
from keras_perf.records.run.ending import How
from keras_perf.records.visible import visible
from keras_perf.report.diagnosis import Diagnosis
from keras_perf.report.text.gain import gain_of

_PARTS = {**PARTS_OF, "input-bound": ("input_wait",), "compute-bound": ("compute",)}


def ending_lines(diagnosis: Diagnosis, log_dir: str) -> str:
    """An alert where there is one, the verdict, the best advice, where to look.

    Arguments:
        diagnosis: of the training that has ended.
        log_dir: the directory that was given to the callbacks.
    """
    where = shlex.quote(log_dir)
    lines = [
        *diagnosis.alerts[:1],
        f"keras_perf: {_how_it_ended(diagnosis)}{diagnosis.verdict}: {in_short(diagnosis)}",
        *_advice(diagnosis),
        f"  more: keras-perf report {where}, or the Performance tab of "
        f"tensorboard --logdir {where}",
    ]
    return "".join(f"{visible(line)}\n" for line in lines)


def _how_it_ended(diagnosis: Diagnosis) -> str:
    ending = diagnosis.summary.facts.ending
    if ending is None or ending.how is not How.RAISED:
        return ""
    return f"training was ended by {ending.error or 'an exception'}; "


def in_short(diagnosis: Diagnosis) -> str:
    """The share of the part that the verdict is about; the explanation where it tells of more."""
    summary = diagnosis.summary
    names = _PARTS.get(diagnosis.verdict, ())
    what = " and ".join(map(part_name, names))
    spent = sum(summary.parts.get(name, 0.0) for name in names)
    simple = diagnosis.explanation.startswith(f"{what}:") or diagnosis.verdict == "compute-bound"
    if not simple or not spent:
        return diagnosis.explanation
    takes = "take" if len(names) > 1 or what.endswith("s") else "takes"
    share = in_percent(spent / summary.step_ms)
    return f"{what} {takes} {share} of a step of {in_ms(summary.step_ms)}"


def _advice(diagnosis: Diagnosis) -> list[str]:
    if not diagnosis.recommendations:
        return []
    best, *others = diagnosis.recommendations
    more = f", and {len(others)} more" if others else ""
    return [f"  best advice: {best.title} [{best.id}], {gain_of(best)}{more}"]
