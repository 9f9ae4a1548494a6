"""A pipeline that is written as a graph, changed and read back gives the same elements."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from one_change import operations, some_changed

from keras_perf.records.text.error_line import error_line
from keras_perf.trials.rewriting import own_copy as own_copies
from keras_perf.trials.rewriting.allowed import Allowed
from keras_perf.trials.rewriting.changes import NotDone, pools, possible_changes
from keras_perf.trials.rewriting.own_copy import own_copy, require_graph
from keras_perf.trials.rewriting.pipeline_graph import CannotRewriteError, PipelineGraph
from keras_perf.trials.rewriting.same_elements import checksums, mean_bytes, start_alike

ALL = 10_000, 60.0


def numbers(count=24):
    return tf.data.Dataset.range(count)


def doubled(x):
    return 2 * x


def noisy(x):
    return x + tf.random.uniform([], 0, 9, tf.int64)


def python(x):
    return tf.ensure_shape(tf.numpy_function(lambda v: v + 1, [x], tf.int64), x.shape)


def changes_of(dataset, **allowed):
    graph = PipelineGraph.of(dataset)
    found, left = possible_changes(graph, Allowed(**allowed))
    return graph, {change.id: change for change in found}, left


# -- order -----------------------------------------------------------------------------


@pytest.mark.parametrize("each_pass", [True, False])
def test_a_shuffle_keeps_its_order_from_pass_to_pass_if_it_did(each_pass):
    def made():
        data = numbers().shuffle(24, seed=3, reshuffle_each_iteration=each_pass)
        return data.map(doubled).repeat(3).batch(4)

    expected = checksums(made(), *ALL)
    for what, dataset in some_changed(made()):
        assert checksums(dataset, *ALL) == expected, what


def test_a_py_function_is_written_and_read_back():
    def eager(x):
        return tf.ensure_shape(tf.py_function(lambda v: v + 1, [x], tf.int64), x.shape)

    data = numbers().map(eager).batch(4)
    for what, dataset in some_changed(data):
        assert checksums(dataset, *ALL) == checksums(data, *ALL), what


# -- what is possible --------------------------------------------------------------------


def test_a_map_that_draws_random_numbers_is_left_as_it_is():
    _, found, left = changes_of(numbers().map(noisy).batch(4))
    assert "parallel-map" not in found
    assert "cache" not in found
    assert ("parallel-map", "map(noisy)") in {(each.id, each.where) for each in left}


def test_if_other_random_numbers_are_allowed_a_map_that_draws_them_runs_in_parallel():
    def drawn(x):
        return x, tf.random.uniform([], 0, 2**62, tf.int64)

    data = numbers().map(drawn).batch(4)
    _, found, left = changes_of(data)
    (why,) = (str(each.why) for each in left if each.id == "parallel-map")
    assert "parallel-map" not in found
    assert "allow it by any_random_numbers=True" in why
    graph, found, _ = changes_of(data, random_numbers=True)
    assert "other random numbers" in found["parallel-map"].costs
    assert not {"cache", "batch-before-map"} & found.keys()
    made = found["parallel-map"].made(graph)
    assert "ParallelMapDataset" in operations(made)
    passes = [list(made.dataset().unbatch().as_numpy_iterator()) for _ in range(2)]
    assert [x for x, _ in passes[0]] == list(range(24))
    # No two calls get the same numbers.
    assert [len({draw for _, draw in each}) for each in passes] == [24, 24]


GENERATOR = tf.random.Generator.from_seed(1)


def mirrored(seed):
    """An image and its mask, as augmentation mirrors both or none."""

    def both(x):
        image = tf.ones([2, 2, 1]) * tf.cast(x, tf.float32)
        flip = tf.image.random_flip_left_right
        return flip(image, seed=seed), flip(image, seed=seed)

    return both


@pytest.mark.parametrize(("seed", "apart"), [(7, False), (None, True)])
def test_draws_of_one_seed_that_belong_together_are_not_parted(seed, apart):
    data = numbers().map(mirrored(seed)).batch(4)
    _, found, left = changes_of(data, random_numbers=True)
    assert ("parallel-map" in found) == apart
    assert any("its mask" in str(each.why) for each in left) == (not apart)


def test_draws_of_one_seed_in_two_datasets_are_not_parted_either():
    def drawn(x):
        return x + tf.random.uniform([], 0, 9, tf.int64, seed=3)

    first, second = numbers().map(drawn), numbers().map(drawn)
    _, found, left = changes_of(tf.data.Dataset.zip(first, second).batch(4), random_numbers=True)
    assert "parallel-map" not in found
    assert [each.id for each in left].count("parallel-map") == 2


STATES = {
    "a generator's state": lambda x: x + GENERATOR.uniform([], 0, 9, tf.int64),
    "the time": lambda x: tf.cast(x, tf.float64) + tf.timestamp(),
}


@pytest.mark.parametrize("kind", STATES)
def test_whatever_random_numbers_are_allowed_no_other_state_is_shared_by_several_calls(kind):
    def made(**allowed):
        found, left = changes_of(numbers().map(noisy).map(STATES[kind]).batch(4), **allowed)[1:]
        return "parallel-map" in found, [each.where for each in left if each.id == "parallel-map"]

    _, without = made()
    _, allowed = made(random_numbers=True)
    assert set(without) - set(allowed) == {"map(noisy)"}


CHANGING = {
    "a truncated normal": lambda _: tf.random.truncated_normal([], seed=1),
    "a box of an image": lambda _: tf.image.sample_distorted_bounding_box(
        [9, 9, 3], tf.zeros([1, 0, 4]), use_image_if_no_bounding_boxes=True, seed=2
    )[0],
    "the time": lambda _: tf.timestamp(),
    "one of a dataset of random numbers": lambda _: next(iter(tf.data.Dataset.random(seed=1))),
}


@pytest.mark.parametrize("kind", CHANGING)
def test_whatever_is_another_from_call_to_call_is_neither_kept_nor_run_in_parallel(kind):
    _, found, left = changes_of(numbers().map(CHANGING[kind]).batch(4))
    assert not {"cache", "parallel-map", "batch-before-map"} & found.keys()
    assert "parallel-map" in {each.id for each in left}


def test_what_has_a_state_but_the_same_result_in_each_call_is_changed():
    def checked(x):
        tf.debugging.assert_non_negative(x)
        tf.debugging.check_numerics(tf.cast(x, tf.float32), "")
        found = tf.TensorArray(tf.int64, 2)
        return found.write(0, x).write(1, tf.cond(x > 3, lambda: x, lambda: -x)).stack()

    _, found, _ = changes_of(numbers().map(checked).batch(4))
    assert {"cache", "parallel-map"} <= found.keys()


@pytest.mark.parametrize("stage", ["map", "interleave"])
def test_a_stage_keeps_its_order_though_options_would_let_elements_overtake(stage):
    def made():
        if stage == "map":
            data = numbers().map(doubled)
        else:
            data = numbers(6).interleave(tf.data.Dataset.range, cycle_length=2)
        options = tf.data.Options()
        options.deterministic = False
        return data.with_options(options).batch(4)

    expected = checksums(made(), *ALL)
    graph, found, _ = changes_of(made())
    change = found["parallel-map" if stage == "map" else "interleave"]
    assert "deterministic=True" in change.code
    assert "deterministic=True" not in changes_of(made(), order=True)[1][change.id].code
    assert checksums(change.made(graph).dataset(), *ALL) == expected


def test_where_errors_are_left_out_no_map_moves_before_a_shuffle():
    def fails(x):
        return tf.debugging.check_numerics(1 / tf.cast(x % 4, tf.float32), "")

    _, found, left = changes_of(numbers().shuffle(6, seed=1).map(fails).ignore_errors().batch(4))
    assert "cache" not in found
    assert "another" in next(each.why for each in left if each.id == "cache")


def test_a_cache_stands_before_what_is_random():
    _, found, _ = changes_of(numbers().map(doubled).map(noisy).batch(4))
    assert found["cache"].where == "map(doubled)"
    assert found["cache"].code == "map(doubled).cache()"


def test_batches_are_kept_rather_than_their_elements():
    """To put 2,048 small elements together takes longer than to make them."""
    data = numbers().map(doubled).batch(4).map(noisy)
    graph, found, _ = changes_of(data)
    assert found["cache"].code == "map(doubled).batch(…).cache()"
    stages = operations(found["cache"].made(graph))
    assert stages.index("CacheDataset") == 1 + stages.index("BatchDataset")


def test_padded_batches_take_more_room_and_their_elements_are_kept():
    data = numbers().map(lambda x: tf.range(x)).padded_batch(4)
    _, found, _ = changes_of(data)
    assert found["cache"].where == "map()"


@pytest.mark.parametrize("first", ["cache", "batch-before-map"])
def test_whichever_comes_first_of_both_whole_batches_are_mapped_and_kept(first):
    data = numbers().map(doubled).batch(4)
    graph, found, _ = changes_of(data)
    [second] = {"cache", "batch-before-map"} - {first}
    both = found[second].made(found[first].made(graph))
    assert operations(both)[-3:] == ["BatchDataset", "MapDataset", "CacheDataset"]
    for _ in range(2):
        assert checksums(both.dataset(), *ALL) == checksums(data, *ALL)


def test_behind_shuffled_batches_nothing_is_cached():
    assert "cache" not in changes_of(numbers().shuffle(4).batch(4).map(doubled))[1]


def windows(**how):
    """As keras.utils.timeseries_dataset_from_array makes them, of an array that is repeated."""
    series = np.arange(40, dtype="float32")
    return keras.utils.timeseries_dataset_from_array(
        series[:-4], series[4:], sequence_length=4, batch_size=8, **how
    )


TOGETHER = {
    "a pair": lambda: tf.data.Dataset.zip(numbers().map(doubled), numbers()).batch(4).prefetch(2),
    "windows of an array": windows,
}


@pytest.mark.parametrize("made", TOGETHER.values(), ids=TOGETHER)
def test_several_datasets_are_kept_behind_all_of_them(made):
    graph, found, _ = changes_of(made())
    assert (found["cache"].where, found["cache"].code) == ("whole pipeline", "cache()")
    kept = found["cache"].made(graph)
    stages = [each for each in operations(kept) if not each.startswith("Prefetch")]
    assert stages[-2:] == ["BatchDataset", "CacheDataset"]
    expected = checksums(made(), *ALL)
    again = kept.dataset()
    assert [checksums(again, *ALL) for _ in range(2)] == [expected] * 2


@pytest.mark.parametrize(
    "made",
    [
        lambda: tf.data.Dataset.zip(numbers().map(noisy), numbers()).batch(4),
        lambda: tf.data.Dataset.zip(numbers().map(doubled), numbers().shuffle(4)).batch(4),
        lambda: tf.data.Dataset.zip(numbers().map(doubled), numbers()).repeat(2).batch(4),
        lambda: tf.data.Dataset.zip(numbers().map(doubled).repeat(), numbers().repeat()).batch(4),
        lambda: windows(shuffle=True, seed=1),
        # Nothing is prepared.
        lambda: tf.data.Dataset.zip(numbers(), numbers()).batch(4),
    ],
)
def test_several_datasets_that_differ_never_end_or_do_no_work_are_not_kept(made):
    _, found, left = changes_of(made())
    assert "cache" not in found
    assert any(each.id == "cache" for each in left)


def test_order_is_given_up_only_if_that_is_allowed():
    data = numbers().map(doubled).batch(4)
    _, found, left = changes_of(data)
    assert "nondeterministic-order" not in found
    assert NotDone in {type(each) for each in left if each.id == "nondeterministic-order"}
    assert "nondeterministic-order" in changes_of(data, order=True)[1]


@pytest.mark.parametrize(
    ("data", "stage"),
    [
        (numbers().map(doubled).take(4), "take"),
        (numbers().map(doubled).skip(4), "skip"),
        (tf.data.Dataset.zip(numbers().map(doubled), numbers()), "zip"),
    ],
)
def test_order_is_kept_where_the_place_of_an_element_counts(data, stage):
    """Whatever is allowed: images would get other images' labels."""
    _, found, left = changes_of(data, order=True)
    assert "nondeterministic-order" not in found
    [kept] = [each for each in left if each.id == "nondeterministic-order"]
    assert str(kept.why).startswith(f"{stage} works with the places of elements")


