"""Where a cache belongs in a pipeline as it is written, and what it saves there."""

from __future__ import annotations

from typing import Any

import pytest
from hand_built import FITS_IN_MEMORY, facts_of, situation, stage

from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.rules.all_rules import known_of
from keras_perf.advise.rules.input.caching import cache

MIB = 2.0**20
SLICES = {"kind": "tensor_slice"}
DECODE = {"kind": "map", "function": "decode"}
AUGMENT = {"kind": "map", "function": "augment", "random": True}
BATCH, SHUFFLE = {"kind": "batch"}, {"kind": "shuffle"}


def cached(
    chain: list[dict[str, Any]], stages: list[dict[str, Any]], **context: Any
) -> Recommendation | None:
    known = FITS_IN_MEMORY | {"dataset": {"chains": [chain]}} | context
    return cache(situation(input_wait=8.0, compute=2.0, stages=stages, context=known))


def test_stalls_of_the_pipeline_go_with_its_work():
    stages = [stage("TensorSlice", 0.2), stage("Map", 0.4, bytes_per_batch=MIB)]
    stages.append(stage("Prefetch", 0.0))
    totals = [{"cause": "input-stall", "count": 20, "total_ms": 200.0}]
    known = FITS_IN_MEMORY | {"dataset": {"chains": [[SLICES, DECODE]]}}
    known |= {"prefetch_fill": 0.9, "event_totals": totals}
    found = situation(input_wait=1.0, compute=2.0, stages=stages, context=known)
    assert found.model.rest["get_next"] == pytest.approx(1.0)
    advice = cache(found)
    # Half of the stalls, and computing shares its cores with less.
    left = advice.change(found.model, 0.0).rest["get_next"]
    assert left == pytest.approx(0.51, abs=0.02)
    assert advice.low < advice.predicted_speedup


def test_a_cache_stands_before_what_is_random_and_saves_what_is_before_it():
    advice = cached(
        [SLICES, DECODE, AUGMENT, BATCH],
        [
            stage("TensorSlice", 1.0),
            stage("Map", 5.0, bytes_per_batch=MIB),
            stage("Map", 2.0, bytes_per_batch=2 * MIB),
            stage("Batch", 0.5),
        ],
    )
    assert advice.action.startswith("dataset = dataset.map(decode).cache()")
    assert advice.evidence["saved_ms"] == pytest.approx(6.0)
    assert advice.evidence["size_mib"] == pytest.approx(100.0)


def test_a_parallel_map_stays_parallel_where_its_cache_is_written():
    stages = [stage("TensorSlice", 0.1)]
    stages += [stage("ParallelMap", 12.0, parallelism=2, bytes_per_batch=MIB), stage("Batch", 0.5)]
    advice = cached([SLICES, DECODE | {"parallel": True}, BATCH], stages)
    assert "map(decode, num_parallel_calls=tf.data.AUTOTUNE).cache()" in advice.action


def test_a_generator_is_cached_as_it_is_written():
    generator = {"kind": "flat_map", "function": "flat_map_fn", "python": True}
    stages = [stage("FromTensor", 0.1), stage("Generator", 6.0)]
    stages += [stage("FlatMap", 0.5, bytes_per_batch=MIB)]
    advice = cached([{"kind": "from_tensor"}, generator], stages)
    assert advice.action.startswith("dataset = tf.data.Dataset.from_generator(...).cache()")


def test_a_map_behind_a_shuffle_is_cached_before_it():
    stages = [stage("TensorSlice", 1.0), stage("Shuffle", 1.0)]
    stages += [stage("ParallelMap", 6.0, parallelism=2, bytes_per_batch=MIB), stage("Batch", 0.5)]
    advice = cached([SLICES, SHUFFLE, DECODE, BATCH], stages)
    # The shuffle still works in every pass.
    assert advice.evidence["saved_ms"] == pytest.approx(1.0 + 6.0 / 2)
    assert "before shuffle" in advice.action


