"""Rules on the input pipeline: when each speaks, what it predicts, when it is silent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hand_built import FITS_IN_MEMORY, assert_predicts, between_epochs, situation, stage
from hypothesis import given
from hypothesis import strategies as st

from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.rules.best_first import WORTH_SAYING, recommendations
from keras_perf.advise.rules.input.batching import CALL_MS, batch_before_map
from keras_perf.advise.rules.input.caching import FIRST_BATCH_MS, cache
from keras_perf.advise.rules.input.files_and_order import (
    OVERTAKEN,
    interleave,
    nondeterministic_order,
)
from keras_perf.advise.rules.input.handing_over import (
    A_MIB_MS,
    HANDED_OVER_MS,
    UNKNOWN_MIB,
    handed_beside_computing,
)
from keras_perf.advise.rules.input.pool_of_threads import private_threadpool
from keras_perf.advise.rules.input.python_input import parallel_input
from keras_perf.advise.rules.input.threads_and_buffers import parallel_map, prefetch
from keras_perf.advise.step.step_model import StepModel
from keras_perf.analyse.cpu_share import LEAST_SHARE

PIPELINE = [
    stage("TensorSlice", 1.0),
    stage("Map", 6.0, bytes_per_batch=2.0**20),
    stage("Batch", 1.0, bytes_per_batch=2.0**20),
]

PREFETCHED = [*PIPELINE, stage("Prefetch", 0.0)]

NOT_THE_USERS = ("arrays", "PyDataset", "generator")
"""Pipelines that Keras makes: no line of the user's can be changed."""


# -- prefetch ----------------------------------------------------------------------------


def test_a_pipeline_without_prefetching_is_told_to_prefetch():
    advice = prefetch(situation(input_wait=8.0, compute=2.0, stages=PIPELINE))
    # Of the 2 ms that the two could overlap, 80, 90 or 100 % disappear.
    assert_predicts(advice, 8.4, 8.2, 8.0)
    assert advice.id == "prefetch"
    assert advice.evidence == {"input_wait_ms": 8.0, "rest_ms": 2.0}
    assert advice.reason == (
        "Each step waits 8 ms for input and then works 2 ms; "
        "with prefetching the shorter of the two disappears behind the longer."
    )


@pytest.mark.parametrize(
    ("compute", "wait", "hidden"),
    [(14.0, 2.0, 2.0), (2.0, 8.0, 2.0)],
    ids=["batches in time", "late batches"],
)
def test_of_several_steps_at_once_prefetching_hides_the_first_batch_only(compute, wait, hidden):
    several = {"steps_per_execution": 4}
    advice = prefetch(situation(input_wait=wait, compute=compute, stages=PIPELINE, context=several))
    before = compute + wait
    left = [before - part * hidden for part in (0.8, 0.9, 1.0)]
    assert_predicts(advice, *left, before=before)
    assert advice.reason == (
        "An execution of 4 steps waits for its first batch, and asks for the others while a step "
        f"computes: in all, {wait:.0f} ms of each step go into waiting."
    )


def test_an_execution_s_first_batch_is_ready_no_sooner_than_its_work_is_less():
    """Of 0.1 ms that each of four steps waits, making the first batch explains 0.02."""
    several = {"steps_per_execution": 4}
    quick = [stage("TensorSlice", 0.01), stage("Batch", 0.07)]
    advice = prefetch(situation(input_wait=0.1, compute=0.1, stages=quick, context=several))
    left = [0.2 - part * 0.1 for part in (0.8 * 0.2, 0.9 * 0.2, 1.0)]
    assert_predicts(advice, *left, before=0.2)


def test_run_eagerly_several_steps_ask_for_no_batch_ahead():
    eager = {"steps_per_execution": 4, "run_eagerly": True}
    advice = prefetch(situation(input_wait=8.0, compute=2.0, stages=PIPELINE, context=eager))
    assert_predicts(advice, 8.4, 8.2, 8.0)
    assert "Each step waits 8 ms" in advice.reason


def test_a_pipeline_that_prefetches_is_not_told_to():
    assert prefetch(situation(input_wait=8.0, compute=2.0, stages=PREFETCHED)) is None


@pytest.mark.parametrize("wait", [{}, {"input_wait": 0.0}])
def test_a_step_that_does_not_wait_is_not_told_to_prefetch(wait):
    assert prefetch(situation(compute=10.0, stages=PIPELINE, **wait)) is None


@pytest.mark.parametrize("kind", NOT_THE_USERS)
def test_a_pipeline_that_keras_made_is_not_told_to_prefetch(kind):
    found = situation(input_wait=8.0, compute=2.0, stages=PIPELINE, context={"input_kind": kind})
    assert prefetch(found) is None


# -- parallel-map ------------------------------------------------------------------------


def test_a_sequential_map_is_told_to_share_the_cores():
    advice = parallel_map(situation(input_wait=8.0, compute=2.0, stages=PIPELINE))
    # Its 6 ms over 8 idle cores, of which 85 or 100% help.
    assert_predicts(advice, 4 + 6 / 6.8, 4 + 6 / 8, 4 + 6 / 8)
    assert (advice.id, advice.evidence["stage"]) == ("parallel-map", "Map (2)")
    assert advice.reason == (
        "The sequential stage Map (2) takes 6 ms of the 8 ms that a batch needs (75%); "
        "8 logical CPUs are there to share it."
    )


def test_the_slowest_sequential_map_is_named():
    stages = [stage("Map", 1.0), stage("Map", 5.0), stage("ParallelMap", 2.0, parallelism=1)]
    advice = parallel_map(situation(input_wait=8.0, compute=2.0, stages=stages))
    assert advice.evidence["stage"] == "Map (2)"


def test_cores_that_are_half_busy_share_less():
    half_busy = situation(input_wait=8.0, compute=2.0, stages=PIPELINE, process_cpu_pct=400.0)
    # Nine tenths of 8 cores help, and 15% of all more or less; 40 ms of CPU time are 5 of each.
    assert_predicts(parallel_map(half_busy), 5.0, 5.0, 5.0)
    less_work = situation(input_wait=8.0, compute=2.0, stages=PIPELINE, process_cpu_pct=160.0)
    assert_predicts(parallel_map(less_work), 4 + 6 / 6.48, 4 + 6 / 7.68, 4 + 6 / 8)


def test_cores_that_are_busy_bound_what_a_parallel_map_buys():
    busy = situation(input_wait=8.0, compute=2.0, stages=PIPELINE, process_cpu_pct=720.0)
    # 90% of 8 cores are busy: the step cannot be shorter than 9 ms.
    assert_predicts(parallel_map(busy), 9.0, 9.0, 9.0)


