"""What is read of event files: many alike at once, and of a file that has grown what is new."""

import struct

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorboard.compat.proto.event_pb2 import Event

from keras_perf.read import file_content
from keras_perf.read.alike_events import FEW, alike_events
from keras_perf.read.event_files import events
from keras_perf.read.file_content import ReadFiles, content_of
from keras_perf.records.metrics.all_metrics import KEPT
from keras_perf.records.run_names import RUN
from keras_perf.write.run_writer import RunWriter, scalar_event

FLOATS = st.floats(width=32, allow_nan=False)
TAGS = st.sampled_from(["perf/step_time_ms", "perf/ä", "host/cpu_pct", ""])
VALUES = st.lists(st.tuples(TAGS, FLOATS), max_size=3)
STEPS = st.integers(-2, 3) | st.integers(0, 2**62)
TIMES = st.floats(allow_nan=False)
EVENTS = st.lists(st.tuples(STEPS, TIMES, VALUES, st.sets(TAGS)), max_size=8)


def one_by_one(path):
    """As protobuf has it, value by value."""
    rows = [
        (*pair, event.step, event.wall_time)
        for event in events(path)
        for value in event.summary.value
        if (pair := figure(value)) is not None
    ]
    frame = pd.DataFrame(rows, columns=["tag", "value", "step", "wall_time"])
    frame = frame[["tag", "step", "wall_time", "value"]]
    types = {"tag": "category", "step": "int64", "wall_time": "float64", "value": "float64"}
    return frame.astype(types)


def figure(value):
    if value.HasField("simple_value"):
        return value.tag, value.simple_value
    kept = value.tag.startswith(KEPT) and value.tensor.float_val
    return (value.tag.removeprefix(KEPT), value.tensor.float_val[0]) if kept else None


def same(one, other):
    # Not by astype(), which warns of a category's NaN in pandas 2.0.
    by_tag = [each.assign(tag=[str(tag) for tag in each["tag"]]) for each in (one, other)]
    pd.testing.assert_frame_equal(*by_tag)


def serialized(step, time, values, kept=frozenset()):
    event = scalar_event(step, dict(values), kept)
    event.wall_time = time
    return event.SerializeToString()


@settings(max_examples=200, deadline=None)
@given(EVENTS, st.integers(0, 2 * FEW))
def test_events_that_are_alike_are_what_protobuf_reads(drawn, repeated):
    written = [serialized(*each) for each in drawn for _ in range(repeated)]
    length = np.array([len(each) for each in written], dtype=np.int64)
    data = b"".join(written)
    found = {}
    for group in alike_events(data, np.cumsum(length) - length, length):
        for row, place in enumerate(group.places.tolist()):
            found[place] = group.steps[row], group.times[row], [*group.values[row]], group.tags
    for place, (step, time, values, tags) in found.items():
        event = Event.FromString(written[place])
        known = event.summary.value
        assert (event.step, event.wall_time) == (step, time)
        assert [figure(value) for value in known] == [*zip(tags, values, strict=True)]


def test_of_many_events_nearly_all_are_read_as_columns():
    written = [
        serialized(step, 1e9 + step, [("a", 1.5), ("b", -step)], {"b"}) for step in range(1000)
    ]
    length = np.array([len(each) for each in written], dtype=np.int64)
    groups = alike_events(b"".join(written), np.cumsum(length) - length, length)
    # The first step is 0, and is not written.
    assert sum(len(group.places) for group in groups) == 999


@given(st.binary(min_size=1, max_size=40))
def test_bytes_that_are_no_event_are_left_to_protobuf(data):
    length = np.full(FEW, len(data), dtype=np.int64)
    for group in alike_events(data * FEW, np.cumsum(length) - length, length):
        event = Event.FromString(data)
        assert [figure(value)[0] for value in event.summary.value] == [*group.tags]


@pytest.fixture
def run(tmp_path):
    """A run that is being written, and its file."""
    writer = RunWriter(str(tmp_path))
    yield writer, next((tmp_path / RUN).iterdir())
    writer.close()


def write(writer, steps):
    for step in steps:
        writer.scalars(step, {"perf/step_time_ms": step / 8}, wall_time=float(step))
        if step % 5 == 0:
            writer.scalars(step, {"host/cpu_pct": 50.0, "a": 1.0}, wall_time=float(step))
            writer.context(step, {"epochs": step})
    writer.flush()


def test_of_a_file_that_has_grown_only_what_is_new_is_read(run, monkeypatch):
    writer, path = run
    files, read = ReadFiles(), []
    bytes_from = file_content.bytes_from

    def counted(path, begin):
        data = bytes_from(path, begin)
        read.append(len(data))
        return data

    monkeypatch.setattr(file_content, "bytes_from", counted)
    for last in (200, 230, 230, 300):
        write(writer, range(last - 30, last))
        content = files.content(path)
        same(content.scalars, one_by_one(path))
        assert content.context == {"epochs": last - 5}
    assert sum(read) <= path.stat().st_size + 3 * file_content.SEAM
    same(content.scalars, content_of(path).scalars)


def test_a_record_that_was_cut_off_is_read_once_it_is_whole(run, tmp_path, recwarn):
    writer, path = run
    write(writer, range(60))
    data = path.read_bytes()
    growing, files = tmp_path / "growing", ReadFiles()
    for end in (0, 5, len(data) // 2, len(data) // 2 + 3, len(data)):
        growing.write_bytes(data[:end])
        content = files.content(growing)
        same(content.scalars, one_by_one(growing))
    assert any("ends in the middle" in str(each.message) for each in recwarn)


def test_a_file_that_was_written_anew_is_read_from_its_beginning(run, tmp_path):
    writer, path = run
    write(writer, range(40))
    files, other = ReadFiles(), RunWriter(str(tmp_path / "other"))
    files.content(path)
    write(other, range(100, 400))
    other.close()
    path.write_bytes(next((tmp_path / "other" / RUN).iterdir()).read_bytes())
    same(files.content(path).scalars, one_by_one(path))


def test_behind_a_damaged_record_the_rest_is_read_each_time(run, recwarn):
    writer, path = run
    write(writer, range(40))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    files = ReadFiles()
    for _ in range(2):
        same(files.content(path).scalars, one_by_one(path))
    assert sum("is damaged" in str(each.message) for each in recwarn) >= 2


def test_files_are_forgotten_when_they_hold_many_scalars(tmp_path, monkeypatch):
    monkeypatch.setattr(file_content, "MOST_SCALARS", 100)
    files = ReadFiles()
    for name in "abc":
        writer = RunWriter(str(tmp_path / name))
        write(writer, range(50))
        writer.close()
        files.content(next((tmp_path / name / RUN).iterdir()))
    assert len(files._known) == 1


def test_a_length_that_leads_out_of_the_event_is_no_field():
    event = serialized(1, 1.0, [("a", 1.0)])
    broken = bytearray(event)
    broken[broken.index(0x2A) + 1] = 0x7F
    length = np.full(FEW, len(broken), dtype=np.int64)
    assert not [*alike_events(bytes(broken) * FEW, np.cumsum(length) - length, length)]
    assert struct.unpack("<d", event[1:9]) == (1.0,)
