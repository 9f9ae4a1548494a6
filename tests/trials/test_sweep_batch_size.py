"""sweep_batch_size: each size in a process of its own, which memory may end."""

import contextlib
import io
import json
import os
import signal
import sys
import threading
from dataclasses import asdict
from subprocess import CompletedProcess

import keras
import matplotlib as mpl
import numpy as np
import psutil
import pytest
import tensorflow as tf
from batch_models import Wide, dataset, model, own_loss

import keras_perf as kp
from keras_perf.trials import sweep_batch_size as module
from keras_perf.trials.backends.tensorflow_trials import check_room, tiled
from keras_perf.trials.batch_sizes import child, handed_over
from keras_perf.trials.batch_sizes.child import (
    Answer,
    call_times,
    is_out_of_memory,
    step_times,
)
from keras_perf.trials.batch_sizes.handed_over import TooLongError
from keras_perf.trials.batch_sizes.memory_line import MemoryLine, memory_line
from keras_perf.trials.other_process.saved_model import SavedModel

mpl.use("agg")

MEMORY = Answer(failed="killed (SIGKILL)", out_of_memory=True)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def children(monkeypatch):
    """Sets what children answer, by batch size; gives a list of the sizes that they were asked."""
    asked = []

    def set_to(answer):
        def measured(written, size, **_):
            asked.append(size)
            return answer(size)

        monkeypatch.setattr(module, "measured_in_a_child", measured)
        return asked

    return set_to


def step(size, *, limit=1001.0):
    """A step of 1 ms and 0.1 ms an example, with 20 MiB and 0.5 MiB an example."""
    ms = 1 + 0.1 * size
    return Answer([ms * part for part in (0.9, 1.0, 1.1)], 20 + size / 2, limit)


# Real processes.


@pytest.fixture
def forked(processes, monkeypatch):
    """A child is forked from a process that has imported TensorFlow; others import it anew."""

    def run(command, limit_s):
        code, told = processes.script(child.__file__, command[-1])
        return CompletedProcess(command, code, told, told)

    monkeypatch.setattr(handed_over, "run", run)


@pytest.mark.usefixtures("forked")
def test_calls_of_predict_are_measured_for_those_who_serve():
    network = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(8)])
    sweep = kp.sweep_batch_size(network, dataset(), [32], seconds=0.2, predict=True)
    [measured] = sweep.trained
    assert measured.batch_size == 32
    assert measured.examples_per_sec > 0
    assert "how long one call takes" in str(sweep)
    assert "learning rate" not in str(sweep)


@pytest.mark.whole
@pytest.mark.fault(1, "memory that runs out while a batch size is tried")
def test_memory_that_runs_out_ends_the_child_and_changes_nothing_here():
    network = model(last=Wide(), loss=own_loss)
    before = [v.numpy() for v in network.variables]
    arguments = {"seconds": 0.2, "memory_limit_mib": 300}
    sweep = kp.sweep_batch_size(network, dataset(), [16, 4096], **arguments)
    frame = sweep.to_frame()
    assert list(frame["failed"]) == [False, True]
    assert frame["peak_mib"][0] > 0
    assert frame["reason"][1].startswith("out of memory: ")
    assert np.isnan(frame["step_ms"][1])
    assert sweep.recommended == 16
    for one, other in zip(network.variables, before, strict=False):
        np.testing.assert_array_equal(one, other)


@pytest.mark.long
def test_the_peaks_of_real_children_predict_a_size_that_is_tried():
    arguments = {"seconds": 0.2, "memory_limit_mib": 300}
    sweep = kp.sweep_batch_size(model(last=Wide()), dataset(), [16, 64, 256], **arguments)
    frame = sweep.to_frame().set_index("batch_size")
    assert frame.loc[[16, 64, 256], "peak_mib"].is_monotonic_increasing
    assert sweep.predicted > 256
    assert sweep.largest == (None if frame.loc[sweep.predicted, "failed"] else sweep.predicted)


@pytest.mark.fault(1, "a child that is killed while a batch size is tried")
def test_a_child_that_is_killed_is_a_size_that_ran_out_of_memory(monkeypatch):
    monkeypatch.setattr(handed_over, "CHILD", "batch_child_killed")
    with pytest.raises(ValueError, match=r"got 8: out of memory: killed \(SIGKILL\)"):
        kp.sweep_batch_size(model(), dataset(), [8, 16])


