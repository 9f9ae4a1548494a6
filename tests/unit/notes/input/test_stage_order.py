"""What the order of a dataset's stages tells: when it speaks, and when it is silent."""

from __future__ import annotations

from typing import Any

import pytest
from hand_built import diagnosed, stage, summary

from keras_perf.advise.notes.input.stage_order import order_notes
from keras_perf.report.diagnosis import diagnosis_of


def written(program: str, **more: Any) -> list[dict[str, Any]]:
    """A chain of stages from `kind kind(function) …`; `more` is of those with a function.

    `!` after a kind says that it is parallel.
    """
    chain = []
    for word in program.split():
        kind, _, function = word.rstrip(")").partition("(")
        stage = {
            "kind": kind.rstrip("!"),
            "function": function,
            "parallel": kind.endswith("!"),
            "stateful": False,
            "random": False,
            "reads_files": False,
            "elements": None,
        }
        chain.append({**stage, **(more if function else {})})
    return chain


def notes(
    *chains: list[dict[str, Any]],
    verdict: str = "compute-bound",
    measured: bool = True,
    advised: tuple[str, ...] = (),
    added: bool = True,
    **context: Any,
) -> list[str]:
    parts = {"compute": 5.0, **({"input_wait": 5.0} if measured else {})}
    graph = {"chains": list(chains), "prefetch_added": added}
    measured_run = summary(**parts, context={"dataset": graph, "epochs": 5, **context})
    return list(order_notes(diagnosed(measured_run, verdict, advised)))


# -- the order of examples: told whatever the time ---------------------------------------


def test_shuffling_after_batching_moves_whole_batches():
    [note] = notes(written("tensor_slice batch shuffle prefetch"))
    assert note.startswith("shuffle() comes after batch(): ")
    assert note.endswith("Put shuffle() before batch().")


@pytest.mark.parametrize(
    "program",
    [
        "tensor_slice shuffle batch prefetch",
        "tensor_slice batch prefetch",
        "tensor_slice shuffle",
        "tensor_slice shuffle batch shuffle",  # examples were shuffled before
        "tensor_slice batch unbatch shuffle",  # no longer batches
        "tensor_slice batch flat_map shuffle",
        "tensor_slice batch shuffle batch",  # what was batched first are the examples
    ],
)
def test_examples_that_are_shuffled_or_no_longer_batched_are_left_alone(program):
    assert notes(written(program)) == []


def test_shuffling_before_datasets_come_together_counts():
    assert notes(written("zip batch shuffle"), written("tensor_slice shuffle")) == []
    assert len(notes(written("zip batch shuffle"), written("tensor_slice"))) == 1


@pytest.mark.parametrize(
    ("program", "mend"),
    [
        ("tensor_slice map(decoded) shuffle cache batch", "Put cache() before shuffle()."),
        # What was decoded is to be kept.
        ("tensor_slice shuffle map(decoded) cache batch", "Put a shuffle() behind cache()."),
        ("tensor_slice shuffle batch cache", "Put a shuffle() behind cache()."),
    ],
)
def test_a_cache_after_the_last_shuffle_keeps_the_first_order(program, mend):
    [note] = notes(written(program))
    assert note.startswith("cache() comes after shuffle(), and nothing shuffles after it: ")
    assert note.endswith(mend)


@pytest.mark.parametrize(
    "program", ["tensor_slice cache shuffle batch", "tensor_slice shuffle cache shuffle batch"]
)
def test_a_cache_with_a_shuffle_after_it_is_left_alone(program):
    assert notes(written(program)) == []


def test_a_cache_in_a_branch_may_be_shuffled_later():
    assert notes(written("zip batch"), written("tensor_slice shuffle cache")) == []


def leaving_out(program: str, left: int) -> list[dict[str, Any]]:
    """Of 300 elements, behind skip()."""
    chain, given = written(program), 300
    for each in chain:
        each["elements"] = given
        given -= left if each["kind"] == "skip" else 0
    return chain


@pytest.mark.parametrize("verdict", ["compute-bound", "input-bound"])
@pytest.mark.parametrize("between", ["", "shuffle ", "prefetch "])
def test_a_pass_makes_what_a_skip_behind_a_map_leaves_out(between, verdict):
    chain = leaving_out(f"tensor_slice map(decode) map!(scale) {between}skip batch prefetch", 250)
    assert notes(chain, verdict=verdict) == [
        "skip() comes after map(decode), map(scale): each pass makes the 250 elements of 300 that "
        "it leaves out. Put map(decode), map(scale) behind skip()."
    ]


