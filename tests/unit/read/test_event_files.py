"""Written, cut off, still being written: what is read back."""

from __future__ import annotations

import errno
import json
import math
import os
import struct
import tempfile
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c
from tensorboard.summary.writer.record_writer import RecordWriter

from keras_perf.analyse.training import trainings
from keras_perf.files.any_path import beginning
from keras_perf.read import event_files
from keras_perf.read.checksums import masked_crcs
from keras_perf.read.event_files import NoRunError, events, run_files
from keras_perf.read.fits import fits_of
from keras_perf.read.left_out import LeftOutWarning
from keras_perf.read.scalars import load_scalars
from keras_perf.records.fit_identity import FIT_TAG
from keras_perf.records.run.length import Length
from keras_perf.records.run.run_facts import RunFacts
from keras_perf.write.run_writer import CONTEXT_TAG, RunWriter
from keras_perf.write.writable_log_dir import writable_log_dir


def rows(log_dir: Path) -> list[tuple[str, str, int, float, float]]:
    return [tuple(row) for row in load_scalars(log_dir).itertuples(index=False)]


def only_file(log_dir: Path) -> Path:
    (path,) = (log_dir / "perf").iterdir()
    return path


def record_ends(data: bytes) -> list[int]:
    """Where each whole record of a file ends."""
    ends, position = [], 0
    while position < len(data):
        (length,) = struct.unpack_from("<Q", data, position)
        position += 8 + 4 + length + 4
        ends.append(position)
    return ends


def fit_of_an_earlier_version(log_dir: Path, name: str, value: float) -> Path:
    """A `fit` that logged one value, in a file of that name that does not say who wrote it."""
    writer = RunWriter(str(log_dir))
    writer.scalars(1, {"perf/step_time_ms": value}, wall_time=1.0)
    writer.context(1, {"cpu_count": value})
    writer.close()
    [newest] = (log_dir / "perf").glob("*.fit-*")
    data = newest.read_bytes()
    version, identity, *_ = record_ends(data)
    newest.write_bytes(data[:version] + data[identity:])
    return newest.rename(newest.with_name(name))


# -- there and back ----------------------------------------------------------------------


def test_what_is_written_is_read_in_its_order(tmp_path):
    writer = RunWriter(str(tmp_path))
    writer.scalars(10, {"perf/step_time_ms": 1.5, "perf/compute_ms": 1.25}, wall_time=100.125)
    writer.scalars(20, {"perf/step_time_ms": 2.5}, wall_time=100.5)
    writer.close()
    assert rows(tmp_path) == [
        ("perf", "perf/step_time_ms", 10, 100.125, 1.5),
        ("perf", "perf/compute_ms", 10, 100.125, 1.25),
        ("perf", "perf/step_time_ms", 20, 100.5, 2.5),
    ]
    assert list(load_scalars(tmp_path).columns) == ["run", "tag", "step", "wall_time", "value"]


def test_nothing_is_written_for_no_values(tmp_path):
    writer = RunWriter(str(tmp_path))
    writer.scalars(10, {}, wall_time=1.0)
    writer.close()
    assert rows(tmp_path) == []


def test_a_missing_value_comes_back_as_missing(tmp_path):
    writer = RunWriter(str(tmp_path))
    writer.scalars(10, {"gpu/0/power_w": math.nan}, wall_time=1.0)
    writer.close()
    assert math.isnan(load_scalars(tmp_path)["value"].item())


@given(
    written=st.lists(
        st.tuples(
            st.integers(0, 2**62),
            st.floats(0, 4e9),
            st.dictionaries(st.text(min_size=1), st.floats(width=32, allow_nan=False)),
        ),
        max_size=8,
    )
)
@settings(max_examples=100, deadline=None)
def test_writing_and_reading_is_the_identity(written):
    with tempfile.TemporaryDirectory() as log_dir:
        writer = RunWriter(log_dir)
        for step, wall_time, values in written:
            writer.scalars(step, values, wall_time)
        writer.close()
        assert rows(Path(log_dir)) == [
            ("perf", tag, step, wall_time, value)
            for step, wall_time, values in written
            for tag, value in values.items()
        ]