IMPORTING = 2**26
"""Bytes that a child of ours holds only once it runs Python code of ours."""


def children_of_size(size):
    """Processes that this one has started and that measure a batch size by now."""
    found = []
    for each in psutil.Process().children():
        with contextlib.suppress(psutil.Error):
            is_it = f'"batch_size": {size}' in " ".join(each.cmdline())
            found += [each] if is_it and each.memory_info().rss > IMPORTING else []
    return found


@pytest.mark.fault(1, "Ctrl-C of a terminal, which the child hears too, while a size is tried")
def test_ctrl_c_of_a_terminal_ends_the_child_and_keeps_the_sizes_that_have_trained():
    heard, over = [], threading.Event()

    def press():
        while not (heard or over.wait(0.01)):
            heard.extend(children_of_size(16))
        for each in (*heard, psutil.Process()) if heard else ():
            each.send_signal(signal.SIGINT)

    presses = threading.Thread(target=press)
    presses.start()
    try:
        sweep = kp.sweep_batch_size(model(), dataset(), [8, 16, 32], seconds=0.2)
    finally:
        over.set()
        presses.join()
    assert [each.batch_size for each in sweep.trained] == [8]
    assert [each.reason for each in sweep.tried][1:] == ["not tried: an interrupt came before"] * 2
    assert heard
    assert not any(each.is_running() for each in heard)


def test_a_child_that_takes_too_long_is_ended():
    with pytest.raises(ValueError, match=r"got 8: not done after 0\.1 s"):
        kp.sweep_batch_size(model(), dataset(), [8], limit_s=0.1)


def test_a_child_that_ends_otherwise_says_how():
    aborted = CompletedProcess([], -6, "", "terminate called\nwhat():  std::bad_alloc\n")
    assert handed_over._answer(aborted).failed == "ended by SIGABRT: what():  std::bad_alloc"
    assert handed_over._answer(aborted).out_of_memory
    broken = CompletedProcess([], 1, "", "Traceback\nImportError: no such thing\n\n")
    assert handed_over._answer(broken).failed == "ended with code 1: ImportError: no such thing"
    assert not handed_over._answer(broken).out_of_memory


def test_what_the_user_s_code_prints_at_the_end_is_no_answer(monkeypatch):
    monkeypatch.setattr(handed_over, "CHILD", "batch_child_that_prints")
    sweep = kp.sweep_batch_size(model(), dataset(), [8], seconds=0.1)
    assert [(each.batch_size, each.reason) for each in sweep.trained] == [(8, "")]


def test_a_child_without_an_answer_is_a_size_that_failed():
    for printed in ("", "goodbye\n", "3\n", '{"failed": ""}\n'):
        answer = handed_over._answer(CompletedProcess([], 0, printed, ""))
        assert answer == Answer(failed="its process ended without an answer")
    found = json.dumps(asdict(step(8)))
    answer = handed_over._answer(CompletedProcess([], 0, f"hello\n{found}\ngoodbye\n", ""))
    assert answer == step(8)


class Local(keras.layers.Layer):
    """In a module that another process cannot import, as a script is."""

    def call(self, x):
        return x[:, :1]


@pytest.mark.usefixtures("forked")
def test_a_model_that_no_other_process_can_read_is_refused_with_the_remedy(monkeypatch):
    monkeypatch.setattr(Local, "__module__", "__main__")
    with pytest.raises(ValueError, match=r"Could not locate class 'Local'.*be imported \(a file"):
        kp.sweep_batch_size(model(last=Local()), dataset(), [8])


def test_a_model_that_cannot_be_written_is_refused_with_the_remedy(monkeypatch):
    network = model()
    monkeypatch.setattr(network, "save", lambda _: 1 / 0)
    with pytest.raises(ValueError, match=r"got ZeroDivisionError: division by zero\. keras"):
        kp.sweep_batch_size(network, dataset(), [8])


def test_a_method_set_on_the_object_is_refused_which_no_child_would_have():
    network = model()
    network.compute_loss = network.compute_loss
    with pytest.raises(ValueError, match="got compute_loss set on the object, which another"):
        kp.sweep_batch_size(network, dataset(), [8])


