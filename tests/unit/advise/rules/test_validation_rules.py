"""A slow validation: what makes it faster and loses nothing is told first."""

from __future__ import annotations

from typing import Any

import pytest
from hand_built import assert_predicts, between_epochs, diagnosed, facts_of, situation, stage

from keras_perf.advise.notes.all_notes import notes_of
from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.rules.all_rules import known_of
from keras_perf.advise.rules.best_first import recommendations
from keras_perf.advise.rules.between_epochs.validation_batches import larger_validation_batches
from keras_perf.advise.rules.between_epochs.validation_input import faster_validation

DECODE = {
    "kind": "map",
    "function": "decode",
    "source": {"file": "train.py", "line": 12, "name": "decode"},
}
PARALLEL = DECODE | {"parallel": True}
SLICES, BATCH = {"kind": "tensor_slice"}, {"kind": "batch"}
STAGE = {"parallel": False, "stateful": False, "random": False, "reads_files": False}

RUNNING = [
    stage("TensorSlice", 0.0),
    stage("MapAndBatch", 8.0, bytes_per_batch=2.0**20),
]
"""Map and batch, which tf.data runs as one."""


def validating(
    *chain: dict[str, Any], stages: Any = RUNNING, parts: Any = None, **more: Any
) -> dict[str, Any]:
    """Five validations of 20 batches, which take 10 ms, 8 of them waiting."""
    written = [{"function": "", **STAGE, **each} for each in chain]
    return {
        "calls": 5,
        "executions": 100,
        "steps": 100,
        "spent_s": 1.0,
        "parts_s": parts or {"input_wait": 0.8, "compute": 0.2},
        "examples": 800.0,
        "input_kind": "tf.data",
        "dataset": {"chains": [written]},
        "stages": list(stages),
        **more,
    }


SEQUENTIAL = validating(SLICES, DECODE, BATCH)


def measured(validation: dict[str, Any], ms: float = 10.0, **context: Any) -> Any:
    """Beside steps of 10 ms, with so many of validation for each."""
    known = between_epochs(ms) | {"epochs": 5, "cpu_count": 8, "inference": {}} | context
    return situation(compute=10.0, context=known | {"inference": {"validation": validation}})


@pytest.mark.parametrize(
    ("chain", "steps", "cached"),
    [
        ((SLICES, DECODE, BATCH), None, True),
        (({"kind": "take"}, SLICES, DECODE, BATCH), None, True),
        ((SLICES, DECODE, BATCH, {"kind": "take"}), None, False),
        ((SLICES, DECODE, BATCH), 9, False),
    ],
    ids=["all", "a part before it", "a part behind it", "validation_steps"],
)
def test_a_cache_is_told_only_where_it_is_read_to_its_end(chain, steps, cached):
    context = {"memory_available_mib": 1000.0, "validation_steps": steps}
    advice = faster_validation(measured(validating(*chain), **context))
    assert ("cache" in advice.evidence["changes"]) is cached


def test_the_map_of_the_validation_is_told_to_run_in_parallel_by_its_file_and_line():
    advice = faster_validation(measured(SEQUENTIAL))
    # Of 10 ms a batch 8 are the map's: 8 cores leave 1 ms, and 6.8 of them 1.18.
    threads = [8 / 6.8, 1.0, 1.0]
    left = [(2 + ms) / 10 for ms in threads]
    worst, best = left[0] + 0.2 * (1 - left[0]), left[2] - 0.2 * (1 - left[2])
    assert_predicts(advice, 10 + 10 * worst, 10 + 10 * left[1], 10 + 10 * best, before=20.0)
    assert (advice.id, advice.of) == ("faster-validation", "whole")
    assert advice.reason == (
        "Validation takes 50% of the training, and waits for its own input for 8 ms of the 10 ms "
        "of each of its batches; map(decode) takes 8 ms a batch. Its function decode is in "
        "train.py, line 12. Its results stay the same."
    )
    assert "source.map(decode, num_parallel_calls=tf.data.AUTOTUNE)  # then" in advice.action


