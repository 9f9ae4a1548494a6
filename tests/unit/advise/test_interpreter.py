"""Python code of the input pipeline that keeps the interpreter from training."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hand_built import H200, situation, stage, summary

from keras_perf.advise.rules.best_first import recommendations
from keras_perf.advise.rules.input.handing_over import HANDED_OVER_MS
from keras_perf.advise.rules.input.python_input import parallel_input
from keras_perf.advise.rules.input.threads_and_buffers import parallel_map
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.computing import take_waiting_out
from keras_perf.advise.step.interpreter import interpreter_ms
from keras_perf.advise.verdict.verdict import verdict_of
from keras_perf.observers.sensors.interpreter_wait import (
    EVERY_S,
    PAUSE_S,
    PROBES,
    InterpreterReader,
)

PYTHON_MAP = {"chains": [[{"kind": "map", "python": True}]], "prefetch_added": True}
STAGES = [stage("Map", 6.0), stage("Prefetch", 0.0)]
HELD: dict[str, Any] = {
    "input_wait": 0.5,
    "compute": 6.0,
    "other_host": 0.5,
    "process_cpu_pct": 100.0,
    "sensors": {"host/interpreter_wait_ms": 3.0},
    "stages": STAGES,
}


def held(context: dict[str, Any] | None = None, **changed: Any) -> Situation:
    """Of a step of 7 ms a map of Python code works 6, and what does not waits for it."""
    context = {"dataset": PYTHON_MAP, "cpu_count": 4, **(context or {})}
    return situation(**(HELD | changed), context=context)


# -- the reading -------------------------------------------------------------------------


class Waits:
    """For a core, so many seconds in all whenever it is asked: before the first try, after each."""

    def __init__(self, *seconds: float) -> None:
        self.seconds = iter(seconds).__next__
        self.closed = False

    def close(self) -> None:
        self.closed = True


def test_a_reading_is_the_mean_of_how_late_its_tries_end():
    late_s = iter([0.001, 0.003, 0.006, 0.0, 0.005])
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds + next(late_s)

    core = Waits(*[0.0] * (PROBES + 1))
    reader = InterpreterReader(lambda: now[0], sleep, core)
    assert reader.read() == {"host/interpreter_wait_ms": pytest.approx(3.0)}
    assert now[0] == pytest.approx(PROBES * PAUSE_S + 0.015)
    reader.close()
    assert core.closed


def test_what_a_try_waited_for_a_core_is_taken_off():
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds + 0.005

    core = Waits(7.0, 7.004, 7.004, 7.005, 7.005, 7.005)
    reader = InterpreterReader(lambda: now[0], sleep, core)
    # Of 5 ms each time 4, 0, 1, 0 and 0 were for a core.
    assert reader.read() == {"host/interpreter_wait_ms": pytest.approx(4.0)}


def test_asked_again_at_once_it_has_nothing_new():
    now = [0.0]
    reader = InterpreterReader(lambda: now[0], lambda _: None)
    assert reader.read()
    assert reader.read() == {}
    now[0] += EVERY_S
    assert reader.read()


def test_a_clock_that_is_early_is_no_negative_wait():
    reader = InterpreterReader(lambda: 0.0, lambda _: None)
    assert reader.read() == {"host/interpreter_wait_ms": 0.0}


# -- whether it is held ------------------------------------------------------------------


def test_a_map_of_python_code_holds_the_interpreter_for_what_it_takes():
    assert held().interpreter_ms == 6.0


@pytest.mark.parametrize("kind", ["generator", "PyDataset"])
def test_so_does_what_keras_makes_batches_of(kind):
    context = {"dataset": None, "input_kind": kind}
    # Of the step, all but the loop's half a millisecond where there is no model of the pipeline.
    assert held(context, stages=[]).interpreter_ms == 6.5
    assert held(context, stages=[stage("Generator", 6.8)]).interpreter_ms == 6.5


@pytest.mark.parametrize(
    ("changed", "context"),
    [
        ({"sensors": {"host/interpreter_wait_ms": 0.4}}, {}),  # it is to be had
        # Beside others that leave a half of the CPUs one waits twice as long for one of them.
        ({"sensors": {"host/interpreter_wait_ms": 0.9, "host/cpu_pct": 75.0}}, {}),
        ({}, {"run_eagerly": True}),  # the train function is Python itself
        ({"stages": [stage("Map", 0.1), stage("TFRecord", 6.0), stage("Prefetch", 0.0)]}, {}),
        ({"sensors": {}}, {}),  # not sampled
        ({}, {"dataset": None}),  # no Python
        ({"stages": [stage("Map", 3.4), stage("Prefetch", 0.0)]}, {}),  # seldom at work
        ({"callbacks": 2.0}, {}),  # callbacks may hold it
        ({"process_cpu_pct": 55.0}, {}),  # it waits for something else
        ({"process_cpu_pct": 160.0}, {}),  # of 11.2 ms of CPU time 5.2 are training's
    ],
)
def test_elsewhere_it_is_not_told_to(changed, context):
    assert held(context, **changed).interpreter_ms == 0.0


def test_while_a_step_is_traced_tracing_holds_it():
    by_keras = {"dataset": None, "input_kind": "generator"}
    assert held(by_keras, stages=[], compile=2.0).interpreter_ms == 6.5
    assert held(by_keras, stages=[], compile=60.0, process_cpu_pct=100.0).interpreter_ms == 0.0


@pytest.mark.parametrize(
    ("found", "held_ms"),
    [
        ({"input_kind": "generator"}, 0.0),
        ({"input_kind": "PyDataset", "input_workers": 1}, 0.0),
        ({"input_kind": "PyDataset", "input_workers": 4}, 6.5),
        ({"input_kind": "PyDataset", "input_workers": 4, "input_processes": True}, 0.0),
        ({"input_kind": "DataLoader"}, 0.0),
        ({"input_kind": "Grain", "loader": {"kind": "MapDataset", "read_threads": 16}}, 6.5),
    ],
)
def test_on_jax_the_training_thread_makes_the_batches_that_no_worker_does(found, held_ms):
    context = {"dataset": None, "versions": {"jax": "0.10.2"}, **found}
    assert held(context, stages=[]).interpreter_ms == held_ms


def test_on_jax_a_pipeline_of_tf_data_has_threads_of_its_own():
    assert held({"versions": {"jax": "0.10.2"}}).interpreter_ms == 6.0


def test_beside_a_gpu_the_cpu_tells_nothing_of_the_computing():
    assert held(H200, process_cpu_pct=160.0).interpreter_ms == 6.0


def test_a_pipeline_without_a_record_of_its_stages_is_not_python():
    assert interpreter_ms(summary(**HELD, context={"dataset": None})) == 0.0


# -- what follows ------------------------------------------------------------------------


def test_waiting_for_the_interpreter_is_not_computing():
    # CPU time beside the pipeline's: 7 ms less 6.
    model = held().model
    assert model.rest["compute"] == pytest.approx(1.0)
    assert (model.produce_ms, model.step_ms) == (7.0, 7.0)


def test_the_quickest_steps_tell_more_exactly_what_computing_takes():
    model = held({"undisturbed_ms": 0.8}, compute=3.0, dispatch=3.0).model
    assert model.rest["compute"] == model.rest["dispatch"] == pytest.approx(0.4)
    on_a_gpu = held(H200 | {"undisturbed_ms": 4.0}).model
    assert on_a_gpu.rest["compute"] == pytest.approx(4.0)


def test_a_tenth_at_least_is_taken_for_computing():
    assert held(process_cpu_pct=80.0).model.rest["compute"] == pytest.approx(0.6)


def test_the_verdict_is_input_bound_and_says_why():
    verdict, why = verdict_of(held())
    assert verdict == "input-bound"
    assert str(why) == (
        "Python code of the input pipeline holds the interpreter for 6 ms of each step of 7 ms. "
        "Entering and leaving the train function waits for it, which shows as compute; without, "
        "training would be 4.67× as fast."
    )


def test_where_computing_takes_as_long_the_verdict_is_another():
    computing = held(H200 | {"undisturbed_ms": 6.3}, input_wait=0.2, compute=6.3)
    assert computing.interpreter_ms == 6.0
    assert verdict_of(computing)[0] != "input-bound"


def test_processes_are_advised_and_no_threads():
    assert parallel_map(held()) is None
    advice = parallel_input(held())
    # Four cores share the CPU's 7 ms and what handing over takes.
    assert advice.predicted_speedup == pytest.approx(7 / ((7 + HANDED_OVER_MS) / 4))
    assert advice.reason == (
        "The map of Python code holds Python's interpreter for 6 ms of each step, and one thread "
        "at a time can; 4 logical CPUs are there for processes of its own. Try first to "
        "write the same in TensorFlow's operations, or in NumPy's on whole arrays, most of which "
        "let go of the interpreter: num_parallel_calls then shares the work without processes."
    )
    assert "class Batches(keras.utils.PyDataset)" in advice.action
    assert "use_multiprocessing=True" in advice.action


@pytest.mark.parametrize("kind", ["PyDataset", "DataLoader"])
def test_processes_that_are_there_already_are_not_advised_again(kind):
    context = {"dataset": None, "input_kind": kind, "input_processes": True, "input_workers": 4}
    taken = held(context, stages=[stage("Generator", 6.8)])
    assert taken.interpreter_ms > 0
    assert parallel_input(taken) is None
    # Nor are more than the cores.
    waiting = held(context, stages=[stage("Generator", 6.8)], sensors={}, input_wait=4.0)
    assert parallel_input(waiting) is None
    for advice in (*recommendations(taken), *recommendations(waiting)):
        assert "workers=" not in advice.action
        assert "num_workers" not in advice.action


def test_a_map_of_python_code_that_waits_may_have_threads():
    waiting = held(sensors={"host/interpreter_wait_ms": 0.1}, input_wait=4.0, process_cpu_pct=20.0)
    assert parallel_map(waiting).id == "parallel-map"
    assert parallel_input(waiting) is None


@pytest.mark.parametrize(("threads_pct", "verdict"), [(85.0, "input-bound"), (40.0, None)])
def test_threads_of_workers_that_are_seen_at_work_are_who_holds_it(threads_pct, verdict):
    # Keras's loop waits for the interpreter too, between steps.
    sensors = {"host/interpreter_wait_ms": 4.6, "host/python_threads_cpu_pct": threads_pct}
    known = {"versions": {"jax": "0.10"}, "input_kind": "PyDataset", "input_workers": 2}
    found = situation(
        input_wait=4.4,
        compute=12.6,
        other_host=5.2,
        process_cpu_pct=99.0,
        sensors=sensors,
        context=known | {"cpu_count": 2},
    )
    assert bool(found.interpreter_ms) is (verdict is not None)
    if verdict is not None:
        assert verdict_of(found)[0] == verdict
        assert found.interpreter_ms == pytest.approx(17.0)


def test_cpu_time_that_is_all_the_pipelines_leaves_the_quickest_steps_as_what_is_computed():
    # 18 of 18.1 ms of CPU time are the pipeline's; the quickest steps computed for 4 ms.
    held = summary(input_wait=13.6, compute=6.8, process_cpu_pct=100 * 18.1 / 20.4)
    for quickest_ms, left_ms in ((4.0, 4.0), (0.5, 0.68)):
        parts = {"compute": 6.8}
        known = replace(held, facts=replace(held.facts, undisturbed_ms=quickest_ms))
        assert take_waiting_out(parts, 18.0, known) == pytest.approx(6.8 - left_ms)
        assert parts["compute"] == pytest.approx(left_ms)