def test_a_child_uses_the_gpus_that_the_program_has_chosen(gpus, monkeypatch, tmp_path):
    gpus[:] = ["GPU 2"]
    commands, limited = [], []

    def run(command, limit_s):
        commands.append(command)
        return CompletedProcess(command, 1, "", "odd")

    monkeypatch.setattr(handed_over, "run", run)
    with handed_over.handed_over(model(), dataset()) as written:
        handed_over.measured_in_a_child(
            written, 8, memory_limit_mib=300.0, seconds=0.1, limit_s=60.0
        )
    told = json.loads(commands[0][-1])
    gpus[:] = ["GPU 0", "GPU 1", "GPU 2"]
    config = tf.config
    monkeypatch.setattr(config, "LogicalDeviceConfiguration", lambda memory_limit: memory_limit)
    monkeypatch.setattr(
        config,
        "set_logical_device_configuration",
        lambda gpu, slices: limited.append((gpu, slices)),
    )
    no_model = SavedModel(**{**told["model"], "file": str(tmp_path / "none.keras")})
    assert child.measured(child.Task(**{**told, "model": no_model})).unreadable
    assert gpus == ["GPU 2"]
    assert limited == [("GPU 2", [300.0])]


def test_a_gpu_that_the_program_does_not_use_may_be_taken_whole(gpus, monkeypatch):
    gpus[:] = ["GPU 1"]
    monkeypatch.delenv("TF_FORCE_GPU_ALLOW_GROWTH", raising=False)
    monkeypatch.setattr(tf.config.experimental, "get_memory_growth", lambda gpu: gpu == "GPU 1")
    check_room()
    gpus[:] = ["GPU 0", "GPU 1"]
    with pytest.raises(ValueError, match="Set TF_FORCE_GPU_ALLOW_GROWTH=true"):
        check_room()


# What follows from the children's answers.


def test_the_smallest_size_within_two_percent_of_the_best_is_recommended(children):
    children(lambda size: Answer([1.0 * max(size, 64)] * 3, 1.0, 1000.0))
    sweep = kp.sweep_batch_size(model(), dataset(), [256, 32, 64, 128])
    assert list(sweep.to_frame()["batch_size"]) == [32, 64, 128, 256]
    assert sweep.recommended == 64
    assert sweep.largest is None
    assert "no largest batch is predicted" in str(sweep)


def test_the_largest_batch_is_predicted_and_tried_once_but_not_recommended(children):
    asked = children(step)
    sweep = kp.sweep_batch_size(model(), dataset(), [16, 32, 64])
    assert sweep.predicted == sweep.largest == 1861
    assert asked == [16, 32, 64, 1861]
    assert sweep.recommended == 64
    assert "1861 examples fit by that line; tried once, they trained." in str(sweep)
    assert "larger ones may have more" in str(sweep)
    assert "kp.find_learning_rate" in str(sweep).replace("keras_perf", "kp")


def test_what_was_found_is_written_into_the_run(children, tmp_path):
    children(step)
    sweep = kp.sweep_batch_size(model(), dataset(), [16, 32, 64], log_dir=tmp_path)
    told = str(kp.diagnose(tmp_path))
    assert "Batch sizes, tried" in told
    scalars = kp.load_scalars(tmp_path)
    speeds = scalars[scalars["tag"] == "batch_size/examples_per_sec"].set_index("step")["value"]
    known = {each.batch_size: each.examples_per_sec for each in sweep.trained}
    assert dict(speeds) == pytest.approx(known)
    assert sweep.record.recommended == sweep.recommended


def test_the_curve_of_predict_tells_throughput_and_time_of_a_call_over_sizes(tmp_path, monkeypatch):
    asked = []

    def calls_of_predict(written, size, *, predict, **_):
        asked.append((size, predict))
        return step(size)

    monkeypatch.setattr(module, "measured_in_a_child", calls_of_predict)
    sizes = [1, 4, 16, 64]
    sweep = kp.sweep_batch_size(model(), dataset(), sizes, predict=True, log_dir=tmp_path)
    assert asked == [(size, True) for size in [*sizes, sweep.predicted]]
    frame = sweep.to_frame().set_index("batch_size")
    assert list(frame.loc[sizes, "step_ms"]) == pytest.approx([1 + 0.1 * n for n in sizes])
    speeds = [1e3 * n / (1 + 0.1 * n) for n in sizes]
    assert list(frame.loc[sizes, "examples_per_sec"]) == pytest.approx(speeds)
    assert sweep.recommended == 64
    [axes] = sweep.plot().axes
    [line, _] = axes.get_lines()
    assert list(line.get_xdata()) == list(frame.index)
    assert list(line.get_ydata()) == list(frame["examples_per_sec"])
    assert "64" in str(kp.diagnose(tmp_path)).partition("Batch sizes, tried")[2]


