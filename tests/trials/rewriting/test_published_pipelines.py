"""Pipelines as programs have them: each change gives the same elements, or is refused in a line."""

import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf
from one_change import ALL, numbers, some_changed

import keras_perf as kp
from keras_perf.trials import tuning
from keras_perf.trials.measuring import side_by_side
from keras_perf.trials.measuring.in_turn import Pair
from keras_perf.trials.rewriting.changes import possible_changes
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph
from keras_perf.trials.rewriting.same_elements import checksums


def doubled(x):
    return 2 * x


def examples(folder):
    """Written to files that are read together."""
    files = []
    for number in range(3):
        files.append(str(folder / f"{number}.tfrecord"))
        with tf.io.TFRecordWriter(files[-1]) as out:
            for value in range(4):
                x = tf.train.Feature(float_list=tf.train.FloatList(value=[number, value]))
                y = tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))
                features = tf.train.Features(feature={"x": x, "y": y})
                out.write(tf.train.Example(features=features).SerializeToString())
    wanted = {
        "x": tf.io.FixedLenFeature([2], tf.float32),
        "y": tf.io.FixedLenFeature([], tf.int64),
    }
    read = tf.data.Dataset.from_tensor_slices(files).interleave(tf.data.TFRecordDataset)
    return read.map(lambda each: tf.io.parse_single_example(each, wanted)).batch(2)


def whole_files(folder):
    """Listed in an order of their own, each read and taken apart."""
    for number in range(4):
        (folder / f"{number}.bin").write_bytes(bytes([number] * 3))
    files = tf.data.Dataset.list_files(str(folder / "*.bin"), shuffle=True, seed=2)

    def read(name):
        return tf.ensure_shape(tf.io.decode_raw(tf.io.read_file(name), tf.uint8), (3,)), name

    return files.map(read).batch(2)


def texts(folder):
    for label in ("a", "b"):
        (folder / label).mkdir()
        for number in range(3):
            (folder / label / f"{number}.txt").write_text("b a " * number)
    layer = keras.layers.TextVectorization(9, output_sequence_length=3, vocabulary=["a", "b"])
    read = keras.utils.text_dataset_from_directory(folder, batch_size=2, seed=1, verbose=False)
    return read.map(lambda text, label: (layer(text), label))


def lines(folder):
    file = folder / "lines.csv"
    file.write_text("price,number,word\n" + "".join(f"{i}.5,{i},w{i}\n" for i in range(9)))

    def columns(line):
        price, number, word = tf.io.decode_csv(line, [0.0, 0, ""])
        return {"price": price, "number": number}, word

    return tf.data.TextLineDataset(str(file)).skip(1).shuffle(4, seed=1).map(columns).batch(2)


def images(folder):
    for label in ("a", "b"):
        (folder / label).mkdir()
        for number in range(4):
            pixels = np.full((4, 4, 3), 10 * number, "uint8")
            (folder / label / f"{number}.png").write_bytes(tf.io.encode_png(pixels).numpy())
    read = keras.utils.image_dataset_from_directory(
        folder, image_size=(3, 3), batch_size=3, seed=1, verbose=False
    )
    return read.map(lambda x, y: (x / 255, y))


def series(_):
    return keras.utils.timeseries_dataset_from_array(
        np.arange(30.0), np.arange(30.0), sequence_length=4, batch_size=3
    )


def vectorized(_):
    layer = keras.layers.TextVectorization(9, output_sequence_length=3, vocabulary=["a", "b"])
    return tf.data.Dataset.from_tensor_slices(["a b", "b c", "a"] * 4).map(layer).batch(4)


def generated(_):
    signature = tf.TensorSpec((), tf.int64)
    found = tf.data.Dataset.from_generator(lambda: iter(range(9)), output_signature=signature)
    return found.map(doubled).batch(3)


def python(x):
    return tf.ensure_shape(tf.numpy_function(lambda v: v + 1, [x], tf.int64), x.shape)


def resampled(_):
    return (
        numbers()
        .rejection_resample(lambda x: tf.cast(x % 3 > 0, tf.int32), [0.5, 0.5], seed=4)
        .map(lambda _, x: x)
        .batch(3)
    )


def sampled(_):
    both = [numbers().map(doubled), numbers().repeat(2)]
    return tf.data.Dataset.sample_from_datasets(both, [0.3, 0.7], seed=3).batch(3)


def chosen(_):
    both = [numbers().map(doubled), numbers()]
    return tf.data.Dataset.choose_from_datasets(both, tf.data.Dataset.range(2).repeat(5)).batch(2)


def with_seeds(_):
    """A seed for each element, a shuffle with one, and numbers that are drawn with them."""
    seeds = tf.data.Dataset.counter(step=3).take(9)

    def draw(seed, x):
        return tf.cast(x, tf.float32) + tf.random.stateless_uniform((2,), [seed, seed])

    return tf.data.Dataset.zip(seeds, numbers(9)).shuffle(4, seed=5).map(draw).batch(2)


def drawn_in_turn(_):
    """Augmented by numbers of which each call takes the next."""
    return numbers().map(lambda x: tf.cast(x, tf.float32) * tf.random.uniform((), seed=4)).batch(3)


