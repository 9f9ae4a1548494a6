"""What the follow-up makes of advice, and when it says that advice goes in circles."""

from __future__ import annotations

from dataclasses import replace

import keras
import pytest
import tensorflow as tf
from followed_programs.input_pieces import lengths_that_vary, rows, sequence_model, sequences
from followed_programs.of_input import OF_INPUT
from followed_programs.of_sources import OF_SOURCES
from followed_programs.of_training import OF_TRAINING
from followed_programs.program import Program, Stage, Work
from following.followed import Trail, followed, lengthened
from following.input_changes import INPUT_CHANGES
from following.training_changes import TRAINING_CHANGES

from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.rules.all_rules import RULES
from keras_perf.advise.rules.between_epochs.own_work_of_keras import OR_UNTUNED
from keras_perf.advise.rules.only_tried import ONLY_TRIED

BY_ID = {program.name: program for program in (*OF_INPUT, *OF_SOURCES, *OF_TRAINING)}

ELSEWHERE = {
    *("enable-xla", "mixed-precision", "multiples-of-8", "larger-batch", "gpu-thread-mode"),
    *("balance-workers", "reduce-in-half-precision", "async-callback", "model-at-epoch-end"),
}
"""Advice for GPUs, for several workers and for JAX, none of which these programs have."""


def advice(id: str, action: str = "", **evidence) -> Recommendation:
    return Recommendation(id, "", "", action, 2.0, 1.5, 2.5, evidence)


def doubled(x, y):
    return 2 * x, y


def doubled_batch(x, y):
    return 2 * x, y


def program(*stages: Stage, **how) -> Program:
    return Program("a program", (), sequence_model, rows(32), stages, **how)


def kinds(changed: Program | None) -> list[str]:
    return [stage.kind for stage in changed.stages]


def test_every_rule_that_may_speak_on_a_cpu_has_a_change():
    speaking = {rule.id for rule in RULES} - {rule.id for rule in ONLY_TRIED}
    assert speaking - ELSEWHERE == {*INPUT_CHANGES, *TRAINING_CHANGES}


def test_advice_that_nobody_has_written_a_change_for_is_left_to_a_person():
    assert followed(program(), advice("enable-xla"), []) is None


def test_the_map_that_is_named_by_its_running_stage_is_made_parallel():
    before = program(Stage("map", doubled), Stage("batch", 4), Stage("map", doubled))
    running = ["TensorSlice (1)", "Map (2)", "Batch (3)", "Map (4)"]
    after = followed(before, advice("parallel-map", stage="Map (4)"), running)
    assert not after.stages[0].more
    assert after.stages[2].more == {"num_parallel_calls": tf.data.AUTOTUNE}
    assert followed(before, advice("parallel-map", stage="Map (9)"), running) is None


def test_maps_within_an_interleave_are_not_the_programs():
    said = advice("batch-before-map", stage="MapAndBatch (5)")
    running = ["Map (1)", "FlatMap (2)", "ParallelInterleaveV4 (3)", "TensorSlice (4)"]
    before = BY_ID["many small files"]
    after = followed(before, said, [*running, "MapAndBatch (5)", "Prefetch (6)"])
    assert kinds(after) == ["flat_map", "batch", "map", "prefetch"]
    assert followed(before, replace(said, evidence={"stage": "Map (1)"}), running) is None


def test_a_wider_pool_comes_with_the_calls_that_it_needs():
    before = program(Stage("map", doubled, {"num_parallel_calls": 8}))
    running = ["ParallelMap (1)"]
    wider = advice("private-threadpool", stage="ParallelMap (1)", advised=32)
    assert followed(before, wider, running).stages == before.stages
    first = advice("private-threadpool", "# first of all: …", stage="ParallelMap (1)", advised=32)
    after = followed(before, first, running)
    assert after.options == {"threading.private_threadpool_size": 32}
    assert after.stages[0].more == {"num_parallel_calls": tf.data.AUTOTUNE}


def test_a_cache_goes_behind_the_map_that_is_named_and_before_shuffle_and_random_maps():
    before = program(
        Stage("shuffle", 32), Stage("map", doubled), Stage("map", doubled_batch), Stage("batch", 4)
    )
    action = "dataset = dataset.map(doubled, num_parallel_calls=tf.data.AUTOTUNE).cache()  # …"
    after = followed(before, advice("cache", action), [])
    assert kinds(after) == ["map", "cache", "shuffle", "map", "batch"]
    assert after.stages[0].argument is doubled


