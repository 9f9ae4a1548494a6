"""Settings of the environment, each tried in a process of its own."""

import os
import sys
from contextlib import contextmanager

import pytest
import tensorflow as tf
from batch_models import dataset, model

import keras_perf as kp
from keras_perf.records.run.tried.advice_trials import AdviceTrials
from keras_perf.trials.environment import tried_settings
from keras_perf.trials.environment.handed_training import HandedTraining
from keras_perf.trials.environment.process import FailedError, training_process
from keras_perf.trials.environment.settings import (
    EnvironmentSetting,
    named_settings,
    possible_settings,
)
from keras_perf.trials.environment.tried_settings import EnvironmentTrials
from keras_perf.trials.other_process import saved_model
from keras_perf.trials.other_process.program_settings import ProgramSettings
from keras_perf.trials.rewriting.own_copy import require_graph
from keras_perf.trials.training.budget import Budget
from keras_perf.trials.training.setup import Setup

UNSET = {"intra_op": 0, "inter_op": 0}
SETTINGS = [EnvironmentSetting("a", "A", "1", "much"), EnvironmentSetting("b", "B", "2")]


def tried(environ=(), cores=8, threads=UNSET, on_gpu=False):
    """The values that are tried of each variable."""
    values = {}
    for each in possible_settings(dict(environ), cores, threads, on_gpu=on_gpu):
        values.setdefault(each.variable, []).append(each.value)
    return values


def test_on_a_cpu_threads_and_onednn_are_tried():
    assert tried() == {
        "TF_NUM_INTRAOP_THREADS": ["4"],
        "TF_NUM_INTEROP_THREADS": ["4", "1"],
        "TF_ENABLE_ONEDNN_OPTS": ["0"],
    }


def test_one_operation_at_a_time_is_tried_once_and_not_where_it_is_set():
    assert tried(cores=2)["TF_NUM_INTEROP_THREADS"] == ["1"]
    assert tried({"TF_NUM_INTEROP_THREADS": "1"})["TF_NUM_INTEROP_THREADS"] == ["4"]


def test_on_a_gpu_its_threads_are_and_onednn_is_not():
    found = tried(on_gpu=True)
    assert found["TF_GPU_THREAD_MODE"] == ["gpu_private"]
    assert "TF_ENABLE_ONEDNN_OPTS" not in found


def test_what_is_set_is_not_tried_again():
    environ = {"TF_NUM_INTRAOP_THREADS": "4", "TF_GPU_THREAD_MODE": "gpu_private"}
    assert set(tried(environ, on_gpu=True)) == {"TF_NUM_INTEROP_THREADS"}
    assert tried({"TF_ENABLE_ONEDNN_OPTS": "0"})["TF_ENABLE_ONEDNN_OPTS"] == ["1"]
    assert not {"TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"} & {*tried(cores=1)}


def test_what_the_program_sets_the_environment_would_not_change():
    assert set(tried(threads={"intra_op": 2, "inter_op": 2})) == {"TF_ENABLE_ONEDNN_OPTS"}


def test_what_a_caller_names_is_written_as_a_shell_reads_it():
    [one, other] = named_settings({"LD_PRELOAD": "/a b.so", "MALLOC_ARENA_MAX": "2"}, 60)
    assert (one.id, one.variable, one.value) == ("LD_PRELOAD", "LD_PRELOAD", "/a b.so")
    assert one.code == "export LD_PRELOAD='/a b.so'  # before Python starts"
    assert other.code == "export MALLOC_ARENA_MAX=2  # before Python starts"
    assert named_settings(None, None) == []


# -- processes that are scripted ---------------------------------------------------------


class Scripted:
    def __init__(self, step_ms, fails=""):
        self._ms, self._fails = step_ms, fails

    def begins(self):
        if self._fails:
            raise FailedError(self._fails)

    def step_ms(self):
        if isinstance(self._ms, BaseException):
            raise self._ms
        return self._ms


@pytest.fixture
def environment(monkeypatch):
    """Sets how processes behave, by the variables that they have more than this one."""
    ended = []

    def set_to(behaviour):
        @contextmanager
        def process(folder, settings, limit_s):
            assert (folder / "training.json").exists()
            yield behaviour[tuple(settings)]
            ended.append(tuple(settings))

        monkeypatch.setattr(tried_settings, "training_process", process)

    set_to.ended = ended
    return set_to


def trials_of(data, seconds=60.0, clock=None):
    ticks = iter(range(10_000))
    budget = Budget(seconds, clock or (lambda: next(ticks) / 10))
    setup = Setup(model(), require_graph(data), jit_compile=False, run_eagerly=False)
    found = EnvironmentTrials(setup, budget, outside_ms=2.0)
    found.run(SETTINGS)
    return found.added_to(AdviceTrials(step_ms=12.0))