@pytest.mark.parametrize(
    "arguments",
    [
        {"stages": [stage("ParallelMap", 8.0, parallelism=4)]},
        {"stages": [stage("Batch", 8.0)]},
        {"stages": []},
        {"stages": PIPELINE, "context": {"cpu_count": 1}},
        *({"stages": PIPELINE, "context": {"input_kind": kind}} for kind in NOT_THE_USERS),
    ],
)
def test_without_a_sequential_map_or_a_core_to_share_it_nothing_is_said(arguments):
    assert parallel_map(situation(input_wait=8.0, compute=2.0, **arguments)) is None


# -- cache -------------------------------------------------------------------------------


def cached(**arguments: Any) -> Recommendation | None:
    defaults = {"stages": PIPELINE, "context": FITS_IN_MEMORY}
    return cache(situation(input_wait=8.0, compute=2.0, **(defaults | arguments)))


def test_preparation_repeated_in_each_epoch_is_told_to_be_cached():
    advice = cached()
    # Source and map, 7 ms, are left in no step that counts; reading back costs 4, 2 or 0%.
    # No longer pausing for so long, the CPU computes for 2, 1.3 or 0.8 ms; an epoch's first
    # batch is waited for.
    first = FIRST_BATCH_MS / 100
    assert_predicts(advice, 3 + first + 0.04 * 7, 2.3 + first + 0.02 * 7, 1.8 + first)
    kept = {"saved_ms": 7.0, "epochs": 5, "size_mib": 100.0}
    assert advice.evidence == kept | {"stages": ["TensorSlice (1)", "Map (2)"]}


def test_what_is_counted_of_the_first_epoch_is_not_saved_by_a_cache():
    # Of the 44 steps that fill the cache 20 are warm-up, and 24 are among the 200 that count.
    advice = cached(context=FITS_IN_MEMORY | {"epoch_steps": 44, "outside": {"warmup_steps": 20}})
    first = FIRST_BATCH_MS / 44
    later = [3 + first + 7 * 0.04, 2.3 + first + 7 * 0.02, 1.8 + first]
    assert_predicts(advice, *(ms + 24 / 200 * (10 - ms) for ms in later))


def test_nor_is_it_where_the_pipeline_sets_the_pace_with_a_cache_too():
    stages = [stage("TensorSlice", 1.0), stage("Map", 4.0, bytes_per_batch=2.0**20)]
    stages += [stage("Batch", 5.0, bytes_per_batch=2.0**20), stage("Prefetch", 0.0)]
    advice = cached(stages=stages, context=FITS_IN_MEMORY | {"epoch_steps": 100, "outside": {}})
    # Batching stays, and 4, 2 or 0% of the rest; half of the 200 steps fill the cache.
    later = (5 + 5 * left for left in (0.04, 0.02, 0.0))
    assert_predicts(advice, *(ms + (10 - ms) / 2 for ms in later))


def test_a_cache_that_nothing_but_the_first_epoch_would_use_buys_nothing():
    advice = cached(context=FITS_IN_MEMORY | {"epoch_steps": 400, "outside": {}})
    assert_predicts(advice, 10.0, 10.0, 10.0)


@pytest.mark.parametrize(
    "changed",
    [
        {"epochs": 1},
        {"epochs": None},
        {"epoch_steps": None},
        {"epoch_steps": 501},  # half of the memory is 500 MiB
        {"memory_available_mib": None},
        {"input_kind": "arrays"},
    ],
)
def test_what_is_not_repeated_or_does_not_fit_is_not_cached(changed):
    assert cached(context=FITS_IN_MEMORY | changed) is None


@pytest.mark.parametrize(
    "stages",
    [
        [],
        [stage("TensorSlice", 8.0)],
        [stage("FlatMap", 8.0, bytes_per_batch=2.0**20)],
        [stage("Map", 4.0, bytes_per_batch=2.0**20), stage("MemoryCache", 4.0)],
        [stage("Map", 8.0)],
    ],
)
def test_without_a_map_of_known_size_before_a_cache_nothing_is_said(stages):
    assert cached(stages=stages) is None


@pytest.mark.parametrize(
    ("written", "advised"),
    [
        ({}, True),
        ({"draws_alike": True, "random": True}, False),
        ({"variables": "written"}, False),
        ({"variables": "read"}, True),
    ],
)
def test_a_map_whose_calls_must_not_overlap_stays_one_after_the_other(written, advised):
    chain = [{"kind": "tensor_slice"}, {"kind": "map", "function": "augment", **written}]
    known = {"dataset": {"chains": [[*chain, {"kind": "batch"}]]}}
    found = situation(input_wait=8.0, compute=2.0, stages=PIPELINE, context=known)
    assert (parallel_map(found) is not None) is advised


RANDOM = {"kind": "map", "function": "flip", "random": True, "stateful": True}
PLAIN = {"kind": "map", "function": "decode"}


@pytest.mark.parametrize(
    ("behind", "sources", "advised"),
    [
        ([RANDOM], [[], []], True),
        ([], [[RANDOM], []], True),
        ([], [[RANDOM], [PLAIN]], True),
        ([], [[RANDOM], [RANDOM]], False),
    ],
)
def test_images_and_masks_that_are_drawn_for_apart_stay_one_after_the_other(
    behind, sources, advised
):
    together = [{"kind": "zip"}, *behind, {"kind": "batch"}]
    chains = [together, *([{"kind": "tensor_slice"}, *each] for each in sources)]
    context = {"dataset": {"chains": chains}}
    found = situation(input_wait=8.0, compute=2.0, stages=PIPELINE, context=context)
    assert (parallel_map(found) is not None) is advised


# -- batch-before-map --------------------------------------------------------------------


EXAMPLES = 32


def batched_first(
    calls: float = 2.0, explained_ms: float = 8.0, **changed: Any
) -> Recommendation | None:
    """A map of 32 examples a batch that takes so many times what a call alone does.

    The stages' work explains so much of the 8 ms that a step waits.
    """
    cheap = EXAMPLES * calls * CALL_MS
    found: dict[str, Any] = {
        "input_wait": 8.0,
        "compute": 2.0,
        "stages": [
            stage("TensorSlice", explained_ms - cheap),
            stage("Map", cheap, elements_per_batch=float(EXAMPLES)),
        ],
    }
    return batch_before_map(situation(**(found | changed)))


def test_a_call_costs_what_it_does_in_the_pass_that_fills_a_cache():
    # In a tenth of all batches each of 32 calls takes 200 µs.
    work = stage("Map", 0.64, elements_per_batch=float(EXAMPLES))
    cheap = batched_first(1.0, 8.0, stages=[stage("TensorSlice", 7.0), work])
    assert cheap is not None
    work["works_for"] = 0.1
    assert batched_first(1.0, 8.0, stages=[stage("TensorSlice", 7.0), work]) is None


