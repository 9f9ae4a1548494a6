"""How a training ended, told from what it left: done, raised, out of memory, killed."""

from __future__ import annotations

from typing import Any

import psutil
import pytest
from hand_built import write_fit

from keras_perf.advise.notes.memory.ending import ending_notes, runs_here
from keras_perf.analyse.training import newest_training
from keras_perf.report.compared.comparison import compare
from keras_perf.report.diagnosis import diagnose
from keras_perf.write.reopened_run import ReopenedRun
from keras_perf.write.run_writer import RunWriter

RAN_OUT = {
    "how": "raised",
    "error": "ResourceExhaustedError",
    "message": "OOM when allocating tensor",
    "out_of_memory": True,
    "device": "GPU:0",
    "shape": [256, 1024, 4096],
    "requested_mib": 4096.0,
    "batch": 256,
}
GPU = {"name": "GPU:0", "current_mib": 1000.0, "peak_mib": 9000.0, "limit_mib": 10_000.0}
FIRST_STEPS = {"first_step": 0, "last_step": 2}


def notes(log_dir, context: dict[str, Any], *, runs=lambda _: None, scalars=()):
    writer = RunWriter(str(log_dir))
    for step, values in scalars:
        writer.scalars(step, values, wall_time=1e9 + step)
    writer.context(9, context)
    writer.close()
    return list(ending_notes(newest_training(log_dir), runs))


def test_one_that_ended_well_or_does_not_tell_is_not_spoken_of(tmp_path):
    assert notes(tmp_path / "done", {"ending": {"how": "done"}}) == []
    assert notes(tmp_path / "earlier version", {"versions": {"keras": "3"}}) == []
    write_fit(tmp_path / "whole", step_ms=5.0, context={"ending": {"how": "done"}})
    assert not [n for n in diagnose(tmp_path / "whole").notes if "ended" in n]


def test_an_exception_is_named_with_its_step(tmp_path):
    ending = {"how": "raised", "error": "ValueError", "message": "bad record"}
    assert notes(tmp_path, {"ending": ending, "first_step": 0, "last_step": 312}) == [
        "Training was ended after step 312 by ValueError: bad record."
    ]


def test_an_exception_that_only_keras_saw_is_not_guessed(tmp_path):
    [note] = notes(tmp_path, {"ending": {"how": "raised"}})
    assert note.startswith("Training was ended by an exception outside of steps and callbacks")


@pytest.mark.parametrize(
    ("lack", "why"),
    [
        ("disk", "because a disk is full (ResourceExhaustedError: said). Free space"),
        ("quota", "because this user may write no more to that disk"),
        ("files", "because too many files are open (ResourceExhaustedError: said). Raise the"),
    ],
)
def test_what_was_used_up_and_is_no_memory_has_its_own_remedy(lack, why, tmp_path):
    ending = {"how": "raised", "error": "ResourceExhaustedError", "message": "said", "lack": lack}
    [note] = notes(tmp_path, {"ending": ending, **FIRST_STEPS})
    assert note.startswith(f"Training was ended after step 2 {why}")
    assert "memory" not in note


# -- out of memory -----------------------------------------------------------------------


def test_a_batch_too_large_for_its_gpu_is_told_with_the_largest_that_may_fit(tmp_path):
    [note] = notes(tmp_path, {"ending": RAN_OUT, "device_memory": [GPU], **FIRST_STEPS})
    assert note.startswith(
        "Training ran out of memory after 2 steps (ResourceExhaustedError): an array of shape "
        "[256, 1024, 4096], 4 GiB, could not be had on GPU:0. TensorFlow had allocated up to "
        "9,000 MiB of at most 10,000 there, 1,000 of them beside what a step needs. A batch of "
        "256 is too large. Try 128; kp.sweep_batch_size(model, dataset).largest measures what "
        "fits, with TF_FORCE_GPU_ALLOW_GROWTH=true set before the program starts."
    )


def test_on_jax_a_sweep_is_told_with_what_it_asks_for_there(tmp_path):
    context = {"ending": RAN_OUT, "device_memory": [GPU], **FIRST_STEPS}
    [note] = notes(tmp_path, context | {"versions": {"jax": "0.10.2"}})
    assert "JAX had allocated up to" in note
    assert "A batch of 256 is too large. Try 128; kp.sweep_batch_size(model, dataset)" in note
    assert "with XLA_PYTHON_CLIENT_PREALLOCATE=false set before the program starts. The opt" in note


def test_an_array_that_does_not_fit_alone_bounds_the_batch(tmp_path):
    huge = RAN_OUT | {"requested_mib": 36_000.0}
    [note] = notes(tmp_path, {"ending": huge, "device_memory": [GPU], **FIRST_STEPS})
    # 9,000 MiB are free beside what is kept: a quarter of 256 examples.
    assert "A batch of 256 is too large, and no more than 64 can fit" in note
    assert "Try 32;" in note