def test_what_is_paired_or_taken_before_a_map_may_be_overtaken():
    data = tf.data.Dataset.zip(numbers().take(9), numbers()).map(lambda a, b: doubled(a) + b)
    assert "nondeterministic-order" in changes_of(data, order=True)[1]


@pytest.mark.parametrize(("cores", "threads"), [(2, 16), (64, 128)])
def test_a_pool_is_made_wider_and_never_narrower(cores, threads, monkeypatch):
    monkeypatch.setattr(pools, "usable_cores", lambda: cores)
    data = numbers().map(doubled)
    for own in (None, threads - 1):
        change = changes_of(pooled(data, own).batch(4))[1]["private-threadpool"]
        assert change.code.endswith(f" = {threads}")
        change.options(options := tf.data.Options())
        assert options.threading.private_threadpool_size == threads
    for own in (threads, 1000):
        assert "private-threadpool" not in changes_of(pooled(data, own).batch(4))[1]


@pytest.mark.parametrize(
    ("cores", "own", "sets"), [(1, None, True), (1, 8, False), (2, None, False)]
)
def test_on_one_core_calls_in_parallel_are_given_a_pool(cores, own, sets, monkeypatch):
    monkeypatch.setattr(pools, "usable_cores", lambda: cores)
    change = changes_of(pooled(numbers().map(doubled), own).batch(4))[1]["parallel-map"]
    assert (change.options is not None) is sets
    assert change.code.endswith("  # with options.threading.private_threadpool_size = 16") is sets