def test_a_cheap_map_is_told_to_work_on_whole_batches():
    advice = batched_first()
    # Of 32 calls one is left, and of what they take three quarters or 95% are saved; at best all
    # that the map takes is calls.
    saved = 31 * CALL_MS
    assert_predicts(advice, *(10 - part * saved for part in (0.75, 0.95, 2.0)))
    assert advice.id == "batch-before-map"
    assert advice.title == "Batch first, then map whole batches: stage Map (2)"
    assert advice.reason == (
        f"Stage Map (2) is called 32 times per batch, {2e3 * CALL_MS:.2g} µs each, "
        f"of which calling alone takes about {1e3 * CALL_MS:.2g} µs."
    )
    assert advice.evidence == {
        "stage": "Map (2)",
        "calls_per_batch": 32.0,
        "call_ms": pytest.approx(2 * CALL_MS),
    }


def test_a_map_that_is_nothing_but_calls_saves_all_but_one():
    saved = 31 * CALL_MS
    assert_predicts(batched_first(1.0), *(10 - part * saved for part in (0.75, 0.95, 1.0)))


@pytest.mark.parametrize(
    ("others_pct", "process_cpu_pct", "share"),
    [(50.0, 0.0, 0.5), (50.0, 80.0, 0.5), (95.0, 0.0, 0.2)],
)
def test_where_other_programs_take_the_cores_a_call_takes_longer(
    others_pct, process_cpu_pct, share
):
    # Of 8 cores 80% of one are a tenth.
    busy = {"host/cpu_pct": others_pct + process_cpu_pct / 8}
    advice = batched_first(1 / share, process_cpu_pct=process_cpu_pct, sensors=busy)
    assert f"of which calling alone takes about {1e3 * CALL_MS / share:.2g} µs" in advice.reason
    quiet = batched_first(1 / share, process_cpu_pct=process_cpu_pct)
    assert quiet is None or advice.predicted_speedup > quiet.predicted_speedup


def test_what_the_stages_do_not_explain_of_the_wait_is_counted_as_calling():
    # Their 4 ms of work stand for the 8 of the wait, and half of what is counted is their own.
    wait = [8 - part * 31 * CALL_MS * 2 for part in (0.75, 0.95, 2.0)]
    advice = batched_first(explained_ms=4.0)
    assert_predicts(advice, 2 + wait[0] * 0.75, 2 + wait[1] * 0.25, 2 + wait[2] * 0.1875)


@pytest.mark.parametrize("opens_files", ["FlatMap", "Interleave", "ParallelInterleaveV4"])
def test_what_tf_data_forgets_of_inner_pipelines_is_not_counted_as_calling(opens_files):
    calling = stage("Map", 2 * EXAMPLES * CALL_MS, elements_per_batch=float(EXAMPLES))
    advice = batched_first(stages=[stage(opens_files, 1.0), calling])
    known = (1.0 + 2 * EXAMPLES * CALL_MS) / 8
    assert advice.predicted_speedup < 10 / (10 - 2 * 31 * CALL_MS / known)


def test_a_map_fused_with_its_batch_is_called_once_per_example():
    fused = stage("MapAndBatch", EXAMPLES * CALL_MS, elements_per_batch=1.0) | {"ratio": 32.0}
    advice = batched_first(stages=[stage("TensorSlice", 1.0), fused])
    assert advice.evidence["calls_per_batch"] == 32.0


def graph(*one_at_a_time: bool, batched: str = "batch") -> dict[str, Any]:
    """A dataset of so many maps, and a batch."""
    maps = [{"kind": "map", "function": "mapped", "one_at_a_time": each} for each in one_at_a_time]
    kinds = ("tensor_slice", *maps, *batched.split())
    chain = [{"kind": each} if isinstance(each, str) else each for each in kinds]
    return {"dataset": {"chains": [chain]}}


@pytest.mark.parametrize("batched", ["padded_batch", "group_by_window", "dense_to_ragged batch"])
def test_examples_of_many_lengths_are_not_batched_before_they_are_padded_or_in_buckets(batched):
    assert batched_first(context=graph(False)) is not None
    assert batched_first(context=graph(False, batched=batched)) is None


def test_a_map_that_decodes_one_example_at_a_time_is_not_told_to_take_batches():
    assert batched_first(context=graph(False)) is not None
    assert batched_first(context=graph(True)) is None


def test_a_map_that_nobody_wrote_as_inside_a_function_of_keras_is_left_alone():
    chain = [{"kind": kind} for kind in ("tensor_slice", "map", "batch")]
    unnamed = {"dataset": {"chains": [chain]}}
    assert batched_first(context=unnamed) is None
    line = {"file": "train.py", "line": 3, "name": ""}
    unnamed["dataset"]["chains"][0][1]["source"] = line
    assert batched_first(context=unnamed) is not None


def test_of_two_maps_the_one_that_can_take_batches_is_named():
    decodes = stage("Map", 0.3, elements_per_batch=32.0)
    scales = stage("Map", 0.2, elements_per_batch=32.0)
    stages = [stage("TensorSlice", 7.0), decodes, scales]
    advice = batched_first(stages=stages, context=graph(True, False))
    assert advice.evidence["stage"] == "Map (3)"
    # Where it is not known which is which, none is.
    assert batched_first(stages=stages, context=graph(True, False, False)) is None


def test_calling_never_takes_longer_than_the_call():
    reason = batched_first(0.25).reason
    assert f"{250 * CALL_MS:.2g} µs each" in reason
    assert f"about {250 * CALL_MS:.2g} µs." in reason


def test_of_two_maps_the_dearer_one_is_named():
    stages = [stage("Map", 0.1, elements_per_batch=32.0), *[stage("Shuffle", 0.1)] * 2]
    stages.append(stage("ParallelMap", 0.3, elements_per_batch=32.0))
    assert batched_first(stages=stages).evidence["stage"] == "ParallelMap (4)"


@pytest.mark.parametrize(("calls", "speaks"), [(3.9, True), (4.1, False)])
def test_a_map_that_takes_more_than_four_times_a_call_is_mostly_work(calls, speaks):
    assert (batched_first(calls) is not None) == speaks


@pytest.mark.parametrize(
    "changed",
    [
        {"stages": []},
        {"stages": [stage("Map", 0.384)]},
        {"stages": [stage("Map", 0.0, elements_per_batch=32.0)]},
        {"stages": [stage("Shuffle", 0.384, elements_per_batch=32.0)]},
        *({"context": {"input_kind": kind}} for kind in NOT_THE_USERS),
    ],
)
def test_without_a_cheap_map_of_the_users_on_single_examples_nothing_is_said(changed):
    assert batched_first(**changed) is None


def test_the_flat_map_inside_of_reading_files_cannot_come_after_batching():
    # What tf.data tells of TFRecordDataset(files).batch(32).map(...).
    stages = [
        stage("TFRecord", 0.4, elements_per_batch=32.0),
        stage("FlatMap", 0.384, elements_per_batch=32.0),
        stage("BatchV2", 0.1),
        stage("Map", 0.2),
    ]
    assert batched_first(stages=stages) is None


