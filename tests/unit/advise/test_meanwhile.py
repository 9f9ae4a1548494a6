"""What the pipeline does while hooks run, once they are gone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hand_built import H200, situation, stage

from keras_perf.advise.gains.meanwhile import done_beside_computing, worked_ms
from keras_perf.advise.gains.of_a_part import gain_beside
from keras_perf.advise.rules.host import amortize_callback
from keras_perf.advise.situation import Situation

HOOK = "Mine.on_train_batch_end"


def with_a_hook(work_ms: float, **changed: Any) -> Situation:
    """A step of 10 ms on two cores, of which a hook takes 4, beside a pipeline that works."""
    known: dict[str, Any] = {"cpu_count": 2} | changed.pop("context", {})
    ahead = [stage("Map", work_ms), stage("Prefetch", 0.0)]
    parts = {"input_wait": 0.0, "compute": 6.0, "callbacks": 4.0, "owners": {HOOK: 4.0}}
    return situation(**(parts | {"stages": ahead} | changed), context=known)


def longer_ms(found: Situation, optimism: float = 0.0, gone_ms: float = 4.0) -> float:
    """By how much computing takes longer without the hook."""
    after = done_beside_computing(found, found.model, gone_ms, optimism)
    return after.rest["compute"] - found.model.rest["compute"]


def test_what_it_did_meanwhile_it_does_on_cores_that_compute():
    found = with_a_hook(5.0)
    # Of 5 ms for a batch 2 while the hook ran, if it works evenly; at worst all of its 4.
    assert longer_ms(found) == pytest.approx(2.0 / 2)
    assert longer_ms(found, -1.0) == pytest.approx(4.0 / 2)
    assert longer_ms(found, 1.0) == 0.0
    # There is no more of it than there is.
    assert longer_ms(with_a_hook(1.0), -1.0) == pytest.approx(1.0 / 2)


@pytest.mark.parametrize(
    "found",
    [
        with_a_hook(5.0, context=H200),
        with_a_hook(5.0, stages=[stage("Map", 5.0)]),
        with_a_hook(5.0, context={"cpu_count": 1}),
        # The thread that ran the hook makes the batches.
        with_a_hook(
            5.0,
            stages=[],
            input_wait=0.2,
            process_cpu_pct=160.0,
            context={"input_kind": "PyDataset", "versions": {"jax": "0.10"}, "fetch_cpu_ms": 5.0},
        ),
    ],
    ids=["a GPU computes", "nothing prefetches", "one core", "made by the thread that trains"],
)
def test_where_it_takes_nothing_from_computing_nothing_is_lost(found):
    assert longer_ms(found, -1.0) == 0.0


def test_what_waits_or_finds_an_idle_core_takes_nothing():
    """CPU time of 7 ms in 10, of which computing takes 6: at most one of 5 is work."""
    sampled = with_a_hook(5.0, process_cpu_pct=70.0)
    assert longer_ms(sampled, -1.0) == pytest.approx(sampled.model.crowded * 1.0 / 2)
    assert sampled.model.crowded == pytest.approx(0.5)
    waits = replace(sampled.model, waiting_share=0.9)
    assert done_beside_computing(sampled, waits, 4.0, -1.0).rest["compute"] == pytest.approx(
        6.0 + 0.5 * 0.5 / 2
    )


@pytest.mark.parametrize(("context", "loses"), [({}, True), (H200, False)])
def test_a_rarer_hook_is_promised_less_beside_a_pipeline_that_works(context, loses):
    def advised(work_ms: float) -> float:
        return amortize_callback(with_a_hook(work_ms, context=context)).predicted_speedup

    assert (advised(5.0) < 0.95 * advised(0.01)) == loses


@pytest.mark.parametrize(
    ("changed", "worked"),
    [
        # Not sampled: it may all have been work.
        ({}, 4.0),
        # Of 7 ms of CPU time computing takes 6.
        ({"process_cpu_pct": 70.0}, 1.0),
        ({"process_cpu_pct": 50.0}, 0.0),
        ({"process_cpu_pct": 180.0}, 4.0),
        # A device computes.
        ({"process_cpu_pct": 30.0, "context": H200}, 3.0),
        # Others use one of the two cores: as much CPU time takes twice as long.
        ({"process_cpu_pct": 40.0, "sensors": {"host/cpu_pct": 70.0}}, 2.0),
    ],
)
def test_a_hook_has_worked_no_longer_than_there_was_cpu_time_for(changed, worked):
    assert worked_ms(with_a_hook(5.0, **changed), 4.0) == pytest.approx(worked)


def beside_python(**changed: Any) -> Situation:
    """The pipeline's Python code sets the pace, and stands still while the hook works."""
    behind = [stage("Generator", 10.0), stage("Prefetch", 0.0)]
    return with_a_hook(10.0, stages=behind, context={"input_kind": "generator"}, **changed)


def test_a_hook_that_slept_held_up_no_python_code():
    def advised(**changed: Any) -> float:
        found = beside_python(**changed)
        found = replace(found, model=replace(found.model, awake_ms=0.0, without_pauses=True))
        advice = amortize_callback(found)
        return 1.0 if advice is None else advice.predicted_speedup

    assert advised(process_cpu_pct=170.0) > 1.1
    assert advised(process_cpu_pct=60.0) == pytest.approx(1.0)


def test_the_verdict_promises_no_less_without_the_hook_than_the_advice_does():
    found = beside_python(process_cpu_pct=170.0)
    advice = amortize_callback(found)
    assert advice is not None
    assert advice.predicted_speedup > 1.1
    assert gain_beside(found, "callback-bound")[0] >= advice.predicted_speedup
