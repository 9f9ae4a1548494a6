"""The door to JAX's profiler, where a capture cannot be saved."""

import os
import resource
from types import SimpleNamespace

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

import jax
from jax._src import profiler

from keras_perf.capture import jax_door
from keras_perf.capture.trace_files import CaptureError


@pytest.fixture
def full(tmp_path):
    """Ends a capture on a full disk, and returns what is said."""

    def stops():
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        jax_door.start(str(tmp_path))
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (200, limits[1]))
            with pytest.raises(CaptureError) as raised:
                jax_door.stop()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        return str(raised.value)

    yield stops
    profiler._profile_state.reset()


def test_after_a_capture_that_cannot_be_saved_another_one_can_be(full, tmp_path):
    assert "no other capture" not in full()
    assert not list(tmp_path.rglob(".capture-*"))
    jax_door.start(str(tmp_path))
    assert jax_door.stop().size_bytes > 0


def test_where_jax_cannot_be_told_it_is_said_that_no_capture_follows(full, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(type(profiler._profile_state), "reset", property())
        assert "takes no other capture in this process" in full()


@pytest.mark.parametrize("begins_another", [False, True])
def test_a_capture_that_somebody_else_ended_is_kept_and_theirs_goes_on(tmp_path, begins_another):
    jax_door.start(str(tmp_path / "ours"))
    jax.profiler.stop_trace()
    if begins_another:
        jax.profiler.start_trace(tmp_path / "theirs")
    assert jax_door.stop().size_bytes > 0
    if begins_another:
        jax.profiler.stop_trace()
        assert list((tmp_path / "theirs").rglob("*.xplane.pb"))


def test_a_capture_that_somebody_else_threw_away_is_told_and_theirs_goes_on(tmp_path):
    jax_door.start(str(tmp_path / "ours"))
    state = profiler._profile_state
    with state.lock:
        state.profile_session.stop()
        state.reset()
    jax.profiler.start_trace(tmp_path / "theirs")
    with pytest.raises(CaptureError, match="somebody else has ended it"):
        jax_door.stop()
    jax.profiler.stop_trace()
    assert not list(tmp_path.rglob(".capture-*"))


def test_the_capture_that_jax_runs_can_be_seen(tmp_path):
    """Canary for `jax_door`: JAX keeps it in a private name."""
    state = profiler._profile_state
    assert state.profile_session is None
    jax_door.start(str(tmp_path))
    with state.lock:
        assert (state.profile_session is not None, state.log_dir) == (
            True,
            jax_door._session.staging,
        )
    jax_door.stop()
    assert state.profile_session is None


def test_a_capture_is_saved_without_the_copy_that_nobody_reads(tmp_path):
    """Canary for `jax_door`; where JAX has other names, all is saved."""
    jax_door.start(str(tmp_path))
    [alone] = os.listdir(jax_door.stop().folder)
    assert alone.endswith(".xplane.pb")
    jax_door.start(str(tmp_path))
    saves = SimpleNamespace(stop_and_export=profiler._profile_state.profile_session.stop_and_export)
    profiler._profile_state.profile_session = saves
    assert len(os.listdir(jax_door.stop().folder)) == 2
