"""On which file systems a dataset's files lie. Canary of private names of tf.data's."""

from __future__ import annotations

import pytest
import tensorflow as tf

from keras_perf.observation.facts.input import file_systems as module
from keras_perf.observation.facts.input.dataset_graph import dataset_graph

BUCKET = tf.constant("s3://bucket/")


def systems(data):
    return dataset_graph(data).file_systems


def names(*found):
    return tf.data.Dataset.from_tensor_slices(list(found))


def read(name):
    return tf.io.read_file(name)


def records(name):
    return tf.data.TFRecordDataset(name)


@pytest.fixture
def mounts(tmp_path, monkeypatch):
    """A network share under `share`, anything else local."""
    (tmp_path / "share" / "deep").mkdir(parents=True)
    for place in ("share/deep/a.tfrecord", "b.tfrecord"):
        (tmp_path / place).write_bytes(b"")
    rows = [
        f"server:/x {tmp_path}/share nfs4 rw 0 0",
        f"disk {tmp_path} ext4 rw 0 0",
        "broken",
    ]
    (tmp_path / "mounts").write_text("\n".join(rows))
    monkeypatch.setattr(module, "MOUNTS", tmp_path / "mounts")
    return tmp_path


@pytest.mark.parametrize(
    "data",
    [
        lambda: tf.data.TFRecordDataset(["gs://bucket/a"]),
        lambda: tf.data.TFRecordDataset("gs://bucket/a", num_parallel_reads=2),
        lambda: tf.data.TextLineDataset(["gs://bucket/a"]),
        lambda: tf.data.FixedLengthRecordDataset("gs://bucket/a", 4),
        lambda: tf.data.experimental.CsvDataset("gs://bucket/a", [tf.int32]),
        lambda: names("gs://bucket/a").map(read),
        lambda: names("GS://bucket/a").shuffle(2).interleave(records),
        lambda: tf.data.Dataset.range(3).flat_map(lambda _: records("gs://bucket/a")),
        lambda: tf.data.Dataset.zip((names("gs://b/a").map(read), tf.data.Dataset.range(1))),
    ],
)
def test_the_scheme_of_file_names_is_found_wherever_they_stand(data):
    assert systems(data()) == ("gs://",)


def test_the_beginning_of_a_name_that_a_function_holds_is_found():
    assert systems(names("a", "b").map(lambda name: tf.io.read_file(BUCKET + name))) == ("s3://",)


def test_a_local_path_is_known_by_its_mount(mounts):
    assert systems(records([str(mounts / "share/deep/a.tfrecord")])) == ("nfs4",)
    assert systems(records([f"file://{mounts}/b.tfrecord"])) == ("ext4",)
    both = [str(mounts / place) for place in ("b.tfrecord", "share/deep/a.tfrecord")]
    assert systems(records(both)) == ("ext4", "nfs4")


def test_files_that_were_listed_are_known_by_their_mount(mounts):
    listed = tf.data.Dataset.list_files(f"{mounts}/share/*/*.tfrecord", shuffle=False)
    assert systems(listed.interleave(records)) == ("nfs4",)


def test_a_link_is_followed_to_where_the_file_lies(mounts):
    (mounts / "link").symlink_to(mounts / "share")
    assert systems(records([str(mounts / "link/deep/a.tfrecord")])) == ("nfs4",)


def test_a_dataset_that_was_saved_is_known_by_its_folder(mounts):
    tf.data.Dataset.range(3).save(str(mounts / "share/saved"))
    assert systems(tf.data.Dataset.load(str(mounts / "share/saved"))) == ("nfs4",)


def test_texts_of_a_dataset_that_reads_no_files_are_no_names():
    assert systems(names("gs://bucket/a", "/etc/passwd").map(lambda text: text)) == ()


@pytest.mark.parametrize("text", ["/", "//", ".", "./", "../", "cat", "http://a.b/", "https://c"])
def test_a_text_in_a_function_that_reads_is_no_name_of_a_file(mounts, monkeypatch, text):
    (mounts / "share/cat").mkdir()
    monkeypatch.chdir(mounts / "share")
    with (mounts / "mounts").open("a") as rows:
        rows.write("\nserver:/ / nfs4 rw 0 0")

    def read_with_label(name):
        return tf.io.read_file(name), tf.strings.split(name, text)[-1] == text

    assert systems(names(str(mounts / "b.tfrecord")).map(read_with_label)) == ("ext4",)


def test_a_folder_that_names_are_made_with_is_known_by_its_mount(mounts):
    folder = tf.constant(f"{mounts}/share/")
    assert systems(names("a", "b").map(lambda name: tf.io.read_file(folder + name))) == ("nfs4",)


def test_what_is_no_file_or_where_nobody_tells_of_mounts_is_not_known(mounts, monkeypatch):
    assert systems(records(["no such file"])) == ()
    monkeypatch.setattr(module, "MOUNTS", mounts / "nowhere")
    assert systems(records([str(mounts / "b.tfrecord")])) == ()


def test_a_tf_data_without_these_names_costs_the_note_only(monkeypatch):
    def is_gone(node):
        raise AttributeError

    monkeypatch.setattr(module, "_names", is_gone)
    found = dataset_graph(records(["gs://bucket/a"]))
    assert found.file_systems == ()
    assert found.chains