@pytest.mark.whole
def test_each_is_measured_beside_the_environment_as_it_is(environment):
    environment({(): Scripted(10.0), ("A",): Scripted(5.0), ("B",): Scripted(10.0)})
    first, second = trials_of(dataset()).changes
    assert (first.id, first.where, first.costs) == ("a", "environment", "much")
    assert (first.before_ms, first.after_ms) == (12.0, 7.0)
    assert first.gain == pytest.approx(12 / 7)
    assert first.code == "export A=1  # before Python starts"
    assert second.gain == pytest.approx(1.0)


def test_one_that_fails_keeps_none_of_the_others_from_being_tried(environment):
    failing = Scripted(1.0, fails="ValueError: no such thread")
    environment({(): Scripted(10.0), ("A",): failing, ("B",): Scripted(5.0)})
    found = trials_of(dataset())
    assert [each.id for each in found.changes] == ["b"]
    assert [each.why for each in found.not_tried] == ["ValueError: no such thread"]


def test_where_the_present_training_fails_nothing_else_is_started(environment):
    environment({(): Scripted(1.0, fails="ValueError: no such layer")})
    found = trials_of(dataset())
    assert [each.id for each in found.not_tried] == ["a", "b"]
    assert {each.why for each in found.not_tried} == {"ValueError: no such layer"}


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), TypeError("odd spec")])
def test_what_cannot_be_written_is_told_and_raises_nothing(environment, monkeypatch, error):
    def cannot(setup, folder):
        raise error

    environment({})
    monkeypatch.setattr(tried_settings.HandedTraining, "of", cannot)
    found = trials_of(dataset())
    assert len(found.not_tried) == 2
    assert str(error.args[-1]) in found.not_tried[0].why


def test_no_process_is_started_when_time_is_over(environment):
    environment({(): Scripted(10.0), ("A",): Scripted(5.0)})
    found = trials_of(dataset(), seconds=0.01)
    assert environment.ended == []
    assert not found.changes
    assert [each.id for each in found.not_tried] == ["a", "b"]
    assert all("were over" in each.why for each in found.not_tried)


def test_an_interrupt_keeps_what_is_known(environment):
    environment({(): Scripted(10.0), ("A",): Scripted(5.0), ("B",): Scripted(KeyboardInterrupt())})
    found = trials_of(dataset())
    assert [each.id for each in found.changes] == ["a"]
    assert found.stopped == "an interrupt"


def test_a_dataset_that_calls_python_is_not_handed_over(environment):
    environment({})
    called = dataset().map(lambda x, y: (tf.numpy_function(lambda a: a, [x], x.dtype), y))
    assert "calls Python" in trials_of(called).not_tried[0].why


# -- processes that do not train ---------------------------------------------------------