@pytest.mark.parametrize(
    "chain",
    [
        [SLICES, AUGMENT, BATCH],
        [SLICES, AUGMENT, DECODE, BATCH],
        [SLICES, SHUFFLE, BATCH, DECODE],
        [SLICES, SHUFFLE, {"kind": "take"}, DECODE],
        [{"kind": "random"}, DECODE, BATCH],
        [SLICES, {"kind": "cache"}, DECODE, BATCH],
        [SLICES, DECODE, {"kind": "take"}, BATCH],  # what is not read to its end stays empty
        [SLICES, DECODE | {"variables": "written"}, BATCH],
    ],
)
def test_what_differs_from_pass_to_pass_is_not_cached(chain):
    maps = sum(each["kind"] == "map" for each in chain)
    stages = [stage("TensorSlice", 1.0)]
    stages += [stage("Map", 4.0, bytes_per_batch=MIB) for _ in range(maps)]
    assert cached(chain, stages) is None


def test_where_tf_data_has_changed_the_number_of_maps_nothing_is_said():
    stages = [stage("TensorSlice", 1.0), stage("Map", 6.0, bytes_per_batch=MIB)]
    assert cached([SLICES, DECODE, DECODE, AUGMENT], stages) is None


REPEATED = [SLICES, {"kind": "repeat", "elements": 160}, DECODE, BATCH]
ENDLESSLY = [
    stage("TensorSlice", 0.1, elements_per_batch=16.0),
    stage("FiniteRepeat", 0.1, elements_per_batch=16.0),
    stage("Map", 6.0, bytes_per_batch=MIB, elements_per_batch=16.0),
    stage("Batch", 0.5),
]


def test_each_repetition_is_a_pass():
    # 600 steps of 16 of 160 examples: 60 passes of ten steps, in one epoch.
    advice = cached(REPEATED, ENDLESSLY, epochs=1, epoch_steps=600)
    assert advice.evidence["epochs"] == pytest.approx(60.0)
    assert advice.evidence["size_mib"] == pytest.approx(10.0)
    assert advice.predicted_speedup > 2


@pytest.mark.parametrize(("last_step", "passes"), [(100, None), (300, 3.0), (1000, 10.0)])
def test_in_a_loop_each_repetition_is_a_pass_of_the_steps_that_it_made(last_step, passes):
    chain = [SLICES, DECODE, BATCH, {"kind": "repeat", "elements": 100}]
    stages = [stage("TensorSlice", 0.2), stage("Map", 6.0, bytes_per_batch=MIB)]
    stages += [stage("Batch", 0.1), stage("ForeverRepeat", 0.0)]
    loop = {"driver": "loop", "epoch_steps": None, "epochs": None, "first_step": 0}
    advice = cached(chain, stages, **loop, last_step=last_step)
    assert (None if advice is None else advice.evidence["epochs"]) == passes


@pytest.mark.parametrize(("pass_steps", "told"), [(0.0, None), (900.0, None), (250.0, 4.0)])
def test_in_a_loop_without_a_repetition_iterators_are_passes(pass_steps, told):
    stages = [stage("TensorSlice", 0.2), stage("Map", 6.0, bytes_per_batch=MIB)]
    loop = {"driver": "loop", "epoch_steps": None, "epochs": None, "first_step": 0}
    advice = cached([SLICES, DECODE], stages, **loop, last_step=1000, loop_pass_steps=pass_steps)
    assert (None if advice is None else advice.evidence["epochs"]) == told


def test_a_take_of_what_repeats_leaves_no_cache_unread():
    chain = [SLICES, DECODE, {"kind": "repeat", "elements": 160}, {"kind": "take"}, BATCH]
    stages = [
        stage("TensorSlice", 0.1, elements_per_batch=16.0),
        stage("Map", 6.0, bytes_per_batch=MIB, elements_per_batch=16.0),
        stage("FiniteRepeat", 0.1, elements_per_batch=16.0),
        stage("FiniteTake", 0.1, elements_per_batch=16.0),
        stage("Batch", 0.5),
    ]
    assert cached(chain, stages, epochs=1, epoch_steps=600) is not None


