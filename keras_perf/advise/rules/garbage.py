"""Advice on Python's garbage collector."""

from __future__ import annotations

from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.followed import collects_rarely
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import StepModel
from keras_perf.analyse.summary import Summary
from keras_perf.records.advice_ids import TUNE_GC
from keras_perf.records.figures import in_ms
from keras_perf.records.run.times.outlier import Cause

AFTER_SEARCHES = 0.2
"""A callback that makes 10,000 to 30,000 lists a step does so in 0.6 to 0.9 of its time once the
collector, which took nine tenths of the step, no longer searches them."""

ADVISED_THRESHOLD = 100_000
"""New objects that the collector is advised to wait for."""

SEVERAL = 3
"""So many long pauses are a habit."""


def _few_pauses(summary: Summary) -> bool:
    """Most of the collector's time lies in a pause or two, which tells nothing of the next ones."""
    count, long_ms = summary.facts.outliers.of(Cause.GARBAGE)
    return 0 < count < SEVERAL and long_ms > 0.5 * summary.garbage_ms * summary.steps


@rule(
    TUNE_GC,
    tried_title="Let Python's garbage collector run less often",
    followed=collects_rarely,
)
def tune_gc(situation: Situation) -> Recommendation | None:
    """Python's garbage collector interrupts training."""
    spent, rest_ms = situation.summary.garbage_ms, situation.model.rest_ms
    if not spent or not rest_ms or _few_pauses(situation.summary):
        return None
    threshold = situation.facts.settings.collector_threshold
    if threshold is not None and not 0 < threshold < ADVISED_THRESHOLD:
        # At 0 it is off: what collects then is a call in the user's own code.
        return None
    share = min(1.0, spent / rest_ms)

    def change(model: StepModel, optimism: float) -> StepModel:
        # Searches of all objects come 7000 times more rarely; those of new objects only find the
        # same number of them at a time, which is little work, but not known apart.
        left = 0.01 * (1 - optimism) if optimism >= 0 else 0.01 + 0.09 * -optimism
        # Wherever in the rest the pauses lie, they shrink with it.
        gone = share * (1 - left)
        awake = model.awake(gone * model.rest_ms, optimism)
        # Searching all objects empties the caches of whoever makes them.
        faster = 1 - AFTER_SEARCHES * gone * (1 + optimism / 2)
        host = dict.fromkeys(("callbacks", "other_host"), faster)
        return awake.with_rest(dict.fromkeys(model.rest, 1 - gone)).with_rest(host)

    return predicted(
        situation.model,
        change,
        title="Let Python's garbage collector run less often",
        reason=(
            f"Its pauses take {in_ms(spent)} of every step of {in_ms(situation.summary.step_ms)}: "
            "it searches all living objects again and again."
        ),
        action=(
            "import gc\n"
            "gc.collect()\n"
            "gc.freeze()  # before training: what lives now is not searched again\n"
            "gc.set_threshold(100_000, 50, 100)  # Python's own: 700, 10, 10"
        ),
        evidence={"garbage_collection_ms": spent},
    )
