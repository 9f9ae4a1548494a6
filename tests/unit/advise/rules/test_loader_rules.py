"""Advice on Grain datasets and torch DataLoaders: it starts from the settings that are there."""

from __future__ import annotations

from typing import Any

import pytest
from hand_built import assert_predicts, situation, stage

from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.rules.input.handing_over import HANDED_OVER_MS
from keras_perf.advise.rules.input.python_input import parallel_input

STAGES = [stage("Generator", 9.0), stage("FlatMap", 0.5), stage("Prefetch", 0.0)]

PLAIN = {"kind": "DataLoader", "workers": 0, "persistent": False, "pinned": False}


def advised(
    kind: str, loader: dict[str, Any], wait: float = 9.5, **changed: Any
) -> Recommendation | None:
    workers = loader.get("workers") or 0
    context = {
        "input_kind": kind,
        "loader": loader,
        "input_workers": workers,
        "input_processes": workers > 0,
        **changed.pop("context", {}),
    }
    parts = {"input_wait": wait, "compute": 10 - wait}
    return parallel_input(situation(stages=STAGES, context=context, **parts, **changed))


def grain(kind: str = "IterDataset", workers: int = 0, read_threads: int = 0) -> dict[str, Any]:
    return {"kind": kind, "workers": workers, "read_threads": read_threads}


HELD = {"wait": 8.0, "sensors": {"host/interpreter_wait_ms": 4.0}, "process_cpu_pct": 100.0}
"""Python code that computes all the time, which shows in part as compute."""


BY_EIGHT = (
    (10 + 8 * 0.5 + 2 * HANDED_OVER_MS + 0.45 * 4) / 8,
    (10 + 0.5 + HANDED_OVER_MS + 0.25 * 4) / 8,
    (10 + 0.5 + 0.05 * 4) / 8,
)


def test_a_data_loader_without_workers_is_told_to_use_processes():
    advice = advised("DataLoader", PLAIN)
    # Eight cores share the 10 ms of a batch, as it is handed over, and computing, which takes
    # 0.5 ms of one core, at worst of all; of that they lose 0.25 or 0.45, at best 0.05.
    assert_predicts(advice, *BY_EIGHT)
    assert advice.id == "parallel-input"
    assert advice.action == "loader = torch.utils.data.DataLoader(..., num_workers=8)"
    assert advice.reason == (
        "Each step waits 9.5 ms for a torch DataLoader that one thread of Python runs; "
        "8 logical CPUs are there to share it."
    )
    assert (advice.evidence["present"], advice.evidence["advised"]) == (1, 8)


@pytest.mark.parametrize(
    ("persistent", "expected"),
    [
        (False, "(..., num_workers=8, persistent_workers=True)"),
        (True, "(..., num_workers=8)"),
    ],
)
def test_workers_that_are_to_live_on_are_advised_only_where_they_do_not(persistent, expected):
    loader = PLAIN | {"workers": 2, "persistent": persistent}
    advice = advised("DataLoader", loader, context={"epochs": 3})
    assert advice.action.endswith(expected)
    # Two of them work already: at best there are four times as many.
    assert advice.high == pytest.approx(8 / 2)
    assert "that 2 processes make" in advice.reason


def test_workers_of_a_dataset_that_iterates_are_told_to_take_their_parts():
    for iterates in (True, False):
        action = advised("DataLoader", PLAIN | {"iterates": iterates}).action
        assert ("get_worker_info" in action) == iterates


def test_its_dataset_is_named_with_its_line():
    source = {"file": "train.py", "line": 31, "name": "Photos"}
    advice = advised("DataLoader", PLAIN, context={"input_source": source})
    assert "for a torch DataLoader (train.py, line 31) that" in advice.reason


@pytest.mark.parametrize(
    ("loader", "expected"),
    [
        (grain("MapDataset", read_threads=16), "dataset.to_iter_dataset().mp_prefetch(options)"),
        (grain("IterDataset", read_threads=16), "= dataset.mp_prefetch(options)"),
        (grain("DataLoader", read_threads=16), "loader = grain.DataLoader(..., worker_count=8)"),
    ],
)
def test_grain_that_computes_in_python_is_told_to_use_processes(loader, expected):
    advice = advised("Grain", loader, **HELD)
    # 9 ms of work over eight cores, of which 90 to 100% help; what is left is training.
    assert 1 < advice.low <= advice.predicted_speedup <= advice.high
    assert expected in advice.action
    assert advice.reason.startswith("The Grain dataset holds Python's interpreter for 9 ms of")
    compile(advice.action, "action", "exec")


def test_grain_that_reads_with_no_threads_is_one_thread():
    assert_predicts(advised("Grain", grain()), *BY_EIGHT)


def test_processes_that_are_there_are_replaced_by_more():
    advice = advised("Grain", grain(workers=2, read_threads=16), context={"epochs": 2})
    assert "  # in place of the present mp_prefetch\n# " in advice.action
    assert "\n# repeat() before" in advice.action
    compile(advice.action, "action", "exec")


@pytest.mark.parametrize(
    ("kind", "loader", "changed"),
    [
        # Enough processes, or nothing to wait for.
        ("DataLoader", PLAIN | {"workers": 8}, {}),
        ("Grain", grain(workers=8), {}),
        ("DataLoader", PLAIN, {"wait": 0.0}),
        ("DataLoader", PLAIN, {"context": {"cpu_count": 1}}),
        # Sixteen threads that do not compute wait for something else than the interpreter.
        ("Grain", grain(read_threads=16), {}),
        # Code that runs on several cores as it is.
        ("DataLoader", PLAIN, {"process_cpu_pct": 200.0}),
        # What computes here takes what processes hand over.
        ("DataLoader", PLAIN | {"workers": 2}, HELD),
    ],
)
def test_what_processes_would_not_help_is_left_alone(kind, loader, changed):
    assert advised(kind, loader, **changed) is None


def test_a_loader_that_tells_no_settings_is_told_how_to_set_them():
    assert "worker" not in (advised("Grain", {"kind": "IterDataset"}).reason)
    assert advised("DataLoader", {"kind": "DataLoader"}).evidence["present"] == 1
