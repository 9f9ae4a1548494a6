"""Trainings on a real GPU: what is told of them, and what its advice was worth by a clock there."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

import keras_perf as kp
from keras_perf.advise.rules.async_callback import async_callback
from keras_perf.advise.situation import situation_of

FOLDER = Path(__file__).with_name("of_an_h200")
ABOUT = json.loads((FOLDER / "about.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    found = {}
    for name in ABOUT["measured"]:
        log_dir = tmp_path_factory.mktemp(name)
        events = log_dir / "perf" / "events.out.tfevents.1795794494.vm.13536.0.fit-1"
        events.parent.mkdir()
        events.write_bytes(gzip.decompress((FOLDER / f"{name}.tfevents.gz").read_bytes()))
        found[name] = kp.diagnose(log_dir)
    return found


def test_a_gpu_that_computes_all_the_time_makes_short_steps_compute_bound(told):
    assert told["jax"].verdict == "compute-bound"
    assert "the GPU runs kernels for" in str(told["jax"])


@pytest.mark.parametrize(
    ("name", "kernel_ms"), [("jax-waits", 2.34), ("tensorflow", 2.2), ("tensorflow-waits", 2.2)]
)
def test_a_gpu_that_idles_in_short_steps_leaves_open_what_calls_cost(told, name, kernel_ms):
    """Traces of the same model on the same GPU told for how long kernels run."""
    found = told[name]
    assert found.verdict == "inconclusive"
    share = found.summary.usual["gpu/0/graphics_active_pct"] / 100
    assert share == pytest.approx(kernel_ms / found.breakdown["step"], abs=0.03)
    assert f"runs kernels on the GPU for {share:.0%} of its time" in str(found)


@pytest.mark.parametrize("name", ["jax", "jax-waits", "tensorflow"])
def test_what_half_precision_gained_lies_in_the_predicted_interval(told, name):
    [advice] = [each for each in told[name].recommendations if each.id == "mixed-precision"]
    assert advice.low <= ABOUT["measured"][name]["mixed-precision"] <= advice.high


def test_a_hook_that_is_not_waited_for_gains_what_a_step_was_shorter_without(told):
    # The run is older than what tells whether a hook may be late.
    summary = told["jax-waits"].summary
    settings = replace(summary.facts.settings, late_hooks=summary.facts.settings.waiting_hooks)
    known = replace(summary, facts=replace(summary.facts, settings=settings))
    advice = async_callback(situation_of(known))
    measured = told["jax-waits"].breakdown["step"] / told["jax"].breakdown["step"]
    assert advice.low <= measured <= advice.high
    assert advice.predicted_speedup == pytest.approx(measured, rel=0.05)
    assert "runs kernels for 2.3 ms of a step of 3.7 ms" in advice.reason


def test_twice_the_batch_gains_what_launching_costs(told):
    """Where a hook waits, of the same steps; it was measured without the hook."""
    [advice] = [a for a in told["tensorflow-waits"].recommendations if a.id == "larger-batch"]
    measured = ABOUT["measured"]["tensorflow"]["larger-batch"]
    assert advice.predicted_speedup == pytest.approx(measured, rel=0.05)
    assert "larger-batch" not in {each.id for each in told["jax"].recommendations}
