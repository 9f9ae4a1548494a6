"""Batches that Python makes while a step computes on the same cores."""

from __future__ import annotations

from typing import Any

import pytest
from hand_built import H200, between_epochs, diagnosed, situation, stage

from keras_perf.advise.notes.input.making import making_notes
from keras_perf.advise.notes.reliability.not_measured import not_measured_notes
from keras_perf.advise.situation import Situation
from keras_perf.advise.verdict.verdict import verdict_of

ON_JAX = {"versions": {"jax": "0.10"}, "input_kind": "PyDataset", "tries_steps": False}
IN_THREADS = {"input_kind": "PyDataset", "input_workers": 4}
MAY_NEED = "on cores that computing may need"


def making(context: dict[str, Any], **changed: Any) -> Situation:
    """A step of 20 ms on two cores, which waits for next to nothing."""
    known = {"cpu_count": 2, "undisturbed_ms": 19.0, **context}
    parts = {"input_wait": 0.2, "compute": 19.8, "process_cpu_pct": 150.0}
    return situation(**parts | changed, context=known)


@pytest.mark.parametrize("made_ms", [2.5, 4.0])
def test_on_jax_the_thread_that_trains_tells_what_making_took(made_ms):
    found = making(ON_JAX | {"fetch_cpu_ms": made_ms})
    verdict, because = verdict_of(found)
    assert verdict == "compute-bound"
    assert f"but for making batches, {made_ms:g} ms of CPU time each, {MAY_NEED}" in str(because)
    [note] = making_notes(diagnosed(found))
    assert f"takes {made_ms:g} ms of CPU time" in note


def test_what_takes_less_than_a_twentieth_of_all_cores_is_not_told():
    found = making(ON_JAX | {"fetch_cpu_ms": 1.8})
    assert MAY_NEED not in str(verdict_of(found)[1])
    assert not [*making_notes(diagnosed(found))]


def test_threads_of_workers_are_sampled():
    # 20% of one CPU are 4 ms of a step of 20.
    sensors = {"host/python_threads_cpu_pct": 20.0}
    found = making(ON_JAX | IN_THREADS, sensors=sensors)
    assert found.making_ms == pytest.approx(4.0)
    assert f"4 ms of CPU time each, {MAY_NEED}" in str(verdict_of(found)[1])


@pytest.mark.parametrize(
    "context",
    [
        {"input_workers": 1},
        {"input_processes": True},
        {"stages": [stage("Generator", 4.0), stage("Prefetch", 0.0)]},
    ],
)
def test_other_threads_than_those_of_workers_make_no_batches(context):
    sensors = {"host/python_threads_cpu_pct": 20.0}
    assert making(IN_THREADS | context, sensors=sensors).making_ms == 0.0


IN_PROCESSES = {**ON_JAX, "input_workers": 2, "input_processes": True}


def in_processes(children_pct: float, own_pct: float = 130.0, **context: Any) -> Situation:
    """Two cores, of which processes that make batches use a part."""
    sensors = {"host/child_processes_cpu_pct": children_pct, "host/python_threads_cpu_pct": 9.0}
    known = IN_PROCESSES | {"undisturbed_ms": 15.0} | context
    return making(known, sensors=sensors, process_cpu_pct=own_pct)


def test_of_processes_training_hands_the_batches_over_too():
    found = in_processes(26.0)
    assert found.making_ms == pytest.approx(5.2)
    # Of 13% of both cores a step gains half as much again.
    verdict, because = verdict_of(found)
    assert verdict == "input-bound"
    gain = 20.0 / (19.8 * (1 - 1.5 * 0.13))
    assert f"without, training would be {gain:.2f}× as fast" in str(because)
    assert "making batches, 5.2 ms of CPU time each, takes cores" in str(because)
    [note] = making_notes(diagnosed(found, verdict))
    assert note.endswith("or examples prepared once and stored.")


def test_processes_of_a_little_work_are_told():
    found = in_processes(15.0)
    verdict, because = verdict_of(found)
    assert verdict == "compute-bound"
    assert f"but for making batches, 3 ms of CPU time each, {MAY_NEED}" in str(because)