@pytest.mark.parametrize(
    ("between", "advised"),
    [
        (["ShuffleV3", "RepeatV2", "Prefetch"], True),
        (["Filter"], False),
        (["FiniteTake"], False),
        (["ParallelMapV2"], False),
        (["FlatMap"], False),
    ],
)
def test_batches_have_to_go_through_what_stands_between_as_examples_do(between, advised):
    """A filter of batches fails, and of another map the order would change."""
    cheap = stage("Map", EXAMPLES * CALL_MS, elements_per_batch=float(EXAMPLES))
    stages = [stage("TensorSlice", 6.0), cheap, *(stage(name, 0.1) for name in between)]
    found = batched_first(1.0, stages=[*stages, stage("BatchV2", 0.5), stage("Filter", 0.1)])
    assert (found is not None) is advised


# -- interleave --------------------------------------------------------------------------


def interleaved(reader: str = "TFRecord", **changed: Any) -> Recommendation | None:
    """Reading takes six of the eight milliseconds of a batch."""
    stages = [stage(reader, 6.0), stage("Batch", 2.0)]
    found: dict[str, Any] = {"input_wait": 8.0, "compute": 2.0, "stages": stages}
    return interleave(situation(**(found | changed)))


@pytest.mark.parametrize(
    ("kinds", "advised"),
    [
        (["t_f_record", "map", "batch"], True),
        (["take", "t_f_record", "map"], True),
        (["t_f_record", "map", "take"], False),
        (["t_f_record", "skip"], False),
        (["t_f_record", "zip"], False),
    ],
)
def test_where_the_place_of_an_example_tells_what_it_is_their_order_stays(kinds, advised):
    chain = [{"kind": kind} for kind in kinds]
    found = interleaved(context={"dataset": {"chains": [chain]}})
    assert (found is not None) is advised


def test_files_read_one_after_the_other_are_told_to_be_read_together():
    advice = interleaved()
    # The 6 ms of reading over half as many threads as cores, as many, and half as many more.
    assert_predicts(advice, 4 + 6 / 4, 4 + 6 / 8, 4 + 6 / 12)
    assert (advice.id, advice.evidence) == (
        "interleave",
        {"stage": "TFRecord (1)", "stage_ms": 6.0},
    )
    assert advice.reason == (
        "Reading takes 6 ms of the 8 ms that a batch needs, one file after the other."
    )


@pytest.mark.parametrize(
    ("reader", "dataset"),
    [
        ("TFRecord", "tf.data.TFRecordDataset"),
        ("TFRecordV2", "tf.data.TFRecordDataset"),
        ("TextLine", "tf.data.TextLineDataset"),
        ("FixedLengthRecordV2", "tf.data.FixedLengthRecordDataset"),
    ],
)
def test_the_code_to_paste_reads_what_was_read(reader, dataset):
    action = interleaved(reader).action
    assert f"= {dataset}(files, ..., num_parallel_reads=tf.data.AUTOTUNE)  # ...: its" in action
    compile(action, "action", "exec")


@pytest.mark.parametrize(
    ("stage_name", "kind"), [("TFRecordV2", "t_f_record"), ("FlatMap", "flat_map")]
)
def test_of_one_file_there_are_not_several_at_a_time(stage_name, kind):
    def of(files: int) -> Recommendation | None:
        chain = [{"kind": "tensor_slice"}, {"kind": kind, "elements": files}, {"kind": "batch"}]
        return interleaved(stage_name, context={"dataset": {"chains": [chain]}})

    assert of(1) is None
    # Two are read by two threads, however many cores there are.
    assert 1.0 < of(2).predicted_speedup < of(4).predicted_speedup < of(100).predicted_speedup
    assert of(2).high < 2.0


def test_the_flat_map_that_a_reader_runs_as_is_of_its_files():
    def of(files: int) -> Recommendation | None:
        chain = [{"kind": "tensor_slice"}, {"kind": "t_f_record", "elements": files}]
        stages = [stage("TFRecord", 0.4), stage("FlatMap", 6.0), stage("Batch", 1.6)]
        return interleaved(stages=stages, context={"dataset": {"chains": [chain]}})

    assert of(1) is None
    assert of(2).evidence["stage"] == "FlatMap (2)"


@pytest.mark.parametrize("stage_name", ["FlatMap", "Interleave"])
def test_a_pipeline_for_each_file_is_told_to_run_several_at_a_time(stage_name):
    advice = interleaved(stage_name)
    assert_predicts(advice, 4 + 6 / 4, 4 + 6 / 8, 4 + 6 / 12)
    assert advice.evidence["stage"] == f"{stage_name} (1)"


@pytest.mark.parametrize("reads_files", [True, False])
def test_where_no_files_are_read_datasets_are_told_to_run_beside_each_other(reads_files):
    flat_map = {"kind": "flat_map", "function": "augment", "reads_files": reads_files}
    chain = [{"kind": "from_tensor_slices"}, flat_map, {"kind": "batch"}]
    advice = interleaved("FlatMap", context={"dataset": {"chains": [chain]}})
    assert ("# files: those that are read now" in advice.action) is reads_files
    assert ("dataset = dataset.interleave(augment, " in advice.action) is not reads_files
    assert ("file after" in advice.reason) is reads_files


def test_what_a_generator_makes_comes_from_no_files():
    stages = [stage("Generator", 1.0), stage("FlatMap", 6.0), stage("Batch", 1.0)]
    assert interleaved(stages=stages) is None


@pytest.mark.parametrize("reader", ["CSV", "CSVV2"])
def test_a_reader_whose_class_is_not_known_is_left_to_the_user(reader):
    assert "interleave(your_reader," in interleaved(reader).action


@pytest.mark.parametrize(
    "changed",
    [
        {"stages": []},
        {"stages": [stage("TensorSlice", 6.0), stage("Batch", 2.0)]},
        {"stages": [stage("TFRecord", 6.0, parallelism=4), stage("Batch", 2.0)]},
        {"context": {"cpu_count": 1}},
        *({"context": {"input_kind": kind}} for kind in NOT_THE_USERS),
    ],
)
def test_without_files_of_the_users_or_a_core_to_share_nothing_is_said_of_reading(changed):
    assert interleaved(**changed) is None


def test_files_that_are_interleaved_already_are_left_alone():
    # What tf.data tells of TFRecordDataset(files, num_parallel_reads=2).
    stages = [
        stage("TFRecord", 0.5, elements_per_batch=0.1),
        stage("TFRecord", 5.0, parallelism=2),
        stage("LegacyParallelInterleaveV2", 1.0, parallelism=2),
        stage("BatchV2", 1.5),
    ]
    assert interleaved(stages=stages) is None