def windows(_):
    return (
        numbers()
        .window(4, shift=2, drop_remainder=True)
        .flat_map(lambda each: each.batch(4))
        .map(doubled)
        .batch(2)
    )


KINDS = {
    "whole files": whole_files,
    "a directory of texts": texts,
    "seeds": with_seeds,
    "numbers drawn in turn": drawn_in_turn,
    "records, interleaved": examples,
    "lines of CSV": lines,
    "a generator": generated,
    "Python in a map": lambda _: numbers().map(python).batch(4),
    "a directory of images": images,
    "windows of a series": series,
    "windows, flattened": windows,
    "text to numbers": vectorized,
    "zip": lambda _: tf.data.Dataset.zip(numbers().map(doubled), numbers()).batch(3),
    "one of several, chosen": chosen,
    "one of several, drawn": sampled,
    "ragged": lambda _: numbers().map(tf.range).ragged_batch(3).map(doubled),
    "ragged elements": lambda _: tf.data.Dataset.from_tensor_slices(
        tf.ragged.constant([[1], [2, 3], []])
    ).map(doubled),
    "sparse": lambda _: (
        numbers(6).map(lambda x: tf.sparse.from_dense([x, 0 * x])).batch(3).map(tf.sparse.to_dense)
    ),
    "dictionaries": lambda _: numbers().map(lambda x: {"a": x, "b": (x, 2 * x)}).batch(3),
    "resampled": resampled,
    "buckets of lengths": lambda _: (
        numbers()
        .map(lambda x: tf.range(x % 5))
        .bucket_by_sequence_length(lambda x: tf.shape(x)[0], [2, 4], [2, 2, 2])
    ),
    "padded": lambda _: numbers().map(tf.range).padded_batch(4),
    "optional parts": lambda _: numbers().map(lambda x: (x, None)).batch(4),
    "an unbatched batch": lambda _: numbers().batch(4).map(doubled).unbatch().map(doubled).batch(3),
    "a snapshot of options": lambda _: (
        numbers().map(doubled).with_options(tf.data.Options()).shuffle(5, seed=1).batch(3)
    ),
    "enumerated": lambda _: numbers().enumerate().map(lambda i, x: i * x).batch(3),
    "groups": lambda _: (
        numbers()
        .map(doubled)
        .group_by_window(lambda x: x % 3, lambda _, each: each.map(doubled).batch(4), window_size=4)
    ),
    "sums so far": lambda _: (
        numbers().map(doubled).scan(np.int64(0), lambda s, x: (s + x, s)).batch(3)
    ),
    "strings": lambda _: numbers().map(tf.strings.as_string).batch(5),
}


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_published_pipelines_give_the_same_elements_however_they_are_changed(kind, tmp_path):
    data = KINDS[kind](tmp_path)
    graph = PipelineGraph.of(data)
    expected = checksums(graph.dataset(), *ALL)
    assert expected
    for what, dataset in some_changed(data):
        assert checksums(dataset, *ALL) == expected, what
        assert dataset.element_spec == data.element_spec
    for each in possible_changes(graph)[1]:
        assert each.why, each
        assert "\n" not in each.why, each


@pytest.fixture
def all_pays(monkeypatch):
    """Whatever can be measured is kept, so that all stands on top of each other."""
    pays = Pair(before_ms=2.0, after_ms=1.0, gain=2.0, low=1.9, high=2.1)
    monkeypatch.setattr(tuning, "side_by_side", lambda *_, **__: pays)
    monkeypatch.setattr(side_by_side, "SLICE_S", 0.01)


UNBATCHED = {"ragged elements"}
"""Kinds that `fit` would take one element at a time of."""


def made_anew(kind, folder):
    """With the same files at the same places."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    tf.random.set_seed(1)
    return KINDS[kind](folder)


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")
@pytest.mark.parametrize("kind", sorted(KINDS.keys() - UNBATCHED))
def test_tuned_published_pipelines_give_the_same_or_are_refused_with_a_reason(
    kind, tmp_path, all_pays
):
    untouched = made_anew(kind, tmp_path / "files")
    expected = [checksums(untouched, *ALL) for _ in range(2)]
    data = made_anew(kind, tmp_path / "files")
    tuned = kp.tune_input(data, budget_s=60)
    assert [checksums(tuned.dataset, *ALL) for _ in range(2)] == expected
    assert checksums(data, *ALL) == expected[0]
    assert tuned.dataset.element_spec == data.element_spec
    assert bool(tuned.changes) is (tuned.dataset is not data)
    assert all(each.why for each in tuned.not_done)
    assert tuned.changes or tuned.not_done


@pytest.mark.parametrize(
    ("kind", "ids"),
    [
        ("records, interleaved", {"batch-before-map", "interleave", "parallel-map", "cache"}),
        ("lines of CSV", {"batch-before-map", "parallel-map", "cache"}),
        ("dictionaries", {"batch-before-map"}),
        ("enumerated", {"batch-before-map"}),
        ("strings", {"batch-before-map"}),
    ],
)
def test_of_published_pipelines_that_is_changed_which_can_be(kind, ids, tmp_path):
    found, _ = possible_changes(PipelineGraph.of(KINDS[kind](tmp_path)))
    assert ids <= {each.id for each in found}