def test_where_each_of_them_finds_a_core_they_are_in_nobodys_way():
    found = in_processes(800.0, 200.0, cpu_count=16)
    assert found.making_ms == 0.0
    assert verdict_of(found)[0] == "compute-bound"
    assert MAY_NEED not in str(verdict_of(found)[1])
    # Those of a training that is waited for have no core to spare.
    waiting = {"input_wait": 10.0, "compute": 10.0, "process_cpu_pct": 20.0}
    full = making(IN_PROCESSES, sensors={"host/child_processes_cpu_pct": 180.0}, **waiting)
    assert verdict_of(full)[0] == "input-bound"
    assert full.model.cpu_ms == pytest.approx(40.0)
    # Of two processes that share two cores each computes for 90% of its time.
    [note] = making_notes(diagnosed(full, "input-bound"))
    assert note.startswith("Making a batch takes 36 ms of CPU time, and its workers compute most")
    assert not [*making_notes(diagnosed(full, "input-bound", ["parallel-input"]))]
    assert len([*not_measured_notes(diagnosed(full, "input-bound"))]) == 1
    assert not [*making_notes(diagnosed(full))]


def test_where_a_gpu_computes_nobody_needs_the_cores():
    found = making(ON_JAX | H200 | {"fetch_cpu_ms": 8.0})
    assert found.model.step_ms == pytest.approx(20.0)
    assert verdict_of(found)[0] == "compute-bound"
    assert MAY_NEED not in str(verdict_of(found)[1])


def test_a_batch_that_is_waited_for_is_no_hidden_one():
    waiting = {"input_wait": 4.0, "compute": 16.0}
    found = making(ON_JAX | {"fetch_cpu_ms": 8.0}, **waiting)
    alike = making(ON_JAX, **waiting)
    assert found.model == alike.model
    assert verdict_of(found) == verdict_of(alike)


def test_what_clearly_takes_the_cores_of_computing_is_the_bottleneck():
    found = making(ON_JAX | {"fetch_cpu_ms": 12.0, "undisturbed_ms": 15.0}, process_cpu_pct=190.0)
    verdict, because = verdict_of(found)
    assert verdict == "input-bound"
    assert str(because) == (
        "making batches, 12 ms of CPU time each, takes cores that computing needs; without, "
        "training would be 1.44× as fast. A step waits for its batch for 0.2 ms only."
    )
    assert [*making_notes(diagnosed(found, verdict))]
    assert not [*making_notes(diagnosed(found, verdict, ["parallel-input"]))]


def test_so_it_is_where_the_wait_itself_is_not_known():
    sensors = {"host/python_threads_cpu_pct": 60.0}
    known = {**IN_THREADS, "cpu_count": 2, "undisturbed_ms": 15.0}
    found = situation(compute=20.0, process_cpu_pct=190.0, sensors=sensors, context=known)
    verdict, because = verdict_of(found)
    assert verdict == "input-bound"
    assert str(because).startswith("making batches, 12 ms of CPU time each, takes cores")
    assert "with PyDataset workers, Keras turns off what measures it" in str(because)


@pytest.mark.parametrize(("wait", "alone"), [({}, 2.0), ({"input_wait": 0.5}, 1.99)])
def test_threads_share_it_and_other_parts_can_be_shorter(wait, alone):
    """Of the making, half goes on while callbacks run: it then takes an eighth from computing."""
    sensors = {"host/python_threads_cpu_pct": 120.0}
    known = {**IN_THREADS, "cpu_count": 8}
    parts = {"compute": 50.0, "callbacks": 50.0, "process_cpu_pct": 700.0} | wait
    found = situation(**parts, sensors=sensors, context=known)
    assert found.making_ms > 100.0
    alike, step_ms = situation(**parts, context=known), sum(wait.values()) + 100.0
    after_ms = step_ms / alone + found.making_ms * 50.0 / step_ms / 8
    for each, gain in ((alike, alone), (found, step_ms / after_ms)):
        verdict, because = verdict_of(each)
        assert verdict == "callback-bound"
        assert f"{gain:.2f}×" in str(because)


def test_a_step_of_no_time_at_all_is_no_error():
    found = situation(compute=0.0, input_wait=0.0, context=ON_JAX | {"fetch_cpu_ms": 5.0})
    assert found.model.step_ms == 0.0