def test_an_interleave_that_tf_data_gave_one_thread_is_one_already():
    stages = [
        stage("TFRecord", 6.0),
        stage("ParallelInterleaveV4", 0.5),
        stage("BatchV2", 1.5),
    ]
    assert interleaved(stages=stages) is None


# -- private-threadpool ------------------------------------------------------------------


def widened(**changed: Any) -> Recommendation | None:
    """On eight cores eight calls wait at a time, and compute for an eighth of their 64 ms."""
    found: dict[str, Any] = {
        "input_wait": 7.0,
        "compute": 1.0,
        "stages": [stage("ParallelMapV2", 64.0, parallelism=32), stage("Prefetch", 0.0)],
        "process_cpu_pct": 100.0,
    }
    return private_threadpool(situation(**(found | changed)))


def test_calls_that_wait_are_told_to_have_more_threads_than_there_are_cores():
    advice = widened()
    # To hide 64 ms behind 1 ms of computing takes 96 calls; more than 64 are not advised.
    assert_predicts(advice, *(64 / (64 * part) for part in (0.7, 0.85, 1.0)), before=8.0)
    assert advice.id == "private-threadpool"
    assert advice.evidence == {
        "stage": "ParallelMapV2 (1)",
        "stage_ms": 64.0,
        "waiting_share": 0.875,
        "present": 8,
        "advised": 64,
    }
    assert "options.threading.private_threadpool_size = 64" in advice.action
    compile(advice.action, "action", "exec")


@pytest.mark.parametrize(
    "changed",
    [
        {"process_cpu_pct": 0.0},  # not sampled
        {"process_cpu_pct": 500.0},  # it computes
        {"stages": [stage("TFRecord", 8.0), stage("Prefetch", 0.0)]},
        {"context": {"dataset": {"threadpool_size": 64}}},
        {"context": {"input_kind": "PyDataset"}},
        {"input_wait": 0.0, "compute": 0.0, "process_cpu_pct": 1.0},
    ],
)
def test_elsewhere_more_threads_are_not_advised(changed):
    assert widened(**changed) is None


def test_where_the_map_makes_fewer_calls_than_there_are_threads_these_come_first():
    slow = [stage("ParallelMapV2", 64.0, parallelism=4), stage("Prefetch", 0.0)]
    advice = widened(stages=slow)
    first, *_ = advice.action.splitlines()
    assert "num_parallel_calls=tf.data.AUTOTUNE in the map, which has 4 for 8 threads" in first
    compile(advice.action, "action", "exec")
    assert "first of all" not in widened().action


def test_as_many_threads_as_hide_the_wait_are_enough():
    assert widened(compute=7.0, input_wait=1.0).evidence["advised"] == 16
    assert widened(compute=4.0, input_wait=4.0).evidence["advised"] == 32


def test_a_map_that_is_not_parallel_profits_only_once_it_is():
    found = situation(
        input_wait=63.0,
        compute=1.0,
        stages=[stage("Map", 64.0), stage("Prefetch", 0.0)],
        process_cpu_pct=10.0,
    )
    alone = private_threadpool(found)
    assert alone.predicted_speedup == 1.0
    first, second = recommendations(found)
    assert (first.id, second.id) == ("parallel-map", "private-threadpool")
    assert second.speedup_after_others > 4


# -- nondeterministic-order --------------------------------------------------------------


def overtaking(able_ms: float = 3.0, **changed: Any) -> Recommendation | None:
    """Eight threads could make a batch in `able_ms`; steps of 10 ms wait eight for one."""
    found: dict[str, Any] = {
        "input_wait": 8.0,
        "compute": 2.0,
        "stages": [stage("ParallelMap", 8 * able_ms, parallelism=8)],
        "sensors": {"host/cpu_pct": 50.0},
    }
    return nondeterministic_order(situation(**(found | changed)))


def test_parallel_stages_held_back_by_their_order_are_told_to_let_go_of_it():
    advice = overtaking()
    # Of the 5 ms by which the pipeline misses what it could, none, some or all is gained.
    assert_predicts(advice, 10.0, 10 - 5 * OVERTAKEN, 5.0)
    assert advice.id == "nondeterministic-order"
    assert advice.reason == (
        "The stages could deliver a batch every 3 ms and have CPUs enough, yet steps wait 8 ms: "
        "elements of uneven cost are held back to keep their order."
    )
    assert advice.evidence == {"able_ms": 3.0, "input_wait_ms": 8.0, "cpu_pct": 50.0}
    assert "deterministic = False" in advice.action


def test_behind_a_prefetch_what_the_pipeline_could_do_shortens_the_step():
    stages = [stage("ParallelMap", 48.0, parallelism=8), stage("Prefetch", 0.0)]
    # It needs 10 ms a batch and could do with 6.
    assert_predicts(overtaking(stages=stages), 10.0, 10 - 4 * OVERTAKEN, 6.0)


@pytest.mark.parametrize(
    "changed",
    [
        {"sensors": {}},
        {"sensors": {"host/cpu_pct": 70.1}},
        {"input_wait": 0.0, "compute": 10.0},
        {"stages": []},
        {"stages": [stage("Map", 3.0)]},
        {"stages": [stage("Map", 3.0), stage("ParallelMap", 8.0, parallelism=8)]},
        {"stages": [stage("FlatMap", 0.1), stage("ParallelMap", 24.0, parallelism=8)]},
        {"stages": [stage("ParallelMap", 24.0, parallelism=8), stage("Prefetch", 0.0)]},
        *({"context": {"input_kind": kind}} for kind in NOT_THE_USERS),
    ],
)
def test_an_order_that_holds_nothing_back_is_kept(changed):
    assert overtaking(**changed) is None


def test_where_the_pipeline_keeps_up_on_the_whole_stalls_are_what_order_holds_back():
    totals = [
        {"cause": "input-stall", "owner": "", "count": 20, "total_ms": 600.0},
        {"cause": "shuffle-refill", "owner": "", "count": 1, "total_ms": 200.0},
    ]
    keeps_up = {
        "input_wait": 4.5,
        "compute": 5.5,
        "stages": [stage("ParallelMap", 8.0, parallelism=8), stage("Prefetch", 0.0)],
        "context": {"prefetch_fill": 0.9, "event_totals": totals},
    }
    # Of 200 steps each waited 3 ms in stalls, and 1 for a buffer to be filled.
    assert_predicts(overtaking(**keeps_up), 10.0, 10 - 3 * OVERTAKEN, 7.0)


def test_what_waits_does_not_lack_cpus_however_busy_they_are():
    busy = {"sensors": {"host/cpu_pct": 90.0}, "process_cpu_pct": 20.0}
    assert overtaking(**busy).id == "nondeterministic-order"


def test_an_order_that_is_not_kept_holds_nothing_back():
    assert overtaking(context={"dataset": {"deterministic": False}}) is None