def test_a_cache_goes_behind_the_last_of_other_stages_that_are_named():
    before = program(Stage("interleave", doubled), Stage("shuffle", 8), Stage("batch", 4))
    after = followed(before, advice("cache", "dataset = dataset.interleave(doubled).cache()"), [])
    assert kinds(after) == ["interleave", "cache", "shuffle", "batch"]
    unnamed = (
        "# your_lambda: the lambda in train.py, line 3\ndataset = dataset.interleave(your_lambda)"
    )
    assert followed(before, advice("cache", unnamed), []) == after
    unknown = advice("cache", "dataset = dataset.map(others).cache()")
    assert followed(before, unknown, []) is None


def test_a_map_goes_behind_the_batch_only_with_its_function_for_batches():
    running = ["Map (1)", "Shuffle (2)", "Batch (3)"]
    said = advice("batch-before-map", stage="Map (1)")
    stages = Stage("shuffle", 8), Stage("batch", 4), Stage("prefetch", 2)
    after = followed(
        program(Stage("map", doubled, of_batches=doubled_batch), *stages), said, running
    )
    assert kinds(after) == ["shuffle", "batch", "map", "prefetch"]
    assert after.stages[2].argument is doubled_batch
    assert followed(program(Stage("map", doubled), *stages), said, running) is None


@pytest.mark.parametrize(
    "name",
    ["a generator that works", "a map of Python that works", "a PyDataset that works"],
)
def test_batches_made_in_processes_come_from_a_dataset_of_keras(name):
    after = followed(BY_ID[name], advice("parallel-input", advised=3), [])
    made = after.dataset()
    assert isinstance(made, keras.utils.PyDataset)
    assert (made.workers, made.use_multiprocessing, len(made)) == (3, True, 250)
    assert len(lengthened(after).dataset()) == 1000


def test_files_are_read_at_the_same_time():
    after = followed(BY_ID["many small files"], advice("interleave"), [])
    assert kinds(after)[0] == "interleave"
    assert followed(program(), advice("interleave"), []) is None


def test_a_shuffle_moves_before_its_maps_or_is_repeated():
    before = BY_ID["a shuffle filled with prepared examples"]
    moved = followed(before, advice("cheaper-shuffle", moved=True), [])
    assert kinds(moved) == ["shuffle", "map", "batch", "prefetch"]
    action = "dataset = dataset.shuffle(400).repeat()\nmodel.fit(dataset, steps_per_epoch=40, ...)"
    repeated = followed(before, advice("cheaper-shuffle", action, moved=False), [])
    assert kinds(repeated) == ["map", "shuffle", "repeat", "batch", "prefetch"]
    assert repeated.fit == {"epochs": 5, "steps_per_epoch": 40}


def test_a_hook_works_more_rarely_or_calls_the_model_itself():
    owner = "Shows.on_epoch_end"
    before = BY_ID["predictions one by one"]
    rarer = followed(before, advice("amortize-callback", owner=owner, advised=5), [])
    assert [work.every for work in rarer.works] == [5]
    directly = followed(before, advice("call-the-model", owner=owner), [])
    assert not before.works[0].make(1).directly
    assert directly.works[0].make(1).directly
    others = advice("amortize-callback", owner="ProgbarLogger.on_train_batch_end", advised=5)
    assert followed(before, others, []) is None


def test_one_shape_is_a_full_batch_a_kept_function_or_no_xla():
    partial = {"function_replacements": 0}
    full = followed(program(Stage("batch", 4)), advice("stable-shapes", **partial), [])
    assert full.stages[0].more == {"drop_remainder": True}
    assert followed(program(), advice("stable-shapes", **partial), []) is None

    unfrozen = BY_ID["a train function made anew"]
    kept = followed(unfrozen, advice("stable-shapes", function_replacements=7), [])
    assert not kept.works

    vary = Program("", (), sequence_model, lengths_that_vary(), times=1)
    without = followed(vary, advice("stable-shapes", "bucket_by_…", **partial), [])
    assert without.compiled == {"jit_compile": False}
    padded = BY_ID["lengths that vary under XLA, without a remainder"]
    first = "model.compile(..., jit_compile=False)\n# or bucket_by_sequence_length"
    without = followed(padded, advice("stable-shapes", first, **partial), [])
    assert (without.compiled, without.stages) == ({"jit_compile": False}, padded.stages)


def test_sequences_share_few_lengths():
    before = BY_ID["lengths that vary under XLA, without a remainder"]
    assert before.source is sequences
    said = advice("stable-shapes", "dataset.bucket_by_sequence_length", function_replacements=0)
    after = followed(before, said, [])
    assert after.compiled == before.compiled
    shapes = {tuple(x.shape) for x, _ in after.dataset()}
    assert shapes <= {(8, length, 4) for length in before.lengths}
    assert len({tuple(x.shape) for x, _ in before.dataset()}) > 2 * len(shapes)


