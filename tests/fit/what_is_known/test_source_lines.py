"""Where functions of the user's stand, as Python tells it."""

from __future__ import annotations

import functools
import sys
import types
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from programs import Batches, dataset, model

import keras_perf as kp
from keras_perf.observation.facts.input.dataset_graph import dataset_graph
from keras_perf.observation.facts.input.given_input import source_of_input
from keras_perf.observation.facts.source_lines import made_by_keras, source_of


def load(x):
    return x


LINE = load.__code__.co_firstlineno


class Loads:
    def __call__(self, x):
        return x

    def method(self, x):
        return x


@functools.wraps(load)
def decorated(x):
    return load(x)


@pytest.mark.parametrize(
    "function",
    [load, functools.partial(load), functools.partial(functools.partial(load)), decorated],
)
def test_the_line_of_a_function_is_found_behind_what_wraps_it(function):
    found = source_of(function)
    assert (found.line, found.name) == (LINE, "load")
    assert found.file.endswith("test_source_lines.py")


def test_methods_objects_that_are_called_and_generators_have_lines():
    assert source_of(Loads().method).name == "method"
    assert source_of(Loads()).line == Loads.__call__.__code__.co_firstlineno
    assert source_of(each for each in "ab").name == ""
    assert source_of(lambda: 0).name == ""


def test_where_the_working_directory_is_gone_no_line_is_told(monkeypatch):
    def is_gone():
        raise FileNotFoundError(2, "No such file or directory")

    made = {}
    exec(compile("def made(x): return x", "relative.py", "exec"), made)
    monkeypatch.setattr("os.getcwd", is_gone)
    assert source_of(made["made"]) is None


def test_a_data_loader_without_a_dataset_has_no_line():
    odd = type("DataLoader", (), {"__module__": "torch.utils.data.odd"})()
    assert source_of_input(odd) is None


def test_what_nobody_wrote_has_no_line():
    assert source_of(keras.layers.Rescaling(2.0)) is None
    assert source_of(keras.callbacks.Callback().on_epoch_end) is None
    assert source_of(len) is None
    assert source_of(None) is None
    assert source_of(eval("lambda: 0")) is None

    class Rude:
        def __getattr__(self, name):
            raise RuntimeError(name)

    assert source_of(Rude()) is None
    assert made_by_keras(Rude()) == ""


@pytest.mark.parametrize(
    ("below", "expected"), [(True, "project/src/train.py"), (False, "src/train.py")]
)
def test_files_below_the_working_directory_are_told_from_there(
    tmp_path, monkeypatch, below, expected
):
    file = tmp_path / "project" / "src" / "train.py"
    (tmp_path / "elsewhere").mkdir()
    file.parent.mkdir(parents=True)
    monkeypatch.chdir(tmp_path if below else tmp_path / "elsewhere")
    functions: dict = {}
    exec(compile("def load(x): pass", str(file), "exec"), functions)
    assert source_of(functions["load"]).file == expected


def in_a_cell(file):
    functions: dict = {}
    exec(compile("\ndef load(x): pass", file, "exec"), functions)
    return source_of(functions["load"])


def test_a_cell_of_a_notebook_is_told_by_its_number(monkeypatch):
    """Canary for IPython's `format_code_name`."""
    compiles = pytest.importorskip("IPython.core.compilerop").CachingCompiler()
    shell = types.SimpleNamespace(compile=compiles)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    name = compiles.cache("def load(x): pass", 3)
    found = in_a_cell(name)
    assert str(found) == "cell In[3], line 2"


@pytest.mark.parametrize("file", ["/tmp/ipykernel_12/345.py", "<ipython-input-2-ab>"])
def test_a_cell_whose_number_nobody_tells_is_a_cell(monkeypatch, file):
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace())
    assert in_a_cell(file).file == "a cell of the notebook"


def test_the_functions_of_a_dataset_have_lines():
    """Canary for `_func` of tf.data's function wrappers."""
    data = tf.data.Dataset.range(4).map(tf.function(load)).filter(lambda x: x > 1)
    [[_, mapped, filtered]] = dataset_graph(data).chains
    assert mapped.source.line == LINE
    assert (filtered.function, filtered.source.name) == ("", "")
    assert filtered.source.file.endswith("test_source_lines.py")


def test_what_makes_batches_has_a_line():
    assert source_of_input(Batches()).name == "Batches"
    assert source_of_input(each for each in "ab").file.endswith("test_source_lines.py")
    assert source_of_input(np.ones(3)) is None
    assert source_of_input(dataset(1)) is None


class Mine(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        pass


def test_a_fit_tells_where_its_hooks_and_its_map_stand(tmp_path):
    def first(x, y):
        return x, y

    lambdas = [
        keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: None),
        keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: 1),
        keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: 2),
    ]
    written = keras.callbacks.CSVLogger(tmp_path / "log.csv")
    callbacks = [kp.StepGapDetector(tmp_path), Mine(), *lambdas, written]
    model().fit(dataset(40).map(first), verbose=0, shuffle=False, callbacks=callbacks)
    facts = kp.diagnose(tmp_path).summary.facts
    line = Mine.on_train_batch_end.__code__.co_firstlineno
    assert facts.hook_sources["Mine.on_train_batch_end"].line == line
    assert facts.hook_sources["LambdaCallback.on_epoch_end"].name == ""
    # Of two with one name nobody knows which takes the time; Keras's own have no line.
    assert "LambdaCallback.on_train_batch_end" not in facts.hook_sources
    assert not [owner for owner in facts.hook_sources if owner.startswith("CSVLogger")]
    [chain] = facts.input.chains
    assert Path(chain[-1].source.file).name == "test_source_lines.py"


def test_hooks_that_are_set_to_work_once_an_epoch_are_known(tmp_path):
    callbacks = [
        kp.StepGapDetector(tmp_path, summary=False),
        keras.callbacks.TensorBoard(tmp_path / "theirs"),
        keras.callbacks.ModelCheckpoint(tmp_path / "often.keras", save_freq=1000),
    ]
    model().fit(dataset(40), verbose=0, shuffle=False, callbacks=callbacks)
    assert kp.diagnose(tmp_path).summary.facts.settings.once_an_epoch == (
        "TensorBoard.on_train_batch_begin",
        "TensorBoard.on_train_batch_end",
    )
