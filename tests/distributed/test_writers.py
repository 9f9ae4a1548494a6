"""Who writes what, and what the monitor says of a step with long evaluations between."""

import pytest
from test_faults import FLAGS

import keras_perf as kp


@pytest.fixture
def trained(once):
    """Two workers, each with a directory of its own: (chief's, the other's)."""
    group = once("uninterrupted", 2, "jobs.in_main:train", directory="{folder}/{rank}", flags=FLAGS)
    return [group.folder / str(rank) for rank in (0, 1)]


def files(directory):
    return [path for path in directory.rglob("*") if path.is_file()]


@pytest.mark.xdist_group("faults")
def test_the_chief_alone_writes_checkpoints(trained):
    chief, other = (files(directory / "saved") for directory in trained)
    assert {path.name for path in chief} >= {"checkpoint", "ckpt-60.index", "ckpt-90.index"}
    assert not other


@pytest.mark.xdist_group("faults")
def test_the_chief_alone_writes_the_common_events(trained):
    chief, other = (
        {path.relative_to(directory / "logs").parts[:2] for path in files(directory / "logs")}
        for directory in trained
    )
    assert {parts[0] for parts in chief} == {"train", "validation", "perf"}
    assert {parts[0] for parts in other} == {"perf"}
    assert {parts[1] for parts in chief if parts[0] == "perf"} == {"worker_0"}
    assert {parts[1] for parts in other} == {"worker_1"}


@pytest.mark.xdist_group("faults")
def test_each_worker_knows_how_its_data_are_sharded(trained):
    found = kp.diagnose(trained[0] / "logs")
    assert found.summary.facts.input.distribution_options == {"auto_shard_policy": "DATA"}
    assert sum("each worker reads all of the data" in note for note in found.notes) == 1


@pytest.mark.xdist_group("faults")
def test_there_is_one_trace_in_all(trained):
    traces = [path for directory in trained for path in directory.rglob("*.xplane.pb")]
    assert len(traces) == 1
    assert trained[0] in traces[0].parents


@pytest.mark.whole
def test_a_long_evaluation_does_not_change_the_time_of_a_step(nursery):
    flags = "--steps 100 --evaluate-every 20 --steps-per-call 5"
    group = nursery.run(1, "jobs.in_main:train_with_evaluations", flags=flags)
    folders = (group.folder / name for name in ("quick", "long"))
    quick_ms, long_ms = (kp.diagnose(folder).breakdown["step"] for folder in folders)
    # Were the evaluations counted, a step would be longer by their share.
    assert long_ms - quick_ms < sum(group.result()) / 100 / 2
