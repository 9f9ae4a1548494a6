"""tune_input: the same batches, sooner."""

import shutil
import signal
import threading
import time
from types import SimpleNamespace

import keras
import numpy as np
import psutil
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.analyse.training import newest_training
from keras_perf.records.figures import in_bytes
from keras_perf.records.reasons.price import Costs
from keras_perf.records.reasons.reason import worded
from keras_perf.trials import tuning as module_under_test
from keras_perf.trials.benchmarks import train_step_benchmark
from keras_perf.trials.measuring import side_by_side as module
from keras_perf.trials.measuring.side_by_side import Pair
from keras_perf.trials.rewriting import keeping
from keras_perf.trials.rewriting.changes import Change
from keras_perf.trials.rewriting.changes.cache import cache
from keras_perf.trials.rewriting.own_copy import require_graph
from keras_perf.trials.rewriting.same_elements import checksums

WAIT_S = 0.01


def waiting(x):
    def wait(values):
        time.sleep(WAIT_S)
        return values

    return tf.ensure_shape(tf.numpy_function(wait, [x], x.dtype), x.shape)


def noisy(x):
    return x + tf.random.uniform(x.shape)


def rows(count=48):
    x = np.arange(count * 3, dtype="float32").reshape(count, 3)
    return tf.data.Dataset.from_tensor_slices(x)


def drawn(x):
    return tf.ensure_shape(
        tf.numpy_function(lambda v: v + np.float32(np.random.normal()), [x], x.dtype), x.shape
    )


def test_what_the_program_draws_next_is_what_it_would_have_been():
    data = rows().map(drawn).batch(4)
    np.random.seed(3)
    expected = np.random.get_state()
    kp.tune_input(data, budget_s=2)
    np.testing.assert_equal(np.random.get_state(), expected)


@pytest.fixture(autouse=True)
def short_slices(monkeypatch):
    monkeypatch.setattr(module, "SLICE_S", 0.05)


@pytest.mark.timing
def test_a_map_that_waits_runs_in_parallel_and_gives_the_same(monkeypatch):
    data = rows().batch(4).map(waiting)
    tuned = kp.tune_input(data)
    kept = [change.id for change in tuned.changes]
    assert kept[0] == "parallel-map"
    assert "cache" in kept
    assert tuned.gain > 2
    assert checksums(tuned.dataset, 100, 60) == checksums(data, 100, 60)
    assert tuned.dataset.element_spec == data.element_spec
    assert tuned.dataset.cardinality() == data.cardinality()
    assert "parallel-map, map(waiting): " in str(tuned)
    frame = tuned.to_frame()
    assert list(frame["id"]) == [each.id for each in tuned.tried]
    assert frame.loc[frame["kept"], "low"].min() > 1


@pytest.mark.timing
def test_a_model_trains_on_it_as_on_the_original():
    def weights(data):
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(data, epochs=2, verbose=0, shuffle=False)
        return model.get_weights()

    data = rows().batch(4).map(waiting).map(lambda x: (x / 99, x[:, :1] / 99))
    tuned = kp.tune_input(data)
    assert tuned.changes
    for one, other in zip(weights(data), weights(tuned.dataset), strict=True):
        np.testing.assert_array_equal(one, other)


def test_where_nothing_can_be_done_the_dataset_stays_the_same_object():
    data = rows().batch(4).prefetch(2)
    tuned = kp.tune_input(data)
    assert tuned.dataset is data
    assert tuned.changes == tuned.tried == ()
    assert tuned.gain == 1.0
    assert len(tuned.to_frame()) == 0


def compiled():
    network = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])
    network.compile("sgd", "mse")
    return network


@pytest.mark.parametrize("model", [lambda: None, compiled], ids=["alone", "with a model"])
def test_a_dataset_without_batches_is_refused_in_a_line(model):
    with pytest.raises(ValueError, match=r"^dataset must hold a batch") as told:
        kp.tune_input(rows().filter(lambda x: x[0] < 0).batch(4), model=model())
    assert "\n" not in str(told.value)


def test_once_batches_come_faster_than_steps_nothing_more_is_tried():
    tuned = kp.tune_input(rows().batch(4).map(waiting), step_ms=1e4)
    assert tuned.tried == ()
    assert "faster input would buy nothing" in str(tuned)


