"""On one core what waits can be helped, and what computes cannot."""

from __future__ import annotations

from typing import Any

import pytest
from hand_built import assert_predicts, situation, stage

from keras_perf.advise.rules.input.files_and_order import interleave
from keras_perf.advise.rules.input.pool_of_threads import private_threadpool
from keras_perf.advise.rules.input.python_input import parallel_input
from keras_perf.advise.rules.input.threads_and_buffers import parallel_map

WAITS, COMPUTES = 20.0, 80.0
"""CPU of the process, in percent of one core."""


def alone(cpu_pct: float | None = WAITS, **arguments: Any) -> Any:
    """Nine of ten milliseconds are waited for a map."""
    context = {"cpu_count": 1, **arguments.pop("context", {})}
    return situation(
        input_wait=9.0, compute=1.0, process_cpu_pct=cpu_pct, context=context, **arguments
    )


def test_a_map_that_waits_is_given_a_pool_of_its_own():
    advice = parallel_map(alone(stages=[stage("Map", 9.0), stage("Prefetch", 0.0)]))
    assert advice.low > 1.5
    assert advice.high <= 10
    assert "in a pool of its own 16 calls can wait at a time" in advice.reason
    assert advice.action.splitlines()[1:] == [
        "options = tf.data.Options()",
        "options.threading.private_threadpool_size = 16",
        "dataset = dataset.with_options(options)",
    ]


def test_that_pool_is_not_advised_twice():
    assert private_threadpool(alone(stages=[stage("Map", 9.0), stage("Prefetch", 0.0)])) is None
    parallel = [stage("ParallelMap", 9.0, parallelism=1), stage("Prefetch", 0.0)]
    assert private_threadpool(alone(stages=parallel)) is not None


def test_files_that_are_waited_for_are_read_in_such_a_pool():
    stages = [stage("FlatMap", 9.0), stage("Prefetch", 0.0)]
    advice = interleave(alone(stages=stages))
    assert "cycle_length=16, num_parallel_calls=16)\noptions = tf.data.Options()" in advice.action
    # A batch takes 10 ms, over 3.2, 9.6 and 16 calls; the core works for 2 ms of it, as now.
    assert_predicts(advice, 10 / 3.2, 2.0, 2.0)


@pytest.mark.parametrize("cpu_pct", [COMPUTES, None])
@pytest.mark.parametrize("name", ["Map", "FlatMap"])
def test_what_computes_or_may_compute_is_left_alone(name, cpu_pct):
    found = alone(cpu_pct, stages=[stage(name, 9.0), stage("Prefetch", 0.0)])
    assert parallel_map(found) is None
    assert interleave(found) is None


CROWDED = {"host/cpu_pct": 100.0}
"""Others use what this process leaves."""


@pytest.mark.parametrize(("waited_pct", "advised"), [(5.0, True), (29.0, True), (31.0, False)])
def test_beside_busy_processes_what_sleeps_is_told_from_what_has_no_core(waited_pct, advised):
    stages = [stage("Map", 9.0), stage("Prefetch", 0.0)]
    sensors = CROWDED | {"host/process_core_wait_pct": waited_pct}
    assert (parallel_map(alone(stages=stages, sensors=sensors)) is not None) is advised
    # Where the system does not tell, the others may have kept it from computing.
    assert parallel_map(alone(stages=stages, sensors=CROWDED)) is None


def test_where_there_are_no_others_threads_that_wait_for_each_other_do_not_compute():
    sensors = {"host/cpu_pct": WAITS, "host/process_core_wait_pct": 80.0}
    stages = [stage("Map", 9.0), stage("Prefetch", 0.0)]
    assert parallel_map(alone(stages=stages, sensors=sensors)) is not None


def test_what_a_callback_waits_for_is_not_the_input_s_waiting():
    found = situation(
        input_wait=2.0,
        compute=2.0,
        callbacks=6.0,
        process_cpu_pct=35.0,
        context={"cpu_count": 1},
        stages=[stage("Map", 4.0), stage("Prefetch", 0.0)],
    )
    assert parallel_map(found) is None


def test_a_loader_that_waits_is_given_processes():
    loader = {"input_kind": "DataLoader"}
    advice = parallel_input(alone(context=loader, stages=[stage("Generator", 9.0)]))
    assert "this process mostly waits, and several can wait at a time" in advice.reason
    assert advice.evidence["advised"] == 4
    assert parallel_input(alone(COMPUTES, context=loader)) is None


def test_such_processes_gain_beside_busy_programs_what_the_core_leaves_them():
    """It sleeps where it neither runs nor asks for the core, however busy others keep that."""
    stages = [stage("Generator", 9.0)]
    sensors = CROWDED | {"host/process_core_wait_pct": 20.0}
    loader = {"input_kind": "DataLoader"}
    advice = parallel_input(alone(10.0, stages=stages, sensors=sensors, context=loader))
    # A third of the core is left to the millisecond that a step computes, and to what is lost.
    assert advice.predicted_speedup > 1.1
    assert advice.low == 1.0
