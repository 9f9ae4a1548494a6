"""Grain datasets and torch DataLoaders are known, with their settings, and are not imported.

Classes with their names stand in for them, of the shape that Grain 0.2.18 and torch 2.13.0 have;
where those are installed, the last test asks the real ones.
"""

from __future__ import annotations

import re
import sys
import time
import types

import numpy as np
import pytest
import tensorflow as tf
from programs import arrays, model, needs_gap_times, paused_step_ms, usual_step_ms

import keras_perf as kp
from keras_perf.observation.facts.input.given_input import (
    kind_of_input,
    source_of_input,
    workers_of,
)
from keras_perf.observation.facts.input.loaders import loader_of
from keras_perf.records.run.input.loader import Loader


def of_library(name, module, *bases, **attributes):
    return type(name, bases, {"__module__": module, **attributes})


TorchLoader = of_library("DataLoader", "torch.utils.data.dataloader")
GrainLoader = of_library("DataLoader", "grain._src.python.data_loader")
MapDataset = of_library("MapDataset", "grain._src.python.dataset.dataset", _parents=())
IterDataset = of_library("IterDataset", "grain._src.python.dataset.dataset", _parents=())
Prefetch = of_library("PrefetchIterDataset", "grain._src", IterDataset)
Interleave = of_library("InterleaveIterDataset", "grain._src", IterDataset)
ProcessPrefetch = of_library(
    "ProcessPrefetchIterDataset", "grain._src", IterDataset, _buffer_size=3
)


class ReadOptions:
    num_threads = 16


def made(kind, **attributes):
    found = kind()
    vars(found).update(attributes)
    return found


def iterated(**options):
    """`dataset.to_iter_dataset(grain.ReadOptions(…)).map(…)`."""
    options = types.SimpleNamespace(**options)
    read = made(Prefetch, _parents=(made(MapDataset),), _read_options=options)
    return made(IterDataset, _parents=(read,))


def torch_loader(**settings):
    plain = {
        "dataset": [],
        "num_workers": 0,
        "prefetch_factor": None,
        "persistent_workers": False,
        "pin_memory": False,
    }
    return made(TorchLoader, **(plain | settings))


@pytest.fixture(autouse=True)
def grain(monkeypatch):
    monkeypatch.setitem(sys.modules, "grain", types.SimpleNamespace(ReadOptions=ReadOptions))


def test_a_data_loader_of_torch_tells_its_settings():
    loader = torch_loader(num_workers=2, prefetch_factor=4, persistent_workers=True)
    assert kind_of_input(loader) == "DataLoader"
    expected = Loader("DataLoader", workers=2, ahead=4, persistent=True, pinned=False)
    assert loader_of(loader) == expected
    assert workers_of(loader) == (2, True)
    assert workers_of(torch_loader()) == (0, False)


def test_a_dataset_of_torch_that_iterates_is_known():
    iterable = of_library("IterableDataset", "torch.utils.data.dataset")
    mine = of_library("Mine", "train", iterable)
    assert loader_of(torch_loader(dataset=made(mine))).iterates
    assert not loader_of(torch_loader()).iterates


def test_a_data_loader_of_a_class_of_the_users_is_one():
    mine = of_library("Mine", "train", TorchLoader)
    assert kind_of_input(made(mine)) == "DataLoader"


def test_the_dataset_behind_a_data_loader_has_a_line():
    class Photos:
        def __getitem__(self, index):
            return index

    found = source_of_input(torch_loader(dataset=Photos()))
    assert (found.name, found.line) == ("Photos", Photos.__getitem__.__code__.co_firstlineno)


def test_a_grain_dataset_that_nobody_told_reads_with_grains_own_settings():
    found = made(MapDataset, _parents=(made(MapDataset),))
    assert kind_of_input(found) == "Grain"
    assert loader_of(found) == Loader("MapDataset", workers=0, read_threads=16)


def test_the_read_options_of_a_grain_dataset_are_known():
    found = loader_of(iterated(num_threads=4, prefetch_buffer_size=8))
    assert found == Loader("IterDataset", workers=0, read_threads=4)