def test_a_model_tells_how_long_a_step_is():
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    before = [w.copy() for w in model.get_weights()]
    tuned = kp.tune_input(rows().batch(4).map(lambda x: (x, x[:, :1])), model=model, budget_s=5)
    assert tuned.before_ms > 0
    for one, other in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_no_slice_fills_a_buffer_that_only_training_needs(monkeypatch):
    """Of each pipeline few slices, of a batch or two."""
    monkeypatch.setattr(module, "SLICE_S", 1e-3)
    monkeypatch.setattr(module_under_test, "PAIR_S", 0.0)
    calls = []

    def wait(values):
        calls.append(1)
        time.sleep(1e-3)
        return values

    def slow(x):
        return tf.ensure_shape(tf.numpy_function(wait, [x], x.dtype), x.shape)

    data = tf.data.Dataset.range(9).repeat().map(slow).shuffle(20_000, seed=1).batch(4)
    tuned = kp.tune_input(data)
    assert tuned.tried
    assert len(calls) < 20_000
    for graph in map(require_graph, (data, tuned.dataset)):
        [shuffle] = [stage for stage in graph.stages if stage.op.startswith("Shuffle")]
        assert graph.value(shuffle.input[1]) == 20_000


def test_when_time_is_over_what_is_known_is_returned():
    tuned = kp.tune_input(rows().batch(4).map(waiting), budget_s=1e-3)
    assert tuned.tried == ()
    assert "ran out" in tuned.stopped


def test_a_pass_that_takes_too_long_is_not_cached():
    long = tf.data.Dataset.range(10**9).batch(4).map(waiting)
    tuned = kp.tune_input(long)
    assert any(each.id == "cache" and "pass" in each.why for each in tuned.not_done)
    assert tuned.dataset.cardinality() == long.cardinality()


@pytest.fixture
def counted(monkeypatch):
    """A map, and how often it was called in each measurement; all changes pay."""
    calls, in_measurements = [], []
    pays = Pair(before_ms=2.0, after_ms=1.0, gain=2.0, low=1.9, high=2.1)

    def measured(before, after, **_):
        called = len(calls)
        assert min(before.batch_ms(), after.batch_ms()) > 0
        in_measurements.append(len(calls) - called)
        return pays

    def noted(values):
        calls.append(1)
        return values

    def slow(x):
        return tf.ensure_shape(tf.numpy_function(noted, [x], x.dtype), x.shape)

    monkeypatch.setattr(module, "SLICE_S", 1e-3)
    monkeypatch.setattr(module_under_test, "side_by_side", measured)
    return slow, in_measurements


def test_a_cache_that_is_there_is_filled_before_anything_is_measured(counted):
    slow, in_measurements = counted
    data = rows().batch(4).map(slow).cache().map(plus_one)
    tuned = kp.tune_input(data, budget_s=60)
    assert [each.where for each in tuned.tried if each.id == "parallel-map"] == [
        "map(slow)",
        "map(plus_one)",
    ]
    assert in_measurements == [0] * len(tuned.tried)


def test_a_change_on_top_of_a_cache_that_was_kept_is_measured_with_its_own_filled(counted):
    slow, in_measurements = counted
    tuned = kp.tune_input(rows().batch(4).map(slow), any_order=True, budget_s=60)
    kept = [each.id for each in tuned.changes]
    assert kept.index("cache") < kept.index("nondeterministic-order")
    assert in_measurements[kept.index("nondeterministic-order")] == 0


def test_what_is_repeated_behind_a_cache_passes_once_to_fill_it(counted):
    slow, in_measurements = counted
    data = rows().batch(4).map(slow).cache().repeat().map(plus_one)
    tuned = kp.tune_input(data, budget_s=60)
    assert "map(slow)" in {each.where for each in tuned.tried if each.id == "parallel-map"}
    assert in_measurements == [0] * len(tuned.tried)
    assert tuned.dataset.cardinality() == tf.data.INFINITE_CARDINALITY


def test_beside_a_cache_that_no_pass_fills_nothing_is_tried():
    tuned = kp.tune_input(rows().repeat().batch(4).map(waiting).cache())
    assert tuned.tried == ()
    [why] = [each.why for each in tuned.not_done if each.id == "parallel-map"]
    assert why.startswith("the cache that is there was not filled: a pass through the data")


def test_the_price_of_a_cache_names_the_pass_that_fills_it():
    [found] = cache(require_graph(rows().batch(4).map(lambda x: x + 1)))
    assert "the first pass, which fills it, was not timed" in found.costs