@pytest.mark.parametrize(
    ("program", "left"),
    [
        ("tensor_slice skip map(decode) batch prefetch", 250),
        ("tensor_slice map(decode) cache skip batch prefetch", 250),
        ("tensor_slice map(decode) skip cache shuffle batch prefetch", 250),
        ("tensor_slice map(decode) filter(long) skip batch prefetch", 250),
        ("tensor_slice map(decode) skip batch prefetch", 1),
        ("tensor_slice map(decode) batch skip", 250),
    ],
    ids=["before", "a cache", "cached later", "a filter", "a header", "how many is not known"],
)
def test_a_skip_that_leaves_out_little_or_only_once_is_left_alone(program, left):
    assert notes(leaving_out(program, left)) == []


def test_random_numbers_drawn_before_a_cache_are_the_same_in_every_epoch():
    [note] = notes(written("tensor_slice map(flipped) cache shuffle batch", random=True))
    assert note.startswith("map(flipped) draws random numbers before cache(): ")
    assert notes(written("tensor_slice map(scaled) cache shuffle batch")) == []
    assert notes(written("tensor_slice cache shuffle map(flipped) batch", random=True)) == []


def test_in_a_single_epoch_nothing_is_repeated():
    program = written("tensor_slice shuffle map(flipped) cache", random=True)
    assert notes(program, epochs=1) == []


# -- what costs time: told only where input is what training waits for, or was not seen ---


FILTERED = written("tensor_slice cache filter(long_enough) shuffle batch prefetch")


@pytest.mark.parametrize(
    ("told", "where"),
    [
        (True, {"verdict": "input-bound"}),
        (True, {"measured": False, "verdict": "inconclusive"}),
        (False, {"verdict": "compute-bound"}),
        (False, {"verdict": "callback-bound"}),
    ],
)
def test_a_filter_after_a_cache_is_told_where_input_matters(told, where):
    found = notes(FILTERED, **where)
    assert bool(found) is told
    assert all("Put filter(long_enough) before cache()." in note for note in found)


def test_a_filter_that_draws_at_random_belongs_after_the_cache():
    program = written("tensor_slice cache filter(sampled) shuffle batch prefetch", random=True)
    assert notes(program, verdict="input-bound") == []


def test_a_filter_of_what_is_drawn_after_the_cache_stays_there():
    cached, filtered = written("tensor_slice cache"), written("filter(long_enough) batch prefetch")
    drawn = written("map(cropped)", random=True)
    assert notes([*cached, *drawn, *filtered], verdict="input-bound") == []
    assert len(notes([*cached, *filtered], verdict="input-bound")) == 1


def test_a_prefetch_that_is_not_last_is_told_where_tf_data_adds_none():
    program = written("tensor_slice prefetch map(decoded) shuffle")
    [note] = notes(program, verdict="input-bound", added=False)
    assert note.startswith("prefetch() is not last: map(decoded) behind it works while")
    assert notes(program, verdict="input-bound", added=True) == []
    assert notes(program, verdict="input-bound", added=False, advised=("prefetch",)) == []


@pytest.mark.parametrize(
    "program",
    [
        "tensor_slice map(decoded) batch prefetch",
        "tensor_slice prefetch options",  # nothing behind it works
        "tensor_slice prefetch map!(decoded) batch",  # runs ahead with threads of its own
        "tensor_slice prefetch map(decoded) batch",  # which tf.data makes one of
    ],
)
def test_a_pipeline_that_runs_ahead_is_left_alone(program):
    assert notes(written(program), verdict="input-bound", added=False) == []


def test_a_pipeline_without_any_prefetch_is_told_to_put_one_last():
    [note] = notes(written("tensor_slice batch map(decoded)"), measured=False, added=False)
    assert note == (
        "Nothing prefetches: batch(), map(decoded) works while training waits. Put prefetch() last."
    )


READS = {"reads_files": True, "elements": 1500}