def test_validation_is_rarer_shorter_or_faster():
    before = BY_ID["validation in three epochs"]
    rarer = advice("rarer-validation", "model.fit(..., validation_freq=5)", advised=5)
    assert followed(before, rarer, []).fit == {"epochs": 3, "validation_freq": 5}
    shorter = advice("rarer-validation", "validation_steps=max(1, batches // 5)", batches=240.0)
    assert followed(before, shorter, []).fit == {"epochs": 3, "validation_steps": 48}

    taken = advice("rarer-validation", "validation_data = validation_data.take(48)", batches=240.0)
    assert len(followed(before, taken, []).validation_data()) == 48
    kept = advice("rarer-validation", "validation_data.take(48).cache()", batches=240.0)
    assert [stage.kind for stage in followed(before, kept, []).validates][-2:] == ["take", "cache"]

    waits = BY_ID["validation that waits for its input"]
    faster = advice("faster-validation", changes=("parallel-map", "cache"))
    after = followed(waits, faster, [])
    assert [stage.kind for stage in after.validates] == ["map", "cache"]
    assert after.validation_threads
    untuned = followed(waits, advice("validation-without-autotune"), []).validation_data()
    assert untuned.options().autotune.enabled is False


def test_one_iterator_is_made_and_then_epochs_are_longer_and_fewer():
    before = program(Stage("batch", 4), fit={"epochs": 60})
    action = f"dataset = dataset.repeat()\nmodel.fit(dataset, ..., steps_per_epoch=3){OR_UNTUNED}"
    one = followed(before, advice("one-iterator", action), [])
    assert kinds(one) == ["batch", "repeat", "prefetch"]
    assert one.fit == {"epochs": 60, "steps_per_epoch": 3}
    fewer = "model.fit(dataset, ..., steps_per_epoch=60, epochs=3)"
    after = followed(one, advice("longer-epochs", fewer, present=3, advised=60), [])
    assert (after.stages, after.fit) == (one.stages, {"epochs": 3, "steps_per_epoch": 60})
    action = f"dataset = dataset.repeat()\n{fewer}"
    after = followed(before, advice("longer-epochs", action, present=3, advised=60), [])
    assert kinds(after) == ["batch", "repeat", "prefetch"]
    assert after.fit == {"epochs": 3, "steps_per_epoch": 60}
    of_python = advice("longer-epochs", "class Longer(YourPyDataset):", present=3, advised=60)
    assert followed(before, of_python, []) is None


def test_a_number_that_grows_is_no_circle_and_one_that_comes_back_is():
    trail = Trail()
    for every in (20, 400):
        said = advice(
            "amortize-callback", f"% {every}", owner="Hook.on_train_batch_end", advised=every
        )
        assert not trail.leads_back(said)
        trail.add(said)
    for every in (20, 300, 400):
        said = advice(
            "amortize-callback", f"{every}", owner="Hook.on_train_batch_end", advised=every
        )
        assert trail.leads_back(said)
    assert not trail.leads_back(
        advice("amortize-callback", "of another", owner="Other.on_epoch_end", advised=20)
    )


def test_what_is_there_already_and_less_than_was_followed_are_circles():
    trail, owner = Trail(), "Hook.on_train_batch_end"
    there = advice("amortize-callback", "% 5", owner=owner, present=5, advised=5)
    assert trail.leads_back(there)
    trail.add(advice("amortize-callback", "% 20", owner=owner, present=1, advised=20))
    less = advice("amortize-callback", "% 10", owner=owner, present=20, advised=10)
    assert trail.leads_back(less)
    more = advice("amortize-callback", "% 40", owner=owner, present=20, advised=40)
    assert not trail.leads_back(more)


def test_the_same_to_the_letter_is_a_circle():
    trail = Trail()
    trail.add(advice("cache", "dataset.map(a).cache()"))
    assert trail.leads_back(advice("cache", "dataset.map(a).cache()"))
    assert not trail.leads_back(advice("cache", "dataset.map(b).cache()"))


def test_a_longer_program_has_more_data_where_its_source_can_give_more():
    longer = lengthened(program(Stage("batch", 4), times=1))
    assert int(longer.dataset().cardinality()) == 32
    assert lengthened(program()) is None


def test_a_callback_that_cannot_call_the_model_itself_is_left_to_a_person():
    work = Work("Mine", lambda n: keras.callbacks.Callback())
    mine = program(works=(work,))
    assert followed(mine, advice("call-the-model", owner="Mine.on_epoch_end"), []) is None


def test_a_validation_s_batches_become_larger_where_they_are_made():
    before = program(Stage("batch", 8), Stage("prefetch", 2), validation=10)
    larger = advice("larger-validation-batches", present=8, advised=32)
    after = followed(before, larger, [])
    assert [len(x) for x, _ in after.validation_data()] == [32]
    assert [len(x) for x, _ in before.validation_data()] == 4 * [8]
    assert len(next(iter(after.dataset()))[0]) == 8
    assert followed(program(validation=10), larger, []) is None
