"""Several hosts in one trace, from planes built by hand."""

from __future__ import annotations

import pytest
from built_trace import BuiltPlane, marker, runs, wait, write

import keras_perf as kp
from keras_perf.trace.step_frame import PARTS
from keras_perf.trace.trace import trace_scalars


def host(wait_ms, collective_ms, *, step_ms=10.0, steps=4, first=20):
    """Steps of 10 ms: a wait, then 3 ms of computing, then a collective; a gap of 1 ms."""
    plane, markers, waits, collectives = BuiltPlane("/host:CPU"), [], [], []
    for number in range(steps):
        begin = number * step_ms
        compute = begin + wait_ms
        markers += [
            marker(first + number, begin, begin + step_ms - 1),
            runs(compute, compute + 3 + collective_ms),
        ]
        waits.append(wait(begin, compute))
        collectives.append(("CollectiveReduceV2:0", compute + 3, compute + 3 + collective_ms))
    plane.line("python", *markers).line("tf_data", *waits)
    return plane.line("tf_Compute", *collectives) if collective_ms else plane


@pytest.fixture
def cluster(tmp_path):
    """Host b waits for its input; a and c wait for b in the collective."""
    path = write(tmp_path, host(0.5, 5.0)).rename
    first = path(tmp_path / "a.xplane.pb")
    for name, plane in (("b", host(5.0, 0.5)), ("c", host(0.5, 4.9, steps=3))):
        write(tmp_path / name, plane).rename(first.with_name(f"{name}.xplane.pb"))
    return first.parent


def test_a_row_is_a_step_of_a_host(cluster):
    trace = kp.read_trace(cluster)
    frame = trace.to_frame()
    assert trace.hosts == ("a", "b", "c")
    assert [path.name for path in trace.paths] == [f"{name}.xplane.pb" for name in "abc"]
    assert (trace.steps, trace.executions, trace.steps_from) == (11, 11, "markers")
    assert frame.columns[0] == "host"
    steps = frame.groupby("host")["step"].apply(list).to_dict()
    assert steps == {"a": [20, 21, 22, 23], "b": [20, 21, 22, 23], "c": [20, 21, 22]}


def test_a_host_s_rows_are_those_of_its_file_alone(cluster):
    together = kp.read_trace(cluster).to_frame()
    alone = kp.read_trace(cluster / "b.xplane.pb")
    rows = together[together["host"] == "b"].drop(columns="host").reset_index(drop=True)
    assert rows.equals(alone.to_frame()[rows.columns])
    assert "host" not in alone.to_frame()


def test_the_means_are_those_of_the_hosts_and_add_up(cluster):
    trace = kp.read_trace(cluster)
    assert trace.means["input_wait_ms"] == pytest.approx((0.5 + 5.0 + 0.5) / 3)
    assert trace.means["collective_ms"] == pytest.approx((5.0 + 0.5 + 4.9) / 3)
    assert sum(trace.means[part] for part in PARTS) == pytest.approx(trace.means["step_ms"])
    assert trace_scalars(trace)["trace/step_time_ms"] == pytest.approx(10.0)


def test_the_slowest_host_is_the_one_that_the_others_wait_for(cluster):
    text = str(kp.read_trace(cluster))
    assert "11 traced steps in 11 executions of 3 hosts, 10.000 ms a step" in text
    assert (
        "The slowest host is b: 9.500 ms a step outside of collectives, the others 5.050 ms. "
        "Most of that is input wait, +4.500 ms." in text
    )
    rows = [line.split() for line in text.splitlines() if line[:2] in ("a ", "b ", "c ")]
    assert [row[:3] for row in rows] == [
        ["a", "10.000", "0.500"],
        ["b", "10.000", "5.000"],
        ["c", "10.000", "0.500"],
    ]
    assert "| b" in kp.read_trace(cluster).to_markdown()


def test_without_collectives_the_longest_step_is_the_slowest(tmp_path):
    first = write(tmp_path, host(1.0, 0.0))
    write(tmp_path / "z", host(1.0, 0.0, step_ms=12.0)).rename(first.with_name("z.xplane.pb"))
    assert "The slowest host is z: 12.000 ms" in str(kp.read_trace(tmp_path))


def test_a_host_that_does_not_train_is_named_and_left_out(cluster):
    idle = BuiltPlane("/host:CPU").line("main", runs(0, 1))
    write(cluster / "d", idle).rename(cluster / "0.xplane.pb")
    trace = kp.read_trace(cluster)
    assert trace.hosts == ("a", "b", "c")
    assert "No step in the trace of host 0." in str(trace)


def test_hosts_of_which_none_trains_are_said(tmp_path):
    idle = BuiltPlane("/host:CPU").line("main", runs(0, 1))
    first = write(tmp_path, idle)
    write(tmp_path / "z", idle).rename(first.with_name("z.xplane.pb"))
    with pytest.raises(ValueError, match="holds no step"):
        kp.read_trace(tmp_path)


def test_a_damaged_file_among_several_is_said(cluster):
    (cluster / "b.xplane.pb").write_bytes(b"")
    with pytest.raises(ValueError, match=r"b\.xplane\.pb' is empty"):
        kp.read_trace(cluster)