@pytest.mark.parametrize("stage", ["map!(decoded)", "interleave(read)", "flat_map(read)"])
def test_many_files_a_step_are_told_as_not_measured(stage):
    program = written(f"tensor_slice shuffle {stage} batch prefetch", **READS)
    [note] = notes(program, verdict="input-bound", epoch_steps=100)
    assert "opens 15 files for each step (1,500 in an epoch)" in note
    assert "not measured" in note
    assert notes(program, verdict="compute-bound", epoch_steps=100) == []


@pytest.mark.parametrize(
    ("program", "context"),
    [
        ("tensor_slice interleave!(read) batch prefetch", {"epoch_steps": 1501}),  # few
        ("tensor_slice interleave!(read) batch prefetch", {}),  # of how many steps is not known
        ("tensor_slice map(decoded) cache batch prefetch", {"epoch_steps": 100}),  # once
        ("tensor_slice map(decoded) batch repeat", {"epoch_steps": 100}),
        ("tensor_slice batch map(decoded) prefetch", {"epoch_steps": 100}),  # batches of names
        # A part of them.
        ("tensor_slice map(decoded) batch", {"epoch_steps": 100, "ends_by_steps": True}),
    ],
)
def test_few_files_or_an_unknown_number_are_left_alone(program, context):
    assert notes(written(program, **READS), verdict="input-bound", **context) == []


@pytest.mark.parametrize("advised", ["interleave", "cache"])
def test_files_are_left_to_advice_that_has_figures(advised):
    program = written("tensor_slice map(decoded) batch", **READS)
    assert notes(program, verdict="input-bound", epoch_steps=100, advised=(advised,)) == []


def test_a_stateful_map_on_one_thread_is_told_where_nothing_was_measured():
    program = written("tensor_slice map(decoded) batch map(augmented) prefetch", stateful=True)
    [note] = notes(program, measured=False)
    assert note.startswith("map(decoded), map(augmented): one element at a time")
    assert notes(program, verdict="input-bound") == []


@pytest.mark.parametrize("more", [{"stateful": False}, {"stateful": True, "parallel": True}])
def test_a_map_that_runs_in_parallel_is_left_alone(more):
    # A stateless one tf.data makes parallel by itself.
    assert notes(written("tensor_slice map(decoded) batch prefetch", **more), measured=False) == []


# -- in the diagnosis --------------------------------------------------------------------


def test_the_notes_stand_in_the_diagnosis_and_are_no_recommendations():
    graph = {"chains": [written("tensor_slice batch shuffle")], "prefetch_added": True}
    found = diagnosis_of(summary(input_wait=0.0, compute=10.0, context={"dataset": graph}))
    assert any("shuffle() comes after batch()" in note for note in found.notes)
    assert "shuffle() comes after batch()" in found.to_markdown()
    assert found.recommendations == ()


@pytest.mark.parametrize("context", [{}, {"dataset": None}])
def test_without_a_look_at_the_dataset_there_are_no_notes(context):
    run = summary(input_wait=5.0, compute=5.0, context=context)
    assert list(order_notes(diagnosed(run, "input-bound"))) == []


def test_a_map_that_decodes_and_draws_is_to_be_split_for_a_cache():
    both = {"random": True, "one_at_a_time": True}
    [note] = notes(written("tensor_slice map!(load) batch", **both), verdict="input-bound")
    assert "map(read).cache().map(draw). What that saves was not" in note
    assert "kp.tune_input(dataset) of the split dataset measures its parts and the cache" in note
    cached = written("tensor_slice map!(load) batch cache", **both)
    assert not any("Split" in each for each in notes(cached, verdict="input-bound"))


def test_what_a_split_can_save_is_at_most_what_the_map_takes():
    both = {"random": True, "one_at_a_time": True}
    graph = {"chains": [written("tensor_slice map!(load) batch", **both)], "prefetch_added": True}
    context = {"dataset": graph, "epochs": 3}
    stages = [stage("TensorSlice", 0.1), stage("Map", 6.0), stage("Batch", 0.2)]
    run = summary(input_wait=6.3, compute=5.0, stages=stages, context=context)
    found = " ".join(order_notes(diagnosed(run, "input-bound", ["prefetch"])))
    assert "What that saves (at most 6 ms a batch) was not measured" in found


def test_a_map_behind_a_shuffle_is_split_in_front_of_it():
    both = {"random": True, "one_at_a_time": True}
    [note] = notes(written("tensor_slice shuffle map!(load) batch", **both), verdict="input-bound")
    assert "map(read).cache().shuffle(...).map(draw)" in note