def test_the_processes_of_mp_prefetch_are_counted():
    read = iterated(num_threads=4, prefetch_buffer_size=8)
    processes = [made(ProcessPrefetch, _parents=(read,)) for _ in range(2)]
    found = made(IterDataset, _parents=(made(Interleave, _datasets=processes),))
    assert loader_of(found) == Loader("IterDataset", workers=2, ahead=3, read_threads=4)
    assert workers_of(found) == (2, True)


def test_a_data_loader_of_grain_tells_its_settings():
    found = made(
        GrainLoader,
        _multiprocessing_options=types.SimpleNamespace(num_workers=2, per_worker_buffer_size=1),
        _read_options=types.SimpleNamespace(num_threads=16),
    )
    assert kind_of_input(found) == "Grain"
    assert loader_of(found) == Loader("DataLoader", workers=2, ahead=1, read_threads=16)


def test_a_loader_whose_settings_have_other_names_is_still_known():
    assert loader_of(made(GrainLoader)) == Loader("DataLoader")
    assert workers_of(made(GrainLoader)) == (None, False)


def test_arrays_and_classes_of_other_libraries_are_no_loaders():
    assert kind_of_input(np.ones(3)) == "arrays"
    assert kind_of_input(made(of_library("DataLoader", "dgl.dataloading"))) == "arrays"
    assert loader_of(np.ones(3)) is None


class Tensor(np.ndarray):
    """As much of a `torch.Tensor` as Keras's adapter asks for."""

    def cpu(self):
        return self


SLEPT_MS = 4


def iterate(loader):
    for x, y in loader.dataset:
        time.sleep(SLEPT_MS / 1e3)
        yield x, y


