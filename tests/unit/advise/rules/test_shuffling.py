"""Advice on refilling a shuffle's buffer: when it speaks, what it predicts, when it is silent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hand_built import assert_predicts, diagnosed, situation, stage, summary

from keras_perf.advise.notes.input.shuffle_refill import shuffle_notes
from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.rules.best_first import recommendations
from keras_perf.advise.rules.input.caching_for_shuffle import cache_for_a_shuffle
from keras_perf.advise.rules.input.shuffling import cheaper_shuffle

READ = {"kind": "tensor_slice"}
MAP = {"kind": "map", "function": "load"}
RANDOM = {**MAP, "random": True}
SHUFFLE = {"kind": "shuffle", "buffer": 500}
BATCH = {"kind": "batch"}


def refilled(
    *chain: dict[str, Any], each_ms: float = 100.0, compute: float = 8.0, fill: float = 0.9,
    prefetched: bool = True, **context: Any,
) -> dict[str, Any]:  # fmt: skip
    """200 steps of 10 ms, 2 ms of them waiting; refills take `each_ms` and happened four times."""
    kinds = [each["kind"] for each in chain]
    running = {"map": ("Map", 4.0), "shuffle": ("Shuffle", 0.1)}
    return {
        "compute": compute,
        "input_wait": 10.0 - compute,
        "stages": [
            stage("TensorSlice", 0.1, elements_per_batch=10.0),
            *(stage(*running[k], elements_per_batch=10.0) for k in kinds if k in running),
            stage("BatchV2", 0.1),
            *([stage("Prefetch", 0.0)] if prefetched else []),
        ],
        "context": {
            "input_kind": "tf.data",
            "epochs": 5,
            "epoch_steps": 50,
            "prefetch_fill": fill,
            "dataset": {"chains": [list(chain)]},
            "event_totals": [{"cause": "shuffle-refill", "count": 4, "total_ms": 4 * each_ms}],
            **context,
        },
    }


def advice(*chain: dict[str, Any], **arguments: Any) -> Recommendation | None:
    return cheaper_shuffle(situation(**refilled(*chain, **arguments)))


def test_a_shuffle_behind_a_map_goes_before_it():
    found = advice(READ, RANDOM, SHUFFLE, BATCH)
    # 2 ms of each step; the map takes 4.0 of the 4.1 ms that a batch before the shuffle needs, and
    # fifty steps empty the buffer, so that all of it can be done meanwhile. At worst half of it.
    moved = 4.0 / 4.1
    assert_predicts(found, 10 - moved, 10 - 2 * moved, 10 - 2 * moved)
    assert found.id == "cheaper-shuffle"
    assert found.action.startswith("dataset = dataset.shuffle(500).map(load, ...)")
    assert "random numbers fall on other examples" in found.action
    assert found.reason.startswith(
        "4 epochs began with waiting 100 ms for shuffle(500) to fill its buffer again, 20% of "
        "the time of all steps."
    )


@pytest.mark.parametrize("kind", ["take", "skip", "shard"])
def test_a_part_taken_behind_the_shuffle_stays_the_same_part(kind):
    found = advice(READ, MAP, SHUFFLE, {"kind": kind}, BATCH)
    assert found.action.startswith("dataset = dataset.shuffle(500, ...).map(load, ...)")
    assert found.action.endswith(
        "with its seed and reshuffle_each_iteration, by which parts are the same ones"
    )


@pytest.mark.parametrize("before", [[], [{"kind": "map"}]])
def test_into_a_function_of_keras_s_nobody_writes_a_repeat(before):
    made = {"kind": "map", "made_by": "keras.utils.image_dataset_from_directory"}
    assert advice(READ, *before, SHUFFLE, made, BATCH) is None
    assert advice(READ, made, SHUFFLE, BATCH) is not None


def test_executions_of_several_steps_are_told_to_make_epochs_longer():
    found = advice(READ, SHUFFLE, RANDOM, BATCH, steps_per_execution=4)
    assert found.reason.endswith("Keras then runs whole executions: each epoch gets 2 steps more.")


def test_the_map_is_named_with_its_line_and_no_name_becomes_code():
    line = {"file": "train.py", "line": 31, "name": "load"}
    found = advice(READ, RANDOM | {"source": line, "function": "load(1)"}, SHUFFLE, BATCH)
    assert ".map(your_function, ...)" in found.action
    assert "train.py" in found.reason


def test_a_shuffle_with_nothing_to_pass_is_repeated():
    found = advice(READ, SHUFFLE, RANDOM, BATCH, BATCH)
    assert_predicts(found, 9.0, 8.0, 8.0)
    assert ".shuffle(500).repeat()" in found.action
    assert "steps_per_epoch=50" in found.action


def test_one_of_make_csv_dataset_is_repeated_by_its_argument():
    opens = {"kind": "interleave", "function": "filename_to_dataset"}
    found = advice(READ, opens, SHUFFLE, BATCH, {"kind": "map", "function": "map_fn"})
    assert found.action.startswith(
        "dataset = tf.data.experimental.make_csv_dataset(..., num_epochs=None)\n"
    )
    assert "steps_per_epoch=50" in found.action


def test_a_map_whose_result_a_cache_should_keep_stays_before_the_shuffle():
    cached = {"memory_available_mib": 1000.0, "outside": {"warmup_steps": 10}}
    arguments = refilled(READ, MAP, SHUFFLE, BATCH, **cached)
    arguments["stages"][1] |= {"bytes_per_batch": 1000.0}
    assert ".repeat()" in cheaper_shuffle(situation(**arguments)).action


def test_a_slow_pipeline_wins_what_training_does_while_the_buffer_empties():
    # Two hundred elements are 20 batches; computing on them takes 20 ms, about which is won.
    found = advice(
        READ, SHUFFLE | {"buffer": 200}, RANDOM, BATCH, each_ms=400.0, compute=1.0, fill=0.0
    )
    assert_predicts(found, 10 - 0.2, 10 - 0.4, 10 - 0.6)
    assert "limits what is won to about 20 ms" in found.reason


@pytest.mark.parametrize(
    "chain",
    [
        [READ, SHUFFLE, {"kind": "repeat"}, RANDOM, BATCH],
        [READ, {"kind": "repeat"}, SHUFFLE, BATCH],
        [READ, SHUFFLE, {"kind": "take"}, BATCH],  # a part of the first pass only
        [READ, SHUFFLE, {"kind": "flat_map"}, BATCH],
        [READ, SHUFFLE, {"kind": "cache"}, BATCH],  # filled once
        [READ, SHUFFLE | {"buffer": None}, BATCH],
        [READ, SHUFFLE | {"buffer": 9}, BATCH],  # less than a batch
        [READ, BATCH],
    ],
)
def test_where_a_repeat_is_or_would_change_more_nothing_is_advised(chain):
    assert advice(*chain) is None


def test_without_refills_nothing_is_advised():
    assert advice(READ, RANDOM, SHUFFLE, BATCH, event_totals=()) is None


def test_without_a_prefetch_nothing_is_done_meanwhile():
    assert advice(READ, RANDOM, SHUFFLE, BATCH, prefetched=False) is None


def test_a_pipeline_that_keras_made_is_left_alone():
    assert advice(READ, RANDOM, SHUFFLE, BATCH, input_kind="arrays") is None


def test_a_loop_keeps_one_iterator():
    found = advice(READ, SHUFFLE, RANDOM, BATCH, driver="loop")
    assert "iterator = iter(dataset)" in found.action
    assert "model.fit" not in found.action


@pytest.mark.parametrize(
    ("chain", "followed"),
    [
        ([READ, SHUFFLE, RANDOM, BATCH], False),
        ([READ, SHUFFLE, {"kind": "repeat"}, RANDOM, BATCH], True),
        ([READ, SHUFFLE | {"buffer": 100}, RANDOM, BATCH], True),
        ([READ, BATCH], None),
    ],
)
def test_a_later_run_shows_whether_it_was_followed(chain, followed):
    found = advice(READ, SHUFFLE, RANDOM, BATCH)
    later = summary(compute=1.0, context={"dataset": {"chains": [chain]}}).facts
    assert cheaper_shuffle.known.followed(later, found) is followed


def test_a_later_run_shows_that_it_was_moved():
    found = advice(READ, RANDOM, SHUFFLE, BATCH)
    for chain, followed in (([RANDOM, SHUFFLE], False), ([SHUFFLE, RANDOM], True)):
        later = summary(compute=1.0, context={"dataset": {"chains": [[READ, *chain]]}}).facts
        assert cheaper_shuffle.known.followed(later, found) is followed


# -- the note ----------------------------------------------------------------------------


def notes(each_ms: float, *advised: str) -> list[str]:
    run = summary(**refilled(READ, SHUFFLE, each_ms=each_ms))
    return list(shuffle_notes(diagnosed(run, advised=advised)))


def test_refilling_that_no_advice_names_is_noted():
    [note] = notes(100.0)
    assert note.startswith("4 epochs began by waiting 100 ms for a shuffle to fill its buffer")
    assert "20% of the time of all steps: a smaller buffer fills faster" in note


def ended(*chain: dict[str, Any], mib: float = 0.0, **context: Any) -> dict[str, Any]:
    """No map runs any more when stages are asked for; batches of the shuffle have a size."""
    found = refilled(*chain, **context)
    running = [each for each in found["stages"] if "Map" not in each["name"]]
    for each in running:
        if each["name"].startswith("Shuffle"):
            each |= {"bytes_per_batch": mib * 2**20}
    return {**found, "stages": running}


def gone_by_then(*chain: dict[str, Any], advised: tuple[str, ...] = ()) -> list[str]:
    """Notes beside advice on the shuffle."""
    run = summary(**ended(*chain))
    return list(shuffle_notes(diagnosed(run, advised=["cheaper-shuffle", *advised])))


def test_a_map_that_has_ended_once_the_buffer_holds_all_data_is_named():
    [note] = gone_by_then(READ, MAP, SHUFFLE, BATCH)
    assert note.startswith("What map(load) takes is not among the stages")
    assert "dataset.map(load).cache() in front of the shuffle keeps what it makes" in note


def test_a_map_that_a_cache_is_advised_for_is_not_named_again():
    assert gone_by_then(READ, MAP, SHUFFLE, BATCH, advised=("cache",)) == []


def kept(*chain: dict[str, Any], **arguments: Any) -> Recommendation | None:
    free = {"memory_available_mib": 1000.0}
    return cache_for_a_shuffle(situation(**ended(*chain, **{"mib": 1.0, **free, **arguments})))


def test_what_has_gone_into_a_buffer_for_all_data_is_kept():
    found = kept(READ, MAP, SHUFFLE, BATCH)
    # 2 ms of each step; what is kept has still to be put into the buffer.
    assert_predicts(found, 10 - 0.9, 10 - 1.8, 10 - 2)
    assert found.id == "cache"
    assert found.action.startswith("dataset = dataset.map(load).cache()  # before shuffle")
    assert found.evidence["size_mib"] == 50.0
    assert "refilling" not in found.reason
    assert "Python" not in found.reason
    in_python = kept(READ, MAP | {"python": True}, SHUFFLE, BATCH)
    assert "Its Python code must give the same result each time." in in_python.reason


def test_the_work_of_what_is_kept_goes_with_the_wait_for_it():
    found = situation(**ended(READ, MAP, SHUFFLE, BATCH, mib=1.0, memory_available_mib=1000.0))
    busy = replace(found.model, cpu_ms=found.model.cores * found.model.step_ms)
    later = cache_for_a_shuffle(found).change(busy, 0.0)
    assert later.cpu_ms == pytest.approx(busy.cpu_ms - 1.8)


@pytest.mark.parametrize("number", [None, 5])
def test_in_a_loop_each_iterator_is_a_pass(number):
    loop = {"driver": "loop", "epoch_steps": None, "epochs": None}
    loop["loop_pass_steps"] = 250 / number if number else 0.0
    found = kept(READ, MAP, SHUFFLE, BATCH, **loop, first_step=0, last_step=250)
    assert (None if found is None else found.evidence["epochs"]) == number


@pytest.mark.parametrize(
    ("chain", "arguments"),
    [
        ((READ, RANDOM, SHUFFLE, BATCH), {}),
        ((READ, MAP, {"kind": "cache"}, SHUFFLE, BATCH), {}),
        ((READ, SHUFFLE, MAP, BATCH), {}),
        ((READ, MAP, RANDOM, SHUFFLE, BATCH), {}),
        ((READ, MAP, SHUFFLE | {"buffer": 400}, BATCH), {}),
        ((READ, MAP, SHUFFLE, BATCH), {"memory_available_mib": 90.0}),
        ((READ, MAP, SHUFFLE, BATCH), {"mib": 0.0}),
        ((READ, MAP, SHUFFLE, BATCH), {"event_totals": ()}),
        ((READ, MAP, SHUFFLE, BATCH), {"input_kind": "arrays"}),
    ],
)
def test_what_is_random_too_large_kept_or_not_waited_for_is_not_kept(chain, arguments):
    assert kept(*chain, **arguments) is None


@pytest.mark.parametrize(
    "chain",
    [
        (READ, RANDOM, SHUFFLE, BATCH),
        (READ, MAP, {"kind": "cache"}, SHUFFLE, BATCH),
        (READ, SHUFFLE, BATCH, MAP),
        (READ, SHUFFLE, BATCH),
    ],
)
def test_no_map_is_named_that_is_random_kept_already_or_behind_the_shuffle(chain):
    assert gone_by_then(*chain) == []


def test_a_map_that_runs_is_not_named():
    run = summary(**refilled(READ, MAP, SHUFFLE, BATCH))
    assert list(shuffle_notes(diagnosed(run, advised=["cheaper-shuffle"]))) == []


@pytest.mark.parametrize(("buffer", "named"), [(9, False), (10, True)])
def test_a_buffer_of_less_than_a_batch_takes_no_time_to_fill(buffer, named):
    run = summary(**refilled(READ, {**SHUFFLE, "buffer": buffer}, BATCH))
    assert bool(list(shuffle_notes(diagnosed(run)))) == named
    behind_a_map = advice(READ, RANDOM, {**SHUFFLE, "buffer": buffer}, BATCH)
    assert (behind_a_map is not None) == named


def test_little_refilling_and_what_advice_names_are_not_noted():
    assert notes(20.0) == []
    assert notes(100.0, "cheaper-shuffle") == []
    assert notes(100.0, "cache") == []
    # No map stands before this one.
    assert len(notes(100.0, "parallel-map")) == 1


# -- named by other advice ---------------------------------------------------------------


def test_advice_that_shortens_filling_the_buffer_names_it():
    slow = {**refilled(READ, MAP, SHUFFLE, BATCH, prefetched=False), "input_wait": 8.0}
    [named] = [a for a in recommendations(situation(**slow)) if "refilling" in a.reason]
    assert named.id == "parallel-map"
    told = "shortens refilling the shuffle's buffer: 4 epochs began by waiting 100 ms for that, 12%"
    assert told in named.reason


def test_a_map_behind_the_shuffle_does_not_shorten_it():
    slow = {**refilled(READ, SHUFFLE, MAP, BATCH, prefetched=False), "input_wait": 8.0}
    assert not any("refilling" in each.reason for each in recommendations(situation(**slow)))
    assert len(list(shuffle_notes(diagnosed(summary(**slow), advised=["parallel-map"])))) == 1