@pytest.mark.parametrize("size", [1, 8, 100])
def test_each_call_of_predict_has_as_many_rows_as_are_asked_for(size):
    network, rows = model(), []
    predict = network.predict_on_batch
    network.predict_on_batch = lambda x: rows.append(len(x)) or predict(x)
    assert len(call_times(network, tiled(dataset(), size), 1e-9)) == 5
    # One that traces, one that is timed, and six rounds of one.
    assert rows == [size] * 8


def test_a_prediction_that_does_not_come_true_is_told_and_not_the_largest(children):
    children(lambda size: step(size) if size < 100 else MEMORY)
    sweep = kp.sweep_batch_size(model(), dataset(), [16, 32, 64])
    assert (sweep.predicted, sweep.largest) == (1861, None)
    assert "tried once, they failed" in str(sweep)


def test_sizes_above_one_that_ran_out_of_memory_are_not_tried(children):
    asked = children(lambda size: step(size, limit=55) if size < 100 else MEMORY)
    sweep = kp.sweep_batch_size(model(), dataset(), [16, 32, 64, 128, 256])
    assert asked == [16, 32, 64, 128]
    assert list(sweep.to_frame()["reason"])[-2:] == [
        "out of memory: killed (SIGKILL)",
        "not tried: 128 ran out of memory",
    ]
    assert sweep.predicted is None
    assert "no other size that is worth trying" in str(sweep)


def test_a_size_that_fails_otherwise_costs_its_own_row(children):
    children(lambda size: Answer(failed="ValueError: odd") if size == 32 else step(size))
    sweep = kp.sweep_batch_size(model(), dataset(), [16, 32, 64])
    assert list(sweep.to_frame()["failed"]) == [False, True, False]
    assert "32  ValueError: odd" in str(sweep)


def test_a_size_that_takes_too_long_ends_the_sweep(children):
    def answer(size):
        if size > 16:
            raise TooLongError
        return step(size)

    children(answer)
    sweep = kp.sweep_batch_size(model(), dataset(), [16, 32, 64])
    assert list(sweep.to_frame()["reason"]) == [
        "",
        "not done after 120 s",
        "not tried: 32 took too long",
    ]


def test_by_default_powers_of_two_around_the_present_size_are_tried(children):
    asked = children(lambda size: Answer([1.0] * 3, 1.0, 1000.0))
    kp.sweep_batch_size(model(), dataset(12))
    assert asked == [2, 4, 8, 12, 16, 32, 64]


def interrupted_at(size, answer=step):
    def measured(asked):
        if asked == size:
            os.kill(os.getpid(), signal.SIGINT)
        return answer(asked)

    return measured