def test_an_array_without_a_share_for_each_example_bounds_nothing(tmp_path):
    other = RAN_OUT | {"requested_mib": 36_000.0, "shape": [1000, 4096]}
    [note] = notes(tmp_path, {"ending": other, "device_memory": [GPU], **FIRST_STEPS})
    assert "no more than" not in note


def test_without_a_gpu_the_machine_is_asked(tmp_path):
    machine = {"memory_available_mib": 8_000.0, "memory_total_mib": 16_000.0}
    huge = RAN_OUT | {"requested_mib": 64_000.0, "device": "CPU:0"}
    [note] = notes(tmp_path, {"ending": huge, **machine, **FIRST_STEPS})
    assert "could not be had on CPU:0. Of the machine's 16,000 MiB 8,000 were free" in note
    assert "no more than 32 can fit" in note


OF_XLA = RAN_OUT | {"device": "", "shape": [], "requested_mib": 16_384.0}
MACHINE = {"memory_available_mib": 8_000.0, "memory_total_mib": 16_000.0}


def test_what_xla_could_not_have_is_of_the_gpu_that_trains(tmp_path):
    on_gpu = {"variables_on": {"GPU:0": 4}, "device_memory": [GPU]}
    [note] = notes(tmp_path, {"ending": OF_XLA, **on_gpu, **MACHINE, **FIRST_STEPS})
    assert "an allocation, 16 GiB, could not be had on GPU:0. TensorFlow had allocated" in note
    assert "A batch of 256 is too large. Try 128; kp.sweep_batch_size" in note
    assert "machine's" not in note


def test_of_several_gpus_it_is_not_said_which(tmp_path):
    other = GPU | {"name": "GPU:1"}
    mirrored = {"variables_on": {"GPU:0": 4}, "replicas": 2, "device_memory": [GPU, other]}
    for context in (mirrored, {"device_memory": [GPU, other]}):
        folder = tmp_path / str(len(context))
        [note] = notes(folder, {"ending": OF_XLA, **context, **MACHINE, **FIRST_STEPS})
        each = ", 128 on each replica," if "replicas" in context else ""
        assert f"could not be had on a GPU. A batch of 256{each} is too large. Try 128" in note
        # Keras accumulates no gradients of several replicas, and no sweep takes such a model.
        assert ("gradient_accumulation_steps" in note) is ("replicas" not in context)
        assert ("sweep_batch_size" in note) is ("replicas" not in context)


def test_a_model_on_the_cpu_and_python_s_own_arrays_lack_the_machine_s_memory(tmp_path):
    on_cpu = {"ending": OF_XLA, "variables_on": {"CPU:0": 4}, "device_memory": [GPU]}
    [note] = notes(tmp_path / "cpu", {**on_cpu, **MACHINE, **FIRST_STEPS})
    assert "could not be had. Of the machine's 16,000 MiB 8,000 were free" in note
    assert "A batch of 256 is too large" in note
    of_numpy = {"ending": OF_XLA | {"error": "_ArrayMemoryError"}, "device_memory": [GPU]}
    [note] = notes(tmp_path / "numpy", {**of_numpy, **MACHINE, **FIRST_STEPS})
    assert "8,000 were free" in note
    assert "too large" not in note


def test_after_many_steps_of_that_size_it_is_not_the_batch(tmp_path):
    long = {"first_step": 0, "last_step": 300}
    [note] = notes(tmp_path, {"ending": RAN_OUT, "device_memory": [GPU], **long})
    assert "Batches of this size fitted before" in note
    assert "sweep_batch_size" not in note


def test_when_it_rose_is_told(tmp_path):
    peaks = [(step, {"gpu/0/peak_allocated_mib": mib}) for step, mib in
             ((10, 3000.0), (20, 3010.0), (30, 9000.0), (40, 9000.0))]  # fmt: skip
    long = {"first_step": 0, "last_step": 45}
    context = {"ending": RAN_OUT, "device_memory": [GPU], **long}
    [note] = notes(tmp_path, context, scalars=peaks)
    assert "The peak rose most between step 20 and 30, from 3,010 to 9,000 MiB." in note


def test_a_level_peak_rose_at_no_step(tmp_path):
    peaks = [(step, {"gpu/0/peak_allocated_mib": 3000.0 + step}) for step in (10, 20, 30)]
    [note] = notes(tmp_path, {"ending": RAN_OUT, "device_memory": [GPU]}, scalars=peaks)
    assert "rose" not in note


def test_python_s_own_memory_error_is_told_without_a_batch(tmp_path):
    ending = {"how": "raised", "error": "MemoryError", "out_of_memory": True, "message": "no more"}
    [note] = notes(tmp_path, {"ending": ending, **FIRST_STEPS})
    assert note == "Training ran out of memory after 2 steps (MemoryError): no more."