def test_a_pool_that_came_with_a_map_in_parallel_is_not_tried_again(monkeypatch):
    monkeypatch.setattr(pools, "usable_cores", lambda: 1)
    found = changes_of(numbers().map(doubled).batch(4))[1]
    kept = [found["parallel-map"].options]
    assert found["private-threadpool"].is_set_by(kept)
    assert not found["private-threadpool"].is_set_by([])
    assert not found["parallel-map"].is_set_by(kept)


def pooled(data, threads):
    options = tf.data.Options()
    if threads is not None:
        options.threading.private_threadpool_size = threads
    return data.with_options(options)


def test_where_all_is_there_nothing_is_possible():
    _, found, left = changes_of(numbers().batch(4).prefetch(2))
    assert (found, left) == ({}, [])


def test_a_cache_keeps_what_it_has_seen():
    calls = []

    def counted(x):
        return tf.ensure_shape(
            tf.numpy_function(lambda v: (calls.append(1), v)[1], [x], tf.int64), []
        )

    graph, found, _ = changes_of(numbers(6).map(counted).batch(2))
    dataset = found["cache"].made(graph).dataset()
    for _ in range(3):
        list(dataset)
    assert len(calls) == 6


def test_what_cannot_be_written_is_refused_in_a_line(monkeypatch):
    def refuses(**_):
        raise tf.errors.UnimplementedError(None, None, "no such stage\nmore")

    monkeypatch.setattr(tf.raw_ops, "DatasetToGraphV2", refuses)
    with pytest.raises(CannotRewriteError) as error:
        PipelineGraph.of(numbers())
    assert "\n" not in str(error.value)