def test_ctrl_c_keeps_the_sizes_that_have_trained(children, tmp_path):
    asked = children(interrupted_at(64))
    network = model()
    before = [weight.copy() for weight in network.get_weights()]
    sweep = kp.sweep_batch_size(network, dataset(), [16, 32, 64, 128], log_dir=tmp_path)
    assert asked == [16, 32, 64]
    assert [each.batch_size for each in sweep.trained] == [16, 32]
    assert (sweep.recommended, sweep.predicted) == (32, None)
    assert [each.reason for each in sweep.tried][2:] == ["not tried: an interrupt came before"] * 2
    assert "an interrupt came before" in str(kp.diagnose(tmp_path))
    for one, other in zip(before, network.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_ctrl_c_while_the_predicted_size_is_tried_keeps_the_others(children):
    children(interrupted_at(1861))
    sweep = kp.sweep_batch_size(model(), dataset(), [16, 32, 64])
    assert [each.batch_size for each in sweep.tried] == [16, 32, 64]
    assert sweep.predicted is sweep.largest is None


def test_ctrl_c_before_any_has_trained_is_an_interrupt(children):
    children(interrupted_at(16))
    with pytest.raises(KeyboardInterrupt):
        kp.sweep_batch_size(model(), dataset(), [16, 32])


def test_ctrl_c_while_the_model_is_saved_is_one_before_any_has_trained(children, monkeypatch):
    save, asked = handed_over.SavedModel.of, children(step)

    def interrupted(*arguments):
        os.kill(os.getpid(), signal.SIGINT)
        return save(*arguments)

    monkeypatch.setattr(handed_over.SavedModel, "of", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kp.sweep_batch_size(model(), dataset(), [16, 32])
    assert asked == []


def test_a_terminal_shows_the_size_that_is_tried_and_the_time_left(children, monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    children(step)
    kp.sweep_batch_size(model(), dataset(), [16, 32, 64])
    first, *lines = terminal.getvalue().replace("\r\x1b[K", "\n").splitlines()
    assert first.startswith("keras_perf tries 3 batch sizes, each in a process of its own. Ctrl-C")
    told = [each for each in lines if each]
    assert told[0] == "trying batch size 16"
    assert [each.partition(", ")[0] for each in told[1:]] == [
        f"trying batch size {size}" for size in (32, 64, 1861)
    ]
    assert all(each.endswith(" s left") for each in told[1:])
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_the_throughput_is_drawn_over_a_logarithmic_axis(children):
    children(step)
    [axes] = kp.sweep_batch_size(model(), dataset(), [16, 32, 64]).plot().axes
    assert axes.get_xlabel() == "batch size"


# Its parts.


def test_a_line_through_the_peaks_tells_the_largest_batch():
    sizes = [8, 16, 32, 64]
    line = memory_line(sizes, [100 + 2 * size for size in sizes])
    assert line.fixed_mib == pytest.approx(100)
    assert line.largest_batch(1001) == 425
    assert MemoryLine(100, 2).largest_batch(50) == 0
    assert memory_line([8, 16], [1, 2]) is None
    assert memory_line(sizes, [4, 3, 2, 1]) is None
    assert memory_line(sizes, [4.0] * 4) is None
    assert memory_line(sizes, [5, 1, 6, 5.5]) is None


@pytest.mark.parametrize("size", [2, 3, 7])
def test_a_batch_of_any_structure_is_tiled(size):
    x = tf.reshape(tf.range(6), (3, 2))
    ragged = tf.ragged.constant([[1], [2, 3], []])
    batch = ({"a": x, "b": tf.constant(["p", "q", "r"])}, ragged)
    found, lengths = next(iter(tiled(tf.data.Dataset.from_tensors(batch), size)))
    rows = np.arange(size) % 3
    np.testing.assert_array_equal(found["a"], x.numpy()[rows])
    assert [each.decode() for each in found["b"].numpy()] == ["pqr"[row] for row in rows]
    assert lengths.to_list() == [[[1], [2, 3], []][row] for row in rows]


def test_steps_are_whole_executions_in_rounds():
    network = model(steps_per_execution=4)
    batch = tiled(dataset(), 8)
    network.optimizer.build(network.trainable_variables)
    assert len(step_times(network, batch, 1e-9)) == 5
    # One that traces, one that is timed, and six rounds of one.
    assert int(network.optimizer.iterations.numpy()) == 8 * 4


def test_an_error_of_memory_is_known_by_its_kind_or_its_words():
    error = tf.errors.ResourceExhaustedError(None, None, "failed to allocate")
    assert is_out_of_memory(error)
    assert is_out_of_memory(RuntimeError("RESOURCE_EXHAUSTED: Failed to allocate"))
    assert not is_out_of_memory(ValueError("odd"))


def test_wrong_use_is_refused_in_words(monkeypatch):
    sweep = kp.sweep_batch_size
    with pytest.raises(TypeError, match=r"dataset must be a tf\.data\.Dataset"):
        sweep(model(), [1])
    with pytest.raises(ValueError, match="model must be compiled"):
        sweep(keras.Sequential([keras.layers.Dense(1)]), dataset())
    with pytest.raises(ValueError, match="batch_sizes must be at least 1, got 0"):
        sweep(model(), dataset(), [0])
    with pytest.raises(ValueError, match="batch_sizes must hold a number, got none"):
        sweep(model(), dataset(), [])
    with pytest.raises(ValueError, match="memory_limit_mib must be above 0"):
        sweep(model(), dataset(), memory_limit_mib=0)
    with pytest.raises(ValueError, match="dataset must hold a batch, got none"):
        sweep(model(), dataset().take(0))
    monkeypatch.delenv("TF_FORCE_GPU_ALLOW_GROWTH", raising=False)
    monkeypatch.setattr(tf.config, "get_visible_devices", lambda *_: ["a GPU"])
    monkeypatch.setattr(tf.config.experimental, "get_memory_growth", lambda _: False)
    with pytest.raises(ValueError, match="Set TF_FORCE_GPU_ALLOW_GROWTH=true"):
        sweep(model(), dataset())