@given(value=st.floats(-(2.0**127), 2.0**127))
@settings(max_examples=100, deadline=None)
def test_a_value_is_read_with_the_precision_of_a_float32(value):
    with tempfile.TemporaryDirectory() as log_dir:
        writer = RunWriter(log_dir)
        writer.scalars(1, {"perf/step_time_ms": value}, 1.0)
        writer.close()
        (float32,) = struct.unpack("f", struct.pack("f", value))
        assert load_scalars(log_dir)["value"].item() == float32


def test_the_newest_context_of_a_fit_counts(tmp_path):
    writer = RunWriter(str(tmp_path))
    writer.context(1, {"epochs": 1, "gpus": {"gpu/0": "H200 µ"}})
    writer.context(2, {"epochs": 2, "stages": None})
    writer.close()
    assert fits_of(tmp_path)["perf"][-1].facts == RunFacts(length=Length(epochs=2))


def test_without_a_context_there_is_an_empty_one(tmp_path):
    writer = RunWriter(str(tmp_path))
    writer.scalars(1, {"perf/step_time_ms": 1.0}, 1.0)
    writer.close()
    assert fits_of(tmp_path)["perf"][-1].facts == RunFacts()


def test_text_and_layout_are_no_scalars_and_name_their_plugins(tmp_path):
    writer = RunWriter(str(tmp_path))
    writer.text(1, "perf/diagnosis", "## compute-bound")
    writer.scalars(1, {"perf/step_time_ms": 1.0}, 1.0)
    writer.context(1, {"epochs": 1})
    writer.close()
    assert [row[1] for row in rows(tmp_path)] == ["perf/step_time_ms"]
    values = [v for event in events(only_file(tmp_path)) for v in event.summary.value]
    plugins = {v.tag: v.metadata.plugin_data.plugin_name for v in values if v.HasField("metadata")}
    assert plugins == {
        "perf/diagnosis": "text",
        "custom_scalars__config__": "custom_scalars",
        CONTEXT_TAG: "keras_perf",
        FIT_TAG: "keras_perf",
    }
    texts = {v.tag: v.tensor.string_val[0] for v in values if v.HasField("tensor")}
    assert texts["perf/diagnosis"] == b"## compute-bound"
    assert json.loads(texts[CONTEXT_TAG]) == {"epochs": 1}


def test_the_layout_is_written_again_only_for_a_new_tag(tmp_path):
    writer = RunWriter(str(tmp_path))
    for step, tag in enumerate(["perf/callbacks_ms", "perf/callbacks_ms", "perf/step_time_ms"]):
        writer.scalars(step, {tag: 1.0}, 1.0)
    writer.close()
    values = [v for event in events(only_file(tmp_path)) for v in event.summary.value]
    assert [v.tag for v in values] == [
        FIT_TAG,
        "custom_scalars__config__",
        "perf/callbacks_ms",
        "perf/callbacks_ms",
        "custom_scalars__config__",
        "perf/step_time_ms",
    ]


# -- cut off, damaged, not finished ------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    """A file of a version record, who wrote it, a layout and three scalar events."""
    log_dir = tmp_path_factory.mktemp("whole")
    writer = RunWriter(str(log_dir))
    for step in range(3):
        writer.scalars(step, {"perf/callbacks_ms": float(step)}, 1.0)
    writer.close()
    return only_file(log_dir).read_bytes()


@pytest.mark.fault(2, "a file cut off anywhere")
def test_a_file_cut_off_anywhere_is_read_up_to_its_last_whole_event(whole, tmp_path):
    path = tmp_path / "events.out.tfevents.1.host.1.0"
    path.write_bytes(whole)
    complete, ends = list(events(path)), record_ends(whole)
    assert len(complete) == len(ends) == 6
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = list(events(path))
        before = [end for end in ends if end <= cut]
        assert found == complete[: len(before)]
        dropped = cut - max(before, default=0)
        assert len(caught) == (dropped > 0)
        if dropped:
            assert f"({dropped} bytes dropped)" in str(caught[0].message)


def trials_of(changes):
    tried = ({"id": f"change-{k}", "gain": 1.0, "low": 0.9, "high": 1.1} for k in range(changes))
    ms = {"before_ms": 2.0, "after_ms": 2.0, "code": "x" * 100}
    return {"advice_trials": {"step_ms": 2.0, "changes": [{**each, **ms} for each in tried]}}


