"""Advice that was followed is seen, also where the later run is too short for a verdict."""

from __future__ import annotations

from typing import Any

import pytest
from hand_built import between_epochs, situation, stage, summary

from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.rules.between_epochs.epoch_hooks import amortize_epoch_callback
from keras_perf.advise.rules.between_epochs.epochs import rarer_validation
from keras_perf.advise.rules.between_epochs.predict_calls import call_the_model
from keras_perf.advise.rules.compiling.stable_shapes import stable_shapes
from keras_perf.advise.rules.host import amortize_callback
from keras_perf.report.compared.advice_in_comparison import advice_taken
from keras_perf.report.diagnosis import Diagnosis, diagnosis_of

SHORT = 10
"""Steps of a run that is inconclusive."""


def later(advice: Recommendation | None, **after: Any) -> str:
    """What a short later run, or one with so many `steps`, tells of it."""
    assert advice is not None
    before = Diagnosis("", "", {}, (advice,), (1, 1, 1), (), summary(compute=1.0))
    found = {"steps": SHORT, "compute": 10.0} | after
    [taken] = advice_taken(before, diagnosis_of(summary(**found)))
    return str(taken)


@pytest.mark.parametrize(
    "id",
    ["amortize-callback", "stable-shapes", "private-threadpool", "raise-steps-per-execution"],
)
def test_of_advice_that_a_trial_alone_gave_it_may_not_be_known_whether_it_was_followed(id):
    advice = Recommendation(id, "", "", "", 2.0, 1.9, 2.1, tried=True)
    assert later(advice, steps=500) == "unknown"


@pytest.mark.parametrize(
    ("kinds", "told"),
    [
        (["tensor_slice", "shuffle", "batch", "map"], "taken"),
        (["tensor_slice", "padded_batch", "map"], "taken"),
        (["tensor_slice", "map", "cache", "shuffle", "batch"], "not taken, nor recommended now"),
        (["tensor_slice", "map", "batch", "map"], "unknown"),
    ],
)
def test_that_whole_batches_are_mapped_is_seen_in_the_pipeline_as_written(kinds, told):
    advice = Recommendation("batch-before-map", "", "", "", 1.5, 1.2, 1.7)
    written = {"dataset": {"chains": [[{"kind": kind} for kind in kinds]]}}
    assert later(advice, context=written, steps=500) == told


def validated(every: int, batches: int = 20, gaps: int = 10) -> dict[str, Any]:
    """Ten epochs of 100 steps with a validation now and then, or none."""
    times = gaps // every if every else 0
    steps = {"calls": times, "executions": 0, "steps": times * batches, "spent_s": 1.0}
    of_calls = {"validation": steps | {"parts_s": {}}} if times else {}
    context = between_epochs(10.0) | {"epochs": gaps, "inference": of_calls}
    context["outside"] |= {"validations": times, "epoch_gaps": gaps}
    return {"context": context}


RARER = rarer_validation(situation(compute=10.0, **validated(1)))


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (validated(5), "taken"),
        (validated(0), "taken"),
        (validated(1, batches=4), "taken"),
        (validated(1), "not taken, nor recommended now"),
        (validated(1) | {"steps": 200}, "still recommended"),
        (validated(0, gaps=0), "unknown"),
    ],
    ids=["rarer", "never", "a part", "as before", "as before, long", "no epoch ended"],
)
def test_validating_less_is_seen(after, told):
    assert later(RARER, **after) == told


EPOCH = "Shows.on_epoch_end"


def predicting(calls: int, *, reached: bool = True) -> dict[str, Any]:
    """Of 50 ms each, 49 of them beside the model, in 1000 steps."""
    timed = {"timed": calls, "timed_s": 0.05 * calls, "inside_s": 0.001 * calls}
    found = {"calls": calls, "spent_s": 0.05 * calls, "executions": calls, **timed}
    context = between_epochs(callbacks={EPOCH: 10.0})
    context["outside"] |= {"epoch_gaps": 5 if reached else 0}
    return {"context": context | {"predicts": {EPOCH: found} if calls else {}}}


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (predicting(0), "taken"),
        (predicting(10), "taken"),
        (predicting(100), "not taken, nor recommended now"),
        (predicting(100) | {"steps": 200}, "still recommended"),
        (predicting(0, reached=False), "unknown"),
    ],
    ids=["no more", "rarely", "as before", "as before, long", "not reached"],
)
def test_calling_the_model_is_seen(after, told):
    advice = call_the_model(situation(compute=10.0, **predicting(100)))
    assert later(advice, **after) == told