def test_a_fit_on_a_data_loader_splits_its_wait_and_trains_as_without(tmp_path, monkeypatch):
    methods = {"__iter__": iterate, "__len__": lambda loader: len(loader.dataset)}
    fake = of_library("DataLoader", "torch.utils.data.dataloader", **methods)
    data = types.SimpleNamespace(DataLoader=fake)
    torch = types.SimpleNamespace(
        Tensor=Tensor, utils=types.SimpleNamespace(data=data), is_tensor=lambda x: False
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    x, y = (np.split(each.view(Tensor), 60) for each in arrays(60))
    loader = made(fake, **vars(torch_loader(dataset=list(zip(x, y, strict=True)), batch_size=8)))
    watched, alone = model(), model()
    callbacks = kp.perf_callbacks(tmp_path, profiler=False, gpu=False)
    watched.fit(loader, verbose=0, shuffle=False, callbacks=callbacks)
    alone.fit(loader, verbose=0, shuffle=False)
    for one, other in zip(watched.get_weights(), alone.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    summary = kp.diagnose(tmp_path).summary
    known = summary.facts.input
    assert known.input_kind == "DataLoader"
    assert known.loader == Loader("DataLoader", workers=0, persistent=False, pinned=False)
    if not hasattr(tf.data.experimental, "get_model_proto"):
        return
    assert "input_wait" in summary.parts
    [making] = [stage for stage in known.stages if stage.name == "Generator"]
    assert making.cost_ms >= SLEPT_MS


def test_grain_has_the_shape_of_what_stands_in(monkeypatch):
    monkeypatch.delitem(sys.modules, "grain")
    grain = pytest.importorskip("grain")
    source = list(range(8))
    threads = grain.ReadOptions(num_threads=4, prefetch_buffer_size=8)
    data = grain.MapDataset.source(source).to_iter_dataset(threads)
    processes = grain.MultiprocessingOptions(num_workers=2, per_worker_buffer_size=3)
    sampler = grain.samplers.SequentialSampler(num_records=8)
    loader = grain.DataLoader(data_source=source, sampler=sampler, worker_count=2)
    found = [
        loader_of(each)
        for each in (
            grain.MapDataset.source(source),
            data.map(lambda x: x),
            data.mp_prefetch(processes).map(lambda x: x),
            loader,
        )
    ]
    assert found == [
        Loader("MapDataset", workers=0, read_threads=16),
        Loader("IterDataset", workers=0, read_threads=4),
        Loader("IterDataset", workers=2, ahead=3, read_threads=4),
        Loader("DataLoader", workers=2, ahead=1, read_threads=16),
    ]


def slept(example):
    time.sleep(SLEPT_MS / 1e3)
    return example


def examples(batches):
    return list(zip(*(np.split(each, batches) for each in arrays(batches)), strict=True))


def read_by(grain, threads):
    """A Grain dataset that so many threads read; as many batches ahead."""
    options = grain.ReadOptions(num_threads=threads, prefetch_buffer_size=threads)
    return grain.MapDataset.source(examples(60)).map(slept).to_iter_dataset(options)


def loaded(grain):
    class Sleeps(grain.transforms.Map):
        def map(self, example):
            return slept(example)

    sampler = grain.samplers.SequentialSampler(num_records=60)
    return grain.DataLoader(data_source=examples(60), sampler=sampler, operations=[Sleeps()])


@pytest.mark.filterwarnings("ignore:Your input ran out of data:UserWarning")
@pytest.mark.parametrize(
    ("make", "loader"),
    [
        (
            lambda grain: grain.MapDataset.source(examples(60)).map(slept),
            Loader("MapDataset", workers=0, read_threads=16),
        ),
        (
            lambda grain: read_by(grain, 0),
            Loader("IterDataset", workers=0, read_threads=0),
        ),
        (loaded, Loader("DataLoader", workers=0, ahead=1, read_threads=16)),
    ],
    ids=["MapDataset", "IterDataset", "DataLoader"],
)
def test_a_fit_on_grain_itself_is_split_and_trains_as_without(make, loader, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "grain")
    grain = pytest.importorskip("grain")
    watched, alone = model(), model()
    callbacks = kp.perf_callbacks(tmp_path, profiler=False, gpu=False)
    watched.fit(make(grain), verbose=0, shuffle=False, callbacks=callbacks)
    alone.fit(make(grain), verbose=0, shuffle=False)
    for one, other in zip(watched.get_weights(), alone.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    summary = kp.diagnose(tmp_path).summary
    known = summary.facts.input
    assert (known.input_kind, known.loader) == ("Grain", loader)
    if not hasattr(tf.data.experimental, "get_model_proto"):
        return
    assert "input_wait" in summary.parts
    [making] = [stage for stage in known.stages if stage.name == "Generator"]
    # Threads sleep beside each other.
    assert loader.read_threads or making.cost_ms >= SLEPT_MS


@pytest.mark.timing
@needs_gap_times
@pytest.mark.filterwarnings("ignore:Your input ran out of data:UserWarning")
@pytest.mark.parametrize("threads", [0, 1])
def test_what_a_fit_on_grain_itself_is_told_is_code_that_grain_takes(
    threads, tmp_path, monkeypatch
):
    monkeypatch.delitem(sys.modules, "grain")
    # On one core advice is given only if the process mostly waits, whatever a step takes here.
    slept_ms = max(30, 25 * usual_step_ms(), 16 * paused_step_ms())
    monkeypatch.setattr(sys.modules[__name__], "SLEPT_MS", slept_ms)
    grain = pytest.importorskip("grain")
    dataset = read_by(grain, threads)
    callbacks = kp.perf_callbacks(tmp_path, profiler=False, steps_per_execution=False)
    model().fit(dataset, verbose=0, shuffle=False, callbacks=callbacks)
    found = kp.diagnose(tmp_path)
    assert found.verdict == "input-bound", found
    names = {"grain": grain, "dataset": dataset}
    if threads:
        [note] = [note for note in found.notes if "Grain dataset" in note]
        assert note.startswith("1 thread reads the examples of the Grain dataset, and training")
        assert "If Python computes in it, processes do: mp_prefetch" in note
        [options] = re.findall(r"to_iter_dataset\((grain\.ReadOptions\(.*?\))\)", note)
        again = grain.MapDataset.source([]).to_iter_dataset(eval(options, names))
        assert loader_of(again).read_threads == 4
    else:
        [advice] = [each for each in found.recommendations if each.id == "parallel-input"]
        assert "a Grain dataset that one thread of Python runs" in advice.reason
        exec(advice.action, names)
        assert loader_of(names["dataset"]).workers == advice.evidence["advised"]


def test_torch_has_the_shape_of_what_stands_in():
    torch_data = pytest.importorskip("torch.utils.data")
    loader = torch_data.DataLoader(list(range(8)), num_workers=2, persistent_workers=True)
    found = loader_of(loader)
    assert found == Loader("DataLoader", workers=2, ahead=2, persistent=True, pinned=False)
