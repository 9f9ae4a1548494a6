"""What a dataset's graph tells of its stages. Canary of two private names of tf.data's."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
from programs import Batches, dataset, model

import keras_perf as kp
from keras_perf.advise.notes.input.stage_order import made_and_left_out
from keras_perf.advise.rules.input.shuffling import OF_CSV
from keras_perf.observation.facts.input import dataset_graph as module
from keras_perf.observation.facts.input.dataset_graph import dataset_graph
from keras_perf.observation.facts.source_lines import made_by_keras


def decoded(file):
    return tf.io.decode_raw(tf.io.read_file(file), tf.uint8)


def read(file):
    return tf.data.TFRecordDataset(file)


def flipped(x):
    return x + tf.random.uniform([])


def waits(x):
    return tf.numpy_function(lambda value: value, [x], tf.string)


def chain(data):
    [found] = dataset_graph(data).chains
    return found


@pytest.mark.parametrize("labels", ["inferred", None])
def test_what_keras_makes_of_a_directory_says_so(tmp_path, labels):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for number in range(2):
            keras.utils.save_img(tmp_path / name / f"{number}.png", np.zeros((4, 4, 3)))
    data = keras.utils.image_dataset_from_directory(
        tmp_path, labels=labels, label_mode=labels and "int", image_size=(4, 4), verbose=False
    )
    own = data.map(lambda *batch: batch[0] / 255)
    made = {stage.kind: stage.made_by for each in dataset_graph(data).chains for stage in each}
    assert made["map"] == "keras.utils.image_dataset_from_directory"
    assert {made[kind] for kind in ("shuffle", "batch", "prefetch")} == {""}
    assert [*dataset_graph(own).chains[0]][-1].made_by == ""


@pytest.mark.parametrize("kind", ["text", "audio", "timeseries", "image"])
def test_keras_s_functions_stand_where_they_are_looked_for(kind):
    """Canary: of a file with another name advice could not say whose the map is."""
    of = "array" if kind == "timeseries" else "directory"
    function = getattr(keras.utils, f"{kind}_dataset_from_{of}")
    assert made_by_keras(function) == f"keras.utils.{kind}_dataset_from_{of}"


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: tf.random.truncated_normal([1]),
        lambda x: tf.random.categorical([[0.0, 0.0]], 1),
        lambda x: tf.random.stateless_truncated_normal([1], [1, 2]),
        lambda x: tf.image.sample_distorted_bounding_box([9, 9, 3], [[[0.0, 0.0, 1.0, 1.0]]])[0],
        lambda x: tf.random.log_uniform_candidate_sampler([[1]], 1, 1, True, 9)[0],
    ],
)
def test_all_operations_that_draw_are_known_as_random(draw):
    """A cache behind one of them would repeat the first epoch's crops for ever."""
    [_, drawn] = chain(tf.data.Dataset.range(2).map(draw))
    assert drawn.random


def test_a_shuffle_in_what_runs_datasets_is_random():
    """A cache behind it would keep the first epoch's order for ever."""
    files = tf.data.Dataset.range(4)
    *_, last = chain(files.interleave(lambda x: tf.data.Dataset.range(x).shuffle(9)))
    assert last.random


def test_an_image_and_its_mask_that_are_drawn_for_alike_are_known():
    def both(image, mask):
        return tf.image.random_flip_left_right(image, 1), tf.image.random_flip_left_right(mask, 1)

    def each(image, mask):
        return tf.image.random_flip_left_right(image, 1), tf.image.random_flip_left_right(mask, 2)

    pair = tf.zeros([2, 4, 4, 1])
    for function, alike in ((both, True), (each, False)):
        *_, last = chain(tf.data.Dataset.from_tensor_slices((pair, pair)).map(function))
        assert (last.draws_alike, last.random, last.variables) == (alike, True, "")


def test_variables_are_known_as_read_or_written():
    number = tf.Variable(0.0)
    reads = tf.data.Dataset.range(2).map(lambda x: number + tf.cast(x, tf.float32))
    writes = tf.data.Dataset.range(2).map(lambda x: number.assign_add(1.0))
    plain = tf.data.Dataset.range(2).map(lambda x: x + 1)
    assert [chain(each)[-1].variables for each in (plain, reads, writes)] == ["", "read", "written"]


def test_make_csv_dataset_is_known_by_its_function(tmp_path):
    """Canary: with another name advice would put a repeat where nobody can write one."""
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n", encoding="utf-8")
    data = tf.data.experimental.make_csv_dataset(
        str(tmp_path / "a.csv"), batch_size=1, label_name="y", num_epochs=1
    )
    stages = chain(data)
    places = [n for n, stage in enumerate(stages) if stage.function == OF_CSV]
    assert [stage.kind for stage in stages[places[0] :]].index("shuffle") == 1


NAMES = tf.data.Dataset.from_tensor_slices(["a", "b", "c"])