BATCH = "Mine.on_train_batch_end"


def hooked(ms: float) -> dict[str, Any]:
    return {"callbacks": ms, "owners": {BATCH: ms} if ms else {}}


@pytest.mark.parametrize(
    ("ms", "steps", "told"),
    [
        (0.2, SHORT, "taken"),
        (0.0, SHORT, "taken"),
        (4.0, SHORT, "not taken, nor recommended now"),
        (4.0, 200, "still recommended"),
        (0.0, 0, "unknown"),
    ],
)
def test_a_batch_hook_that_does_less_is_seen(ms, steps, told):
    advice = amortize_callback(situation(compute=10.0, **hooked(4.0)))
    assert later(advice, **hooked(ms), steps=steps) == told


@pytest.mark.parametrize(("ms", "told"), [(2.0, "taken"), (6.0, "not taken, nor recommended now")])
def test_an_epoch_hook_that_does_less_is_seen(ms, told):
    def hook(ms: float) -> dict[str, Any]:
        return {"context": between_epochs(callbacks={"Mine.on_epoch_end": ms})}

    advice = amortize_epoch_callback(situation(compute=10.0, **hook(6.0)))
    assert later(advice, **hook(ms)) == told


def compiling(**context: Any) -> dict[str, Any]:
    return {"compute": 6.0, "compile": 4.0, "context": {"jit_compile": True, **context}}


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({"shapes_differ": True}, {"jit_compile": False}, "taken"),
        ({"shapes_differ": True}, {"shapes_differ": False}, "taken"),
        ({"shapes_differ": True}, {"shapes_differ": True}, "unknown"),
        ({"rows_differ": True}, {"rows_differ": False}, "taken"),
        ({"rows_differ": True}, {"rows_differ": True}, "unknown"),
        ({"rows_differ": True}, {"rows_differ": False, "versions": {"jax": "0.10"}}, "unknown"),
        ({"function_replacements": 5}, {"function_replacements": 1}, "taken"),
        ({"function_replacements": 5}, {"function_replacements": 5}, "not taken, nor"),
    ],
)
def test_shapes_that_are_stable_and_xla_that_is_off_are_seen(before, after, told):
    advice = stable_shapes(situation(**compiling(**before)))
    assert later(advice, **compiling(**after)).startswith(told)


def test_shapes_that_still_vary_are_told_again_in_a_long_run():
    varies = compiling(shapes_differ=True)
    assert later(stable_shapes(situation(**varies)), **varies, steps=200) == "still recommended"


def advised(id: str, **evidence: Any) -> Recommendation:
    return Recommendation(id, "", "", "", 2.0, 1.5, 2.5, evidence)


@pytest.mark.parametrize(
    ("advice", "after", "told"),
    [
        (advised("tune-gc"), {"collector_threshold": 100_000}, "taken"),
        (advised("tune-gc"), {"collector_threshold": 0}, "taken"),
        (advised("tune-gc"), {"collector_threshold": 700}, "not taken, nor"),
        (advised("tune-gc"), {}, "unknown"),
        (advised("larger-batch", batch=32.0), {"examples_per_step": 64.0}, "taken"),
        (advised("larger-batch", batch=32.0), {"examples_per_step": 32.0}, "not taken, nor"),
        (advised("larger-batch", batch=32.0), {}, "unknown"),
        (
            advised("parallel-input", present=1),
            {"input_kind": "PyDataset", "input_workers": 2, "input_processes": True},
            "taken",
        ),
        (
            advised("parallel-input", present=1),
            {"input_kind": "PyDataset", "input_workers": 2},
            "not taken, nor",
        ),
        (
            # Two processes in place of four threads.
            advised("parallel-input", present=4, present_processes=0),
            {"input_kind": "PyDataset", "input_workers": 2, "input_processes": True},
            "taken",
        ),
        (
            advised("parallel-input", present=2, in_processes=False),
            {"input_kind": "PyDataset", "input_workers": 13},
            "taken",
        ),
        (
            advised("parallel-input", present=2, in_processes=False),
            {"input_kind": "PyDataset", "input_workers": 2, "input_processes": True},
            "not taken, nor",
        ),
        (
            # Threads in place of one, or any other workers.
            advised("parallel-input", present=1, in_processes=False),
            {"input_kind": "PyDataset", "input_workers": 7},
            "taken",
        ),
        (
            advised("parallel-input", present=1, in_processes=False),
            {"input_kind": "PyDataset", "input_workers": 1},
            "not taken, nor",
        ),
        # A custom loop's workers are its own.
        (
            advised("parallel-input", present=1),
            {"input_kind": "tf.data", "driver": "loop"},
            "unknown",
        ),
        (advised("parallel-input", present=1), {"input_kind": "generator"}, "not taken, nor"),
        (advised("parallel-input", present=1), {}, "unknown"),
    ],
)
def test_a_short_run_shows_by_its_settings_what_was_followed(advice, after, told):
    assert later(advice, context=after).startswith(told)