def kept_trials(log_dir, changes):
    writer = RunWriter(str(log_dir))
    writer.context(0, trials_of(changes))
    writer.close()
    return only_file(log_dir)


@pytest.fixture
def requests(monkeypatch):
    """Bytes of each request for a file's beginning."""
    asked = []

    def counted(path, most):
        asked.append(most)
        return beginning(path, most)

    monkeypatch.setattr(event_files, "beginning", counted)
    return asked


@pytest.mark.parametrize(("changes", "read"), [(2, 1), (1000, 2)])
def test_what_a_trial_found_is_read_however_long_it_is(tmp_path, requests, changes, read):
    size = kept_trials(tmp_path, changes).stat().st_size
    assert (size > event_files.WINDOW) is (read > 1)
    [fit] = fits_of(tmp_path)["perf"]
    assert len(fit.tried["advice_trials"].changes) == changes
    assert len(requests) == read


@pytest.mark.parametrize("bytes_", [20, 70_000])
def test_a_long_result_that_is_cut_off_or_damaged_costs_no_more_than_itself(
    tmp_path, requests, bytes_
):
    path = kept_trials(tmp_path, 1000)
    data = path.read_bytes()
    path.write_bytes(data[:-bytes_])
    assert fits_of(tmp_path)["perf"][0].tried == {}
    _, identity, *_ = record_ends(data)
    path.write_bytes(data[:identity] + bytes(len(data)))
    assert fits_of(tmp_path)["perf"][0].tried == {}
    assert len(requests) <= 2 * (1 + event_files.FIRST)
    assert max(requests) < event_files.MOST


def test_the_warning_of_a_cut_off_file_names_it_and_the_cause(whole, tmp_path):
    path = tmp_path / "perf" / "events.out.tfevents.1.host.1.0"
    path.parent.mkdir()
    path.write_bytes(whole[:-1])
    with pytest.warns(UserWarning, match="killed or is still writing") as caught:
        frame = load_scalars(tmp_path)
    assert "events.out.tfevents.1.host.1.0 ends in the middle of a record" in str(caught[0].message)
    assert list(frame["value"]) == [0.0, 1.0]


def test_bytes_that_are_no_event_are_left_out_with_a_warning(whole, tmp_path):
    path = tmp_path / "events.out.tfevents.1.host.1.0"
    bad = struct.pack("<QI", 3, 0) + b"\xff\xff\xff" + bytes(4)
    path.write_bytes(whole + bad)
    with pytest.warns(LeftOutWarning, match="19 of its .* bytes do not match their checksums"):
        assert len(list(events(path))) == 6


def test_a_flipped_byte_costs_the_record_that_it_lies_in_and_no_other(whole, tmp_path):
    path = tmp_path / "events.out.tfevents.1.host.1.0"
    path.write_bytes(whole)
    complete, ends = list(events(path)), record_ends(whole)
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 0x41
        path.write_bytes(damaged)
        with pytest.warns(LeftOutWarning, match="is damaged") as caught:
            found = list(events(path))
        hit = sum(end <= place for end in ends)
        assert found == complete[:hit] + complete[hit + 1 :]
        assert len(caught) == 1


@pytest.mark.fault(2, "bytes lost or put in between")
def test_bytes_that_were_lost_or_put_in_between_cost_what_lies_around_them(whole, tmp_path):
    path = tmp_path / "events.out.tfevents.1.host.1.0"
    path.write_bytes(whole)
    complete, third = list(events(path)), record_ends(whole)[2]
    for damaged in (whole[: third + 5] + whole[third + 9 :], whole[:third] + b"?" + whole[third:]):
        path.write_bytes(damaged)
        with pytest.warns(LeftOutWarning, match="is damaged"):
            found = list(events(path))
        assert found[:3] == complete[:3]
        assert found[-1] == complete[-1]


@pytest.mark.fault(2, "a directory without permission beside others")
def test_a_directory_that_cannot_be_listed_costs_no_other(tmp_path, monkeypatch):
    for name in ("a", "b"):
        RunWriter(str(tmp_path / name)).close()
    refuse_to_list(monkeypatch, tmp_path / "a" / "perf")
    with pytest.warns(LeftOutWarning, match=r"a/perf cannot be read: Permission denied"):
        assert list(run_files(tmp_path)) == ["b/perf"]
    with pytest.raises(NoRunError, match=r"a/perf cannot be read: Permission denied"):
        run_files(tmp_path / "a")