def test_a_cache_is_told_too_where_memory_is_enough():
    advice = faster_validation(measured(SEQUENTIAL, memory_available_mib=1000.0))
    assert "map(decode, num_parallel_calls=tf.data.AUTOTUNE).cache()" in advice.action
    assert advice.evidence["changes"] == ("parallel-map", "cache")
    # The first of five validations fills it, with the map in parallel: 3 of 10 ms are left.
    left = 0.3 * (1 - 0.8 * (1 - (2 + 0.02) / 3))
    assert advice.predicted_speedup == pytest.approx(20 / (10 + 10 * left))
    small = faster_validation(measured(SEQUENTIAL, memory_available_mib=30.0))
    assert small.evidence["changes"] == ("parallel-map",)


def test_a_parallel_map_stays_parallel_where_its_cache_is_written():
    found = validating(SLICES, PARALLEL, BATCH)
    advice = faster_validation(measured(found, memory_available_mib=1000.0))
    assert advice.evidence["changes"] == ("cache",)
    assert "map(decode, num_parallel_calls=tf.data.AUTOTUNE).cache()" in advice.action


def test_what_is_random_is_not_cached_and_what_is_python_may_gain_nothing():
    random = validating(SLICES, DECODE | {"random": True}, BATCH)
    found = faster_validation(measured(random, memory_available_mib=1000.0))
    assert found.evidence["changes"] == ("parallel-map",)
    python = validating(SLICES, DECODE | {"python": True}, BATCH)
    advice = faster_validation(measured(python))
    assert advice.low == 1.0
    assert "holds the interpreter" in advice.reason


def test_without_loss_comes_first_and_validating_less_second():
    found = measured(SEQUENTIAL)
    assert [each.id for each in recommendations(found)] == ["faster-validation", "rarer-validation"]
    # Alone validating less would gain more.
    first, second = recommendations(found)
    assert first.predicted_speedup < second.predicted_speedup


def test_what_may_gain_nothing_does_not_come_before_what_surely_does():
    python = measured(validating(SLICES, DECODE | {"python": True}, BATCH))
    first, second = recommendations(python)
    assert (first.id, second.id, second.low) == ("rarer-validation", "faster-validation", 1.0)


@pytest.mark.parametrize(
    "found",
    [
        measured(validating(SLICES, PARALLEL, {"kind": "cache"}, BATCH)),
        measured(validating(SLICES, DECODE, parts={"input_wait": 0.1, "compute": 0.9})),
        measured(validating(SLICES, DECODE, parts={"compute": 1.0})),
        measured(validating(SLICES, DECODE, steps=9)),
        measured(validating(SLICES, DECODE, stages=())),
        measured(SEQUENTIAL, 0.5),
        measured(SEQUENTIAL, cpu_count=1),
    ],
    ids=["mended", "computes", "unknown", "few batches", "no stages", "short", "one core"],
)
def test_a_validation_is_left_alone_that(found):
    assert faster_validation(found) is None


def test_the_note_names_the_users_function_and_is_silent_where_advice_says_it():
    found = measured(SEQUENTIAL)
    assert any("map(decode) (train.py, line 12)" in n for n in notes_of(diagnosed(found)))
    told = list(notes_of(diagnosed(found, advised=["faster-validation"])))
    assert not any("waits for its input" in note for note in told)


def test_a_later_run_shows_that_it_was_followed():
    advice = faster_validation(measured(SEQUENTIAL, memory_available_mib=1000.0))

    def later(*chain: dict[str, Any]) -> bool | None:
        return known_of(advice.id).followed(
            facts_of({"inference": {"validation": validating(*chain)}}), advice
        )

    assert later(SLICES, PARALLEL, BATCH) is True
    assert later(SLICES, DECODE, {"kind": "cache"}) is True
    assert later(SLICES, DECODE, BATCH) is False
    assert known_of(advice.id).followed(facts_of({}), advice) is None


def test_a_map_that_was_mended_counts_where_another_is_left_as_it_was():
    cheap = {"kind": "map", "function": "cheap"}
    running = [stage("TensorSlice", 0.0), stage("Map", 8.0), stage("Map", 0.1), stage("Batch", 0.1)]
    found = validating(SLICES, DECODE, cheap, BATCH, stages=running)
    advice = faster_validation(measured(found))
    later = facts_of({"inference": {"validation": validating(SLICES, PARALLEL, cheap, BATCH)}})
    assert known_of(advice.id).followed(later, advice) is True


