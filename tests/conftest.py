"""What every test relies on."""

import logging
import os
import threading

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def pytest_collection_modifyitems(items):
    """Tests that judge times run in one process, one after the other."""
    for item in items:
        if item.get_closest_marker("timing"):
            item.add_marker(pytest.mark.xdist_group("timing"))


@pytest.fixture(autouse=True)
def nothing_left_behind():
    """No test may leave a sampler's thread running."""
    yield
    left = [t.name for t in threading.enumerate() if t.name.startswith("keras_perf")]
    assert not left, f"threads left behind: {left}"


@pytest.fixture
def said(caplog):
    """The lines that keras_perf logged as warnings."""
    caplog.set_level(logging.WARNING, logger="keras_perf")
    return lambda: [r.getMessage() for r in caplog.records if r.name == "keras_perf"]