def test_a_folder_that_goes_while_others_are_listed_is_not_missed(tmp_path, monkeypatch, recwarn):
    RunWriter(str(tmp_path / "a")).close()
    (tmp_path / "a" / "perf" / ".capture-1").mkdir()
    scandir = os.scandir

    def gone(path):
        if os.fspath(path).endswith(".capture-1"):
            raise FileNotFoundError(2, "No such file or directory", os.fspath(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", gone)
    assert list(run_files(tmp_path)) == ["a/perf"]
    assert not recwarn.list


def refuse_to_list(monkeypatch, folder):
    """As for somebody who may not read it; the tests run as root, who may."""
    scandir = os.scandir

    def refusing(path):
        if Path(path) == folder:
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)


@pytest.mark.fault(2, "a directory without permission")
def test_a_directory_that_cannot_be_looked_at_says_why(tmp_path, monkeypatch):
    def refusing(self, **_):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "stat", refusing)
    with pytest.raises(NoRunError, match=r"nowhere' that can be looked at: Permission denied"):
        run_files(tmp_path / "nowhere")


@given(stretches=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 300)), max_size=40))
@settings(max_examples=50, deadline=None)
def test_checksums_of_many_stretches_are_tensorboards_of_each(stretches):
    data = bytes(place * 37 % 251 for place in range(500))
    begin, length = (np.array([each[i] for each in stretches], dtype=np.int64) for i in (0, 1))
    found = masked_crcs(np.frombuffer(data, np.uint8), begin, length)
    assert found.tolist() == [masked_crc32c(data[b : b + n]) for b, n in stretches]


def test_an_empty_file_is_an_empty_run(tmp_path):
    (tmp_path / "perf").mkdir()
    (tmp_path / "perf" / "events.out.tfevents.1.host.1.0").touch()
    assert rows(tmp_path) == []


def test_a_run_still_being_written_is_read_as_far_as_it_is(tmp_path):
    writer = RunWriter(str(tmp_path))
    writer.scalars(10, {"perf/step_time_ms": 1.5}, wall_time=1.0)
    writer.flush()
    assert [row[2] for row in rows(tmp_path)] == [10]
    writer.scalars(20, {"perf/step_time_ms": 2.5}, wall_time=2.0)
    writer.flush()
    assert [row[2] for row in rows(tmp_path)] == [10, 20]
    writer.close()


# -- which runs, which files -------------------------------------------------------------


def test_a_directory_that_is_not_there_is_named(tmp_path):
    with pytest.raises(NoRunError, match=r"no directory .*nowhere"):
        run_files(tmp_path / "nowhere")


def test_a_directory_without_a_run_of_ours_says_how_to_make_one(tmp_path):
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "events.out.tfevents.1.host.1.0").touch()
    with pytest.raises(FileNotFoundError, match=r"perf_callbacks\(log_dir\)") as raised:
        load_scalars(tmp_path)
    assert type(raised.value) is NoRunError


def test_other_peoples_runs_beside_ours_are_passed_over(tmp_path):
    RunWriter(str(tmp_path)).close()
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "events.out.tfevents.1.host.1.0").touch()
    assert list(run_files(tmp_path)) == ["perf"]


def test_other_peoples_runs_in_a_log_directory_named_perf_are_passed_over(tmp_path):
    log_dir = tmp_path / "perf"
    RunWriter(str(log_dir)).close()
    (log_dir / "train").mkdir()
    (log_dir / "train" / "events.out.tfevents.1.host.1.0").touch()
    assert list(run_files(log_dir)) == ["perf"]


@pytest.mark.parametrize(
    ("below", "runs"),
    [
        ("", ["run1/perf", "run2/perf"]),
        ("run1", ["perf"]),
        ("run1/perf", ["."]),
    ],
)
def test_a_run_is_found_from_above_from_its_log_directory_and_from_its_own(tmp_path, below, runs):
    RunWriter(str(tmp_path / "run1")).close()
    RunWriter(str(tmp_path / "run2")).close()
    assert sorted(run_files(tmp_path / below)) == runs


