"""The exchange of gradients among GPUs, from a trace."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_built import H200, assert_predicts, diagnosed, facts_of, frame, point

from keras_perf.advise.notes.devices.replicas import replica_notes
from keras_perf.advise.rules.on_a_gpu.larger_batch import larger_batch
from keras_perf.advise.rules.workers import fewer_exchanges, reduce_in_half_precision
from keras_perf.advise.situation import situation_of
from keras_perf.advise.verdict.verdict import verdict_of
from keras_perf.analyse.from_traces.traced_exchange import SlowGpu, slow_gpu
from keras_perf.analyse.summary import summarize

EIGHT = H200 | {"replicas": 8, "examples_per_step": 512.0, "strategy": "MirroredStrategy"}
EXCHANGE = {"exchange_ms": 4.0, "exchange_wait_ms": 1.0}


def run(trace, context=EIGHT):
    """A step of 10 ms on GPUs, of which 9 are computing and exchanging."""
    points = [point(n, 10, 10.0, compute=9.0, other_host=1.0) for n in range(10, 110, 10)]
    points.append((45, {f"trace/{name}": value for name, value in trace.items()}))
    return summarize(frame(*points), facts_of(context))


def test_an_exchange_in_a_trace_makes_the_verdict_communication_bound():
    found = situation_of(run(EXCHANGE))
    verdict, why = verdict_of(found)
    assert verdict == "communication-bound"
    assert str(why).startswith("the exchange of gradients: 3 ms of each step; without")
    assert found.model.rest["compute"] == 5.0
    assert found.model.rest["peer_wait"] == 1.0


def test_the_advice_of_a_fit_names_no_flags_of_a_loop():
    found = situation_of(run(EXCHANGE))
    advice = fewer_exchanges(found)
    assert advice.action.startswith("dataset = dataset.batch(2048")
    assert "accumulate" not in advice.action + advice.reason
    assert_predicts(advice, 10 - 3 * 0.65, 10 - 3 * 0.75, 10 - 3 * 0.75)
    assert reduce_in_half_precision(found) is None


def test_the_exchange_is_no_more_than_computing():
    assert run({"exchange_ms": 30.0}).exchange == {"communication": 9.0, "peer_wait": 0.0}


@pytest.mark.parametrize("trace", [{}, {"collective_ms": 4.0}, {"exchange_ms": 0.1}])
def test_what_is_hidden_behind_computing_bounds_nothing(trace):
    assert verdict_of(situation_of(run(trace)))[0] != "communication-bound"


def test_two_rules_do_not_both_advise_a_larger_batch():
    room = {"gpu_memory_total_mib": 1000.0, "gpu_memory_peak_mib": 100.0}
    points = [point(n, 10, 10.0, compute=10.0) for n in range(10, 110, 10)]
    idle = [(n, {"gpu/0/sm_active_pct": 20.0}) for n in range(10, 110, 10)]
    quiet = situation_of(summarize(frame(*points, *idle), facts_of(EIGHT | room)))
    assert larger_batch(quiet) is not None
    traced = (45, {f"trace/{name}": value for name, value in EXCHANGE.items()})
    busy = situation_of(summarize(frame(*points, *idle, traced), facts_of(EIGHT | room)))
    assert larger_batch(busy) is None


def test_the_exchange_is_told_and_without_a_trace_that_it_is_missing():
    [note] = replica_notes(diagnosed(run(EXCHANGE)))
    assert "exchange gradients for 4 ms of each step" in note
    assert "1 ms of it waiting for the slowest" in note
    [alone] = replica_notes(diagnosed(run({"exchange_ms": 4.0})))
    assert "waiting for other workers included" in alone
    [missing] = replica_notes(diagnosed(run({})))
    assert "was not measured and is inside compute" in missing
    [other] = replica_notes(diagnosed(run({"kernel_ms": 8.0})))
    assert "the trace holds none of the NCCL collectives" in other
    assert list(replica_notes(diagnosed(run({}, {"replicas": 1, **H200})))) == []


@pytest.mark.parametrize(("examples", "said"), [(64.0, True), (256.0, False)])
def test_a_small_share_of_the_batch_is_told(examples, said):
    notes = list(replica_notes(diagnosed(run(EXCHANGE, EIGHT | {"examples_per_step": examples}))))
    small = [note for note in notes if "8 replicas share each batch of 64 examples, 8 each" in note]
    assert bool(small) == said
    assert len(notes) == 1 + said


def test_a_small_share_that_keeps_every_gpu_busy_is_not_told():
    few = run(EXCHANGE, EIGHT | {"examples_per_step": 64.0})
    for pct, said in ((90.0, 1), (60.0, 2)):
        sensors = {"gpu/0/utilization_pct": 95.0, "gpu/1/utilization_pct": pct}
        watched = replace(few, sensors=sensors, usual=sensors)
        assert len(list(replica_notes(diagnosed(watched)))) == said


def test_a_slow_gpu_is_named_and_an_even_pair_is_not():
    uneven = {"gpu_0_computing_ms": 4.0, "gpu_1_computing_ms": 8.0, "gpu_2_computing_ms": 6.0}
    assert slow_gpu(uneven) == SlowGpu(1, 8.0, 5.0)
    assert slow_gpu({"gpu_0_computing_ms": 4.0, "gpu_1_computing_ms": 4.2}) is None
    assert slow_gpu({"gpu_0_computing_ms": 4.0}) is None
    assert slow_gpu(uneven | {"step_time_ms": 59.0}) is not None
    assert slow_gpu(uneven | {"step_time_ms": 61.0}) is None, "it costs 3 ms of a step of 61 ms"
    notes = list(replica_notes(diagnosed(run(EXCHANGE | uneven))))
    assert "GPU 1 (as the trace numbers them) computes 8 ms" in notes[-1]
