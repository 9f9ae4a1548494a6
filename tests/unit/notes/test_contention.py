"""Notes on what others did to the figures."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_built import diagnosed, summary

from keras_perf.advise.notes.reliability.contention import contention_notes
from keras_perf.analyse.cpu_share import share_of_cores, share_when_asked, used_by_strangers
from keras_perf.report.diagnosis import diagnosis_of

HELD = {"host/interpreter_wait_ms": 3.0, "host/cpu_pct": 50.0, "host/process_cpu_pct": 400.0}
KNOWN = {"dataset": {"chains": [[{"kind": "map", "python": False}]]}}


def notes(sensors, context=None, **parts):
    context = KNOWN | (context or {})
    return list(contention_notes(diagnosed(summary(sensors=sensors, context=context, **parts))))


def test_what_other_processes_use_is_told_from_a_fifth_on():
    # On eight CPUs 160% of one are 20% of all.
    busy = {"host/cpu_pct": 45.0, "host/process_cpu_pct": 160.0}
    told = diagnosis_of(summary(sensors=busy, compute=10.0))
    others = "Other processes (including this training's children) used 25% of the CPUs"
    assert others in told.explanation
    assert not any("Other processes" in note for note in told.notes)
    # Those that this process has started are no others.
    children = busy | {"host/cpu_pct": 60.0, "host/child_processes_cpu_pct": 120.0}
    assert (
        "Other processes used 25% of the CPUs"
        in diagnosis_of(summary(sensors=children, compute=10.0)).explanation
    )
    own = busy | {"host/child_processes_cpu_pct": 160.0}
    assert "Other processes" not in str(diagnosis_of(summary(sensors=own, compute=10.0)))
    quiet = diagnosis_of(summary(sensors=busy | {"host/cpu_pct": 39.0}, compute=10.0))
    assert "Other processes" not in str(quiet)


@pytest.mark.parametrize(("of_worker_pct", "who"), [(200.0, "workers"), (50.0, "processes")])
def test_the_training_s_other_workers_are_named_where_most_of_it_is_theirs(of_worker_pct, who):
    busy = {"host/cpu_pct": 50.0, "host/process_cpu_pct": 160.0, "host/child_processes_cpu_pct": 0}
    alone = summary(sensors=busy, compute=10.0)
    workers = alone.as_worker(0), alone.as_worker(1, of_worker_pct)
    told = diagnosis_of(replace(alone, workers=workers)).explanation
    other = {"workers": "The other workers on this machine", "processes": "Other processes"}[who]
    assert f"{other} used 30% of the CPUs" in told
    assert used_by_strangers(replace(alone, workers=workers)) == pytest.approx(
        0.3 - of_worker_pct / 800
    )


def test_what_others_leave_is_never_nothing():
    def left(*sensors: float) -> float:
        names = "host/cpu_pct", "host/process_cpu_pct", "host/child_processes_cpu_pct"
        return share_of_cores(summary(compute=1.0, sensors=dict(zip(names, sensors, strict=False))))

    assert left() == 1.0
    assert left(50.0) == 0.5
    assert left(100.0, 80.0) == 0.2
    assert left(10.0, 160.0) == 1.0
    assert left(90.0, 160.0, 400.0) == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("waited_pct", "given"), [(0.0, 1.0), (10.0, 0.5), (20.0, 1 / 3), (90.0, 0.2), (None, 0.2)]
)
def test_what_a_process_gets_when_it_asks_may_be_more_than_others_left(waited_pct, given):
    sensors = {"host/cpu_pct": 100.0, "host/process_cpu_pct": 10.0}
    sensors |= {} if waited_pct is None else {"host/process_core_wait_pct": waited_pct}
    run = summary(compute=1.0, sensors=sensors, context={"cpu_count": 1})
    assert share_when_asked(run) == pytest.approx(given)
    assert share_of_cores(run) == 0.2


THROTTLED = {"host/container_throttled_pct": 34.0}


def test_a_quota_that_is_used_up_is_told_and_explains_what_waits():
    [note] = notes(HELD | THROTTLED, {"container_cpus": 1.5}, compute=10.0)
    assert note == (
        "The container's quota of 1.5 CPUs was used up in 34% of its periods, and threads stood "
        "still until the next one: that may be in any part of a step. A larger quota ends "
        "it, and tf.config.threading.set_intra_op_parallelism_threads(1) uses it up later."
    )
    [one] = notes(THROTTLED, {"container_cpus": 1.0}, compute=10.0)
    assert one.startswith("The container's quota of 1 CPU was")
    [unknown] = notes(THROTTLED, compute=10.0)
    assert unknown.startswith("The container's quota was used up in 34% of its periods")
    assert unknown.endswith("A larger quota ends it, and fewer threads at work use it up later.")
    assert notes({"host/container_throttled_pct": 4.0}, compute=10.0) == []


def test_a_thread_that_is_neither_callback_nor_input_is_told_of():
    [note] = notes(HELD, compute=10.0)
    assert "neither a callback nor the input pipeline, runs Python code without a pause" in note


@pytest.mark.parametrize(
    ("sensors", "context", "callbacks"),
    [
        (HELD | {"host/interpreter_wait_ms": 0.9}, {}, 0.0),
        (HELD | {"host/cpu_pct": 90.0}, {}, 0.0),  # for a core
        (HELD | {"host/process_cpu_pct": 160.0}, {}, 0.0),
        (HELD, {"run_eagerly": True}, 0.0),
        (HELD, {"dataset": None}, 0.0),
        (HELD, {"input_kind": "generator"}, 0.0),
        (HELD, {}, 5.0),
    ],
)
def test_where_it_may_be_something_else_nothing_is_said(sensors, context, callbacks):
    said = notes(sensors, context, compute=10.0, callbacks=callbacks)
    assert not any("interpreter" in note for note in said)