def test_stages_stand_from_the_source_to_the_last_by_their_methods_names():
    data = NAMES.shuffle(3).map(decoded).cache().padded_batch(2).repeat(2).prefetch(1)
    kinds = ["tensor_slice", "shuffle", "map", "cache", "padded_batch", "repeat", "prefetch"]
    assert [stage.kind for stage in chain(data)] == kinds


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        (
            lambda data: data.map(decoded),
            ("map", "decoded", False, {"reads_files", "one_at_a_time"}),
        ),
        (lambda data: data.map(waits), ("map", "waits", False, {"stateful", "python"})),
        (
            lambda data: data.map(decoded, num_parallel_calls=2),
            ("map", "decoded", True, {"reads_files", "one_at_a_time"}),
        ),
        (lambda data: data.batch(2, num_parallel_calls=2), ("batch", "", True, set())),
        (lambda data: data.ragged_batch(2).filter(lambda x: True), ("filter", "", False, set())),
    ],
)
def test_of_a_stage_its_function_and_what_that_does_are_told(stage, expected):
    *_, last = chain(stage(NAMES))
    told = ("stateful", "random", "reads_files", "python", "one_at_a_time")
    does = {name for name in told if getattr(last, name)}
    assert (last.kind, last.function, last.parallel, does) == expected


@pytest.mark.parametrize("method", ["flat_map", "interleave"])
def test_a_reader_of_files_is_found_in_a_dataset_for_each_of_them(method):
    *_, last = chain(getattr(NAMES, method)(read))
    assert (last.kind, last.function, last.reads_files) == (method, "read", True)
    assert last.elements == 3


def test_random_numbers_are_found():
    *_, last = chain(tf.data.Dataset.range(3).map(lambda x: flipped(tf.cast(x, tf.float32))))
    assert last.random


def in_order():
    yield from np.arange(4)


def in_any_order():
    yield from np.random.permutation(4)


@pytest.mark.parametrize(("generator", "draws"), [(in_order, False), (in_any_order, True)])
def test_what_a_generator_draws_is_found(generator, draws):
    made = tf.data.Dataset.from_generator(generator, output_signature=tf.TensorSpec((), tf.int64))
    *_, last = chain(made)
    assert (last.python, last.random) == (True, draws)


def test_where_datasets_come_together_each_begins_a_chain_of_its_own():
    data = tf.data.Dataset.zip((NAMES.shuffle(2), NAMES.map(decoded))).batch(2)
    chains = dataset_graph(data).chains
    assert [[stage.kind for stage in each] for each in chains] == [
        ["zip", "batch"],
        ["tensor_slice", "shuffle"],
        ["tensor_slice", "map"],
    ]


@pytest.mark.parametrize(
    ("autotune", "injects", "added"),
    [(True, True, True), (False, True, False), (True, False, False)],
)
def test_whether_tf_data_adds_a_prefetch_is_told_by_the_options(autotune, injects, added):
    options = tf.data.Options()
    options.autotune.enabled = autotune
    options.experimental_optimization.inject_prefetch = injects
    found = dataset_graph(NAMES.with_options(options))
    assert (found.prefetch_added, found.autotuned) == (added, autotune)


def test_without_options_tf_data_adds_a_prefetch():
    assert dataset_graph(NAMES).prefetch_added is True


def test_what_is_no_dataset_of_tf_data_has_no_graph():
    assert dataset_graph(np.ones(3)) is None
    assert dataset_graph(Batches()) is None
    assert dataset_graph(None) is None


def test_a_dataset_made_by_a_program_is_not_looked_at():
    data = NAMES
    for _ in range(module.MOST_STAGES):
        data = data.map(lambda x: x)
    assert dataset_graph(data) is None


def test_a_tf_data_without_these_names_costs_the_notes_only(monkeypatch):
    def is_gone(self):
        raise AttributeError

    monkeypatch.setattr(type(NAMES), "_inputs", property(is_gone))
    assert dataset_graph(NAMES) is None


def test_a_fit_notes_the_order_of_its_dataset(tmp_path):
    model().fit(
        dataset(30).shuffle(4),
        verbose=0,
        shuffle=False,
        callbacks=kp.perf_callbacks(tmp_path, profiler=False, gpu=False),
    )
    notes = kp.diagnose(tmp_path).notes
    assert any(note.startswith("shuffle() comes after batch(): ") for note in notes)


def test_what_a_pass_leaves_out_behind_a_map_is_known():
    [note] = made_and_left_out(chain(NAMES.map(decoded).shuffle(3).skip(2).batch(1)))
    assert note.startswith("skip() comes after map(decoded)")
    assert ": each pass makes the 2 elements of 3 that it leaves out." in note
    assert not [*made_and_left_out(chain(NAMES.skip(2).map(decoded).batch(1)))]


@pytest.mark.parametrize("told", [{"batch_size": 8}, {}])
def test_a_fit_notes_the_rows_of_a_whole_batch(told, tmp_path):
    """The last one is smaller: the mean is another number."""
    x, y = np.zeros((75, 8), np.float32), np.zeros((75, 1), np.float32)
    model().fit(x, y, verbose=0, callbacks=[kp.StepGapDetector(tmp_path)], **told)
    length = kp.diagnose(tmp_path).summary.facts.length
    assert length.batch_rows == told.get("batch_size", 32)
    assert length.examples_per_step == pytest.approx(75 / -(-75 // length.batch_rows))