@pytest.mark.parametrize(("decoded", "passes"), [(1600, 10.0), (8000, 2.0), (None, None)])
def test_where_fit_counts_the_steps_of_an_epoch_the_data_tell_what_a_pass_is(decoded, passes):
    stages = [stage("TensorSlice", 0.1, elements_per_batch=16.0)]
    stages.append(stage("Map", 6.0, bytes_per_batch=MIB, elements_per_batch=16.0))
    chain = [SLICES, DECODE | {"elements": decoded}, BATCH]
    told = {"epochs": 10, "epoch_steps": 100, "ends_by_steps": True}
    advice = cached(chain, [*stages, stage("Batch", 0.5)], **told)
    assert (None if advice is None else advice.evidence["epochs"]) == passes


def test_a_generator_s_stream_that_may_have_no_end_is_not_kept():
    stages = [stage("FlatMap", 6.0, bytes_per_batch=MIB), stage("Batch", 0.5)]
    chain = [{"kind": "tensor"}, {"kind": "flat_map", "function": "flat_map_fn"}, BATCH]
    assert cached(chain, stages, epochs=10, epoch_steps=100) is not None
    assert cached(chain, stages, epochs=10, epoch_steps=100, ends_by_steps=True) is None


def test_an_endless_stream_whose_length_is_not_known_is_not_kept():
    unknown = [SLICES, {"kind": "repeat"}, DECODE, BATCH]
    assert cached(unknown, ENDLESSLY, epochs=5, epoch_steps=100) is None


def test_of_a_variable_in_what_is_kept_it_is_said_that_it_stays():
    stages = [stage("TensorSlice", 1.0), stage("Map", 4.0, bytes_per_batch=MIB)]
    for variables, told in (("read", True), ("", False)):
        advice = cached([SLICES, DECODE | {"variables": variables}, BATCH], stages)
        assert ("A variable in it would stay" in advice.reason) == told