def test_where_cores_are_idle_nobody_knows_what_an_unmeasured_wait_is():
    sensors = {"host/python_threads_cpu_pct": 400.0}
    known = {**IN_THREADS, "cpu_count": 8, "undisturbed_ms": 60.0}
    found = situation(compute=100.0, process_cpu_pct=420.0, sensors=sensors, context=known)
    assert verdict_of(found)[0] == "inconclusive"


@pytest.mark.parametrize("context", [{}, H200])
def test_a_wait_that_is_worth_removing_is_no_hidden_making(context):
    waiting = {"input_wait": 1.8, "compute": 18.2}
    known = {**ON_JAX, "cpu_count": 8, **context}
    with_making = situation(**waiting, context=known | {"fetch_cpu_ms": 5.0})
    assert with_making.model == situation(**waiting, context=known).model


@pytest.mark.parametrize(("kind", "told"), [("PyDataset", 1), ("arrays", 0), ("tf.data", 0)])
def test_what_helps_python_code_is_said_of_such_only(kind, told):
    found = making(ON_JAX | {"input_kind": kind, "fetch_cpu_ms": 4.0})
    assert len([*making_notes(diagnosed(found))]) == told


def test_the_work_of_a_pipeline_that_keeps_up_is_told_too():
    stages = [stage("ParallelMap", 4.0, parallelism=1), stage("Prefetch", 0.0)]
    known = {"prefetch_fill": 0.9, "input_kind": "tf.data"}
    said = f"but for the pipeline's work, up to 4 ms of CPU time a batch, {MAY_NEED}"
    assert said in str(verdict_of(making(known, stages=stages, dispatch=0.1))[1])
    # Without CPU time nobody knows whether it waits.
    unsampled = making(known, stages=stages, dispatch=0.1, process_cpu_pct=0.0)
    assert MAY_NEED not in str(verdict_of(unsampled)[1])


# -- within an execution of several steps -------------------------------------------------


def waiting(cpu_pct: float, steps: int = 8, **context: Any) -> Situation:
    """A step waits 8 of its 10 ms for a map that works 6 ms a batch."""
    known = {"cpu_count": 2, "steps_per_execution": steps, "undisturbed_ms": 1.5, **context}
    stages = [stage("MapAndBatch", 6.0)]
    parts = {"input_wait": 8.0, "compute": 2.0, "process_cpu_pct": cpu_pct}
    return situation(**parts, stages=stages, context=known)


def test_a_step_computes_while_its_execution_waits_for_the_next_ones_batch():
    # Of 14 ms of CPU time the map works 6: two cores compute for 4 ms at least.
    found = waiting(140.0)
    assert found.model.rest["compute"] == pytest.approx(4.0)
    assert found.model.step_ms == pytest.approx(10.0)
    assert "would be 2.50× as fast" in str(verdict_of(found)[1])
    quick = found.model.with_less_work({"MapAndBatch (1)": 0.0}, 1.0)
    assert quick.rest["compute"] == pytest.approx(4.0)


def test_what_callbacks_compute_is_not_the_steps():
    known = {"cpu_count": 2, "steps_per_execution": 8}
    parts = {"input_wait": 4.0, "compute": 2.0, "callbacks": 4.0, "process_cpu_pct": 140.0}
    found = situation(**parts, stages=[stage("MapAndBatch", 6.0)], context=known)
    assert found.model.rest["compute"] == pytest.approx(2.0)


def test_what_computing_takes_at_least_bounds_what_is_seen_of_it_too():
    gains = {pct: waiting(pct, undisturbed_ms=0.5) for pct in (100.0, 101.0)}
    found = [verdict_of(each)[1].first for each in gains.values()]
    assert "5.00×" in found[0]
    assert "4.88×" in found[1]
    awake = [each.model.awake(8.0, 0.0, waited=True) for each in gains.values()]
    assert [each.rest["compute"] for each in awake] == pytest.approx([2.0, 2.05])


BETWEEN = between_epochs(rest=5.0)


@pytest.mark.parametrize(
    "found",
    [waiting(50.0), waiting(140.0, 1), waiting(140.0, **H200), waiting(140.0, **BETWEEN)],
)
def test_elsewhere_it_computes_for_as_long_as_is_seen(found):
    assert found.model.rest["compute"] == pytest.approx(2.0)