def test_of_a_validation_that_only_waits_no_less_than_nothing_is_left():
    only = validating(SLICES, DECODE, BATCH, parts={"input_wait": 1.0, "compute": 0.0}, calls=50)
    advice = faster_validation(measured(only, 1000.0, memory_available_mib=1000.0))
    # A step of 10 ms is left of 1010.
    assert 1.0 < advice.predicted_speedup < advice.high <= 101.0


# -- batches -----------------------------------------------------------------------------

SMALL = validating(
    SLICES,
    BATCH,
    parts={"input_wait": 0.05, "compute": 0.35, "dispatch": 0.6},
    calls=2,
    batch_size=8,
)


def batched(validation: dict[str, Any] = SMALL, **context: Any) -> Recommendation | None:
    return larger_validation_batches(measured(validation, **context))


def test_small_batches_are_told_to_be_larger():
    advice = batched()
    # Of 10 ms a batch 6 are the execution's: three quarters go, at worst half of these.
    assert_predicts(advice, 20 - 4.5 / 2, 20 - 4.5, 20 - 4.5, before=20.0)
    assert advice.action == "model.fit(..., validation_batch_size=32)"
    shorter = batched(validation_steps=12).action
    assert shorter == "model.fit(..., validation_batch_size=32, validation_steps=3)"
    # No number of larger batches has the same examples.
    assert batched(validation_steps=10) is None
    assert batched(validation_steps=12, steps_per_execution=2) is None
    of_a_dataset = batched(
        SMALL | {"batch_size": None, "input_kind": "tf.data"}, validation_steps=8
    )
    assert of_a_dataset.action.endswith("validation_data=validation_data, validation_steps=2)")
    assert advice.of == "whole"
    assert "in batches of 8 examples that take 10 ms each, of which 6 ms" in advice.reason
    dataset = {name: value for name, value in SMALL.items() if name != "batch_size"}
    assert "validation_data.batch(32)  # where it is batched now" in batched(dataset).action
    padded = STAGE | {"kind": "padded_batch", "function": ""}
    dataset |= {"dataset": {"chains": [[padded]]}}
    assert "validation_data.padded_batch(32)  # where it is" in batched(dataset).action
    loader = batched(dataset | {"input_kind": "PyDataset"}).action
    assert loader == "# where PyDataset makes the validation's batches: 32 examples each"


@pytest.mark.parametrize(
    "changed",
    [
        {"parts_s": {"compute": 0.9, "dispatch": 0.1}},
        {"parts_s": {"compute": 1.0}},
        {"calls": 5},
        {"examples": None, "batch_size": None},
    ],
    ids=["that compute", "whose cost is unknown", "that are few", "whose size is unknown"],
)
def test_batches_are_left_alone(changed):
    assert batched({n: v for n, v in (SMALL | changed).items() if v is not None}) is None


def test_a_cost_that_trials_did_not_tell_from_noise_advises_nothing():
    computes = SMALL | {"parts_s": {"input_wait": 0.05, "compute": 0.95}}
    trial = {"in_graph_ms": 9.26, "per_execution_ms": 6.0}
    assert batched(computes, steps_per_execution_trial=trial) is not None
    for chance in ("lost_in_noise", "may_be_chance"):
        assert batched(computes, steps_per_execution_trial=trial | {chance: True}) is None


def test_batches_that_take_no_longer_than_an_execution_of_the_training_costs_advise_nothing():
    computes = SMALL | {"parts_s": {"input_wait": 0.05, "compute": 0.95}}
    for per_execution_ms, advised in ((9.9, True), (10.0, False), (17.0, False)):
        trial = {"in_graph_ms": 9.26, "per_execution_ms": per_execution_ms}
        assert (batched(computes, steps_per_execution_trial=trial) is not None) is advised


def test_larger_batches_are_seen_later():
    advice = batched()
    follow = known_of(advice.id).followed
    larger = facts_of({"inference": {"validation": SMALL | {"batch_size": 64}}})
    assert follow(larger, advice) is True
    assert follow(facts_of({"inference": {"validation": SMALL}}), advice) is False
    assert follow(facts_of({}), advice) is None
