"""What every test relies on."""

import gc
import logging
import os
import signal
import threading

import pytest
import two_of_three
from contradictions.checked import check_all, written_below
from hypothesis import Phase, settings
from nursery import Nursery

from keras_perf.observers.steps.timeline import Timeline

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


NO_SHRINKING = [phase for phase in Phase if phase not in (Phase.shrink, Phase.explain)]
"""A failing example is shown as it was drawn: to make it smaller may take minutes."""

settings.register_profile("same", deadline=None, derandomize=True, phases=NO_SHRINKING)
settings.register_profile("others", deadline=None, phases=NO_SHRINKING)
settings.load_profile("same")


def pytest_configure(config):
    """A shell starts what runs in the background with SIGINT ignored, and tests send it."""
    config.pluginmanager.register(two_of_three)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Tests that judge times run in one process, one after the other.

    First of all hooks: pytest-xdist looks for groups in its own.
    """
    for item in items:
        if item.get_closest_marker("timing"):
            item.add_marker(pytest.mark.xdist_group("timing"))


@pytest.fixture(autouse=True)
def nothing_left_behind():
    """No test may leave a sampler's thread running.

    What lives on after a test is no longer searched for garbage: TensorFlow keeps thousands of
    objects of every `fit`, and after hundreds of them each collection would take seconds.
    """
    yield
    gc.collect()
    gc.freeze()
    for thread in threading.enumerate():
        if thread.name == "keras_perf-closing":
            thread.join(20)
    left = [t.name for t in threading.enumerate() if t.name.startswith("keras_perf")]
    assert not left, f"threads left behind: {left}"


@pytest.fixture(autouse=True)
def no_report_contradicts_itself(request):
    """Every report that a test lets somebody read is checked, also those of its processes."""
    found = []
    asks_processes = {"processes", "tmp_path"} <= set(request.fixturenames)
    folder = request.getfixturevalue("tmp_path") if asks_processes else None
    # A test's own monkeypatch has to end before its other fixtures do.
    with pytest.MonkeyPatch.context() as patched:
        check_all(patched, found)
        yield
    if folder is not None:
        found.extend(written_below(folder))
    assert not found


@pytest.fixture(scope="session")
def processes(tmp_path_factory):
    """Starts processes that have imported TensorFlow, which takes longer than most trainings."""
    made = Nursery(tmp_path_factory.mktemp("nursery"))
    yield made
    made.close()


@pytest.fixture
def said(caplog):
    """The lines that keras_perf logged as warnings."""
    caplog.set_level(logging.WARNING, logger="keras_perf")
    return lambda: [r.getMessage() for r in caplog.records if r.name == "keras_perf"]


@pytest.fixture
def tracing_is_cheap(monkeypatch):
    """On a busy machine the first trace of a process may take seconds: no reason not to try."""
    monkeypatch.setattr("keras_perf.observers.steps_trial.steps_to_try.SMALL_COST_S", 100.0)


@pytest.fixture
def told(monkeypatch):
    """The executions that timelines have told of."""
    found = []
    take = Timeline.take

    def noting(self):
        records = take(self)
        found.extend(records)
        return records

    monkeypatch.setattr(Timeline, "take", noting)
    return found
