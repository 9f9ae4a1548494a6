"""What the pipeline does while hooks run, once they are gone."""

from __future__ import annotations

import pytest
from hand_built import H200, situation, stage

from keras_perf.advise.rules.host import amortize_callback
from keras_perf.advise.step.meanwhile import done_beside_computing
from keras_perf.advise.step.step_model import StepModel

HOOK = "Mine.on_train_batch_end"


def beside(work_ms: float, gone_ms: float, optimism: float, **known: object) -> float:
    """By how much computing takes longer, in a step of 10 ms on two cores."""
    model = StepModel(
        stages={"Map": work_ms},
        **({"prefetched": True, "rest": {"compute": 6.0, "callbacks": 4.0}, "cores": 2} | known),
    )
    after = done_beside_computing(model, gone_ms, optimism)
    return after.rest["compute"] - 6.0


def test_what_it_did_meanwhile_it_does_on_cores_that_compute():
    # Of 5 ms for a batch 2 while the hook ran, if it works evenly; at worst all of its 4.
    assert beside(5.0, 4.0, 0.0) == pytest.approx(2.0 / 2)
    assert beside(5.0, 4.0, -1.0) == pytest.approx(4.0 / 2)
    assert beside(5.0, 4.0, 1.0) == 0.0
    # There is no more of it than there is.
    assert beside(1.0, 4.0, -1.0) == pytest.approx(1.0 / 2)


@pytest.mark.parametrize("known", [{"on_gpu": True}, {"prefetched": False}, {"cores": 1}])
def test_where_it_takes_nothing_from_computing_nothing_is_lost(known):
    assert beside(5.0, 4.0, -1.0, **known) == 0.0


@pytest.mark.parametrize(("context", "loses"), [({}, True), (H200, False)])
def test_a_rarer_hook_is_promised_less_beside_a_pipeline_that_works(context, loses):
    def advised(work_ms: float) -> float:
        found = situation(
            input_wait=0.0,
            compute=6.0,
            callbacks=4.0,
            owners={HOOK: 4.0},
            stages=[stage("Map", work_ms), stage("Prefetch", 0.0)],
            context={"cpu_count": 2, **context},
        )
        return amortize_callback(found).predicted_speedup

    assert (advised(5.0) < 0.95 * advised(0.01)) == loses