def test_the_price_of_a_cache_names_the_bytes_that_it_holds(monkeypatch):
    pays = Pair(before_ms=2.0, after_ms=1.0, gain=2.0, low=1.9, high=2.1)
    monkeypatch.setattr(module_under_test, "side_by_side", lambda *_, **__: pays)
    # 12 batches of 4 rows of 3 float32.
    tuned = kp.tune_input(rows().batch(4).map(lambda x: x + 1), budget_s=60)
    [found] = (each for each in tuned.changes if each.id == "cache")
    assert found.costs == (
        "memory for all that it keeps; the first pass, which fills it, was not timed; "
        "it holds 576 bytes"
    )
    assert "# costs memory for all that it keeps" in str(tuned)
    assert "it holds 576 bytes" in str(tuned)


def test_what_does_not_fit_into_memory_is_not_cached(monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=500))
    tuned = kp.tune_input(rows().batch(4).map(waiting))
    [why] = [each.why for each in tuned.not_done if each.id == "cache"]
    assert "more than half of the memory" in why


def test_what_the_container_has_no_room_for_is_not_cached_however_much_the_machine_has(monkeypatch):
    monkeypatch.setattr(keeping, "memory_available_mib", lambda: 500 / 2**20)
    tuned = kp.tune_input(rows().batch(4).map(waiting))
    [why] = [each.why for each in tuned.not_done if each.id == "cache"]
    assert "more than half of the memory" in why


def plus_one(x):
    return x + 1


def widened(x):
    return tf.tile(x, [100])


@pytest.mark.parametrize(
    ("half_free", "at", "too_large"),
    [
        (60_000, "map(widened).batch(…)", []),
        (10_000, "map(plus_one)", ["map(widened).batch(…)"]),
        (500, None, ["map(widened).batch(…)", "map(plus_one)"]),
    ],
)
def test_a_cache_stands_at_the_last_place_that_it_has_room_for(
    half_free, at, too_large, monkeypatch
):
    """48 rows of 3 float32 there, of 300 here."""
    pays = Pair(before_ms=2.0, after_ms=1.0, gain=2.0, low=1.9, high=2.1)
    monkeypatch.setattr(module_under_test, "side_by_side", lambda *_, **__: pays)
    memory = SimpleNamespace(available=2 * half_free)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    data = rows().map(plus_one).map(widened).batch(4)
    tuned = kp.tune_input(data, budget_s=60)
    assert [each.where for each in tuned.tried if each.id == "cache"] == [at] * (at is not None)
    assert [each.where for each in tuned.not_done if each.id == "cache"] == too_large
    for _ in range(2):
        assert checksums(tuned.dataset, 100, 60) == checksums(data, 100, 60)


def test_a_file_at_the_last_place_comes_before_memory_at_an_earlier_one(monkeypatch, tmp_path):
    pays = Pair(before_ms=2.0, after_ms=1.0, gain=2.0, low=1.9, high=2.1)
    monkeypatch.setattr(module_under_test, "side_by_side", lambda *_, **__: pays)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=20_000))
    data = rows().map(plus_one).map(widened).batch(4)
    tuned = kp.tune_input(data, budget_s=60, cache_dir=tmp_path)
    [kept] = [each for each in tuned.changes if each.id == "cache"]
    assert (kept.where, str(tmp_path) in kept.code) == ("map(widened).batch(…)", True)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_map_before_a_shuffle_is_kept_in_a_file_too(monkeypatch, tmp_path):
    pays = Pair(before_ms=2.0, after_ms=1.0, gain=2.0, low=1.9, high=2.1)
    monkeypatch.setattr(module_under_test, "side_by_side", lambda *_, **__: pays)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=500))
    data = rows().batch(4).shuffle(8, seed=1).map(lambda x: x + 1)
    tuned = kp.tune_input(data, budget_s=60, cache_dir=tmp_path)
    [kept] = [each for each in tuned.changes if each.id == "cache"]
    [folder] = tmp_path.iterdir()
    assert (f".cache('{folder}" in kept.code, "shuffle" in kept.code) == (True, True)
    for _ in range(2):
        assert checksums(tuned.dataset, 100, 60) == checksums(data, 100, 60)


@pytest.mark.timing
def test_what_does_not_fit_into_memory_is_kept_in_a_file_if_there_is_a_place(monkeypatch, tmp_path):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=500))
    data = rows().batch(4).map(waiting)
    tuned = kp.tune_input(data, cache_dir=tmp_path)
    kept = {each.id: each for each in tuned.changes}
    [folder] = tmp_path.iterdir()
    assert str(folder) in kept["cache"].costs
    assert f".cache('{folder}" in kept["cache"].code
    for _ in range(2):
        assert checksums(tuned.dataset, 100, 60) == checksums(data, 100, 60)