def test_beside_a_run_of_its_own_nothing_of_a_log_directory_is_listed(tmp_path, monkeypatch):
    RunWriter(str(tmp_path)).close()
    RunWriter(str(tmp_path / "run1")).close()
    assert sorted(run_files(tmp_path)) == ["perf", "run1/perf"]
    monkeypatch.setattr(event_files, "folders_below", lists_only(tmp_path / "perf"))
    assert sorted(run_files(tmp_path, nearest=True)) == ["perf"]
    assert [each.name for each in trainings(tmp_path)] == ["perf"]


def lists_only(allowed):
    def folders_below(root, refused):
        assert root == allowed
        yield root, sorted(path.name for path in root.iterdir())

    return folders_below


def test_where_only_the_log_directory_is_named_as_ours_all_below_is_listed(tmp_path):
    RunWriter(str(tmp_path / "perf")).close()
    RunWriter(str(tmp_path / "run1")).close()
    assert sorted(run_files(tmp_path, nearest=True)) == ["perf/perf", "run1/perf"]
    assert sorted(run_files(tmp_path / "run1", nearest=True)) == ["perf"]


def test_links_to_runs_elsewhere_are_followed_once_and_never_in_a_circle(tmp_path):
    RunWriter(str(tmp_path / "logs" / "run1")).close()
    RunWriter(str(tmp_path / "shown" / "own")).close()
    for name, target in {
        "before": tmp_path / "logs" / "run1",
        "latest": tmp_path / "shown" / "own",
        "up": tmp_path,
        "lost": tmp_path / "nowhere",
    }.items():
        (tmp_path / "shown" / name).symlink_to(target)
    (tmp_path / "logs" / "run1" / "back").symlink_to(tmp_path / "shown")
    assert sorted(run_files(tmp_path / "shown")) == ["before/perf", "own/perf"]
    assert sorted(run_files(tmp_path / "logs")) == ["run1/back/own/perf", "run1/perf"]


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_of_links_to_a_run_and_to_what_holds_it_both_are_followed(tmp_path, names):
    for run in ("run1", "run2"):
        RunWriter(str(tmp_path / "logs" / run)).close()
    (tmp_path / "shown").mkdir()
    for name, target in zip(names, ("logs/run1", "logs"), strict=True):
        (tmp_path / "shown" / name).symlink_to(tmp_path / target)
    found = {path.resolve() for paths in run_files(tmp_path / "shown").values() for path in paths}
    assert {path.parent.parent.name for path in found} == {"run1", "run2"}
    assert sum(map(len, run_files(tmp_path / "shown").values())) == 2


@pytest.mark.parametrize(
    ("below", "runs"),
    [
        ("", ["perf/worker_0", "perf/worker_1"]),
        ("perf", ["worker_0", "worker_1"]),
        ("perf/worker_1", ["."]),
    ],
)
def test_workers_are_found_from_above_and_one_by_one(tmp_path, below, runs):
    for worker in range(2):
        path = tmp_path / "perf" / f"worker_{worker}" / "events.out.tfevents.1.host.1.0"
        path.parent.mkdir(parents=True)
        path.touch()
    assert sorted(run_files(tmp_path / below)) == runs


def test_all_fits_of_a_directory_are_loaded_the_oldest_first(tmp_path):
    for value in (1.0, 2.0, 3.0):
        writer = RunWriter(str(tmp_path))
        writer.scalars(5, {"perf/step_time_ms": value}, 1.0)
        writer.close()
    assert list(load_scalars(tmp_path)["value"]) == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("0000000007.host.41.3", "0000000008.host.9.0"),
        ("0000000007.host.41.9", "0000000007.host.41.10"),
        ("0000000007.host.example.org.41.9", "0000000007.host.example.org.41.10"),
    ],
)
@pytest.mark.parametrize("written_first", ["older", "newer"])
def test_of_several_fits_the_newest_wins_whichever_file_was_touched_last(
    tmp_path, older, newer, written_first
):
    fits = [(f"events.out.tfevents.{older}", 1.0), (f"events.out.tfevents.{newer}", 2.0)]
    for name, value in fits if written_first == "older" else fits[::-1]:
        fit_of_an_earlier_version(tmp_path, name, value)
    newest = fits_of(tmp_path)["perf"][-1]
    assert list(newest.scalars["value"]) == [2.0]
    assert newest.facts.machine.cpu_count == 2
    assert list(load_scalars(tmp_path)["value"]) == [1.0, 2.0]