@pytest.mark.parametrize("kind", ["take", "skip", "shard", "zip", "window", "scan"])
def test_where_places_count_no_element_overtakes_another(kind):
    """Training and validation would share examples, or images get other images' labels."""
    chain = [{"kind": "list_files"}, {"kind": "map", "parallel": True}, {"kind": kind}]
    assert overtaking(context={"dataset": {"chains": [chain]}}) is None
    assert overtaking(context={"dataset": {"chains": [chain[:-1]]}}) is not None


@pytest.mark.parametrize(("able_ms", "speaks"), [(6.9, True), (7.1, False)])
def test_stages_that_work_for_most_of_a_step_are_not_held_back_by_order(able_ms, speaks):
    assert (overtaking(able_ms) is not None) == speaks


# -- parallel-input ----------------------------------------------------------------------


AT_WORST_MS = 2 * (HANDED_OVER_MS + UNKNOWN_MIB * A_MIB_MS)
"""To hand over a batch of unknown size."""


def in_processes(**changed: Any) -> Recommendation | None:
    context = {"input_kind": "PyDataset", **changed.pop("context", {})}
    found: dict[str, Any] = {"input_wait": 9.5, "compute": 0.5, "context": context}
    return parallel_input(situation(**(found | changed)))


def test_a_pydataset_is_told_to_use_processes():
    advice = in_processes()
    # Eight cores share the 9.5 ms, the handing over and computing, which was not sampled: one core
    # computes for 0.5 ms, at worst all do. They lose 0.25 or 0.45 of that, at best 0.05. Nobody
    # knows how large a batch is.
    assert_predicts(
        advice,
        (9.5 + 8 * 0.5 + AT_WORST_MS + 0.45 * 4) / 8,
        (9.5 + 0.5 + HANDED_OVER_MS + 0.25 * 4) / 8,
        (9.5 + 0.5 + 0.05 * 4) / 8,
    )
    assert advice.id == "parallel-input"
    assert advice.action == (
        "model.fit(Batches(..., workers=8, use_multiprocessing=True), ...)\n"
        "# an __init__ of its own passes both on, super().__init__(**kwargs), and may do once\n"
        "# what is the same in every epoch, such as decoding; random numbers need a generator\n"
        "# seeded with epoch and index of the batch, as each process gets a copy of yours\n"
        "# in these processes the batches' code must use no TensorFlow, keras.ops or layers: they\n"
        "# are copies of a process that trains, in which such code may wait for ever; where "
        "Python\n"
        '# starts them anew, the program needs `if __name__ == "__main__":`'
    )
    assert advice.reason == (
        "Each step waits 9.5 ms for a PyDataset that one thread of Python runs; "
        "8 logical CPUs are there to share it."
    )
    assert advice.evidence == {
        "input_wait_ms": 9.5,
        "input_kind": "PyDataset",
        "cores": 8,
        "present": 1,
        "advised": 8,
        "in_processes": True,
        "present_processes": 0,
    }


@pytest.mark.parametrize("kind", ["PyDataset", "generator"])
def test_what_forked_processes_must_not_do_depends_on_the_backend(kind):
    there = in_processes(context={"input_kind": kind, "versions": {"jax": "0.10.2"}}).action
    here = in_processes(context={"input_kind": kind}).action
    common, _, must_not = here.partition("\n# in these processes the batches' code must use no ")
    assert there == common + (
        "\n# JAX warns of os.fork(): in these processes the batches' code must not use JAX or "
        "keras.ops"
    )
    assert must_not.startswith("TensorFlow")
    present = {"input_kind": "PyDataset", "input_workers": 2, "input_processes": True}
    assert "must" not in in_processes(context=present).action


def test_of_a_generator_whose_epochs_end_by_steps_all_data_are_numbered():
    """Those of one epoch alone would be trained on again and again."""
    context = {"input_kind": "generator", "epoch_steps": 100, "ends_by_steps": True}
    advice = in_processes(context=context)
    assert "return number  # of batches in all of the data" in advice.action
    assert "), ..., steps_per_epoch=100, shuffle=False)" in advice.action
    compile(advice.action, "action", "exec")


def test_a_generator_is_told_to_become_a_pydataset_first():
    advice = in_processes(context={"input_kind": "generator"})
    assert advice.action.startswith("class Batches(keras.utils.PyDataset):\n    def __len__")
    assert "for a generator that one thread" in advice.reason
    compile(advice.action, "action", "exec")


AHEAD = [stage("Generator", 10.0), stage("Prefetch", 0.0)]
WAITS = {"input_wait": 8.0, "compute": 2.0, "process_cpu_pct": 30.0, "stages": AHEAD}
"""Of steps of 10 ms; all threads together computed for 3 ms, one of them beside computing."""


def of_one_thread(kind: str, **changed: Any) -> Any:
    """It makes batches one after the other."""
    context = {"input_kind": kind, "cpu_count": 2} | changed.pop("context", {})
    return in_processes(context=context, **(WAITS | changed))


@pytest.mark.parametrize("kind", ["generator", "PyDataset"])
def test_a_thread_that_waits_is_joined_by_others(kind):
    advice = of_one_thread(kind)
    assert advice.title == "Let several threads make batches"
    assert advice.reason == (
        f"Each step waits 8 ms for a {kind} that one thread of Python runs, which computes for at "
        "most 10% of the time that it takes for a batch, and waits for the rest: several threads "
        "can wait at once. Computing, which then no longer follows a long pause, is expected to "
        "take 0.7 ms less."
    )
    beside = (
        "\n# several threads call __getitem__ at the same time: each call opens its own files, and "
        "has\n# a random generator of its own, seeded with epoch and index of the batch"
    )
    if kind == "PyDataset":
        assert advice.action == (
            "model.fit(Batches(..., workers=7), ...)\n"
            f"# an __init__ of its own passes them on, super().__init__(**kwargs){beside}"
        )
    else:
        fit = "model.fit(Batches(workers=7), ..., shuffle=False)  # in place of the dataset, in "
        fit += "its order"
        assert advice.action.endswith(fit + beside)
        compile(advice.action, "action", "exec")
    # Of the six that are new a half, three quarters or all are of use; at worst training waits
    # for the interpreter while one of them computes, for 1 ms.
    assert_predicts(advice, 2 + 1, 10 / 5.5, 10 / 7)
    evidence = advice.evidence
    assert (evidence["present"], evidence["advised"], evidence["in_processes"]) == (1, 7, False)


@pytest.mark.parametrize("cores", [2, 64])
def test_one_thread_at_a_time_computes(cores):
    """Of a batch that takes 10 ms, 3.5 at most: four threads fill the interpreter."""
    advice = of_one_thread("PyDataset", process_cpu_pct=55.0, context={"cpu_count": cores})
    assert advice.evidence["advised"] == 4
    # At worst training waits for it meanwhile; at best the one thread computed less.
    assert_predicts(advice, 2 + 3.5, 3.5, 10 / 4)


