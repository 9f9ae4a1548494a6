"""What is marked to run in one process does: tests that judge times, tests of the same workers."""

from __future__ import annotations

import os

import pytest


@pytest.mark.xdist_group("groups")
@pytest.mark.parametrize("number", range(8))
def test_a_group_runs_in_one_process(number, tmp_path_factory):
    """Where this fails pytest-xdist takes no notice of groups, and says nothing of it."""
    own = tmp_path_factory.getbasetemp()
    common = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    with open(common / "processes_of_a_group", "a+") as processes:
        processes.write(f"{os.getpid()}\n")
        processes.seek(0)
        assert set(processes.read().split()) == {str(os.getpid())}


@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="there is one process")
def test_tests_that_judge_times_are_a_group(request):
    judge = [item for item in request.session.items if item.get_closest_marker("timing")]
    assert {item.nodeid.rpartition("@")[2] for item in judge} <= {"timing"}
