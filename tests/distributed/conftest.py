"""Groups of workers that several tests look at, started once in a whole run of the tests."""

from __future__ import annotations

import fcntl
import os
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version

import nursery as nursery_of
import pytest


@pytest.fixture(scope="session")
def workers(processes):
    """Starts workers."""
    if not nursery_of.namespaces_work():
        why = "a network namespace cannot be made here (unshare -rn, ip)"
        pytest.fail(why) if os.environ.get("CI") else pytest.skip(why)
    return processes


@pytest.fixture(scope="session")
def nursery(workers):
    """Starts workers that train."""
    try:
        installed = version("keras")
    except PackageNotFoundError:
        installed = version("keras-nightly")
    if tuple(map(int, installed.split(".")[:2])) < (3, 10):
        pytest.skip("with this Keras, several replicas are refused")
    return workers


@pytest.fixture(scope="session")
def ends():
    """How the programs of the tests that mostly wait ended: started together, in their order."""
    from test_workers_that_die import WAITING, run

    with ThreadPoolExecutor(8) as threads:
        yield [threads.submit(run, *programs) for programs in WAITING]


@pytest.fixture(scope="session")
def once(tmp_path_factory, nursery):
    """`once(name, count, job, **arguments)`: a group that ran, in this process or another."""
    own = tmp_path_factory.getbasetemp()
    common = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def group(name, count, job, **arguments):
        folder = common / f"once_{name}"
        with open(common / f"once_{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.is_symlink():
                ran = nursery.start(count, job, **arguments)
                folder.symlink_to(ran.folder)
                ran.codes(280)
        ran = nursery_of.Group(folder, count)
        assert ran.codes(0) == [0] * count, ran.tails()
        return ran

    return group
