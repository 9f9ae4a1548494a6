"""Facts of a run, asked anew each time that they are written, or once."""

from __future__ import annotations

from keras_perf.observation.run_record import Recording


def test_what_is_settled_is_not_asked_again():
    peaks, steps = iter([3.0, 9.0]), iter([10, 20, 30])
    questions = {"gpu_memory_peak_mib": lambda: next(peaks), "last_step": lambda: next(steps)}
    recording = Recording("perf", lambda: questions)
    recording.settle("gpu_memory_peak_mib", "device_memory")
    for step in (10, 20):
        recording.write_facts(step)
        assert recording.facts.length.last_step == step
        assert recording.facts.gpu.gpu_memory_peak_mib == 3.0