def test_an_empty_fit_beside_others_does_not_disturb_them(tmp_path):
    RunWriter(str(tmp_path)).close()
    writer = RunWriter(str(tmp_path))
    writer.scalars(5, {"perf/step_time_ms": 1.0}, 1.0)
    writer.close()
    RunWriter(str(tmp_path)).close()
    assert list(load_scalars(tmp_path)["value"]) == [1.0]
    assert list(fits_of(tmp_path)["perf"][-1].scalars["value"]) == []


# -- the log directory -------------------------------------------------------------------


def test_a_log_directory_is_looked_at_and_not_yet_made(tmp_path):
    path = writable_log_dir(tmp_path / "logs" / "run1")
    assert path == str(tmp_path / "logs" / "run1")
    assert list(tmp_path.iterdir()) == []


def test_a_log_directory_that_exists_is_left_as_it_is(tmp_path):
    (tmp_path / "perf").mkdir()
    writable_log_dir(tmp_path)
    assert [*tmp_path.rglob("*")] == [tmp_path / "perf"]


def test_workers_with_one_pid_look_at_a_log_directory_at_the_same_time(tmp_path, monkeypatch):
    touch, names = Path.touch, []

    def touch_and_let_another_look(path):
        touch(path)
        names.append(path.name)
        if len(names) == 1:
            writable_log_dir(tmp_path)

    monkeypatch.setattr(Path, "touch", touch_and_let_another_look)
    assert writable_log_dir(tmp_path) == str(tmp_path)
    assert len(set(names)) == 2
    assert not list(tmp_path.iterdir())


def test_what_was_written_to_look_at_a_log_directory_may_be_cleared_away(tmp_path, monkeypatch):
    touch = Path.touch

    def touch_and_clear_away(path):
        touch(path)
        path.unlink()

    monkeypatch.setattr(Path, "touch", touch_and_clear_away)
    assert writable_log_dir(tmp_path) == str(tmp_path)


@pytest.mark.parametrize("wrong", [None, 3, b"logs"])
def test_a_log_directory_that_is_no_path_is_refused_with_the_remedy(wrong):
    with pytest.raises(TypeError, match=r"log_dir must be a str or os\.PathLike, got .*logs/run1"):
        writable_log_dir(wrong)


def test_an_empty_log_directory_is_refused():
    with pytest.raises(ValueError, match="log_dir must name a directory, got ''"):
        writable_log_dir("")


@pytest.mark.fault(2, "surrogates and NUL in `log_dir`")
@pytest.mark.parametrize("name", ["run\0", "run\udcff", "gs://bucket/\ud800"])
def test_a_name_that_no_event_file_can_have_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="log_dir must be a name in Unicode") as raised:
        writable_log_dir(name)
    assert type(raised.value) is ValueError
    assert f"got {name!r}" in str(raised.value)
    assert str(raised.value).isprintable()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["two\nlines", "\x1b[31m", "\u202e数"])
def test_a_name_that_is_only_odd_is_written_and_read_back(name, tmp_path):
    writer = RunWriter(writable_log_dir(tmp_path / name))
    writer.scalars(10, {"perf/step_time_ms": 1.5}, wall_time=1.0)
    writer.close()
    assert [row[2] for row in rows(tmp_path / name)] == [10]


def test_a_log_directory_that_cannot_be_made_is_refused_with_its_name(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"log_dir must be writable, got .*file") as raised:
        writable_log_dir(tmp_path / "file")
    assert raised.value.errno is not None


@pytest.mark.fault(2, "a run that cannot be opened")
def test_a_run_that_cannot_be_opened_leaves_no_thread(tmp_path, monkeypatch):
    def full(self):
        raise OSError(errno.ENOSPC, "No space left on device")

    before = set(threading.enumerate())
    monkeypatch.setattr(RecordWriter, "flush", full)
    # The thread may meet the full disk too.
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    with pytest.raises(OSError, match="No space left"):
        RunWriter(str(tmp_path))
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
    assert set(threading.enumerate()) <= before