def windows(*tail: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """A dataset of an array, repeated, and one of indices; what comes of both; and what it goes
    through.
    """
    tail = tail or ({"kind": "prefetch", "elements": 160}, {"kind": "batch", "elements": 160})
    repeated = [{"kind": "tensor"}, {"kind": "repeat", "elements": 1}]
    return [[{"kind": "zip"}, *tail], [{"kind": "zip"}, DECODE], repeated, [{"kind": "range"}]]


ZIPPED = [
    stage("FromTensor", 0.1),
    stage("ForeverRepeat", 0.1),
    stage("ParallelMapV2", 6.0, bytes_per_batch=MIB / 4),
    stage("Zip", 0.1),
    stage("BatchV2", 0.5, bytes_per_batch=MIB),
]


def test_several_datasets_that_come_together_alike_in_every_pass_are_kept_as_they_are_given():
    advice = cached([], ZIPPED, dataset={"chains": windows()})
    assert advice.action.startswith("dataset = dataset.cache()  # as fit is given it")
    assert advice.evidence["saved_ms"] == pytest.approx(6.8)
    assert advice.evidence["size_mib"] == pytest.approx(100.0)
    assert advice.predicted_speedup > 2


def zipped(*behind: dict[str, Any], meeting: str = "Zip") -> list[dict[str, Any]]:
    """Images and masks, each decoded, then together; and what they go through."""
    images = [stage("TensorSlice", 0.1, inputs=0)]
    images.append(stage("ParallelMapV2", 6.0, bytes_per_batch=MIB, inputs=1))
    masks = [stage("TensorSlice", 0.1, inputs=0)]
    masks.append(stage("ParallelMapV2", 2.0, bytes_per_batch=MIB / 4, inputs=1))
    both = {"bytes_per_batch": 1.25 * MIB, "inputs": 2}
    return [*images, *masks, *behind[:-2], stage(meeting, 0.1, **both), *behind[-2:]]


LAST = (stage("Shuffle", 0.2, inputs=1), stage("BatchV2", 0.5, inputs=1))
MET = {"chains": [[{"kind": "zip"}, SHUFFLE, BATCH], [SLICES, DECODE], [SLICES, DECODE]]}


@pytest.mark.parametrize("batched", [(), (stage("BatchV2", 0.0, inputs=1),)])
def test_what_is_mapped_before_it_is_zipped_is_kept_behind_the_zip(batched):
    advice = cached([], zipped(*batched, *LAST), dataset=MET)
    assert advice.action.startswith("dataset = tf.data.Dataset.zip(...).cache()  # before shuffle")
    assert advice.evidence["size_mib"] == pytest.approx(125.0)
    assert advice.evidence["saved_ms"] == pytest.approx(8.3)


def test_of_what_is_drawn_from_or_shuffled_before_it_is_zipped_nothing_is_kept():
    assert cached([], zipped(*LAST, meeting="DirectedInterleave"), dataset=MET) is None
    shuffled = stage("Shuffle", 0.2, inputs=1)
    assert cached([], zipped(shuffled, *LAST), dataset=MET) is None
    images, mapped, *others = zipped(*LAST)
    assert cached([], [images, shuffled, mapped, *others], dataset=MET) is None
    other_first = [*others[:2], images, shuffled, mapped, *others[2:]]
    assert cached([], other_first, dataset=MET) is None


def test_of_datasets_that_are_zipped_the_last_need_not_be_mapped():
    images, mapped, labels, _, meeting, *rest = zipped(*LAST)
    advice = cached([], [images, mapped, labels, meeting, *rest], dataset=MET)
    assert advice.action.startswith("dataset = tf.data.Dataset.zip(...).cache()")


BATCHED = {"kind": "batch", "elements": 160}


MADE = {"made_by": "keras.utils.image_dataset_from_directory"}
OWN = {"kind": "map", "source": {"file": "a.py", "line": 3}}


def of_a_directory(*behind: dict[str, Any], **written: Any) -> dict[str, Any]:
    """As image_dataset_from_directory makes it, but for what is `written`; and what is behind."""
    shuffle, read = {"kind": "shuffle", "elements": 160}, {"kind": "map", "elements": 160}
    made = [{"kind": "zip"}, shuffle, read | (written or MADE), BATCHED, *behind]
    return {"chains": [made, [SLICES], [SLICES]]}


READ = [
    stage("TensorSlice", 0.1),
    stage("TensorSlice", 0.1),
    stage("Zip", 0.1),
    stage("Shuffle", 0.2),
    stage("MapAndBatch", 6.0, bytes_per_batch=MIB, parallelism=2),
    stage("Prefetch", 0.5, bytes_per_batch=MIB),
]


@pytest.mark.parametrize(
    "behind",
    [
        [],
        [OWN | {"random": True}],
        [{"kind": "map", "function": "of_text"}, {"kind": "prefetch"}],
    ],
)
def test_what_keras_shuffles_is_kept_as_examples_before_a_shuffle(behind):
    """Whatever the user's own stages do with its batches."""
    running = [*READ, *(stage("Map", 5.0) for each in behind if each["kind"] == "map")]
    advice = cached([], running, dataset=of_a_directory(*behind), examples_per_step=32.0)
    assert advice.action.endswith(
        "dataset = keras.utils.image_dataset_from_directory(..., batch_size=None).cache()\n"
        "dataset = dataset.shuffle(dataset.cardinality()).batch(32).prefetch(tf.data.AUTOTUNE)"
        "  # then what stood behind it"
    )
    assert "Stages up to MapAndBatch (5) take 3.3 ms a batch" in advice.reason
    # A shuffle and a prefetch are left.
    assert advice.evidence["saved_ms"] == pytest.approx(3.3)
    assert advice.evidence["size_mib"] == pytest.approx(100.0)


def test_what_keras_pads_is_padded_behind_the_cache():
    """As audio_dataset_from_directory makes it."""
    [[zipped, shuffle, read, _], *others] = of_a_directory()["chains"]
    padded = [zipped, shuffle, read, {"kind": "prefetch"}, BATCHED | {"kind": "padded_batch"}]
    running = [*READ[:4], stage("ParallelMapV2", 6.0), stage("Prefetch", 0.1)]
    running.append(stage("PaddedBatchV2", 0.5, bytes_per_batch=MIB))
    advice = cached([], running, dataset={"chains": [padded, *others]})
    assert "dataset.shuffle(dataset.cardinality()).padded_batch(" in advice.action
    assert advice.evidence["saved_ms"] == pytest.approx(6.3)


TWO = [[SLICES, {"kind": "map"} | MADE, {"kind": "prefetch"}]] * 2
MASKS = [SLICES, {"kind": "map", "function": "load_mask"}]
LABELS = [SLICES, {"kind": "map", "made_by": "keras.utils"}]


@pytest.mark.parametrize(
    "chains",
    [
        [[{"kind": "zip"}, SHUFFLE, BATCHED, OWN | {"random": True}], *TWO],
        [[{"kind": "zip"}, SHUFFLE, BATCHED, OWN | {"random": True}], TWO[0], MASKS],
        [[{"kind": "concatenate"}, SHUFFLE, BATCHED, OWN | {"random": True}], *TWO],
        [[{"kind": "zip"}, SHUFFLE, {"kind": "map"} | MADE, {"kind": "map"}, BATCHED], [SLICES]],
    ],
)
def test_what_comes_of_several_such_datasets_is_not_shuffled_apart(chains):
    """Images would no longer belong to their masks."""
    advice = cached([], READ, dataset={"chains": chains})
    assert advice is None or "keras.utils" not in advice.action


def test_labels_that_keras_makes_belong_to_its_examples():
    [made, *_] = of_a_directory(OWN | {"random": True})["chains"]
    advice = cached([], READ, dataset={"chains": [made, [SLICES], LABELS]})
    assert "keras.utils.image_dataset_from_directory(..., batch_size=None)" in advice.action


def test_without_labels_keras_s_map_is_no_one_s_to_put_a_cache_behind():
    [[_, *made], *_] = of_a_directory()["chains"]
    advice = cached([SLICES, *made], [READ[0], *READ[3:]])
    assert "keras.utils.image_dataset_from_directory(..., batch_size=None).cache()" in advice.action


@pytest.mark.parametrize("kind", ["take", "skip", "shard", "repeat"])
@pytest.mark.parametrize("own", [[], [OWN | {"random": True}]])
def test_of_what_keras_made_a_part_or_what_repeats_is_not_kept(kind, own):
    behind = [{"kind": kind, "elements": 5}, *own]
    assert cached([], READ, dataset=of_a_directory(*behind)) is None


def test_a_take_before_one_s_own_batches_is_not_kept_either():
    [[zipped, shuffle, read, batched], *others] = of_a_directory()["chains"]
    part = [zipped, shuffle, read, {"kind": "take", "elements": 9}, batched]
    assert cached([], READ, dataset={"chains": [part, *others]}) is None


def test_steps_that_fit_counts_do_not_tell_how_often_what_keras_made_is_read():
    assert cached([], READ, dataset=of_a_directory(), ends_by_steps=True) is None


def test_several_datasets_of_which_none_is_prepared_are_not_kept():
    of_arrays = {"chains": [[{"kind": "zip"}, BATCHED], [SLICES], [SLICES]]}
    stages = [
        stage("TensorSlice", 0.1),
        stage("Zip", 0.1),
        stage("BatchV2", 6.0, bytes_per_batch=MIB),
    ]
    assert cached([], stages, dataset=of_arrays) is None


def test_a_map_of_the_users_behind_batches_that_a_library_shuffles_is_not_kept():
    """The same batches would come in the same order in every pass."""
    zipped, *others = of_a_directory(elements=160)["chains"]
    chains = [[*zipped, {"kind": "map", "function": "of_text"}], *others]
    read = [*READ[:4], stage("MapAndBatch", 1.0, parallelism=2), stage("Map", 5.0)]
    assert cached([], read, dataset={"chains": chains}) is None


def test_a_prefetch_between_a_shuffle_and_a_map_mixes_nothing():
    chains = of_a_directory(function="read")
    ahead = [*READ[:4], stage("Prefetch", 0.1), *READ[4:]]
    assert cached([], ahead, dataset=chains).action.startswith("dataset = dataset.map(your_fun")


@pytest.mark.parametrize("written", [{"function": "read"}, {"source": {"file": "a.py", "line": 3}}])
def test_what_the_user_shuffles_is_kept_behind_the_map(written):
    advice = cached([], READ, dataset=of_a_directory(**written))
    assert advice.action.startswith("dataset = dataset.map(your_function).cache()")


@pytest.mark.parametrize(
    "tail",
    [
        [SHUFFLE, BATCHED],
        [AUGMENT | {"elements": 160}, BATCHED],
        [{"kind": "repeat", "elements": 160}, {"kind": "batch"}],
        # Nothing tells that it ends.
        [{"kind": "batch"}],
    ],
)
def test_several_datasets_that_differ_from_pass_to_pass_or_never_end_are_not_kept(tail):
    assert cached([], ZIPPED, dataset={"chains": windows(*tail)}) is None


def test_no_more_is_gained_than_the_work_and_the_wait_that_go():
    stages = [stage("Map", 3.0, bytes_per_batch=MIB), stage("Prefetch", 0.0)]
    run = situation(
        input_wait=1.7,
        compute=71.2,
        stages=stages,
        process_cpu_pct=150.0,
        context=FITS_IN_MEMORY
        | {"dataset": {"chains": [[SLICES, DECODE]]}, "undisturbed_ms": 58.0, "cpu_count": 2},
    )
    advice = cache(run)
    assert 1.0 <= advice.predicted_speedup <= 72.9 / (72.9 - 3.0 - 1.7)
    assert advice.high <= 72.9 / (72.9 - 3.0 - 1.7)


@pytest.mark.parametrize(("work_ms", "kept"), [(0.5, False), (8.0, False), (9.0, True)])
def test_work_of_a_small_share_of_a_step_is_not_kept(work_ms, kept):
    # 20 of 282 ms are waited for, whatever that is for.
    stages = [stage("Map", work_ms, bytes_per_batch=MIB)]
    context = FITS_IN_MEMORY | {"dataset": {"chains": [[SLICES, DECODE]]}}
    run = situation(input_wait=20.0, compute=262.0, stages=stages, context=context)
    assert (cache(run) is not None) is kept


@pytest.mark.parametrize(("kind", "followed"), [("cache", True), ("map", False)])
def test_a_cache_that_is_written_is_followed_though_tf_data_does_not_show_it(kind, followed):
    advice = cached([SLICES, DECODE], [stage("Map", 5.0, bytes_per_batch=MIB)])
    later = {"dataset": {"chains": [[SLICES, {"kind": kind}, SHUFFLE]]}}
    assert known_of(advice.id).followed(facts_of(later), advice) is followed


def behind(*stages: dict[str, Any], **context: Any) -> Recommendation | None:
    """Of a pipeline that caches what it reads, and maps it in each pass."""
    running = [stage("MemoryCache", 0.2), stage("Map", 5.0, bytes_per_batch=MIB)]
    running += [stage("Shuffle", 0.1), stage("Batch", 0.5)]
    return cached([SLICES, DECODE, {"kind": "cache"}, *stages], running, **context)


SOURCE = {"file": "train.py", "line": 3, "name": "resize"}
RESIZE = {"kind": "map", "function": "resize", "source": SOURCE}


def test_what_a_map_makes_of_what_a_cache_keeps_is_kept_in_its_place():
    advice = behind(RESIZE, SHUFFLE, BATCH)
    assert advice.action.startswith("dataset = dataset.map(resize).cache()")
    assert advice.action.endswith(", in place of a cache() of yours in front of it")
    assert advice.evidence["saved_ms"] == pytest.approx(5.0)
    assert advice.reason.startswith("Stages behind the cache() up to Map")
    # That a cache is there does not show that it was followed.
    assert (
        known_of("cache").followed(facts_of({"stages": [stage("MemoryCache", 1.0)]}), advice)
        is None
    )


@pytest.mark.parametrize(
    "stages",
    [
        (RESIZE | {"random": True}, SHUFFLE, BATCH),
        (SHUFFLE, BATCH),
        (RESIZE, {"kind": "repeat"}, BATCH),
        (RESIZE, {"kind": "take"}, BATCH),
        (RESIZE | {"source": None}, BATCH),
    ],
    ids=["random", "nothing", "repeated", "a part", "a library's"],
)
def test_behind_a_cache_is_kept_only_what_is_the_same_in_every_pass(stages):
    assert behind(*stages) is None


def test_a_cache_on_files_stays_where_it_is():
    """Behind the map it would read what the files have."""
    stages = [stage("FileCache", 0.2), stage("Map", 5.0, bytes_per_batch=MIB), stage("Batch", 0.5)]
    assert cached([SLICES, DECODE, {"kind": "cache"}, RESIZE, BATCH], stages) is None
