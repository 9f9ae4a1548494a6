"""Files of the profiler, read back; files that are none, said."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from built_trace import BuiltPlane, marker, number, part, runs, wait, write
from hypothesis import given, settings
from hypothesis import strategies as st

import keras_perf as kp
from keras_perf.trace.file.event_columns import decode_events
from keras_perf.trace.file.xplane import NoTraceError, find_traces, host_of, read_xspace

NUMBERS = st.integers(0, 2**63 - 1)


def test_what_the_profiler_warns_of_is_a_note(tmp_path):
    plane = BuiltPlane("/host:CPU").line("python", marker(0, 0, 9), marker(1, 10, 19))
    file = write(tmp_path, plane)
    file.write_bytes(file.read_bytes() + part(3, "Detected GPU events dropped"))
    assert "The profiler said: Detected GPU events dropped" in str(kp.read_trace(file))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS, st.binary(max_size=200))))
def test_columns_are_what_was_encoded(events):
    payloads = [
        number(1, a) + number(2, b) + number(3, c) + part(4, rest) for a, b, c, rest in events
    ]
    columns = decode_events(payloads)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == [
        event[:3] for event in events
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))))
def test_numbers_that_are_absent_are_zero(events):
    payloads = [
        b"".join(number(field, value) for field, value in enumerate(event, 1) if value)
        for event in events
    ]
    columns = decode_events(payloads)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == events


def test_an_event_that_ends_within_a_number_is_an_error():
    with pytest.raises(IndexError):
        decode_events([b"\x08\xff"])


def two_lines(tmp_path, first_ns, second_ns):
    plane = BuiltPlane("/host:CPU")
    plane.line("python", marker(7, 1, 3), runs(1.5, 2), timestamp_ns=first_ns)
    plane.line("other", runs(0, 1), timestamp_ns=second_ns)
    return read_xspace(write(tmp_path, plane))


def test_planes_lines_events_and_statistics_are_read(tmp_path):
    space = two_lines(tmp_path, 0, 5_000_000)
    [plane] = space.host_planes
    python, other = plane.lines()
    assert space.hosts == ("vm",)
    assert (python.name, other.name) == ("python", "other")
    names = [plane.event_names[i] for i in python.events.name_id]
    assert names == ["train", "EagerKernelExecute"]
    assert python.events.begin.tolist() == [1 * 10**9, 1.5 * 10**9]
    assert python.events.end.tolist() == [3 * 10**9, 2 * 10**9]
    assert other.events.begin.tolist() == [5 * 10**9]
    assert plane.stats(python.events.encoded[0]) == {"step_num": 7, "_r": 1}
    assert plane.stats(python.events.encoded[1]) == {}


def test_times_since_the_epoch_do_not_overflow(tmp_path):
    now = 1_795_180_279_983_736_000
    [plane] = two_lines(tmp_path, now, now + 5_000_000).host_planes
    python, other = plane.lines()
    assert python.events.begin[0] == 10**9
    assert other.events.begin[0] == 5 * 10**9


def test_texts_kept_once_are_looked_up(tmp_path):
    plane = BuiltPlane("/host:CPU")
    told = plane.identity("stat", "concrete")
    plane.line("python", ("f", 0, 1))
    plane.identity("stat", "tf_function_call")
    [read] = read_xspace(write(tmp_path, plane)).planes
    assert read.stats(part(4, number(1, 2) + number(7, told))) == {"tf_function_call": "concrete"}


def test_an_empty_file_is_said(tmp_path):
    path = tmp_path / "vm.xplane.pb"
    path.touch()
    with pytest.raises(ValueError, match="is empty"):
        read_xspace(path)


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.99])
def test_a_file_that_was_cut_off_is_said(tmp_path, kept):
    plane = BuiltPlane("/host:CPU").line("python", *(marker(i, i, i + 0.5) for i in range(50)))
    path = write(tmp_path, plane)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * kept)])
    with pytest.raises(ValueError, match="is no whole trace"):
        read_xspace(path)


FOREIGN = {
    "text": b"step,loss\n1,0.5\n",
    "noise": np.random.default_rng(0).bytes(1000),
    "image": b"\x89PNG\r\n",
    "message of another kind": part(2, "no plane"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_file_is_said(tmp_path, kind):
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(FOREIGN[kind])
    with pytest.raises(ValueError, match="is no whole trace"):
        read_xspace(path)


def test_a_damaged_line_is_said(tmp_path):
    plane = BuiltPlane("/host:CPU")
    plane.lines.append(part(4, b"\x08\xff"))
    [read] = read_xspace(write(tmp_path, plane)).planes
    with pytest.raises(ValueError, match="a line of plane '/host:CPU' is damaged"):
        list(read.lines())


def test_a_damaged_event_is_said():
    plane = BuiltPlane("/host:CPU").line("python", marker(1, 0, 1))
    with TemporaryDirectory() as folder:
        [read] = read_xspace(write(folder, plane)).planes
    with pytest.raises(ValueError, match="an event of plane '/host:CPU' is damaged"):
        read.stats(b"\x22\xff")


def test_a_name_in_another_encoding_is_read():
    plane = BuiltPlane("/host:CPU").line("python", ("Stra?e", 0, 1))
    with TemporaryDirectory() as folder:
        path = write(folder, plane)
        path.write_bytes(path.read_bytes().replace(b"Stra?e", b"Stra\xdfe"))
        [read] = read_xspace(path).planes
    assert list(read.event_names.values()) == ["Stra\ufffde"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    host = BuiltPlane("/host:CPU").line(
        "python", *(marker(i, 10 * i, 10 * i + 9) for i in range(6)), runs(1, 8)
    )
    host.line("tf_data", *(wait(10 * i, 10 * i + 2) for i in range(6)))
    return write(tmp_path_factory.mktemp("whole"), host).read_bytes()


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_trace_with_any_bytes_changed_is_read_or_refused(whole, data):
    content = bytearray(whole)
    places = st.tuples(st.integers(0, len(whole) - 1), st.integers(0, 255))
    for place, value in data.draw(st.lists(places, max_size=4)):
        content[place] = value
    with TemporaryDirectory() as folder:
        path = Path(folder, "vm.xplane.pb")
        path.write_bytes(content[: data.draw(st.integers(1, len(whole)))])
        refused = ""
        try:
            str(kp.read_trace(path))
        except ValueError as error:
            refused = str(error)
    assert not refused or str(path) in refused


def test_no_trace_is_said_with_what_to_do(tmp_path):
    with pytest.raises(NoTraceError, match="WindowedProfiler"):
        find_traces(tmp_path)
    with pytest.raises(FileNotFoundError, match="no file or directory"):
        find_traces(tmp_path / "nowhere")


def test_the_newest_capture_is_found_with_all_of_its_hosts(tmp_path):
    plane = BuiltPlane("/host:CPU").line("python", runs(0, 1))
    old, new = write(tmp_path / "b", plane), write(tmp_path / "a/perf", plane)
    os.utime(old, (1, 1))
    other_host = new.with_name("zz.xplane.pb")
    other_host.write_bytes(new.read_bytes())
    assert find_traces(tmp_path) == (new, other_host)
    assert [host_of(path) for path in find_traces(tmp_path)] == ["vm", "zz"]
    assert find_traces(other_host) == (other_host,)


def test_a_capture_that_is_still_being_written_is_left_alone(tmp_path):
    path = write(tmp_path / ".capture-1", BuiltPlane("/host:CPU").line("python", runs(0, 1)))
    with pytest.raises(NoTraceError):
        find_traces(tmp_path)
    assert find_traces(tmp_path / ".capture-1") == (path,)


def test_columns_of_no_events_are_empty():
    assert all(column.dtype == np.int64 and not len(column) for column in decode_events([]))