def test_a_file_costs_its_place_and_what_it_holds(monkeypatch, tmp_path):
    pays = Pair(before_ms=2.0, after_ms=1.0, gain=2.0, low=1.9, high=2.1)
    monkeypatch.setattr(module_under_test, "side_by_side", lambda *_, **__: pays)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=500))
    tuned = kp.tune_input(rows().batch(4).map(lambda x: x + 1), cache_dir=tmp_path)
    [kept] = [each for each in tuned.changes if each.id == "cache"]
    assert "cache" not in {each.id for each in tuned.not_done}
    [folder] = tmp_path.iterdir()
    size = in_bytes(sum(file.stat().st_size for file in folder.iterdir()))
    assert kept.costs == (
        f"files in {folder}, which stay there; the first pass, which fills it, was not timed; "
        f"it holds {size}"
    )
    [recorded] = [each for each in tuned.record.tried if each.id == "cache"]
    assert worded(Costs)(recorded.costs.to_json()) == kept.costs


def test_a_file_is_tried_only_if_memory_is_too_small_and_there_is_room(monkeypatch, tmp_path):
    pays = Pair(before_ms=2.0, after_ms=1.0, gain=2.0, low=1.9, high=2.1)
    monkeypatch.setattr(module_under_test, "side_by_side", lambda *_, **__: pays)
    data = rows().batch(4).map(lambda x: x + 1)
    tuned = kp.tune_input(data, cache_dir=tmp_path)
    assert [each.id for each in tuned.tried].count("cache") == 1
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=500))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=500))
    tuned = kp.tune_input(data, cache_dir=tmp_path)
    assert [each.why.rpartition(" in ")[2] for each in tuned.not_done if each.id == "cache"][
        1:
    ] == [str(tmp_path)]
    assert not list(tmp_path.iterdir())


def test_all_together_gain_what_each_has_gained_in_turn(monkeypatch):
    pays = Pair(before_ms=2.0, after_ms=0.5, gain=3.0, low=2.9, high=3.1)
    monkeypatch.setattr(module_under_test, "side_by_side", lambda *_, **__: pays)
    tuned = kp.tune_input(rows().batch(4).map(lambda x: x + 1))
    alone = [each for each in tuned.changes if each.id != "prefetch"]
    assert len(alone) > 1
    assert tuned.gain == pytest.approx(3.0 ** len(alone))
    assert tuned.after_ms == 0.5


def test_a_file_that_did_not_pay_is_taken_away(monkeypatch, tmp_path):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=500))
    lost = Pair(before_ms=1.0, after_ms=2.0, gain=0.5, low=0.4, high=0.6)
    monkeypatch.setattr(module_under_test, "side_by_side", lambda *_, **__: lost)
    data = rows().batch(4).map(lambda x: x + 1)
    tuned = kp.tune_input(data, cache_dir=tmp_path)
    assert "cache" in [each.id for each in tuned.tried]
    assert tuned.dataset is data
    assert not list(tmp_path.iterdir())


def test_what_does_not_tell_its_length_is_counted_before_it_is_kept(monkeypatch):
    pays = Pair(before_ms=2.0, after_ms=1.0, gain=2.0, low=1.9, high=2.1)
    monkeypatch.setattr(module_under_test, "side_by_side", lambda *_, **__: pays)
    data = rows().filter(lambda x: x[0] > 9).map(lambda x: x + 1).batch(4)
    tuned = kp.tune_input(data)
    assert "cache" in [each.id for each in tuned.changes]
    for _ in range(2):
        assert checksums(tuned.dataset, 100, 60) == checksums(data, 100, 60)


def test_what_is_without_end_and_does_not_tell_is_counted_only_for_a_while(monkeypatch):
    """A pass of this is as good as endless."""
    nothing = Pair(before_ms=2.0, after_ms=2.0, gain=1.0, low=0.9, high=1.1)
    monkeypatch.setattr(module_under_test, "side_by_side", lambda *_, **__: nothing)
    data = tf.data.Dataset.range(2**40).filter(lambda i: i > 9)
    data = data.map(lambda i: waiting(tf.cast([i], "float32"))).batch(4)
    tuned = kp.tune_input(data, budget_s=4)
    [why] = (each.why for each in tuned.not_done if each.id == "cache")
    assert "pass" in why
    assert "cache" not in [each.id for each in tuned.tried]