def test_within_the_warm_up_the_diagnosis_names_what_ended_it(tmp_path):
    writer = RunWriter(str(tmp_path))
    writer.context(2, {"ending": RAN_OUT, **FIRST_STEPS})
    writer.close()
    diagnosis = diagnose(tmp_path)
    assert diagnosis.verdict == "inconclusive"
    assert "within the warm-up by ResourceExhaustedError" in diagnosis.explanation
    assert diagnosis.notes[0].startswith("Training ran out of memory")


# -- killed ------------------------------------------------------------------------------

RUNNING = {"ending": {"how": "running"}, "memory_total_mib": 1000.0, "versions": {"keras": "3"}}


def test_one_that_still_runs_here_is_not_spoken_of(tmp_path):
    assert notes(tmp_path, RUNNING, runs=lambda _: True) == []


def test_one_whose_process_is_gone_was_killed(tmp_path):
    [note] = notes(tmp_path, RUNNING, runs=lambda _: False)
    assert "is gone, and no end of this training is recorded" in note
    assert "kernel" not in note


def test_of_a_container_its_own_limit_counts(tmp_path):
    points = [(5, {"host/memory_used_mib": 500.0, "host/process_memory_mib": 190.0})]
    limited = RUNNING | {"container_memory_mib": 200.0}
    [note] = notes(tmp_path, limited, runs=lambda _: False, scalars=points)
    assert "190 of the container's 200 MiB were in use" in note


@pytest.mark.parametrize(("used", "kernel"), [(950.0, True), (850.0, False)])
def test_the_kernel_is_suspected_where_memory_was_full(used, kernel, tmp_path):
    points = [(5, {"host/memory_used_mib": 100.0}), (9, {"host/memory_used_mib": used})]
    [note] = notes(tmp_path, RUNNING, runs=lambda _: False, scalars=points)
    assert ("950 of the machine's 1,000 MiB were in use: a kernel" in note) == kernel
    assert "(last logged 2001-09-09 01:46:49 UTC)" in note


def test_of_another_machine_s_it_is_said_that_nobody_knows(tmp_path):
    [note] = notes(tmp_path, RUNNING)
    assert note.startswith("No end of this training is recorded: it still runs on")


def test_one_killed_before_its_first_interval_is_told_too(tmp_path):
    RunWriter(str(tmp_path)).close()
    training = newest_training(tmp_path)
    [note] = ending_notes(training, lambda _: False)
    assert "is gone, and no end of this training is recorded" in note
    assert list(ending_notes(training, lambda _: True)) == []
    assert list(ending_notes(training, lambda _: None)) == []


def test_what_was_only_tried_or_sampled_was_not_killed(tmp_path):
    rates = {"learning_rates": [0.1, 0.2], "smoothed_losses": [1.0, 0.9]}
    ReopenedRun(str(tmp_path / "tried")).write(0, {}, {"learning_rates": rates})
    tried = newest_training(tmp_path / "tried")
    assert tried.fit.tried
    assert list(ending_notes(tried, lambda _: False)) == []
    sampled = {"driver": "sample_gpus", "ending": {"how": "done"}}
    assert notes(tmp_path / "sampled", sampled, runs=lambda _: False) == []
    assert "sample_gpus samples the GPUs and the host" in str(diagnose(tmp_path / "sampled"))


def test_this_process_runs_and_another_machine_s_is_not_known(tmp_path, monkeypatch):
    write_fit(tmp_path, step_ms=5.0)
    fit = newest_training(tmp_path).fit
    assert runs_here(fit) is True
    monkeypatch.setattr(
        "keras_perf.advise.notes.memory.ending.socket.gethostname", lambda: "elsewhere"
    )
    assert runs_here(fit) is None


@pytest.mark.parametrize(
    ("error", "runs"), [(psutil.NoSuchProcess(1), False), (psutil.AccessDenied(1), None)]
)
def test_a_process_of_which_the_system_tells_nothing_is_not_known(
    error, runs, tmp_path, monkeypatch
):
    def fails(pid):
        raise error

    write_fit(tmp_path, step_ms=5.0)
    monkeypatch.setattr("keras_perf.advise.notes.memory.ending.psutil.Process", fails)
    assert runs_here(newest_training(tmp_path).fit) is runs


def test_a_newer_fit_that_measured_nothing_says_what_ended_it(tmp_path):
    write_fit(tmp_path, step_ms=5.0)
    writer = RunWriter(str(tmp_path))
    writer.context(2, {"ending": RAN_OUT, **FIRST_STEPS})
    writer.close()
    [note] = [n for n in diagnose(tmp_path).notes if n.startswith("Newer")]
    assert ", ended by ResourceExhaustedError. Training ended within the warm-up" in note
    write_fit(tmp_path / "other", step_ms=5.0)
    assert f"After: {note}" in str(compare(tmp_path / "other", tmp_path))
