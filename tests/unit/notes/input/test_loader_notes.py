"""What the settings of a Grain dataset or a torch DataLoader show, and when nothing is said."""

from __future__ import annotations

from typing import Any

import pytest
from hand_built import diagnosed, situation, stage

from keras_perf.advise.notes.input.loaders import loader_notes

LATE = [{"cause": "new-iterator", "owner": "", "count": 4, "total_ms": 1000.0}]
"""Of 200 steps each is longer by 5 ms."""


def said(
    kind: str = "DataLoader", verdict: str = "input-bound", advised: Any = (), **changed: Any
) -> list[str]:
    loader = {"kind": "DataLoader", "workers": 2, "persistent": False} | changed.pop("loader", {})
    context = {"input_kind": kind, "loader": loader, "epochs": 5, **changed}
    stages = [stage("Generator", 8.0), stage("Prefetch", 0.0)]
    found = situation(input_wait=8.0, compute=2.0, stages=stages, context=context)
    return list(loader_notes(diagnosed(found, verdict, advised)))


def test_processes_that_each_epoch_starts_anew_are_told_to_live_on():
    assert said(event_totals=LATE) == [
        "The first batch of an epoch comes late, which is 5 ms of each step on average, also "
        "because the 2 processes of the torch DataLoader start again in each epoch: "
        "persistent_workers=True keeps them."
    ]


@pytest.mark.parametrize(
    ("loader", "expected"),
    [
        ({"kind": "IterDataset"}, "repeat() before to_iter_dataset(), and steps_per_epoch"),
        ({"kind": "DataLoader"}, "a sampler with num_epochs=None, and steps_per_epoch"),
    ],
)
def test_grains_processes_are_started_once_by_data_without_end(loader, expected):
    [note] = said("Grain", event_totals=LATE, loader=loader | {"persistent": None})
    assert expected in note


@pytest.mark.parametrize(
    "changed",
    [
        {"loader": {"persistent": True}},
        {"loader": {"workers": 0}},
        {"epochs": 1},
        {"event_totals": [LATE[0] | {"total_ms": 90.0}]},
        {"event_totals": [LATE[0] | {"cause": "input-stall"}]},
    ],
)
def test_processes_that_live_on_or_start_soon_are_left_alone(changed):
    assert said(**({"event_totals": LATE} | changed)) == []


THREADS = {"workers": 0, "read_threads": 16, "persistent": None}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("MapDataset", "to_iter_dataset(grain.ReadOptions(num_threads=64))"),
        ("DataLoader", "read_options=grain.ReadOptions(num_threads=64)"),
    ],
)
def test_threads_that_keep_training_waiting_are_told_to_be_more(kind, expected):
    [note] = said("Grain", loader=THREADS | {"kind": kind})
    assert note.startswith("16 threads read the examples of the Grain dataset, and training waits")
    assert f"more of them help: {expected}. If" in note
    assert "not measured" in note


@pytest.mark.parametrize(
    "changed",
    [
        {"verdict": "compute-bound"},
        {"advised": ["parallel-input"]},
        {"loader": THREADS | {"workers": 2}},
        {"loader": THREADS | {"read_threads": 0}},
    ],
)
def test_threads_that_are_not_waited_for_or_advised_on_are_left_alone(changed):
    assert said("Grain", **({"loader": THREADS} | changed)) == []


def test_pinned_memory_is_said_to_buy_nothing_where_the_input_is_waited_for():
    [note] = said(loader={"pinned": True})
    assert note.startswith("pin_memory=True buys nothing here")
    assert said(loader={"pinned": True}, verdict="compute-bound") == []


def test_of_other_input_nothing_is_said():
    found = situation(input_wait=8.0, compute=2.0, context={"event_totals": LATE, "epochs": 5})
    assert list(loader_notes(diagnosed(found, "input-bound"))) == []
