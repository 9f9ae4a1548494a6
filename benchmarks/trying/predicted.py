"""What the model of a step predicts of changes, from one training that was observed."""

from __future__ import annotations

import math
from collections.abc import Collection

import keras_perf as kp
from keras_perf.advise.rules.best_first import combined_speedup
from keras_perf.advise.situation import situation_of


def predicted(found: kp.Diagnosis, ids: Collection[str]) -> float:
    """How many times as fast a step is predicted to be with advice of all these ids.

    NaN where one of them is not advised: then nothing is predicted of it.
    """
    advice = tuple(each for each in found.recommendations if each.id in ids)
    if not advice or {each.id for each in advice} != set(ids):
        return math.nan
    return combined_speedup(situation_of(found.summary), advice)[0]
