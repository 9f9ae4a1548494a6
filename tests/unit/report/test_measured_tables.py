"""Tables of what was measured beside the parts."""

from __future__ import annotations

from typing import Any

from hand_built import stage, summary

from keras_perf.report.text.measured_tables import SHOWN_EVENTS, Table, measured_tables


def tables(**arguments: Any) -> list[Table]:
    return list(measured_tables(summary(**({"compute": 10.0} | arguments))))


def test_without_figures_there_are_no_tables():
    assert tables() == []
    assert tables(context={"event_totals": [], "stages": []}) == []


def test_owners_of_host_time_come_in_the_order_of_their_share():
    owners = {"A.on_train_batch_end": 0.5, "B.on_train_batch_end": 2.0, "gc.collect": 1.0}
    assert tables(owners=owners) == [
        (
            "Host time by owner, per step",
            ["owner", "ms", "share"],
            [
                ["B.on_train_batch_end", "2.000", "20%"],
                ["gc.collect", "1.000", "10%"],
                ["A.on_train_batch_end", "0.500", "5%"],
            ],
        )
    ]


def test_owners_of_no_more_than_a_hundredth_of_a_step_are_left_out():
    [(_, _, rows)] = tables(owners={"A.on_train_batch_end": 0.1, "B.on_train_batch_end": 0.11})
    assert [row[0] for row in rows] == ["B.on_train_batch_end"]
    assert tables(owners={"A.on_train_batch_end": 0.1}) == []


def test_the_stages_come_from_source_to_last_and_the_slowest_sets_the_pace():
    stages = [
        stage("TensorSlice", 1.0),
        stage("ParallelMap", 24.0, parallelism=4),
        stage("Batch", 2.0),
        stage("Prefetch", 1.0, buffer_size=8, buffered=3),
    ]
    assert tables(stages=stages) == [
        (
            "Input pipeline, per batch",
            ["stage", "ms", "threads", "buffer", "share"],
            [
                ["TensorSlice (1)", "1.000", "1", "", "10%"],
                ["ParallelMap (2) ← sets the pace", "6.000", "4", "", "60%"],
                ["Batch (3)", "2.000", "1", "", "20%"],
                ["Prefetch (4)", "1.000", "1", "3/8", "10%"],
            ],
        )
    ]


def test_stages_that_cost_nothing_set_no_pace():
    [(_, _, rows)] = tables(stages=[stage("Generator", 0.0), stage("Prefetch", 0.0)])
    assert rows == [["Generator (1)", "0.000", "1", "", ""], ["Prefetch (2)", "0.000", "1", "", ""]]


def total(cause: str, owner: str = "", *, count: int = 1, total_ms: float = 9.0) -> dict[str, Any]:
    return {"cause": cause, "owner": owner, "count": count, "total_ms": total_ms}


def test_events_are_told_by_cause_and_owner():
    totals = [
        total("checkpoint", "ModelCheckpoint.on_epoch_end", count=5, total_ms=1234.56),
        total("input-stall", count=2, total_ms=70.0),
    ]
    assert tables(context={"event_totals": totals}) == [
        (
            "Steps and pauses far longer than usual",
            ["cause", "times", "longer by in all, ms"],
            [
                ["checkpoint ModelCheckpoint.on_epoch_end", "5", "1234.6"],
                ["input stall", "2", "70.0"],
            ],
        )
    ]


def test_of_many_causes_the_first_are_shown():
    totals = [total("callback", f"C{place}.on_epoch_end") for place in range(20)]
    [(_, _, rows)] = tables(context={"event_totals": totals})
    assert [row[0] for row in rows] == [f"callback C{p}.on_epoch_end" for p in range(SHOWN_EVENTS)]


def test_all_three_come_in_one_order():
    found = tables(
        owners={"A.on_train_batch_end": 2.0},
        stages=[stage("Map", 1.0)],
        context={"event_totals": [total("unknown")]},
    )
    assert [title for title, _, _ in found] == [
        "Host time by owner, per step",
        "Input pipeline, per batch",
        "Steps and pauses far longer than usual",
    ]


def test_start_up_is_told_part_by_part_with_what_filled_the_shuffle_buffer():
    first = {"before_first_step_s": 0.01, "first_steps": 1, "first_execution_s": 9.0}
    context = {
        "start_up": {**first, "tracing_s": 4.0, "computing_s": 2.01},
        "outside": {"warmup_steps": 10, "warmup_s": 9.09},
        "event_totals": [{"cause": "shuffle-refill", "count": 2, "total_ms": 5000.0}],
        "dataset": {"chains": [[{"kind": "map"}, {"kind": "shuffle"}]]},
    }
    _, (title, header, rows) = tables(context=context)
    assert (title, header) == ("Start-up, until steps were steady", ["what", "s"])
    filled = " (about 2.50 s of it: filling the shuffle buffer)"
    assert rows == [
        ["tracing the train function", "4.00"],
        ["first batch, preparing the graph" + filled, "2.99"],
        ["compiling, computing for the first time", "2.00"],
        ["in all, in 10 steps", "9.00"],
    ]


def test_stages_that_keras_makes_of_arrays_are_one_row_without_a_pace_setter():
    stages = [
        stage("TensorSlice", 0.01),
        stage("ParallelMapV2", 0.04, parallelism=2),
        stage("Prefetch", 0.01, buffer_size=2, buffered=1),
    ]
    [(_, _, rows)] = tables(stages=stages, context={"input_kind": "arrays"})
    assert rows == [["Keras's own stages for arrays", "0.040", "1", "1/2", ""]]


def test_changes_of_an_input_end_with_what_came_of_them_and_why_no_more_was_tried():
    change = {"id": "parallel-map", "where": "map(decode)", "kept": True}
    change |= {"gain": 3.0, "low": 2.8, "high": 3.2, "before_ms": 9.0, "after_ms": 3.0}
    stopped = "Stopped by an interrupt."
    found = {"before_ms": 9.0, "after_ms": 3.0, "tried": [change], "stopped": stopped}
    [(title, _, rows)] = tables(context={"input_changes": found})
    assert title == "Changes of the input, tried on it alone"
    assert rows == [
        ["parallel-map (map(decode))", "9 → 3", "3.00× (2.80–3.20)", "kept"],
        ["", "", "", f"9 ms a batch before, 3 ms after: 3.00× as fast. {stopped}"],
    ]


def test_changes_of_an_input_that_were_ended_before_the_first_say_so():
    found = {"before_ms": 9.0, "after_ms": 9.0, "stopped": "Stopped by an interrupt."}
    [(_, _, rows)] = tables(context={"input_changes": found})
    said = "9 ms a batch before, 9 ms after: 1.00× as fast. Stopped by an interrupt."
    assert rows == [["", "", "", said]]