def test_the_dataset_given_goes_on_as_if_nothing_had_been():
    def made():
        return rows().shuffle(48, seed=1).batch(4).map(waiting)

    data, untouched = made(), made()
    tuned = kp.tune_input(data, budget_s=3)
    passes = [checksums(untouched, 100, 60) for _ in range(2)]
    assert checksums(data, 100, 60) == passes[0]
    # Where nothing paid, as beside other programs, it is the one given, and this its second pass.
    assert checksums(tuned.dataset, 100, 60) == passes[tuned.dataset is data]


def test_a_change_that_tensorflow_refuses_is_said_and_the_rest_tried(monkeypatch):
    def refused(graph):
        graph.stages[-1].op = "NoSuchDataset"

    changes = [Change("parallel-map", "map(waiting)", "", "", apply=refused)]
    monkeypatch.setattr(module_under_test, "possible_changes", lambda *_, **__: (changes, []))
    data = rows().batch(4).map(waiting)
    tuned = kp.tune_input(data)
    assert tuned.dataset is data
    [left] = tuned.not_done
    assert left.why.startswith("TensorFlow refuses it: ")


def test_an_interrupt_leaves_what_is_known_so_far(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(module_under_test, "side_by_side", interrupted)
    data = rows().batch(4).map(waiting)
    tuned = kp.tune_input(data)
    assert tuned.dataset is data
    assert tuned.stopped == "Stopped by an interrupt."


def interrupt(*_, **__):
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize(
    ("place", "name"),
    [(train_step_benchmark, "read_logs"), (module.EndlessPipeline, "batch_ms")],
    ids=["steps of the model", "the first batches"],
)
def test_an_interrupt_before_anything_is_known_returns_the_dataset(
    place, name, monkeypatch, tmp_path
):
    monkeypatch.setattr(place, name, interrupt)
    model = compiled()
    before = model.get_weights()
    data = rows().batch(4).map(lambda x: (x, x[:, :1]))
    tuned = kp.tune_input(data, model=model, log_dir=tmp_path)
    assert tuned.dataset is data
    assert np.isnan([tuned.before_ms, tuned.after_ms]).all()
    assert tuned.gain == 1.0
    assert str(tuned).startswith("Nothing was measured.\n")
    assert str(tuned).endswith("Stopped by an interrupt.\n")
    assert "Nothing was measured." in tuned._repr_html_()
    tuned.plot().canvas.draw()
    assert not list(tmp_path.iterdir())
    for one, other in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_interrupt_while_a_change_is_kept_leaves_it_in_all_that_is_told(monkeypatch):
    class Pays:
        before_ms, gain, low, high = 2.0, 2.0, 1.9, 2.1
        asked = 0

        @property
        def after_ms(self):
            self.asked += 1
            if self.asked == 2:
                interrupt()
            return 1.0

    monkeypatch.setattr(module_under_test, "side_by_side", lambda *_, **__: Pays())
    data = rows().batch(4).map(waiting)
    tuned = kp.tune_input(data)
    assert tuned.stopped == "Stopped by an interrupt."
    [kept] = tuned.tried
    assert kept.id == "parallel-map"
    assert tuned.after_ms == 1.0
    stages = [stage.op for stage in require_graph(tuned.dataset).stages]
    assert "ParallelMapDatasetV2" in stages


def test_what_was_found_is_written_into_the_run(tmp_path):
    tuned = kp.tune_input(rows().batch(4).map(lambda x: x + 1), budget_s=3, log_dir=tmp_path)
    assert newest_training(tmp_path).summary().facts.input_changes == tuned.record
    assert len(tuned.record.tried) + len(tuned.record.not_done) > 0
    assert "Changes of the input, tried on it alone" in str(kp.diagnose(tmp_path))


def whole(count=24):
    return tf.data.Dataset.range(count)


def squared(x):
    return x * x


STACKED = {
    "a shuffle": lambda: whole().shuffle(7, seed=3).map(squared).batch(4),
    "a shuffle, repeated": lambda: whole().shuffle(7, seed=3).repeat(2).map(squared).batch(4),
    "an interleave": lambda: whole().interleave(tf.data.Dataset.range).map(squared).batch(4),
    "maps of tuples": lambda: (
        whole().map(lambda x: (x, 2 * x)).map(lambda x, y: {"x": x, "y": y - x}).batch(4)
    ),
    "a zip that ends where a filter does": lambda: (
        tf.data.Dataset.zip(few().map(squared), whole(60).shuffle(7, seed=3).map(squared))
        .map(lambda x, y: x - y)
        .batch(4)
    ),
    "draws that a filter ends": lambda: tf.data.Dataset.zip(
        few().map(squared), whole(60).map(drawing())
    ).batch(4),
}


def drawing():
    generator = tf.random.Generator.from_seed(5)
    return lambda x: x + generator.uniform((), maxval=9, dtype=tf.int64)


def few():
    """Of a length that nobody knows before a pass."""
    return whole().filter(lambda x: x % 3 > 0)


@pytest.mark.parametrize("kind", STACKED)
def test_kept_one_on_top_of_the_other_elements_are_the_same(kind, monkeypatch):
    made = STACKED[kind]
    pays = Pair(before_ms=2.0, after_ms=1.0, gain=2.0, low=1.9, high=2.1)
    monkeypatch.setattr(module_under_test, "side_by_side", lambda *_, **__: pays)
    # On one core a pool of threads comes with a parallel map, and is no change of its own.
    monkeypatch.setattr("keras_perf.trials.rewriting.changes.pools.usable_cores", lambda: 2)
    tuned = kp.tune_input(made(), budget_s=60)
    assert len(tuned.changes) >= 3
    expected = made()
    for _ in range(2):
        assert checksums(tuned.dataset, 100, 60) == checksums(expected, 100, 60)


def test_order_is_given_up_where_that_is_allowed_and_all_elements_come(monkeypatch):
    pays = Pair(before_ms=2.0, after_ms=1.0, gain=2.0, low=1.9, high=2.1)
    monkeypatch.setattr(module_under_test, "side_by_side", lambda *_, **__: pays)
    overtaken, tuning = threading.Event(), True

    def first_waits(value):
        """Until another one came out, which only order that was given up allows."""
        if not tuning and value[0] == 0:
            overtaken.wait(20)
        return value

    def of_python(x):
        return tf.ensure_shape(tf.numpy_function(first_waits, [x], x.dtype), x.shape)

    data = tf.data.Dataset.range(24).batch(1).map(of_python)
    # A cache would call the function no more.
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=0))
    tuned = kp.tune_input(data, any_order=True, budget_s=60)
    kept = [each.id for each in tuned.changes]
    assert {"parallel-map", "nondeterministic-order"} <= {*kept}
    assert tuned.dataset.options().deterministic is False
    tuning = False
    found = []
    for [number] in tuned.dataset.as_numpy_iterator():
        found.append(number)
        overtaken.set()
    assert found[0] != 0
    assert sorted(found) == list(range(24))


