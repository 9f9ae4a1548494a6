"""Many fits of a few steps each, as in reinforcement learning."""

import time

import keras
import programs
import pytest

import keras_perf as kp
from keras_perf.read.fits import fits_of
from keras_perf.records.run.inference import FIT

FITS = 12


def fit_again_and_again(callbacks, *, batches, epochs=1):
    network = programs.model()
    for number in range(FITS):
        network.fit(
            programs.dataset(batches),
            epochs=epochs,
            verbose=0,
            shuffle=False,
            callbacks=callbacks(number),
        )


@pytest.mark.parametrize("made", ["once", "for each fit"])
def test_they_are_told_together_and_announced_at_the_first_and_the_tenth(
    tmp_path, made, capfd, caplog
):
    ours = kp.perf_callbacks(tmp_path / "0", gpu=False)
    directories = [tmp_path / str(number) for number in range(FITS)]
    given = {
        "once": lambda number: ours,
        "for each fit": lambda number: kp.perf_callbacks(directories[number], gpu=False),
    }
    fit_again_and_again(given[made], batches=2)
    printed = capfd.readouterr().err
    assert printed.count("no step was measured") == 2
    assert "each of 10 fits ended within its warm-up" in printed
    assert sum("captured nothing" in record.message for record in caplog.records) == 1
    found = kp.diagnose(directories[0 if made == "once" else -1])
    together = found.summary.facts.inference[FIT]
    assert (together.calls, together.steps, together.examples) == (FITS, 2 * FITS, 16 * FITS)
    assert 0 < together.first_s < together.spent_s
    assert found.summary.facts.outside.warmup_steps == 2
    assert not found.summary.facts.calls_only


def test_several_epochs_are_steps_of_one_call(tmp_path):
    fit_again_and_again(lambda _: [kp.StepGapDetector(tmp_path)], batches=1, epochs=3)
    together = kp.diagnose(tmp_path).summary.facts.inference[FIT]
    assert (together.calls, together.executions, together.steps) == (FITS, 3 * FITS, 3 * FITS)


@pytest.mark.parametrize("detectors", [1, 2])
def test_each_is_counted_once_whoever_observes_it(detectors, tmp_path):
    ours = [kp.StepGapDetector(tmp_path / str(number)) for number in range(detectors)]
    fit_again_and_again(lambda _: ours, batches=2)
    for number in range(detectors):
        found = kp.diagnose(tmp_path / str(number), fit=2).summary.facts
        assert found.inference[FIT].calls == 2


def test_what_hooks_take_before_the_first_step_is_no_input_pipeline(tmp_path):
    class Slow(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            time.sleep(0.3)

    fit_again_and_again(lambda _: [kp.StepGapDetector(tmp_path), Slow()], batches=2)
    together = kp.diagnose(tmp_path).summary.facts.inference[FIT]
    ending_s = sum(
        fit.facts.outside.epoch_rest_s for [*fits] in fits_of(tmp_path).values() for fit in fits
    )
    assert together.parts_s["starting"] <= 2 * ending_s * 1.001
    assert together.traces == 0


def test_fits_that_each_trace_are_told_that_and_nothing_of_pipelines(tmp_path):
    network = programs.model()
    for _ in range(FITS):
        network.compile(keras.optimizers.SGD(1e-3), "mse", jit_compile=False)
        callbacks = [kp.StepGapDetector(tmp_path)]
        network.fit(programs.dataset(2), verbose=0, shuffle=False, callbacks=callbacks)
    found = kp.diagnose(tmp_path)
    assert found.summary.facts.inference[FIT].traces == FITS - 1
    notes = [note for note in found.notes if note.startswith("`fit`")]
    assert [" was traced again " in note for note in notes] == [True]


def test_a_fit_with_captured_steps_is_none_of_them(tmp_path):
    profiler = kp.WindowedProfiler(tmp_path, warmup_steps=5, active_steps=10)
    network, gaps = programs.model(), kp.StepGapDetector(tmp_path)
    for _ in range(2):
        data = programs.dataset(15)
        network.fit(data, verbose=0, shuffle=False, callbacks=[profiler, gaps])
    first, second = fits_of(tmp_path)["perf"]
    assert (first.steps, second.steps) == (0, 0)
    assert not first.facts.inference
    assert not second.facts.inference


def test_a_fit_that_is_measured_is_none_of_them(tmp_path):
    network = programs.model()
    for batches in (2, 60):
        callbacks = [kp.StepGapDetector(tmp_path)]
        network.fit(programs.dataset(batches), verbose=0, shuffle=False, callbacks=callbacks)
    short, measured = fits_of(tmp_path)["perf"]
    assert short.facts.inference[FIT].calls == 1
    assert measured.steps
    assert FIT not in measured.facts.inference