@pytest.fixture
def child(tmp_path, monkeypatch):
    """Sets the program that is started."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("keras_perf.trials.environment.process.CHILD", "scripted_child")
    return lambda program: (tmp_path / "scripted_child.py").write_text(program)


def test_what_is_printed_before_it_begins_is_passed_over(child, tmp_path):
    child("print('welcome'); print(3); print('{}')\ninput()\nprint('{\"step_ms\": 4.0}')")
    with training_process(tmp_path, {}, 60.0) as process:
        process.begins()
        assert process.step_ms() == 4.0


@pytest.mark.parametrize("program", ["", "print('{')", "print('{}')\ninput()\nprint('{\"st')"])
def test_one_that_ends_in_the_middle_of_an_answer_failed(child, tmp_path, program):
    child(program)

    def is_asked():
        with training_process(tmp_path, {}, 60.0) as process:
            process.begins()
            process.step_ms()

    with pytest.raises(FailedError, match="ended"):
        is_asked()


def test_one_that_cannot_be_started_failed(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.executable", str(tmp_path / "no python"))
    with pytest.raises(FailedError, match="could be started"), training_process(tmp_path, {}, 1.0):
        pass


@pytest.mark.parametrize("on_gpu", [False, True])
def test_each_setting_arrives_in_its_child_beside_what_this_process_has(child, tmp_path, on_gpu):
    child("import json, os\nprint('{}')\ninput()\nprint(json.dumps({'step_ms': dict(os.environ)}))")
    found = list(possible_settings({}, 8, UNSET, on_gpu=on_gpu))
    settings = {each.variable: each.value for each in found}
    assert len(settings) == 3
    with training_process(tmp_path, settings, 60.0) as process:
        process.begins()
        arrived = process.step_ms()
    assert settings.items() <= arrived.items()
    assert arrived["PATH"] == os.environ["PATH"]


OF_TENSORFLOW = """
import json
from collections import Counter
from pathlib import Path
import tensorflow as tf
from tensorflow.python.util import _pywrap_util_port
tf.function(lambda x: x @ x + x @ (2 * x))(tf.ones((9, 9)))
threads = Counter(each.read_text().strip() for each in Path("/proc/self/task").glob("*/comm"))
found = [threads["tf_Compute"], _pywrap_util_port.IsMklEnabled()]
print('{}')
input()
print(json.dumps({"step_ms": found}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc names the threads on Linux only")
def test_tensorflow_in_the_child_does_what_the_settings_say(child, tmp_path):
    child(OF_TENSORFLOW)
    settings = {"TF_NUM_INTEROP_THREADS": "5", "TF_ENABLE_ONEDNN_OPTS": "0"}
    with training_process(tmp_path, settings, 120.0) as process:
        process.begins()
        threads, onednn = process.step_ms()
    assert not onednn
    if threads == 0 and tf.__version__ < "2.21":
        pytest.skip("this TensorFlow gives its threads no names")
    assert threads == 5


def test_what_is_no_text_in_the_path_of_modules_is_passed_over(monkeypatch, tmp_path):
    monkeypatch.setattr("sys.path", [tmp_path, "/there"])
    assert saved_model.environment()["PYTHONPATH"] == "/there"


def test_what_a_program_sets_is_set_in_its_child_too(processes, tmp_path):
    (tmp_path / "program.py").write_text(
        "from keras_perf.trials.other_process.program_settings import ProgramSettings\n"
        "ProgramSettings(1, 2, [], False).apply()\n"
        "print(ProgramSettings.of_this_process())\n"
    )
    code, told = processes.script(tmp_path / "program.py")
    expected = ProgramSettings(1, 2, gpus=[], tensor_float_32=False)
    assert (code, told.splitlines()[-1]) == (0, str(expected)), told


def test_the_child_may_use_the_gpus_that_the_program_has_chosen_and_no_others(gpus):
    tf.config.set_visible_devices(["GPU 1", "GPU 2"], "GPU")
    chosen = ProgramSettings.of_this_process()
    assert (chosen.gpus, chosen.on_gpu) == ([1, 2], True)
    tf.config.set_visible_devices(["GPU 0", "GPU 1", "GPU 2"], "GPU")
    chosen.apply()
    assert gpus == ["GPU 1", "GPU 2"]


def test_settings_of_the_program_are_handed_over(tmp_path):
    setup = Setup(model(), require_graph(dataset()), jit_compile=False, run_eagerly=False)
    HandedTraining.of(setup, tmp_path)
    read = HandedTraining.written_in(tmp_path)
    assert read.settings == ProgramSettings.of_this_process()


# -- a real one --------------------------------------------------------------------------


@pytest.mark.whole
def test_another_process_trains_with_what_the_caller_names(monkeypatch):
    broken = EnvironmentSetting("python", "PYTHONHASHSEED", "no number")
    monkeypatch.setattr("keras_perf.trials.trying.settings_to_try", lambda: [broken])
    network, named = model(), {"TF_ENABLE_ONEDNN_OPTS": "0"}
    before = [v.numpy() for v in network.variables]
    found = kp.try_advice(network, dataset(), budget_s=5.0, environment_s=120.0, environment=named)
    for was, is_now in zip(before, network.variables, strict=True):
        assert (was == is_now.numpy()).all()
    [onednn] = (each for each in found.trials.changes if each.id == "TF_ENABLE_ONEDNN_OPTS")
    assert onednn.after_ms > 0
    assert (onednn.where, onednn.id in {each.id for each in found.changes}) == (
        "environment",
        False,
    )
    assert onednn.code == "export TF_ENABLE_ONEDNN_OPTS=0  # before Python starts"
    [failed] = [each for each in found.trials.not_tried if each.id == "python"]
    assert failed.why


def test_seconds_below_none_are_refused():
    with pytest.raises(ValueError, match="environment_s must be above 0"):
        kp.try_advice(model(), dataset(), environment_s=0)


@pytest.mark.parametrize(
    ("environment", "environment_s", "error", "named"),
    [
        ({"A": "1"}, None, ValueError, "with the seconds to try it for"),
        ({"A": 1}, 60, TypeError, "'A': 1. Put numbers in quotes"),
        ({"A=B": "1"}, 60, ValueError, "names of variables, got 'A=B'"),
        ("A=1", 60, TypeError, "a dict of names and values, got str"),
    ],
)
def test_variables_that_are_none_are_refused_in_a_line(
    environment, environment_s, error, named, tmp_path
):
    given = {"environment": environment, "environment_s": environment_s}
    with pytest.raises(error, match=named):
        kp.try_advice(model(), dataset(), **given)
    with pytest.raises(error, match=named):
        kp.perf_callbacks(tmp_path, try_advice=given)
