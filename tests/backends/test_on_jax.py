"""Keras on JAX: programs whose bottleneck is known, all of them in one Python of its own."""

import json
import math
import operator
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from traces import steps_of_xprof

from keras_perf.records.interval import PARTS
from keras_perf.records.observed_backends import DATASETS_ALONE

pytestmark = [
    pytest.mark.whole,
    # What all of them look at is trained in the process where times are judged.
    pytest.mark.xdist_group("timing"),
    # Of a test that was wrong once all is trained twice more.
    pytest.mark.timeout(1200),
    pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed"),
]

SAME = (
    "arrays",
    "generator",
    "computes",
    "in_threads",
    "begin",
    "end",
    "late",
    "calls",
    "touches",
    "lengths",
    "captured",
    "waiting",
    "tf_data",
    "ahead",
    "executions",
)
"""Trained with and without callbacks."""

WAYS = ("eager", "not_compiled", "half_precision", "own_step")
"""Of training, which are not measured: they run too few steps."""

PROGRAM = """
import runpy, sys
sys.modules["tensorflow"] = None  # what an import meets where it is not installed
runpy.run_path(sys.argv[2], run_name="__main__")
"""

FOUND, NO_MORE = 0.7, 1.2
"""Of what was injected, so much is found where it was put or hidden by computing, and no more."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    script = str(Path(__file__).with_name("on_jax.py"))
    backend = {"KERAS_BACKEND": "jax", "CUDA_VISIBLE_DEVICES": ""}
    # What a training without callbacks compiled the one with them need not compile once more.
    kept = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path_factory.mktemp("compiled")),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    command = [sys.executable, "-c", PROGRAM, str(tmp_path_factory.mktemp("jax")), script]
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | backend | kept)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(ran.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", [*SAME, *WAYS, "pydataset", "healthy"])
def test_training_is_the_same_bit_for_bit(trained, name):
    assert trained[name]["same"]


@pytest.mark.parametrize(
    ("name", "verdict", "part", "advice"),
    [
        ("generator", "input-bound", "input_wait", "parallel-input"),
        ("pydataset", "input-bound", "input_wait", "parallel-input"),
        ("tf_data", "input-bound", "input_wait", None),
        ("ahead", "input-bound", "input_wait", None),
        ("begin", "callback-bound", "callbacks", "amortize-callback"),
        ("end", "callback-bound", "callbacks", "amortize-callback"),
    ],
)
@pytest.mark.timing
def test_injected_time_is_found_where_it_was_put(trained, name, verdict, part, advice):
    found = trained[name]
    assert found["verdict"] == verdict
    parts, injected = found["parts"], found["injected"]
    assert parts[part] < NO_MORE * injected
    assert parts[part] + parts["compute"] > FOUND * injected
    # One core has nothing to share.
    if advice is not None and (advice != "parallel-input" or len(os.sched_getaffinity(0)) > 1):
        assert found["advice"][0] == advice


def test_what_making_a_batch_takes_of_the_cpus_is_known(trained):
    assert FOUND * 20 < trained["computes"]["facts"]["fetch_cpu_ms"] < NO_MORE * 20
    assert trained["in_threads"]["facts"]["fetch_cpu_ms"] < 20 / 2


@pytest.mark.timing
def test_so_it_is_where_threads_of_workers_make_it(trained):
    found = trained["in_threads"]
    sampled_ms = found["sensors"]["host/python_threads_cpu_pct"] / 100 * found["parts"]["step"]
    assert 20 / 2 < sampled_ms < 1.5 * 20


@pytest.mark.parametrize("name", [*SAME, "pydataset", "healthy"])
def test_the_parts_add_up_and_nothing_stays(trained, name):
    found = trained[name]
    known = [ms for part in PARTS if math.isfinite(ms := found["parts"][part])]
    assert sum(known) == pytest.approx(found["parts"]["step"], rel=1e-6)
    assert found["left"] == []
    assert found["function"].startswith("keras.")


@pytest.mark.timing
def test_compiling_for_new_lengths_is_timed_and_named(trained):
    found = trained["lengths"]
    assert found["verdict"] == "compile-bound"
    assert found["parts"]["compile"] > found["parts"]["step"] / 2
    assert found["facts"]["shapes_differ"]
    assert found["advice"] == ["stable-shapes"]
    assert "an axis other than the rows differs" in found["text"]
    assert "JAX tells when it does" in found["text"]


@pytest.mark.timing
def test_nothing_is_advised_where_the_model_takes_the_time(trained):
    found = trained["healthy"]
    assert found["verdict"] == "compute-bound"
    assert found["advice"] == []
    assert found["parts"]["compute"] > 0.8 * found["parts"]["step"]
    assert found["facts"]["examples_per_step"] == 512


def test_a_hook_in_another_thread_takes_none_of_trainings_time(trained):
    assert trained["late"]["parts"]["callbacks"] == 0
    assert "Late.on_train_batch_end" not in trained["late"]["owners"]


@pytest.mark.parametrize("name", [*SAME, "healthy"])
@pytest.mark.timing
def test_callbacks_that_training_waits_for_are_named_and_no_others(trained, name):
    waits = r"For AtEnd\.on_train_batch_end.*, training waits for the result of each step"
    reads = r"Touches\.on_train_batch_begin( \(.*?\))? read self\.model while an epoch ran"
    assert ("training waits for the result" in trained[name]["text"]) == (name == "end")
    text = " ".join(trained[name]["text"].split())
    assert ("read self.model" in text) == (name == "touches")
    assert re.search(waits, trained["end"]["text"])
    touches = " ".join(trained["touches"]["text"].split())
    assert re.search(reads, touches)
    advised = r"back to its variables, [\d.]+ ms of a step of [\d.]+ ms, and collected"
    took = r"back to its variables, which took [\d.]+ ms of the hook, and collected"
    assert re.search(
        advised if "model-at-epoch-end" in trained["touches"]["advice"] else took, touches
    )


@pytest.mark.timing
def test_a_tiny_model_is_told_what_cannot_be_measured(trained):
    assert trained["arrays"]["verdict"] in {"inconclusive", "dispatch-bound"}
    assert "runs the steps of an execution one by one from Python" in trained["arrays"]["text"]
    assert "A longer training leaves more time" not in trained["arrays"]["text"]


def test_of_several_steps_in_one_execution_the_wait_is_unknown_unless_they_come_in_one_fetch(
    trained,
):
    known = not math.isnan(trained["executions"]["parts"]["input_wait"])
    # As Keras has it from 3.16 on.
    assert known is trained["executions"]["facts"].get("compiles_executions", False)
    assert trained["executions"]["facts"]["last_step"] == 150


def test_nothing_is_tried_where_that_was_asked_for_and_it_is_said(trained):
    assert DATASETS_ALONE in trained["touches"]["text"]
    assert trained["touches"]["facts"].get("advice_trials") is None


def test_a_window_is_captured_and_its_steps_are_read(trained):
    assert trained["captured"]["steps"] == list(range(20, 25))
    assert trained["captured"]["step_ms"] > 0
    assert trained["captured"]["facts"]["captures"]


@pytest.mark.timing
def test_a_trace_holds_the_wait_for_each_batch_and_the_steps_that_xprof_counts(trained):
    found = trained["waiting"]
    assert len(found["waits"]) == 5
    assert all(wait > FOUND * found["injected"] for wait in found["waits"])
    # The last one's end is not in the trace.
    assert all(map(operator.le, found["waits"][:-1], found["steps_ms"]))
    assert steps_of_xprof(*found["traces"]) == [f"train {step}" for step in range(20, 25)]


def test_a_training_that_raises_is_left_as_it_was(trained):
    assert trained["raised"] == "RuntimeError"
    assert trained["failed"] == "on purpose"
    assert trained["raised_function"].startswith("keras.")
    assert trained["given_back"].startswith("keras.")


def test_what_a_callback_calls_is_counted_and_examples_are_those_of_the_training(trained):
    facts = trained["calls"]["facts"]
    [predicted] = facts["predicts"].values()
    assert (predicted["calls"], predicted["executions"]) == (3, 3 * 32)
    [evaluated] = facts["evaluates"].values()
    assert evaluated["calls"] == 3
    assert facts["examples_per_step"] == 8


def test_what_a_validation_raises_ends_the_training(trained):
    assert trained["failed_validating"] == ["RuntimeError", "on purpose"]


def test_a_hook_that_raises_late_lets_nothing_of_ours_take_time_in_its_thread(trained):
    [thread] = trained["closed_in"]
    assert not thread.startswith("ThreadPool")
    assert trained["failed_ending"] == ["ValueError", "on purpose"]


def test_evaluations_are_split(trained):
    validation = trained["healthy"]["facts"]["inference"]["validation"]
    assert (validation["steps"], validation["examples"]) == (4, 4 * 512)
    assert (trained["evaluated"]["steps"], trained["evaluated"]["examples"]) == (4, 32)
    for call in (validation, trained["evaluated"]):
        assert sum(call["parts_s"].values()) == pytest.approx(call["spent_s"])
        assert {"input_wait", "compute", "compile"} <= call["parts_s"].keys()


def test_executions_of_evaluations_are_cut_where_the_data_end_and_nowhere_else(trained):
    assert [trained[name] for name in ("whole", "cut", "unknown")] == [8, 6, 9]


def test_a_validation_lies_in_one_gap_though_the_device_is_still_at_work(trained):
    outside = trained["healthy"]["facts"]["outside"]
    assert (outside["epoch_gaps"], outside["validations"]) == (4, 4)


@pytest.mark.parametrize("name", ["tf_data", "ahead"])
def test_the_stages_of_a_dataset_are_seen(trained, name):
    names = [stage["name"] for stage in trained[name]["facts"]["stages"]]
    assert names[0].startswith("TensorSlice")
    assert any(name.startswith("Map") for name in names)
    assert trained[name]["facts"]["examples_per_step"] == 8
    assert trained["generator"]["facts"].get("stages", []) == []


def test_two_runs_are_compared(trained):
    assert trained["compared"] > 1


def test_that_predict_is_not_observed_is_said_once_and_nothing_else(trained):
    of_advice, of_predict = trained["said"]
    assert DATASETS_ALONE in of_advice
    assert of_predict.startswith("keras_perf: on JAX predict is not observed: ")