def test_an_endless_shuffle_beside_an_unknown_length_is_refused():
    data = tf.data.Dataset.zip(few(), whole(60).shuffle(7, seed=3).repeat()).batch(4)
    with pytest.raises(ValueError, match="zip with nothing shorter"):
        kp.tune_input(data)


@pytest.mark.parametrize("allowed", [False, True])
def test_random_maps_keep_their_draws_unless_others_are_allowed(allowed):
    tuned = kp.tune_input(rows().map(noisy).batch(4), any_random_numbers=allowed, budget_s=4)
    assert ("parallel-map" in [each.id for each in tuned.tried]) == allowed
    assert ("allow it by any_random_numbers=True" in str(tuned)) == (not allowed)


@pytest.mark.parametrize(
    ("arguments", "error", "named"),
    [
        ({"dataset": np.ones(3)}, TypeError, "dataset"),
        ({"budget_s": 0}, ValueError, "budget_s"),
        ({"step_ms": -1}, ValueError, "step_ms"),
        ({"any_order": "yes"}, TypeError, "any_order"),
        ({"any_random_numbers": 1}, TypeError, "any_random_numbers"),
        ({"cache_dir": "nowhere"}, ValueError, "cache_dir"),
        ({"log_dir": 3}, TypeError, "log_dir"),
    ],
)
def test_a_wrong_argument_is_one_line_that_names_it(arguments, error, named):
    given = {"dataset": rows().batch(4), **arguments}
    with pytest.raises(error, match=f"^{named} must") as raised:
        kp.tune_input(given.pop("dataset"), **given)
    assert "\n" not in str(raised.value)