def test_an_order_that_is_another_each_time_hides_no_difference():
    """A shuffle without a seed: both are compared with the same one."""
    graph, found, _ = changes_of(numbers().shuffle(24).map(doubled).batch(4))
    change = found["parallel-map"]
    assert start_alike(*change.compared(graph, change.made(graph)), *ALL)
    other, _, _ = changes_of(numbers().shuffle(24).map(lambda x: 2 * x + x // 20).batch(4))
    assert not start_alike(*change.compared(graph, change.made(other)), *ALL)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_shuffle_that_repeats_has_one_order_where_elements_are_compared():
    both = tf.data.experimental.shuffle_and_repeat(24, 2)
    graph, found, _ = changes_of(numbers().apply(both).map(doubled).batch(4))
    change = found["parallel-map"]
    assert start_alike(*change.compared(graph, change.made(graph)), *ALL)


def test_a_shuffle_that_is_read_twice_has_one_order_after_the_other_as_before():
    def made():
        data = numbers().shuffle(24, seed=3)
        return tf.data.Dataset.zip(data, data.map(doubled)).batch(4)

    expected = checksums(made(), *ALL)
    for what, dataset in some_changed(made()):
        assert checksums(dataset, *ALL) == expected, what


def test_a_shuffle_that_is_read_twice_and_repeated_is_left_alone():
    """Which reader comes first to its second pass depends on their threads."""
    data = numbers().shuffle(24, seed=3).repeat(2)
    with pytest.raises(CannotRewriteError, match="read twice and repeated"):
        PipelineGraph.of(tf.data.Dataset.zip(data, data.map(doubled)))
    one_order = numbers().shuffle(24, seed=3, reshuffle_each_iteration=False).repeat(2)
    PipelineGraph.of(tf.data.Dataset.zip(one_order, one_order.map(doubled)))


def test_random_numbers_that_are_read_twice_are_left_alone():
    data = numbers().map(noisy)
    with pytest.raises(CannotRewriteError, match="read twice"):
        PipelineGraph.of(tf.data.Dataset.zip(data, data.map(doubled)))


@pytest.mark.parametrize("data", [numbers().shuffle(24).repeat(2), numbers().map(noisy)])
def test_why_a_dataset_cannot_be_copied_is_told_to_the_end(data):
    with pytest.raises(ValueError, match="Nothing was changed") as error:
        require_graph(tf.data.Dataset.zip(data, data.map(doubled)))
    assert error_line(error.value) == f"ValueError: {error.value}"


# -- states -----------------------------------------------------------------------------


def pictures():
    return tf.data.Dataset.from_tensor_slices((np.zeros((8, 4, 4, 3), "float32"), np.arange(8)))


def keras_layer():
    flip = keras.layers.RandomFlip(seed=1)
    return lambda: pictures().map(lambda x, y: (flip(tf.cast(x, tf.float32)), y)).batch(4)


def generator():
    drawn = tf.random.Generator.from_seed(1)
    return lambda: numbers().map(lambda x: drawn.uniform([])).batch(4)


@pytest.mark.parametrize("kind", [keras_layer, generator])
def test_random_layers_and_generators_are_neither_kept_nor_run_in_parallel(kind):
    graph = PipelineGraph.of(kind()())
    found, left = possible_changes(graph)
    assert not {"cache", "parallel-map", "batch-before-map"} & {each.id for each in found}
    assert {"parallel-map", "batch-before-map"} <= {each.id for each in left}


def drawn_in_a_branch():
    drawn = tf.random.Generator.from_seed(1)

    def some(x):
        return tf.cond(x > 3, lambda: drawn.uniform([]), lambda: 0.0)

    return lambda: numbers(4).flat_map(lambda x: numbers(6).map(some)).batch(4)


@pytest.mark.parametrize("kind", [keras_layer, generator, drawn_in_a_branch])
def test_a_copy_draws_what_the_dataset_would_and_uses_nothing_up(kind):
    made = kind()
    graph = require_graph(made())
    drawn = [list(graph.dataset()), list(graph.dataset()), list(made())]
    for copy in drawn[:2]:
        for element, other in zip(copy, drawn[2], strict=True):
            for x, y in zip(tf.nest.flatten(element), tf.nest.flatten(other), strict=True):
                np.testing.assert_array_equal(x, y)


def test_what_a_copy_would_not_share_is_refused():
    # Another test may have set it: then all seeds are known.
    tf.random.set_seed(None)
    strength, seen = tf.Variable(1.0), tf.lookup.experimental.MutableHashTable("int64", "int64", 0)
    both, taken = tf.random.Generator.from_seed(1), iter(numbers())
    draws = numbers().map(lambda x: both.uniform([]))
    size, flip = tf.Variable([2, 2]), keras.layers.RandomFlip(seed=1)
    large = pictures().map(lambda x, _: flip(x)).map(lambda x: tf.image.resize(x, size))
    for dataset, why in (
        (numbers().map(lambda x: tf.cast(x, "float32") * strength), "a variable in a map"),
        (large, "a variable in a map"),
        (pictures().map(lambda x, _: tf.image.resize(flip(x), size)), "a variable in a map"),
        (numbers().map(seen.lookup), "a table that can change"),
        (numbers().map(lambda x: x + taken.get_next()), "an iterator or a queue"),
        (draws.map(lambda x: x + both.uniform([])), "one random generator in two maps"),
        (numbers().cache("/nowhere/kept"), "a cache in a file"),
        (numbers().snapshot("/nowhere/kept"), "a snapshot in files"),
        (fixed_order().skip(9), "a part of a shuffle that keeps one order"),
        (fixed_order().map(doubled).shard(2, 0), "a part of a shuffle that keeps one order"),
    ):
        with pytest.raises(ValueError, match=why):
            require_graph(dataset)
    require_graph(fixed_order(seed=1).skip(9))
    require_graph(fixed_order().map(doubled))


@pytest.mark.parametrize(("free_mib", "room"), [(96.1, True), (95.9, False)])
def test_arrays_of_which_there_is_no_room_for_copies_are_refused(free_mib, room, monkeypatch):
    monkeypatch.setattr(own_copies, "memory_available_mib", lambda: free_mib)
    monkeypatch.setattr(own_copies, "LITTLE_MIB", 1.0)
    data = tf.data.Dataset.from_tensor_slices(np.zeros((2**20 - 500,), "float32"))
    if room:
        require_graph(data)
    else:
        with pytest.raises(ValueError, match="hold 4 MiB in memory: trials make up to 12 copies"):
            require_graph(data)


def fixed_order(seed=None):
    return numbers().shuffle(100, seed=seed, reshuffle_each_iteration=False)


@pytest.mark.parametrize("kept", ["cache", "snapshot"])
def test_a_copy_to_iterate_writes_no_files_of_the_user_s(kept, tmp_path):
    data = getattr(numbers(), kept)(str(tmp_path / "kept"))
    with pytest.raises(ValueError, match="which trials would write"):
        own_copy(data)
    assert list(tmp_path.iterdir()) == []


LEFT = {
    "a part of a repeated shuffle": lambda: numbers(9).shuffle(9, seed=2).repeat().take(20),
    "a part of a finite repeat": lambda: numbers(9).shuffle(9, seed=2).repeat(3).batch(2).take(8),
    "an endless shuffle beside an end": lambda: tf.data.Dataset.zip(
        numbers(9).shuffle(9, seed=2).repeat(), numbers()
    ),
    "a part of a generator's draws": lambda: generator()().take(2),
    "what a repeated shuffle has before a number": lambda: (
        numbers(9).shuffle(9, seed=2).repeat(3).map(doubled).take_while(lambda x: x < 9)
    ),
    "a repeated shuffle beside what is shorter": lambda: tf.data.Dataset.zip(
        numbers(9).shuffle(9, seed=2).repeat(3).map(doubled), numbers(6)
    ),
    "a generator's draws beside what is shorter": lambda: tf.data.Dataset.zip(
        numbers(6), generator()().map(lambda x: 2 * x), numbers(5)
    ),
    "a repeated shuffle until another one ends": lambda: tf.data.Dataset.sample_from_datasets(
        [numbers(9).shuffle(9, seed=2).repeat(3), numbers(6)], seed=3, stop_on_empty_dataset=True
    ),
    "a generator's draws chosen until another one ends": lambda: (
        tf.data.Dataset.choose_from_datasets(
            [generator()(), numbers(2).map(lambda x: tf.cast(x, tf.float32))],
            tf.data.Dataset.range(2).repeat(9),
        )
    ),
    "endless draws beside an end": lambda: tf.data.Dataset.zip(generator()().repeat(), numbers()),
    "a part of what takes of a shuffle in each call": lambda: first_of(
        numbers(9).shuffle(9, seed=2)
    ).take(5),
}


def first_of(held):
    return numbers().map(lambda x: x + next(iter(held)))


@pytest.mark.parametrize("kind", LEFT)
def test_where_the_next_pass_depends_on_reading_ahead_nothing_is_changed(kind):
    with pytest.raises(ValueError, match="how far this one reads ahead"):
        require_graph(LEFT[kind]())


def test_all_of_a_repeated_shuffle_and_parts_of_one_order_can_be_changed():
    for dataset in (
        numbers(9).shuffle(9, seed=2).repeat().batch(4),
        numbers(9).take(5).shuffle(9, seed=2).repeat(2).batch(4),
        numbers(9).shuffle(9, seed=2, reshuffle_each_iteration=False).repeat().take(20),
        tf.data.Dataset.zip(numbers(9).shuffle(9, seed=2).repeat(2), numbers(18)),
        tf.data.Dataset.zip(generator()(), numbers(6)),
        tf.data.Dataset.zip(generator()(), numbers(7), numbers(20).take(6)),
        generator()().enumerate(),
        numbers(9).shuffle(9, seed=2).take_while(lambda x: x < 5).repeat(2),
    ):
        require_graph(dataset)


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_map_that_makes_its_iterator_in_each_call_takes_from_nobody(shuffled):
    def made():
        held = numbers(9).shuffle(9, seed=2) if shuffled else numbers(5)
        return first_of(held).map(doubled).batch(4)

    require_graph(made())
    expected = checksums(made(), *ALL)
    for what, dataset in some_changed(made()):
        assert checksums(dataset, *ALL) == expected, what


# -- comparing ---------------------------------------------------------------------------


def test_elements_and_their_order_are_compared():
    assert start_alike(numbers(), numbers(), *ALL)
    assert not start_alike(numbers(), numbers().map(doubled), *ALL)
    assert not start_alike(numbers(), numbers().shuffle(9, seed=1), *ALL)
    assert not start_alike(numbers(), numbers(5), *ALL)
    assert not start_alike(numbers(0), numbers(0), *ALL)


def test_types_and_shapes_are_compared_too():
    assert not start_alike(numbers(), numbers().map(lambda x: tf.cast(x, tf.int32)), *ALL)
    assert not start_alike(numbers().batch(2), numbers().batch(2).map(lambda x: x[None]), *ALL)


def test_strings_are_compared_and_measured_one_by_one_too():
    words = tf.data.Dataset.from_tensor_slices(["a" * 100, "b" * 300])
    other = tf.data.Dataset.from_tensor_slices(["a" * 100, "c" * 300])
    assert start_alike(words, words, *ALL)
    assert not start_alike(words, other, *ALL)
    assert mean_bytes(words, *ALL) == 200
    assert mean_bytes(words.batch(2), *ALL) == 400


def ragged(x):
    return tf.RaggedTensor.from_row_lengths(tf.range(6, dtype=tf.int64) + x, [1, 2, 3])


def sparse(x):
    return tf.sparse.from_dense([x, 0 * x])


@pytest.mark.parametrize("part", [ragged, sparse])
def test_ragged_and_sparse_parts_are_compared_at_the_end(part):
    graph, found, _ = changes_of(numbers().map(part).batch(4))
    other, _, _ = changes_of(numbers().map(lambda x: part(2 * x)).batch(4))
    change = found["parallel-map"]
    assert start_alike(*change.compared(graph, change.made(graph)), *ALL)
    assert not start_alike(*change.compared(graph, change.made(other)), *ALL)


def test_what_cannot_be_looked_at_is_not_called_the_same():
    nested = numbers().window(2)
    assert not start_alike(nested, nested, *ALL)


def test_a_copy_fills_no_cache_of_the_dataset_it_was_made_of():
    called = []

    def noted(x):
        called.append(1)
        return x

    dataset = (
        tf.data.Dataset.range(5).map(lambda x: tf.numpy_function(noted, [x], tf.int64)).cache()
    )
    copy = PipelineGraph.of(dataset).dataset()
    for _ in range(2):
        assert [int(x) for x in copy] == [0, 1, 2, 3, 4]
    assert len(called) == 5
    list(dataset)
    assert len(called) == 10
