"""Advice on several workers: when it is given, what it predicts, and when it is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hand_built import assert_predicts, situation, summary

from keras_perf.advise.as_written import in_batches_of
from keras_perf.advise.rules.best_first import recommendations
from keras_perf.advise.rules.workers import (
    FLOAT16_DRIFT,
    balance_workers,
    fewer_exchanges,
    reduce_in_half_precision,
)
from keras_perf.advise.situation import Situation, situation_of
from keras_perf.advise.verdict.verdict import verdict_of
from keras_perf.analyse.worker import Worker
from keras_perf.report.compared.comparison import Comparison
from keras_perf.report.diagnosis import diagnosis_of

SLOW_INPUT = (
    Worker(0, 200, 10.0, 0.5, 2.5, 6.0, 1.0),
    Worker(1, 200, 10.0, 5.5, 2.5, 1.0, 1.0),
)


def several(
    communication: float,
    peer_wait: float,
    skew: float,
    *,
    skews: Sequence[float] | None = None,
    slowest: Sequence[int] = (1,),
    steadily: float | None = None,
    workers: Sequence[Worker] = (),
    context: dict[str, Any] | None = None,
    steps: int = 200,
    **parts: float,
) -> Situation:
    """Ten-step intervals of a worker whose step is its parts; the exchange lies in compute."""
    made = summary(
        steps,
        context={
            "driver": "loop",
            "workers": 2,
            "trainable_parameters": 1_000_000,
            "examples_per_step": 32,
            "exchange": {
                "workers": 2,
                "bytes_per_step": 4_000_000,
                "slowest_worker": max(slowest, key=list(slowest).count),
                "steadily_ms": skew if steadily is None else steadily,
            },
            **(context or {}),
        },
        **(parts or {"input_wait": 0.0, "compute": 9.0, "dispatch": 0.0, "callbacks": 1.0}),
    )
    count = len(made.intervals)
    names = [slowest[place % len(slowest)] for place in range(count)]
    values = skews or [skew]
    columns = {
        "skew": [values[place % len(values)] for place in range(count)],
        "slowest_worker": names,
    }
    intervals = pd.concat([made.intervals, pd.DataFrame(columns)], axis=1)
    exchange = {"communication": communication, "peer_wait": peer_wait, "skew": skew}
    return situation_of(
        replace(made, intervals=intervals, exchange=exchange, workers=tuple(workers))
    )


def test_the_exchange_is_taken_out_of_compute():
    model = several(6.0, 4.0, 3.0).model
    assert (model.rest["compute"], model.rest["wire"], model.rest["peer_wait"]) == (3.0, 2.0, 4.0)
    assert model.step_ms == pytest.approx(10.0)


# -- balance-workers ---------------------------------------------------------------------


def test_the_gain_of_balancing_is_the_skew_and_of_a_worker_as_fast_as_the_others_more():
    advice = balance_workers(several(6.0, 5.0, 3.0, workers=SLOW_INPUT))
    assert_predicts(advice, 7.0, 7.0, 4.0)
    assert advice is not None
    assert advice.title == "Balance the workers: worker 1 is the slowest"
    assert "Worker 1 is the last in 100% of the steps" in advice.reason
    assert "It takes longer in input wait: 5.5 ms of each step, 0.5 ms on" in advice.reason
    assert advice.action.startswith("keras-perf report LOGDIR/perf/worker_1")
    assert advice.evidence["slow_part"] == "input wait"


@pytest.mark.parametrize(
    ("slow", "part"),
    [
        (Worker(1, 200, 10.0, 0.5, 7.5, 1.0, 1.0), "compute"),
        (Worker(1, 200, 10.0, 0.5, 2.5, 1.0, 6.0), "host"),
        (Worker(1, 200, 10.0, None, 7.5, 1.0, 1.5), "compute"),
    ],
)
def test_the_part_that_makes_it_slow_is_named(slow, part):
    advice = balance_workers(several(6.0, 5.0, 3.0, workers=(SLOW_INPUT[0], slow)))
    assert advice is not None
    assert advice.evidence["slow_part"] == part


def test_where_the_slowest_worker_is_the_one_that_is_read_its_own_step_shrinks():
    advice = balance_workers(several(1.0, 0.0, 3.0, slowest=(0,)))
    assert_predicts(advice, 7.0, 7.0, 4.0)


def test_without_its_run_the_slow_worker_is_named_and_no_reason_given():
    advice = balance_workers(several(6.0, 5.0, 3.0))
    assert advice is not None
    assert advice.evidence["slow_part"] is None
    assert "is not in this directory" in advice.reason


def test_what_chance_adds_is_not_expected_to_go():
    advice = balance_workers(several(6.0, 5.0, 3.0, steadily=2.0, skews=(2.5, 3.5)))
    assert advice is not None
    assert advice.high == pytest.approx(10 / 4)
    assert advice.predicted_speedup == pytest.approx(10 / 8)
    assert 10 / 8.2 < advice.low < 10 / 8


@pytest.mark.parametrize(
    "arguments",
    [
        {"slowest": (0, 1)},
        {"slowest": (0, 1, 2)},
        {"steadily": 0.0},
        {"skews": (0.0, 6.0)},
        {"steps": 30},
    ],
    ids=["two in turn", "three in turn", "none slower on the whole", "within noise", "thin"],
)
def test_workers_that_are_late_by_chance_are_not_told_to_be_balanced(arguments):
    assert balance_workers(several(6.0, 5.0, 3.0, **arguments)) is None


def test_one_worker_alone_is_not_told_to_be_balanced():
    alone = situation_of(summary(compute=10.0))
    assert balance_workers(alone) is None
    assert reduce_in_half_precision(alone) is None
    assert fewer_exchanges(alone) is None


# -- the exchange itself -----------------------------------------------------------------


def test_half_the_bytes_take_half_of_the_wire_s_time_at_best():
    advice = reduce_in_half_precision(several(6.0, 1.0, 0.5))
    assert_predicts(advice, 9.5, 8.0, 7.5)
    assert advice is not None
    assert "keras-perf launch --workers 2 train.py --reduce-dtype float16 " in advice.action


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("docs/recommendations.md", "differ a little ({} after 20 steps of Adam)"),
        ("keras_perf/loop/gradients.py", "digits: {} and"),
        ("tests/distributed/test_equality.py", "Found: {}, which the advice tells"),
    ],
)
def test_the_drift_of_16_bits_is_one_figure_wherever_it_is_told(file, words):
    advice = reduce_in_half_precision(several(6.0, 1.0, 0.5))
    assert advice is not None
    assert f"({FLOAT16_DRIFT} after 20 steps of Adam)" in advice.reason
    text = (Path(__file__).parents[4] / file).read_text(encoding="utf-8")
    assert words.format(FLOAT16_DRIFT) in text


def test_of_a_small_exchange_most_does_not_depend_on_its_size():
    # 125 kB need 1 ms between two workers at 1 Gbit/s; the other 4 ms stay.
    context = {
        "trainable_parameters": 31_250,
        "exchange": {"workers": 2, "bytes_per_step": 125_000},
    }
    advice = reduce_in_half_precision(several(6.0, 1.0, 0.5, context=context))
    assert_predicts(advice, 9.9, 9.6, 9.5)


def test_gradients_that_are_exchanged_in_16_bits_stay_so():
    context = {"exchange": {"workers": 2, "bytes_per_step": 2_000_000}}
    assert reduce_in_half_precision(several(6.0, 1.0, 0.5, context=context)) is None


def test_a_larger_batch_shares_the_exchange():
    advice = fewer_exchanges(several(6.0, 2.0, 0.5))
    assert_predicts(advice, 7.4, 7.0, 7.0)
    assert advice is not None
    assert advice.id == "larger-batch"
    launched = "keras-perf launch --workers 2 train.py --batch-size 128 --accumulate 4 "
    assert launched in advice.action
    assert advice.action.endswith("# and steps in all, and those between evaluations, divided by 4")


@pytest.mark.parametrize(("peak_mib", "told"), [(240.0, True), (960.0, False)])
def test_in_fit_the_larger_batch_has_to_have_room(peak_mib, told):
    memory = {"gpu_memory_total_mib": 1000.0, "gpu_memory_peak_mib": peak_mib}
    found = situation(compute=60.0, context={"replicas": 4, "examples_per_step": 256.0, **memory})
    waits = replace(found.model, rest={**found.model.rest, "wire": 15.0})
    advice = fewer_exchanges(replace(found, model=waits))
    assert (advice is not None) is told
    if advice is not None:
        assert "batch(1024, drop_remainder=True)\n# and steps_per_epoch" in advice.action


def test_what_a_function_makes_for_each_replica_is_told_for_each():
    alone = {"replicas": 4, "distribution_options": {"auto_shard_policy": "NONE"}}
    facts = situation(compute=10.0, context=alone).facts
    assert in_batches_of(512, facts) == "dataset = dataset.batch(128)  # of each replica"
    shared = situation(compute=10.0, context={"replicas": 4}).facts
    assert in_batches_of(512, shared) == "dataset = dataset.batch(512)"


def test_waiting_for_others_is_no_wire_time():
    waiting = several(6.0, 6.0, 3.0)
    assert reduce_in_half_precision(waiting) is None
    assert fewer_exchanges(waiting) is None


# -- verdict, and all of it together -----------------------------------------------------


def test_where_the_wire_takes_most_the_verdict_is_communication_bound():
    verdict, why = verdict_of(several(5.4, 0.4, 0.2))
    assert verdict == "communication-bound"
    assert str(why) == (
        "the exchange of gradients: 5 ms of each step; without, training would be 2.00× as fast."
    )


def test_where_another_part_takes_more_it_is_the_verdict():
    parts = {"input_wait": 8.0, "compute": 4.0, "callbacks": 0.0}
    assert verdict_of(several(2.0, 0.0, 0.0, **parts))[0] == "input-bound"


def test_where_it_waits_for_others_the_verdict_says_so():
    parts = {"input_wait": 0.0, "compute": 9.9, "dispatch": 0.0, "callbacks": 0.1}
    verdict, why = verdict_of(several(6.0, 5.9, 3.0, **parts))
    assert verdict == "compute-bound"
    assert str(why) == (
        "no other part's removal would make this worker's step 5% faster. For 5.9 ms of each "
        "step it waits for slower workers."
    )


def test_beside_another_verdict_the_waiting_is_told_too():
    verdict, why = verdict_of(several(6.0, 4.0, 2.0))
    assert verdict == "communication-bound"
    assert str(why).endswith("1.25× as fast. For 4 ms of each step it waits for slower workers.")


def test_all_that_is_worth_saying_is_said_best_first():
    found = recommendations(several(6.0, 1.0, 0.9, workers=SLOW_INPUT))
    assert [each.id for each in found][:3] == [
        "larger-batch",
        "reduce-in-half-precision",
        "balance-workers",
    ]


def test_on_thin_data_nothing_is_advised():
    found = diagnosis_of(several(6.0, 1.0, 0.9, steps=10, workers=SLOW_INPUT).summary)
    assert (found.verdict, found.recommendations) == ("inconclusive", ())


def test_the_notes_say_what_the_same_bytes_need_on_a_ring():
    notes = diagnosis_of(several(6.0, 1.0, 0.5, workers=SLOW_INPUT).summary).notes
    [note] = [each for each in notes if "Gbit/s" in each]
    assert note == (
        "In each step 2 workers exchange 3.81 MiB of gradients, which takes 5 ms apart from "
        "waiting for each other. On a ring the same bytes need 32 ms at 1 Gbit/s, 3.2 ms at 10 "
        "Gbit/s, 0.32 ms at 100 Gbit/s (2 (R − 1) / R × bytes ÷ bandwidth)."
    )


def test_an_exchange_that_was_not_measured_is_said_to_lie_in_compute():
    made = summary(compute=10.0, context={"driver": "loop", "workers": 2})
    assert any("exchange of gradients was not measured" in n for n in diagnosis_of(made).notes)


def test_the_table_of_workers_shows_what_was_not_measured_as_such():
    workers = (SLOW_INPUT[0], Worker(1, 200, 10.0, None, 9.0, None, 1.0))
    text = str(diagnosis_of(several(6.0, 5.0, 3.0, workers=workers).summary))
    rows = [line.split() for line in text.splitlines()]
    assert ["0", "10.000", "0.500", "2.500", "6.000", "1.000"] in rows
    assert ["1", "10.000", "–", "9.000", "–", "1.000"] in rows


@pytest.mark.parametrize(("size", "taken"), [(2_000_000, True), (4_000_000, False)])
def test_fewer_bytes_show_that_the_advice_was_taken(size, taken):
    exchange = {"workers": 2, "bytes_per_step": size}
    before = diagnosis_of(several(6.0, 1.0, 0.5).summary)
    after = diagnosis_of(several(6.0, 1.0, 0.5, context={"exchange": exchange}).summary)
    frame = Comparison(1.2, 1.1, 1.3, 1.2, before, after).advice_frame().set_index("id")
    assert frame.loc["reduce-in-half-precision", "taken"] == taken