def test_a_generator_that_hands_on_names_to_a_slow_map_is_not_blamed():
    """Threads in place of the generator would leave the map as it is."""
    slow_map = [stage("Generator", 0.01), stage("Map", 10.0), stage("Prefetch", 0.0)]
    slow_generator = [stage("Generator", 10.0), stage("Map", 0.01), stage("Prefetch", 0.0)]
    own = {"context": {"input_kind": "tf.data", "cpu_count": 2}, **WAITS}
    assert parallel_input(situation(**own | {"stages": slow_map})) is None
    advice = parallel_input(situation(**own | {"stages": slow_generator}))
    assert advice.title == "Let several threads make batches"


def test_hooks_that_may_go_take_no_thread_away():
    advice = of_one_thread("PyDataset", compute=0.5, callbacks=1.5, process_cpu_pct=15.0)
    assert advice.evidence["advised"] == 8


@pytest.mark.parametrize(
    "changed",
    [
        # Not sampled, or for most of that time.
        {"process_cpu_pct": 0.0},
        {"process_cpu_pct": 75.0},
        # Others leave half of the cores: what computes takes twice its CPU time.
        {"process_cpu_pct": 45.0, "sensors": {"host/cpu_pct": 72.5}},
        # Somebody waited for the interpreter: the quickest computing may have, too.
        {"sensors": {"host/interpreter_wait_ms": 3.0}},
        # CPU time is sampled over all of it, and steps are half of it.
        {"context": between_epochs(rest=8.0)},
        # Workers of torch's are processes.
        {"context": {"input_kind": "DataLoader"}},
    ],
    ids=["unknown", "computes", "beside others", "interpreter", "between epochs", "a loader"],
)
def test_threads_are_not_advised_where_one_may_compute_for_most_of_the_time(changed):
    advice = of_one_thread("PyDataset", **changed)
    assert advice is None or advice.title == "Make batches in several processes"


@pytest.mark.parametrize(("fetch_cpu_ms", "waits"), [(1.0, True), (6.0, False), (None, False)])
def test_on_jax_the_thread_that_trains_is_timed_while_it_fetches(fetch_cpu_ms, waits):
    known = {"versions": {"jax": "0.10"}, "fetch_cpu_ms": fetch_cpu_ms}
    advice = of_one_thread("PyDataset", stages=[], context=known, process_cpu_pct=90.0)
    assert (advice.title == "Let several threads make batches") == waits
    assert ("JAX warns" in advice.action) == (not waits)


def test_a_generator_that_uses_several_cores_is_left_alone():
    context = {"input_kind": "generator"}
    assert in_processes(context=context, process_cpu_pct=110.0) is not None
    assert in_processes(context=context, process_cpu_pct=200.0) is None


@pytest.mark.parametrize(
    ("own_pct", "others_pct", "speaks"),
    [(95.0, 0.0, True), (95.0, 10.0, True), (95.0, 50.0, False), (15.0, 50.0, True)],
)
def test_code_that_computes_is_shared_by_cores_that_others_leave(own_pct, others_pct, speaks):
    """On two cores; code that waits needs none."""
    advice = in_processes(
        context={"input_kind": "generator", "cpu_count": 2},
        process_cpu_pct=own_pct,
        sensors={"host/cpu_pct": own_pct / 2 + others_pct},
    )
    assert (advice.predicted_speedup > WORTH_SAYING) == speaks


@given(st.floats(5.0, 150.0), st.floats(0.0, 100.0))
def test_processes_beside_others_never_have_more_cores_than_are_left(own_pct, others_pct):
    """The step's CPU time, of 10 ms each, over two cores or what others leave of them."""
    total_pct = min(100.0, own_pct / 2 + others_pct)
    advice = in_processes(
        context={"input_kind": "generator", "cpu_count": 2},
        process_cpu_pct=own_pct,
        sensors={"host/cpu_pct": total_pct},
    )
    left = max(LEAST_SHARE, 1 - (total_pct - own_pct / 2) / 100)
    after_ms = (10 * own_pct / 100 + HANDED_OVER_MS) / 2 / left
    assert advice is None or advice.predicted_speedup <= max(1.0, 10 / after_ms * (1 + 1e-9))


IN_THREADS = {"input_workers": 2}
IN_PROCESSES = {"input_workers": 2, "input_processes": True}


def of_workers(context: dict[str, Any], cpu_pct: float | None, **changed: Any) -> Any:
    """Two, which make batches in 20 ms each; a step of 10 ms waits for 8 of them."""
    sampled = {} if cpu_pct is None else {"host/python_threads_cpu_pct": cpu_pct}
    if context.get("input_processes") and cpu_pct is not None:
        sampled = {"host/child_processes_cpu_pct": cpu_pct}
    waits = {"input_wait": 8.0, "compute": 2.0, "sensors": sampled}
    return in_processes(context=context, **(waits | changed))


@pytest.mark.parametrize(
    ("context", "cpu_pct", "makers", "processes", "longest_ms"),
    [
        # One of them at a time has the interpreter.
        (IN_THREADS, 10.0, "2 threads of Python make", "", 20 / (2 + 5.5)),
        # At worst computing waits for all that is handed over, no longer while it waits anyway.
        (
            IN_PROCESSES | {"fetched_mib": 0.0},
            20.0,
            "2 processes make",
            ", use_multiprocessing=True",
            2 + 2 * HANDED_OVER_MS,
        ),
    ],
)
def test_workers_that_wait_are_told_to_be_more(context, cpu_pct, makers, processes, longest_ms):
    advice = of_workers(context, cpu_pct)
    assert advice.title == "Let more workers make batches"
    assert advice.reason == (
        f"Each step waits 8 ms for a PyDataset that {makers}, which compute for 10% of the time in "
        "which they could: they mostly wait, and more of them can wait at once. Computing, which "
        "then no longer follows a long pause, is expected to take 0.7 ms less."
    )
    assert (
        advice.action == f"model.fit(Batches(..., workers=13, max_queue_size=13{processes}), ...)"
    )
    assert (advice.evidence["present"], advice.evidence["advised"]) == (2, 13)
    # Of the eleven that are new a half, three quarters or all are of use. Computing takes 2 ms,
    # less than 1.4 without pauses of 8 ms: training still waits for the workers.
    assert_predicts(advice, longest_ms, 20 / (2 + 8.25), 20 / (2 + 11))


