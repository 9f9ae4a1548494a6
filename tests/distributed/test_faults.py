"""Workers that are stopped, die or fail: the others end soon, and a restart goes on exactly."""

import re
import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

pytestmark = [pytest.mark.xdist_group("faults"), pytest.mark.whole]

PEER_LOST_WITHIN_S = 15
FLAGS = "--steps 90 --evaluate-every 30 --steps-per-call 5"
SLOW_S = 0.06
TERM, KILL, STOP = signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP


def ends(group):
    """What each worker had when it came to its end."""
    return [np.load(group.folder / f"end_{rank}.npz") for rank in range(group.count)]


def newest(directory):
    """The step of the newest complete checkpoint; 0 if there is none."""
    path = directory / "saved" / "checkpoint"
    text = path.read_text() if path.exists() else ""
    found = re.search(r'^model_checkpoint_path: ".*-(\d+)"', text, re.M)
    return int(found[1]) if found else 0


@pytest.fixture
def uninterrupted(once):
    group = once("uninterrupted", 2, "jobs.in_main:train", directory="{folder}/{rank}", flags=FLAGS)
    return ends(group)[0]


def loses_its_peers(group, lost, names, at):
    """Whether all but `lost` end in time with one line that names it."""
    for rank in range(group.count):
        if rank == lost:
            continue
        code, ended = group.end(rank)
        assert code == 43, group.tails()
        assert ended - at < PEER_LOST_WITHIN_S
        lines = group.lines(rank, "is gone")
        assert len(lines) == 1, group.tails()
        assert names in lines[0]


def stands_still(nursery, folder, rank):
    """A worker stands still; the others end after ten seconds of silence."""
    arguments = {"directory": str(folder), "flags": f"{FLAGS} --batch-size 33", "slow_s": SLOW_S}
    group = nursery.start(3, "jobs.in_main:train", **arguments)
    group.until(lambda: newest(folder) == 30)
    at = group.signal(rank, STOP)
    loses_its_peers(group, rank, f"worker {rank}", at)


@pytest.fixture(scope="module")
def chief_stands_still(nursery, tmp_path_factory):
    """The chief does, and the other tests run meanwhile."""
    with ThreadPoolExecutor(1) as thread:
        yield thread.submit(stands_still, nursery, tmp_path_factory.mktemp("still"), 0)


@pytest.mark.usefixtures("chief_stands_still")
@pytest.mark.parametrize(
    "faults",
    [
        pytest.param([(TERM, 0), (KILL, 1)], id="chief stopped", marks=pytest.mark.long),
        pytest.param([(KILL, 0), (TERM, 1)], id="chief killed"),
    ],
)
def test_stopped_and_killed_it_ends_with_the_weights_of_an_uninterrupted_training(
    faults, nursery, uninterrupted, tmp_path
):
    def start(slow_s):
        arguments = {"directory": str(tmp_path), "flags": FLAGS, "slow_s": slow_s}
        return nursery.start(2, "jobs.in_main:train", **arguments)

    saved = 0
    for (sent, rank), step in zip(faults, (30, 60), strict=True):
        group = start(SLOW_S)
        group.until(lambda step=step: newest(tmp_path) == step)
        at = group.signal(rank, sent)
        if sent == TERM:
            assert group.codes() == [42, 42], group.tails()
            assert {int(end["step"]) for end in ends(group)} == {newest(tmp_path)}
            assert step < newest(tmp_path) < step + 30
        else:
            loses_its_peers(group, rank, f"worker {rank}", at)
            assert group.end(rank)[0] == -KILL
            assert newest(tmp_path) == step
        assert not saved or f"Goes on after step {saved}," in group.output(0)
        saved = newest(tmp_path)
    group = start(0)
    assert group.codes() == [0, 0], group.tails()
    assert f"Goes on after step {saved}," in group.output(0)
    for end in ends(group):
        assert end["step"] == 90
        np.testing.assert_array_equal(end["trained"], uninterrupted["trained"])
        # A save makes them their mean, and the mean of fewer steps is rounded once more.
        np.testing.assert_allclose(end["statistics"], uninterrupted["statistics"], atol=1e-6)


def test_a_stop_that_is_asked_for_before_the_first_step_is_not_lost(nursery, tmp_path):
    arguments = {"directory": str(tmp_path), "flags": FLAGS, "fails": (1, "stop early")}
    group = nursery.start(2, "jobs.in_main:train", **arguments)
    assert group.codes() == [42, 42], group.tails()
    assert newest(tmp_path) == 5


@pytest.mark.parametrize(
    ("how", "code"),
    [("exception", 1), ("data", 1), pytest.param("exit", 3, marks=pytest.mark.long)],
)
def test_a_worker_that_fails_ends_the_others(how, code, nursery, tmp_path):
    arguments = {"directory": str(tmp_path), "flags": FLAGS, "fails": (1, how)}
    group = nursery.start(2, "jobs.in_main:train", **arguments)
    found, at = group.end(1)
    assert found == code, group.tails()
    loses_its_peers(group, 1, "worker 1", at)


def test_a_python_function_in_the_input_does_not_hold_up_the_end(nursery):
    """Python's own end waits for it in vain; see `loop.leave`."""
    group = nursery.start(1, "jobs.in_main:stop_in_python", whole_exit=True)
    assert group.codes(60) == [42], group.tails()
    assert "what was registered is done" in group.output(0)
    assert newest(group.folder) > 30


def test_a_chief_that_stands_still_ends_the_others(chief_stands_still):
    chief_stands_still.result()


@pytest.mark.long
def test_a_worker_that_stands_still_ends_the_others(nursery, tmp_path):
    stands_still(nursery, tmp_path, 1)
