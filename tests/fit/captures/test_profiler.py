"""Captures during a real fit."""

import keras
import programs
import pytest
import tensorflow as tf
from traces import fetched_batches, marked_steps, steps_of_xprof, traces

import keras_perf as kp
from keras_perf.capture import profiler_door
from keras_perf.records.execution import Kind


def fit(callbacks, batches=80, epochs=1, **compile_arguments):
    network = programs.model(**compile_arguments)
    data = programs.dataset(batches)
    network.fit(data, epochs=epochs, verbose=0, shuffle=False, callbacks=callbacks)
    return network


def test_one_window_after_warm_up_has_step_times_that_xprof_shows(tmp_path):
    fit([kp.WindowedProfiler(tmp_path, warmup_steps=20, active_steps=12)])
    [path] = traces(tmp_path)
    # xprof drops the first and the last marked step.
    assert steps_of_xprof(path) == [f"train {step}" for step in range(21, 31)]


def test_windows_repeat_across_epochs_and_overwrite_nothing(tmp_path):
    fit(
        [kp.WindowedProfiler(tmp_path, warmup_steps=10, active_steps=5, repeat=3)],
        batches=20,
        epochs=3,
    )
    assert len(traces(tmp_path)) == 3


def test_a_window_that_is_never_reached_is_said(tmp_path, said):
    fit([kp.WindowedProfiler(tmp_path, warmup_steps=500)])
    [line] = said()
    assert "begins at step 500" in line
    assert "had 80" in line
    assert not traces(tmp_path)


def test_training_that_ends_inside_a_window_keeps_what_was_captured(tmp_path):
    fit([kp.WindowedProfiler(tmp_path, warmup_steps=20, active_steps=500)])
    assert len(traces(tmp_path)) == 1


def test_training_that_raises_inside_a_window_keeps_what_was_captured(tmp_path):
    class Raises(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 30:
                raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        fit([kp.WindowedProfiler(tmp_path, warmup_steps=20, active_steps=500), Raises()])
    assert len(traces(tmp_path)) == 1


def test_another_profiler_is_left_alone_and_said(tmp_path, said):
    tf.profiler.experimental.start(str(tmp_path / "theirs"))
    try:
        fit([kp.WindowedProfiler(tmp_path / "ours")])
    finally:
        tf.profiler.experimental.stop()
    assert any("another profiler is running" in line for line in said())
    assert list((tmp_path / "theirs").rglob("*.xplane.pb"))


@pytest.mark.parametrize("recommender_first", [False, True])
@pytest.mark.usefixtures("tracing_is_cheap")
def test_trials_of_longer_executions_leave_the_window_where_it_was_asked_for(
    recommender_first, tmp_path, told
):
    window = {"skip_first": 60, "warmup_steps": 0, "active_steps": 5}
    ours = [kp.WindowedProfiler(tmp_path, **window), kp.StepsPerExecutionRecommender(tmp_path)]
    fit(ours[::-1] if recommender_first else ours, batches=400)
    [path] = traces(tmp_path)
    assert marked_steps(path) == [60, 61, 62, 63, 64]
    tried = [each for each in told if each.kind is Kind.TRIAL]
    assert tried
    assert [each for each in tried if each.first_step < 60 < each.first_step + each.steps] == []


def test_the_profilers_options_take_effect(tmp_path, capfd):
    profiler_door.start(str(tmp_path))
    profiler_door.stop()
    assert "expects an i value" not in capfd.readouterr().err
    assert list(tmp_path.rglob("*.xplane.pb"))


def test_a_capture_that_was_not_started_cannot_be_saved():
    with pytest.raises(profiler_door.CaptureError):
        profiler_door.stop()


def test_captured_steps_are_left_out_of_the_figures(tmp_path):
    fit([kp.WindowedProfiler(tmp_path, active_steps=40), kp.StepGapDetector(tmp_path)])
    scalars = kp.load_scalars(tmp_path).query("tag == 'perf/interval_steps'")
    assert 0 < scalars["value"].sum() <= 80 - 10 - 40


def with_validation(callbacks, batches):
    programs.model().fit(
        programs.dataset(40),
        validation_data=programs.dataset(batches),
        epochs=2,
        verbose=0,
        shuffle=False,
        callbacks=callbacks,
    )


def test_a_window_that_ends_with_the_epoch_holds_no_validation(tmp_path):
    with_validation([kp.WindowedProfiler(tmp_path, warmup_steps=20, active_steps=20)], 400)
    [path] = traces(tmp_path)
    # Twenty of training, some of them as two events; validation has 400.
    assert fetched_batches(path) < 100


def test_a_window_that_validation_would_fill_ends_there_and_says_so(tmp_path, said):
    with_validation([kp.WindowedProfiler(tmp_path, warmup_steps=30, active_steps=20)], 5)
    assert len(traces(tmp_path)) == 1
    assert any("ends at step 40, 10 steps early" in line for line in said())


def test_a_users_trace_is_left_alone_in_a_retry(tmp_path):
    tf.profiler.experimental.start(str(tmp_path / "theirs"))
    try:
        raise MemoryError
    except MemoryError:
        fit([kp.WindowedProfiler(tmp_path / "ours")])
    finally:
        tf.profiler.experimental.stop()
    assert list((tmp_path / "theirs").rglob("*.xplane.pb"))


def trained(callbacks):
    programs.model().fit(
        programs.dataset(120, input_ms=1.0), verbose=0, shuffle=False, callbacks=callbacks
    )


def test_the_trace_is_read_and_what_it_shows_is_logged(tmp_path):
    trained(kp.perf_callbacks(tmp_path, gpu=False, steps_per_execution=False))
    scalars = kp.load_scalars(tmp_path)
    logged = scalars[scalars["tag"] == "trace/input_wait_ms"]
    assert len(logged) == 1
    found = kp.diagnose(tmp_path)
    assert any("trace" in note and "split" in note for note in found.with_details().notes)
    trace = kp.read_trace(tmp_path)
    assert logged["value"].iloc[0] == pytest.approx(trace.means["input_wait_ms"], rel=1e-5)


def test_a_trace_that_cannot_be_read_costs_its_figures_only(tmp_path, monkeypatch, said):
    def fails(path):
        raise ValueError("no such thing")

    monkeypatch.setattr("keras_perf.capture.background_reader.read_trace", fails)
    trained(kp.perf_callbacks(tmp_path, gpu=False, steps_per_execution=False))
    assert any("was saved, but not read: ValueError: no such thing" in line for line in said())
    assert kp.diagnose(tmp_path).summary.steps > 0
