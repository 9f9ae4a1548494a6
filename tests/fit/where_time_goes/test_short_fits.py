"""Many fits of a few steps each, as in reinforcement learning."""

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
def test_they_are_told_together_and_announced_once(tmp_path, made, capfd, caplog):
    ours = kp.perf_callbacks(tmp_path / "0", gpu=False)
    directories = [tmp_path / str(number) for number in range(FITS)]
    given = {
        "once": lambda number: ours,
        "for each fit": lambda number: kp.perf_callbacks(directories[number], gpu=False),
    }
    fit_again_and_again(given[made], batches=2)
    assert capfd.readouterr().err.count("no step was measured") == 1
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


def test_a_fit_that_is_measured_is_none_of_them(tmp_path):
    network = programs.model()
    for batches in (2, 60):
        callbacks = [kp.StepGapDetector(tmp_path)]
        network.fit(programs.dataset(batches), verbose=0, shuffle=False, callbacks=callbacks)
    short, measured = fits_of(tmp_path)["perf"]
    assert short.facts.inference[FIT].calls == 1
    assert measured.steps
    assert FIT not in measured.facts.inference
