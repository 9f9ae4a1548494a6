"""What is printed when a training ends: four lines at most."""

from __future__ import annotations

import shlex

from keras_perf.files.any_path import from_here
from keras_perf.records.run.ending import How
from keras_perf.records.text.visible import visible
from keras_perf.report.diagnosis import Diagnosis
from keras_perf.report.in_a_sentence import in_short
from keras_perf.report.text.gain import gain_of


def ending_lines(diagnosis: Diagnosis, log_dir: str) -> str:
    """An alert where there is one, the verdict, the best advice, where to look.

    Arguments:
        diagnosis: of the training that has ended.
        log_dir: the directory that the callbacks write to.
    """
    where = shlex.quote(from_here(log_dir))
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


def _advice(diagnosis: Diagnosis) -> list[str]:
    if not diagnosis.recommendations:
        return []
    best, *others = diagnosis.recommendations
    more = f", and {len(others)} more" if others else ""
    return [f"  best advice: {best.title} [{best.id}], {gain_of(best)}{more}"]