@pytest.mark.parametrize(
    ("id", "after", "told"),
    [
        ("disable-xla", {"jit_compile": False}, "taken"),
        ("disable-xla", {"jit_compile": True}, "not taken, nor"),
        ("intra-op-threads", {}, "unknown"),
        ("disable-onednn", {}, "unknown"),
        ("smaller-shuffle", {}, "unknown"),
        ("filter-before-map", {}, "unknown"),
        ("filter-before-map", {"dataset": {"chains": [[{"kind": "map"}]]}}, "taken"),
        (
            "filter-before-map",
            {"dataset": {"chains": [[{"kind": "map"}, {"kind": "filter"}]]}},
            "unknown",
        ),
        # Of no rule's advice a run without trials tells that it is no longer given.
        ("multiples-of-8", {}, "unknown"),
    ],
)
def test_what_only_a_trial_tells_a_run_without_trials_does_not(id, after, told):
    advice = Recommendation(id, "", "", "", 2.0, 1.9, 2.1, {"sizes": [100]}, tried=True)
    conclusive = {"steps": 500, "compute": 1.0, "input_wait": 9.0}
    assert later(advice, context=after, **conclusive).startswith(told)


@pytest.mark.parametrize(
    ("maps", "told"),
    [
        (["ParallelMapV2", "Map"], "taken"),
        (["ParallelMapV2", "ParallelMapV2"], "taken"),
        (["Map", "Map"], "not taken, nor"),
        (["Batch"], "not taken, nor"),
    ],
)
def test_one_of_two_maps_in_parallel_is_seen(maps, told):
    stages = [stage(name, 1.0, parallelism=1 if name == "Map" else 8) for name in maps]
    advice = Recommendation("parallel-map", "", "", "", 2.0, 1.9, 2.1, {"sequential_maps": 2})
    assert later(advice, stages=stages).startswith(told)


def test_a_map_that_ran_in_parallel_before_is_no_sign_of_following():
    stages = [stage("ParallelMapV2", 1.0, parallelism=8), stage("Map", 3.0)]
    advice = Recommendation("parallel-map", "", "", "", 2.0, 1.9, 2.1, {"sequential_maps": 1})
    assert later(advice, stages=stages).startswith("not taken")


def test_advice_on_what_lies_between_epochs_is_not_judged_before_one_ended():
    after = {"steps": 500, "compute": 1.0, "input_wait": 9.0}
    assert later(RARER, **after, context=validated(0, gaps=0)["context"]) == "unknown"


@pytest.mark.parametrize(
    ("gaps", "validations", "told"),
    [(4, 1, "taken"), (3, 1, "unknown"), (2, 1, "unknown"), (6, 3, "unknown")],
)
def test_the_next_validation_may_have_been_about_to_come(gaps, validations, told):
    """Of a training that validated every second epoch."""
    context = between_epochs(10.0)
    context["outside"] |= {"validations": validations, "epoch_gaps": gaps}
    advice = Recommendation(
        "rarer-validation", "", "", "", 2.0, 1.5, 2.5, {"present": 2}, of="whole"
    )
    assert later(advice, context=context) == told


def test_twice_as_many_steps_in_an_epoch_make_no_hook_do_less():
    """Batches of half the size: for a step it takes half the time."""

    def hook(ms: float, gaps: int) -> dict[str, Any]:
        context = between_epochs(callbacks={"Mine.on_epoch_end": ms})
        context["outside"] |= {"epoch_gaps": gaps}
        return {"context": context}

    advice = amortize_epoch_callback(situation(compute=10.0, **hook(6.0, 5)))
    assert later(advice, **hook(3.0, 5)) == "taken"
    assert later(advice, **hook(3.0, 2)) == "not taken, nor recommended now"


def test_more_steps_in_an_execution_make_no_hook_do_less():
    advice = amortize_callback(situation(compute=10.0, **hooked(4.0)))
    after = hooked(0.5) | {"steps": 500, "context": {"steps_per_execution": 8}}
    assert not later(advice, **after).startswith("taken")