def test_what_was_handed_over_while_training_waited_delays_computing_later():
    """Of steps of 10 ms two waited; that much of what is handed over comes while they compute."""
    waits = {"input_wait": 2.0, "compute": 8.0}
    known = IN_PROCESSES | {"fetched_mib": 1.0}
    found = situation(
        sensors={"host/child_processes_cpu_pct": 20.0},
        context={"input_kind": "PyDataset"} | known,
        **waits,
    )
    sooner = replace(found.model, stages={}, prefetched=True)
    handed_ms = HANDED_OVER_MS + A_MIB_MS

    def longer_ms(optimism: float, model: StepModel = sooner) -> float:
        return handed_beside_computing(found, found.model, model, optimism).rest["compute"] - 8.0

    assert longer_ms(0.0) == pytest.approx(handed_ms * 2 / 10)
    # No more than was waited; at best nothing.
    assert longer_ms(-1.0) == pytest.approx(2.0)
    assert longer_ms(1.0) == 0.0
    # What still waits hands over as before, and a device waits for no interpreter.
    assert longer_ms(-1.0, found.model) == 0.0
    on_a_gpu = replace(found.model, on_gpu=True)
    assert handed_beside_computing(found, on_a_gpu, sooner, -1.0) == sooner


def test_four_threads_that_wait_for_each_other_compute():
    """A quarter of the time each: one of them at a time has the interpreter."""
    advice = of_workers(IN_THREADS | {"input_workers": 4}, 100.0)
    assert advice.title == "Make batches in several processes"


@pytest.mark.parametrize(("workers", "cpu_pct"), [(8, 190.0), (2, 190.0)])
def test_as_many_processes_as_fill_the_cores_compute(workers, cpu_pct):
    context = IN_PROCESSES | {"input_workers": workers, "cpu_count": 2}
    assert of_workers(context, cpu_pct) is None


def test_workers_that_find_no_core_are_not_said_to_wait_for_something_else():
    quiet, crowded = (
        in_processes(
            context=IN_PROCESSES | {"cpu_count": 2},
            input_wait=8.0,
            compute=2.0,
            sensors={"host/child_processes_cpu_pct": 30.0, "host/cpu_pct": pct},
        )
        for pct in (20.0, 90.0)
    )
    assert quiet.title == "Let more workers make batches"
    assert crowded is None


@pytest.mark.parametrize(
    ("context", "told"),
    [
        ({"epoch_steps": 1000}, True),
        # Workers end with an epoch, and what they did since the last reading is not seen.
        ({"epoch_steps": 30}, False),
        # Threads of Grain's are told by an argument of Grain's.
        ({"input_kind": "Grain", "loader": {"kind": "MapDataset", "read_threads": 16}}, False),
    ],
)
def test_of_which_it_is_not_known_or_that_are_none_it_is_not_said(context, told):
    advice = of_workers(IN_THREADS | context, 10.0)
    more = advice is not None and advice.title == "Let more workers make batches"
    assert more == told


def test_threads_that_hold_the_interpreter_do_not_wait_whatever_else_computes():
    sensors = {"host/python_threads_cpu_pct": 95.0, "host/interpreter_wait_ms": 2.0}
    advice = in_processes(
        context={"input_workers": 4},
        input_wait=9.0,
        compute=1.0,
        process_cpu_pct=110.0,
        sensors=sensors,
    )
    assert advice.reason.startswith("The PyDataset holds Python's interpreter for 10 ms of each")


def test_one_process_runs_ahead_too():
    context = {"input_workers": 1, "input_processes": True, "cpu_count": 2}
    sensors = {"host/child_processes_cpu_pct": 95.0}
    advice = in_processes(context=context, input_wait=8.0, compute=2.0, sensors=sensors)
    assert "that one process makes; 2 logical CPUs" in advice.reason
    # A batch takes it the whole step, and two take half of that, on cores that are half busy.
    assert 1.5 < advice.predicted_speedup < 2.0


def test_a_loader_is_told_by_its_own_argument():
    loader = {"input_kind": "DataLoader", "loader": {"kind": "DataLoader", "workers": 2}}
    advice = of_workers(IN_PROCESSES | loader, 20.0)
    assert advice.action == "loader = torch.utils.data.DataLoader(..., num_workers=13)"


def test_as_many_as_are_eight_times_those_that_are_there():
    advice = of_workers(IN_THREADS, 20.0, input_wait=9.9, compute=0.1)
    assert advice.evidence["advised"] == 16


@pytest.mark.parametrize("context", [IN_THREADS, IN_PROCESSES])
@pytest.mark.parametrize("cpu_pct", [None, 120.0])  # more than half of what they could
def test_workers_that_compute_need_a_core_each(context, cpu_pct):
    advice = of_workers(context, cpu_pct)
    assert advice.title == "Make batches in several processes"
    assert advice.evidence["advised"] == 8
    # They run ahead: a batch comes every 10 ms from two; of busy cores a little is lost.
    busy = 1.2 if cpu_pct and context.get("input_processes") else 0.0
    batch_ms, compute_ms = 10 * 2 / 8 / (1 - 0.2 * busy / 8), 2.0
    if context.get("input_processes"):
        # What was handed over while training waited comes while it computes.
        compute_ms += HANDED_OVER_MS * (10 - batch_ms) / 10
    assert advice.predicted_speedup == pytest.approx(10 / max(batch_ms, compute_ms))
    as_many = context | {"input_workers": 8, "input_processes": True}
    assert of_workers(as_many, cpu_pct and 4 * cpu_pct) is None


def test_workers_faster_than_training_leave_the_training():
    known = {"input_wait": 8.0, "compute": 2.0, "process_cpu_pct": 30.0}
    advice = in_processes(**known)
    # At worst all 10 ms need a core, handed over, and computing loses 0.25 of it for five of eight
    # cores, and 0.2 more.
    lost_ms = (0.25 * 5 / 8 + 0.2) * 2 * 8
    assert_predicts(advice, (10 + AT_WORST_MS + lost_ms) / 8, 2.0, 2.0)
    # Four of them make 8 ms of batches in 2, and a fifth keeps ahead.
    assert "workers=5, use_multiprocessing=True" in advice.action
    assert advice.evidence["advised"] == 5


def test_cores_that_are_busy_already_bound_what_processes_buy():
    advice = in_processes(process_cpu_pct=640.0)
    # Of computing on all eight, 4 ms in a step, a part is lost, too.
    costs = AT_WORST_MS + 0.45 * 4, HANDED_OVER_MS + 0.25 * 4, 0.05 * 4
    assert_predicts(advice, *((64 + ms) / 8 for ms in costs))


@pytest.mark.parametrize(
    "changed",
    [
        {"context": {"input_kind": "tf.data"}},
        {"context": {"input_kind": "arrays"}},
        {"context": {"input_kind": None}},
        {"context": {"cpu_count": 1}},
        {"input_wait": 0.0, "compute": 10.0},
    ],
)
def test_without_a_wait_for_one_python_thread_processes_are_not_recommended(changed):
    assert in_processes(**changed) is None
