"""Memory that grows, and swap: what is said, and when nothing is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_built import diagnosed, summary

from keras_perf.advise.notes.memory.host_memory import host_memory_notes
from keras_perf.analyse.growth import Growth

TAG = "host/process_memory_mib"
LEAK = Growth(
    mib_per_hour=1800.0,
    low=1700.0,
    high=1900.0,
    mib_per_step=0.025,
    rise_mib=200.0,
    seconds=450.0,
    between_epochs=0.0,
)
MACHINE = {"memory_available_mib": 3600.0, "first_step": 0, "last_step": 12_000}


def notes(growth=LEAK, context=None, sensors=None):
    run = summary(compute=10.0, sensors=sensors, context=MACHINE | (context or {}))
    return list(host_memory_notes(diagnosed(replace(run, growth={TAG: growth} if growth else {}))))


def test_growth_is_told_with_its_bounds_and_when_memory_is_full():
    [note] = notes()
    assert note.startswith(
        "The memory of this process grows and does not level out: by 1,800 MiB an hour "
        "(1,700–1,900), 25.6 KiB a step; 200 MiB in the last 7.5 minutes. The "
        "3,600 MiB that were left at the end would last for 2 hours."
    )


def test_from_step_to_step_it_is_a_list_of_tensors_and_the_hooks_are_named():
    [note] = notes(context={"batch_hooks": ["Mine.on_train_batch_end"]})
    assert "from step to step (the batch hooks are Mine.on_train_batch_end)" in note
    source = {"file": "train.py", "line": 9, "name": "on_train_batch_end"}
    known = {"batch_hooks": ["Mine.on_train_batch_end"]}
    [told] = notes(context=known | {"hook_sources": {"Mine.on_train_batch_end": source}})
    assert "the batch hooks are Mine.on_train_batch_end (train.py, line 9))" in told
    assert "tensors kept in a list" in note
    assert "made anew" not in note


def test_between_epochs_it_is_a_dataset_or_predict_and_its_callbacks_are_named():
    outside = {"epoch_gaps": 9, "epoch_callbacks_s": {"Shows.on_epoch_end": 3.0}}
    [note] = notes(replace(LEAK, between_epochs=0.9), {"outside": outside})
    assert "90% of it comes where an epoch ends" in note
    assert "Shows.on_epoch_end" in note
    assert "a tf.data.Dataset made anew for each epoch; predict() called in a loop" in note
    assert "tensors kept" not in note


def test_where_neither_is_known_all_usual_causes_are_named():
    [note] = notes(replace(LEAK, between_epochs=None))
    assert "is unknown" in note
    assert "made anew" in note
    assert "tensors kept" in note


def test_many_traces_are_the_cause_and_few_are_not():
    [note] = notes(context={"function_traces": 40})
    assert "traced the train function 40 times and keeps every graph" in note
    assert "Usual causes" not in note
    [note] = notes(context={"function_traces": 2})
    assert "it is not the train function: traced 2×" in note


def test_what_python_code_of_the_input_keeps_is_among_the_causes():
    [note] = notes(context={"input_kind": "generator"})
    assert "the input's Python code" in note


CACHED = {"dataset": {"chains": [[{"kind": "cache"}, {"kind": "batch"}]]}}
REPEATED = {"dataset": {"chains": [[{"kind": "cache"}, {"kind": "repeat"}]]}}


@pytest.mark.parametrize(
    ("context", "said"),
    [
        (CACHED | {"epoch_steps": 12_000}, False),
        (CACHED | {"epoch_steps": 7_000}, False),
        (CACHED | {"epoch_steps": None}, False),
        (CACHED | {"epoch_steps": 3_000}, True),
        (REPEATED | {"epoch_steps": 3_000}, False),
    ],
)
def test_a_cache_that_may_still_fill_is_not_called_growth(context, said):
    assert bool(notes(context=context)) == said


def test_a_healthy_training_is_not_spoken_of():
    still = {"host/swapped_in_mib_per_sec": 0.4, "host/swapped_out_mib_per_sec": 0.5}
    assert notes(growth=None) == []
    assert notes(growth=None, sensors=still) == []


def test_swapping_is_told_with_both_rates():
    swaps = {"host/swapped_in_mib_per_sec": 12.0, "host/swapped_out_mib_per_sec": 3.0}
    [note] = notes(growth=None, sensors=swaps)
    assert "12 MiB/s come back from swap and 3 MiB/s go there" in note


def test_growth_that_fills_nothing_for_years_is_told_without_an_end():
    [note] = notes(replace(LEAK, mib_per_hour=0.1))
    assert "would last" not in note
    [note] = notes(replace(LEAK, mib_per_hour=36.0))
    assert "would last for 4.2 days" in note
    [note] = notes(replace(LEAK, mib_per_hour=36000.0))
    assert "would last for 6 minutes" in note
