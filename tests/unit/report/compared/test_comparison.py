"""Two runs side by side, to the letter."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hand_built import between_epochs, facts_of, stage, summary, write_fit

from keras_perf.advise.gains.prediction_bounds import uncertainty
from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.rules.all_rules import known_of
from keras_perf.advise.situation import situation_of
from keras_perf.analyse.change import Change
from keras_perf.analyse.cpu_share import used_by_strangers
from keras_perf.analyse.of_intervals.part_means import part_means
from keras_perf.analyse.summary import Summary
from keras_perf.read.event_files import NoRunError
from keras_perf.records.interval import PARTS
from keras_perf.records.run.run_facts import RunFacts
from keras_perf.report.compared.comparison import Comparison, compare, comparison_of
from keras_perf.report.compared.comparison_bounds import may_be_chance, unequal_load
from keras_perf.report.compared.judgement import judged
from keras_perf.report.diagnosis import Diagnosis, diagnosis_of
from keras_perf.write.run_writer import RunWriter

SEQUENTIAL = [stage("TensorSlice", 1.0), stage("Map", 6.0), stage("Batch", 1.0)]

BEFORE = {
    "input_wait": 8.0,
    "compute": 1.5,
    "dispatch": 0.0,
    "callbacks": 0.25,
    "other_host": 0.25,
    "compile": 0.0,
    "stages": SEQUENTIAL,
}

AFTER = {
    "input_wait": 0.0,
    "compute": 3.875,
    "dispatch": 0.0,
    "callbacks": 0.0625,
    "other_host": 0.0625,
    "compile": 0.0,
    "stages": [stage("ParallelMapV2", 1.0, parallelism=8), stage("Prefetch", 0.0)],
}


def comparison(after: dict[str, Any], before: dict[str, Any] = BEFORE) -> Comparison:
    return Comparison(
        2.5, 2.4, 2.6, 2.0, diagnosis_of(summary(**before)), diagnosis_of(summary(**after))
    )


TEXT = """\
A step is 2.50× as fast (2.40–2.60): input-bound before, compute-bound after

part of a step   before ms  after ms  saved ms    90% interval
---------------  ---------  --------  --------  --------------
input wait           8.000     0.000     8.000  8.000 to 8.000
compute              1.500     3.875    -2.375
dispatch             0.000     0.000     0.000
callbacks            0.250     0.062     0.188  0.188 to 0.188
other host work      0.250     0.062     0.188  0.188 to 0.188
compile              0.000     0.000     0.000  0.000 to 0.000
step                10.000     4.000     6.000  6.000 to 6.000

recommended before                                   after  predicted    faster
---------------------------------------------------  -----  ---------  --------
Run the map in parallel: stage Map (2)               taken      2.11×  the step
Prepare the next batch while the current one trains  taken      1.22×  the step

settings that differ                     before                     after
--------------------  -------------------------  ------------------------
input pipeline        TensorSlice → Map → Batch  ParallelMapV2 → Prefetch

Predicted for all recommendations together: a step 3.39× (2.72–4.07), measured 2.50×.
"""

MARKDOWN = """\
## A step is 2.50× as fast (2.40–2.60): input-bound before, compute-bound after

| part of a step | before ms | after ms | saved ms | 90% interval |
| --- | ---: | ---: | ---: | ---: |
| input wait | 8.000 | 0.000 | 8.000 | 8.000 to 8.000 |
| compute | 1.500 | 3.875 | -2.375 |  |
| dispatch | 0.000 | 0.000 | 0.000 |  |
| callbacks | 0.250 | 0.062 | 0.188 | 0.188 to 0.188 |
| other host work | 0.250 | 0.062 | 0.188 | 0.188 to 0.188 |
| compile | 0.000 | 0.000 | 0.000 | 0.000 to 0.000 |
| step | 10.000 | 4.000 | 6.000 | 6.000 to 6.000 |

| recommended before | after | predicted | faster |
| --- | ---: | ---: | ---: |
| Run the map in parallel: stage Map (2) | taken | 2.11× | the step |
| Prepare the next batch while the current one trains | taken | 1.22× | the step |

| settings that differ | before | after |
| --- | ---: | ---: |
| input pipeline | TensorSlice → Map → Batch | ParallelMapV2 → Prefetch |

Predicted for all recommendations together: a step 3.39× (2.72–4.07), measured 2.50×.
"""


def test_a_comparison_reads_like_this_in_a_terminal():
    assert str(comparison(AFTER)) == TEXT


def test_a_comparison_reads_like_this_in_markdown():
    assert comparison(AFTER).to_markdown() == MARKDOWN


def test_without_advice_before_nothing_had_been_recommended():
    text = str(comparison(AFTER, AFTER))
    assert "No change had been recommended." in text
    assert "recommended before" not in text


def test_the_frame_has_a_row_a_part_and_one_for_the_step():
    expected = pd.DataFrame(
        {
            "part": [*PARTS, "step"],
            "before_ms": [8.0, 1.5, 0.0, 0.25, 0.25, 0.0, 10.0],
            "after_ms": [0.0, 3.875, 0.0, 0.0625, 0.0625, 0.0, 4.0],
            "saved_ms": [8.0, -2.375, 0.0, 0.1875, 0.1875, 0.0, 6.0],
            "low": [8.0, -2.375, 0.0, 0.1875, 0.1875, 0.0, 6.0],
            "high": [8.0, -2.375, 0.0, 0.1875, 0.1875, 0.0, 6.0],
        }
    )
    several = {"context": {"steps_per_execution": 8}}
    pd.testing.assert_frame_equal(
        comparison(AFTER | several, BEFORE | several).to_frame(), expected
    )


def test_dispatch_by_trials_leaves_it_and_compute_without_an_interval():
    frame = comparison(AFTER).to_frame().set_index("part")
    assert frame.loc[["dispatch", "compute"], ["low", "high"]].isna().all(axis=None)
    assert frame.loc["compute", "saved_ms"] == -2.375
    assert frame.drop(index=["dispatch", "compute"])["low"].notna().all()
    assert (frame.loc["step", "low"], frame.loc["step", "high"]) == (6.0, 6.0)


def test_the_frame_goes_on_with_what_lies_between_epochs_where_both_know_it():
    before = BEFORE | {"context": between_epochs(10.0, {"A.on_epoch_end": 5.0}, 1.0)}
    after = AFTER | {"context": between_epochs(2.0, {"A.on_epoch_end": 5.0}, 0.5)}
    frame = comparison(after, before).to_frame()
    rows = frame[frame["part"].isin(["validation", "epoch_callbacks", "epoch_rest"])]
    assert rows[["low", "high"]].isna().all(axis=None)
    assert rows.drop(columns=["low", "high"]).to_numpy().tolist() == [
        ["validation", 10.0, 2.0, 8.0],
        ["epoch_callbacks", 5.0, 5.0, 0.0],
        ["epoch_rest", 1.0, 0.5, 0.5],
    ]
    assert list(comparison(AFTER, before).to_frame()["part"]) == [*PARTS, "step"]


def varying(callbacks: list[float], compute: list[float]) -> Summary:
    """Intervals of ten steps with these parts."""
    step = [sum(parts) for parts in zip(callbacks, compute, strict=True)]
    columns = {"steps": 10.0, "step": step, "callbacks": callbacks, "compute": compute}
    means = {"callbacks": fmean(callbacks), "compute": fmean(compute)}
    return replace(
        summary(10 * len(step), **means), intervals=pd.DataFrame(columns), step_ms=fmean(step)
    )


def test_each_parts_interval_is_as_wide_as_that_part_varies():
    before = varying([4.0] * 20, [5.0, 7.0] * 10)
    after = varying([1.0] * 20, [5.0, 7.0] * 10)
    frame = comparison_of(*map(diagnosis_of, (before, after))).to_frame().set_index("part")
    assert frame.loc["callbacks", ["saved_ms", "low", "high"]].tolist() == [3.0, 3.0, 3.0]
    compute = frame.loc["compute"]
    assert -1.5 < compute["low"] < compute["saved_ms"] == 0.0 < compute["high"] < 1.5
    step = frame.loc["step"]
    assert [step[name] - compute[name] for name in ("low", "saved_ms", "high")] == (
        pytest.approx([3.0] * 3)
    )


def test_what_a_part_saved_lies_in_its_interval_also_where_it_is_known_at_times_only():
    before, after = varying([4.0, 5.0] * 10, [5.0, 7.0] * 10), varying([1.0] * 20, [5.0] * 20)
    dispatch = pd.Series([float("nan"), float("nan"), 1.0, 2.0, float("nan")] * 4)
    runs = []
    for run in (before, after):
        intervals = run.intervals.assign(dispatch=dispatch)
        intervals["compute"] -= dispatch.fillna(0.0)
        parts = {name: float(m[0]) for name, m in part_means(intervals, np.ones((1, 20))).items()}
        parts.pop("step")
        facts = facts_of({"steps_per_execution": 8})
        run = replace(run, facts=facts, intervals=intervals, parts=parts)
        runs.append(diagnosis_of(run))
    frame = comparison_of(*runs).to_frame().set_index("part").loc[["dispatch", "compute", "step"]]
    assert (frame["low"] <= frame["saved_ms"]).all()
    assert (frame["saved_ms"] <= frame["high"]).all()
    assert frame.loc["dispatch", "low"] < 0.0 < frame.loc["dispatch", "high"]


@pytest.mark.parametrize(("steps", "told"), [(70, True), (80, False)])
def test_bounds_from_few_intervals_are_said_to_be_too_narrow(steps, told):
    run = comparison(AFTER | {"steps": steps})
    assert ("The bounds rest on 20 intervals of training before and 7 after" in str(run)) is told
    assert ("too few to show all of chance" in run.to_markdown()) is told


@pytest.mark.parametrize(("slow", "told"), [(True, True), (False, False)])
def test_bounds_that_overlook_slow_changes_are_said_to_be_too_narrow(slow, told):
    ups, downs = ([each] * 10 for each in (5.0, 3.0))
    steps = [*ups, *downs, *ups, *downs] if slow else [5.0, 3.0] * 20
    before, after = (varying([0.0] * 40, [more + ms for ms in steps]) for more in (0.5, 0.0))
    run = comparison_of(diagnosis_of(before), diagnosis_of(after))
    assert run.low > 1.0
    assert ("It may still be chance" in str(run)) is told


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (0.6, 1.2, "a step is 0.83 to 1.67× as fast as before."),
        (0.0, 1500.0, "too little was measured to tell: train longer."),
    ],
)
def test_bounds_that_hold_everything_are_not_told_in_figures(low, high, told):
    said = may_be_chance(Change(0.5, low, high), "a step", (1.5, 2.5))
    assert said.endswith(f"resemble each other, {told}")


# -- what became of the advice -----------------------------------------------------------


def taken(after: dict[str, Any], before: dict[str, Any] = BEFORE) -> dict[str, bool]:
    frame = comparison(after, before).advice_frame()
    return dict(zip(frame["id"], frame["taken"], strict=True))


PARALLEL = BEFORE | {"stages": [stage("ParallelMap", 8.0, parallelism=8)]}

VALIDATES = between_epochs(10.0) | {"epochs": 10}


def test_load_of_others_in_one_run_is_told_beside_the_bounds():
    busy = {"host/cpu_pct": 45.0, "host/process_cpu_pct": 160.0}
    told = "Other processes used 25% of the CPUs before and 0% after"
    assert told in comparison(AFTER, BEFORE | {"sensors": busy}).closing
    assert "Other processes" not in comparison(AFTER).closing


def test_the_training_s_own_workers_are_no_load_of_others():
    busy = {"host/cpu_pct": 45.0, "host/process_cpu_pct": 160.0}
    alone = summary(**BEFORE | {"sensors": busy})
    workers = alone.as_worker(0), alone.as_worker(1, 160.0)
    assert unequal_load(alone, summary(**AFTER))
    assert not unequal_load(replace(alone, workers=workers), summary(**AFTER))


def test_workers_that_fill_the_machine_excuse_no_slower_run():
    busy = {"host/cpu_pct": 100.0, "host/process_cpu_pct": 100.0}
    slower = summary(**BEFORE | {"sensors": busy, "compute": 20.0})
    workers = (slower.as_worker(0), *(slower.as_worker(n, 100.0) for n in range(1, 8)))
    together = replace(slower, workers=workers)
    assert used_by_strangers(together) == pytest.approx(0.0, abs=1e-9)
    before, after = diagnosis_of(summary(**BEFORE)), diagnosis_of(together)
    comparison = Comparison(0.5, 0.45, 0.55, 0.5, before, after)
    assert judged(comparison, 0.05).exceeded is True


def test_what_the_later_runs_pipeline_shows_was_taken():
    assert taken(AFTER) == {"parallel-map": True, "prefetch": True}


def test_what_is_told_no_more_but_not_shown_by_the_pipeline_was_not_taken():
    unmapped = AFTER | {"stages": [stage("Batch", 0.1), stage("Prefetch", 0.0)]}
    assert taken(unmapped) == {"parallel-map": False, "prefetch": True}


def test_what_lies_before_a_filled_cache_is_not_known():
    cached = AFTER | {"stages": [stage("MemoryCache", 0.1), stage("Prefetch", 0.0)]}
    assert taken(cached) == {"parallel-map": None, "prefetch": True}


def test_a_prediction_for_all_says_where_not_all_were_taken():
    assert "together: " in comparison(AFTER, BEFORE).closing
    partly = comparison(PARALLEL, BEFORE).closing
    assert "together, though not all are known to have been followed: " in partly


def test_options_of_the_dataset_show_that_advice_was_taken():
    def advice(id: str, **evidence: Any) -> Recommendation:
        return Recommendation(id, "", "", "", 2.0, 2.0, 2.0, evidence)

    wider, ordered = advice("private-threadpool", advised=16), advice("nondeterministic-order")
    context = {"cpu_count": 2, "dataset": {"threadpool_size": 16, "deterministic": False}}
    assert known_of(wider.id).followed(facts_of(context), wider)
    assert known_of(ordered.id).followed(facts_of(context), ordered)
    assert not known_of(wider.id).followed(facts_of({"cpu_count": 2}), wider)
    assert known_of(ordered.id).followed(RunFacts(), ordered) is None
    assert (
        known_of(ordered.id).followed(facts_of({"dataset": {"deterministic": True}}), ordered)
        is False
    )


def test_a_part_that_one_of_the_two_did_not_measure_is_shown_and_what_compute_saved_is_of_both():
    after = {part: ms for part, ms in AFTER.items() if part != "dispatch"}
    before = BEFORE | {"compute": 1.0, "dispatch": 0.5}
    frame = comparison(after, before).to_frame().set_index("part")
    assert frame.loc["dispatch", "before_ms"] == 0.5
    assert frame.loc["dispatch"].drop("before_ms").isna().all()
    assert frame.loc["compute"].tolist() == [1.0, 3.875, -2.375, -2.375, -2.375]
    [row] = [line for line in str(comparison(after, before)).splitlines() if "dispatch" in line]
    assert row.split()[1:] == ["0.500", *["in", "compute"] * 2]


def test_what_the_later_run_is_told_again_is_still_recommended():
    assert taken(PARALLEL) == {"parallel-map": True, "prefetch": False}
    assert "while the current one trains  still recommended" in str(comparison(PARALLEL))


def test_advice_that_was_not_taken_and_is_not_given_again_is_neither():
    compared = comparison(PARALLEL)
    fewer = replace(compared.after, recommendations=())
    said = str(replace(compared, after=fewer))
    assert "while the current one trains  not taken, nor recommended now" in said


def test_what_is_predicted_of_each_stands_beside_what_was_measured_of_all():
    frame = comparison(AFTER, BEFORE | {"context": VALIDATES}).advice_frame()
    expected = pd.DataFrame(
        {
            "id": ["rarer-validation", "parallel-map", "prefetch"],
            "title": [
                "Validate less: every 5 epochs, or on a part of the data",
                "Run the map in parallel: stage Map (2)",
                "Prepare the next batch while the current one trains",
            ],
            # Of the later run nobody knows what lies between epochs.
            "taken": [None, True, True],
            # From 20 ms to 12 of the whole training; of the step of 10 ms to 4.75 and 8.2.
            "predicted": [20 / 12, 10 / 4.75, 10 / 8.2],
            "tried": [False, False, False],
            "of": ["whole", "step", "step"],
            "measured": [2.0, 2.5, 2.5],
        }
    )
    pd.testing.assert_frame_equal(frame, expected)


def test_what_pays_only_after_another_change_is_predicted_as_it_then_pays():
    hidden = {
        "input_wait": 3.0,
        "compute": 3.0,
        "callbacks": 4.0,
        "owners": {"Mine.on_train_batch_end": 4.0},
        "stages": [stage("Map", 7.5), stage("Batch", 2.5), stage("Prefetch", 0.0)],
    }
    frame = comparison(AFTER, hidden).advice_frame()
    after_the_map = 2.5 + 7.5 / 8
    assert list(frame["predicted"]) == pytest.approx([10 / 7, 7 / after_the_map])


@pytest.mark.parametrize(
    ("tried", "told"),
    [((), "Predicted for all"), ((0,), "Predicted, in part from trials, for all"),
     ((0, 1), "Expected, from trials, for all")],
)  # fmt: skip
def test_what_was_measured_on_trial_is_not_called_a_prediction(tried, told):
    found = comparison(AFTER)
    advice = [replace(a, tried=n in tried) for n, a in enumerate(found.before.recommendations)]
    found = replace(found, before=replace(found.before, recommendations=tuple(advice)))
    gains = [row[2] for row in found.advice_table()[1]]
    assert ["on trial" in gain for gain in gains] == [n in tried for n in range(2)]
    assert list(found.advice_frame()["tried"]) == [n in tried for n in range(2)]
    assert told in found.closing


def test_without_advice_before_its_frame_is_empty():
    frame = comparison(AFTER, AFTER).advice_frame()
    assert list(frame.columns) == ["id", "title", "taken", "predicted", "tried", "of", "measured"]
    assert len(frame) == 0


def test_advice_on_a_batch_hook_and_on_an_epoch_hook_are_two():
    owners = {"Mine.on_train_batch_end": 4.0}
    between = {"context": between_epochs(callbacks={"Mine.on_epoch_end": 9.0})}
    before = AFTER | {"callbacks": 4.0, "owners": owners} | between
    frame = comparison(AFTER | between, before).advice_frame()
    assert list(zip(frame["id"], frame["of"], frame["taken"], strict=True)) == [
        ("amortize-callback", "whole", False),
        ("amortize-callback", "step", True),
    ]


def test_a_later_run_too_short_to_be_told_anything_has_not_taken_the_advice():
    assert not any(taken(BEFORE | {"steps": 10}).values())


def test_a_stage_that_only_moved_in_the_pipeline_is_still_recommended():
    source, *others = SEQUENTIAL
    moved = BEFORE | {"stages": [source, stage("Shuffle", 0.001), *others]}
    assert taken(moved) == {"parallel-map": False, "prefetch": False}


def test_a_number_that_is_recommended_anew_is_still_a_recommendation():
    def recommends(steps: int) -> dict[str, Any]:
        trial = {"recommended": steps, "low": 1.4, "high": 1.6, "reason": "because."}
        context = {"steps_per_execution": 1, "steps_per_execution_trial": trial}
        return {"input_wait": 0.0, "compute": 5.0, "dispatch": 5.0, "context": context}

    assert taken(recommends(16), recommends(8)) == {"raise-steps-per-execution": False}


def test_the_whole_training_is_compared_where_advice_was_of_it():
    rarely = AFTER | {"context": between_epochs(0.1) | {"epochs": 10}}
    text = str(comparison(rarely, BEFORE | {"context": VALIDATES}))
    assert text.startswith(
        "The whole training is 2.00× as fast, a step 2.50× (2.40–2.60): input-bound before, "
    )
    assert "Validate less: every 5 epochs, or on a part of the data  taken      1.67×" in text
    # Of 10 ms of validation a fifth is left, and a fifth of that more or less; the step is
    # predicted to take 2.95 ms, at worst 3.28 and at best 2.75.
    by = 1 + uncertainty(situation_of(summary(**BEFORE)))
    speedups = 20 / (2.95 + 2.0), 20 / (3.282 + 2.4) / by, 20 / (2.75 + 1.6) * by
    expected, low, high = (f"{speedup:.2f}" for speedup in speedups)
    assert (
        f"together: the whole training {expected}× "
        f"({low}–{high}), measured 2.00×; a step 3.39× (2.72–4.07), measured 2.50×."
    ) in text


# -- from two directories ----------------------------------------------------------------


def write_both(tmp_path, before: dict, after: dict) -> Comparison:
    write_fit(tmp_path / "before", step_ms=6.0, context=before)
    write_fit(tmp_path / "after", step_ms=3.0, context=after)
    return compare(tmp_path / "before", tmp_path / "after")


def test_steps_half_as_long_are_twice_as_fast(tmp_path):
    found = write_both(tmp_path, {}, {})
    assert (found.speedup, found.low, found.high) == (2.0, 2.0, 2.0)
    assert found.before.breakdown["step"] == 6.0
    assert found.after.breakdown["step"] == 3.0


def test_a_speedup_is_per_example_where_both_know_their_batch_size(tmp_path):
    found = write_both(tmp_path, {"examples_per_step": 64.0}, {"examples_per_step": 32.0})
    assert (found.speedup, found.low, found.high) == (1.0, 1.0, 1.0)


def test_what_is_timed_is_an_example_only_where_batches_differ(tmp_path):
    for name, sizes, timed in (
        ("other", (64.0, 32.0), "an example"),
        ("same", (64.0, 64.0), "a step"),
        ("unknown", (64.0, None), "a step"),
    ):
        contexts = ({"examples_per_step": size} for size in sizes)
        found = write_both(tmp_path / name, *contexts)
        assert found.timed == timed
        assert f": {timed} takes" in judged(found, 0.05).told


def test_a_speedup_is_per_step_where_one_does_not_know_its_batch_size(tmp_path):
    found = write_both(tmp_path, {"examples_per_step": 64.0}, {"examples_per_step": None})
    assert found.speedup == 2.0


def test_validation_and_epoch_hooks_count_in_the_whole_training(tmp_path):
    # 6 + 6 ms per step before, 3 + 1 after.
    before = between_epochs(4.0, {"Mine.on_epoch_end": 1.0}, 1.0, steps=100)
    found = write_both(tmp_path, before, between_epochs(0.5, rest=0.5, steps=100))
    assert found.speedup == 2.0
    assert found.whole_speedup == pytest.approx(3.0)


def test_the_whole_training_too_is_compared_per_example(tmp_path):
    before = between_epochs(6.0, steps=100) | {"examples_per_step": 64.0}
    after = between_epochs(1.0, steps=100) | {"examples_per_step": 32.0}
    found = write_both(tmp_path, before, after)
    assert (found.speedup, found.whole_speedup) == (1.0, pytest.approx(1.5))


@pytest.mark.parametrize("unknown", ["before", "after"])
def test_where_one_does_not_know_what_lies_between_epochs_the_whole_is_the_steps(tmp_path, unknown):
    contexts = {name: between_epochs(6.0, steps=100) for name in ("before", "after")}
    contexts[unknown] = {}
    assert write_both(tmp_path, **contexts).whole_speedup == 2.0


def test_the_bounds_hold_the_speedup(tmp_path):
    for name, times in {"before": (5.0, 6.0, 7.0), "after": (2.0, 3.0, 4.0)}.items():
        writer = RunWriter(str(tmp_path / name))
        for place, step_ms in enumerate(times * 4):
            writer.scalars(
                place, {"perf/step_time_ms": step_ms, "perf/interval_steps": 10.0}, wall_time=1.0
            )
        writer.close()
    found = compare(tmp_path / "before", tmp_path / "after")
    assert found.speedup == pytest.approx(2.0)
    assert found.low < 2.0 < found.high


@pytest.mark.parametrize("empty", ["before", "after"])
def test_a_run_that_measured_nothing_is_refused_by_name(tmp_path, empty):
    for name in ("before", "after"):
        if name == empty:
            RunWriter(str(tmp_path / name)).close()
        else:
            write_fit(tmp_path / name, step_ms=4.0)
    with pytest.raises(ValueError, match=f"^{empty} must hold a run with measured steps"):
        compare(tmp_path / "before", tmp_path / "after")


def test_a_directory_without_a_run_is_no_comparison(tmp_path):
    write_fit(tmp_path / "before", step_ms=4.0)
    with pytest.raises(NoRunError):
        compare(tmp_path / "before", tmp_path / "after")


def test_the_start_up_counts_in_the_whole_training_where_both_know_it():
    def took(step_ms: float, start_s: float | None) -> Diagnosis:
        context = between_epochs(2.0, steps=1000)
        if start_s is not None:
            first = {"before_first_step_s": start_s, "first_steps": 1, "first_execution_s": 0.0}
            context |= {"start_up": first}
        return diagnosis_of(summary(compute=step_ms, context=context))

    # 10 + 2 + 8 ms for each step before, 3 + 2 + 5 after; of the steps and validation 12 and 5.
    assert comparison_of(took(10.0, 8.0), took(3.0, 5.0)).whole_speedup == pytest.approx(2.0)
    assert comparison_of(took(10.0, 8.0), took(3.0, None)).whole_speedup == pytest.approx(2.4)


def started(step_ms: float, start_s: float | None, steps: int = 1000, **more: Any) -> Diagnosis:
    """A training with 2 ms of validation a step, and with or without a known start-up."""
    context = between_epochs(2.0, steps=steps) | more
    if start_s is not None:
        first = {"before_first_step_s": start_s, "first_steps": 1, "first_execution_s": 0.0}
        context |= {"start_up": first}
    return diagnosis_of(summary(compute=step_ms, context=context))


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (started(10.0, 2.0), True),
        (started(10.0, 7.9), False),  # 1%
        (started(5.0, 2.0), False),  # steps are faster, too
    ],
)
def test_a_gain_of_start_up_alone_is_named_for_what_it_is(after, told):
    found = comparison_of(started(10.0, 8.0), after)
    assert ("start-up, 8 s before and 2 s after" in found.closing) is told


def test_of_another_length_the_start_up_is_shared_by_as_many_steps():
    # 4 s in 500 steps are 4 ms for each of 1000.
    assert comparison_of(started(10.0, 4.0), started(3.0, 4.0, 500)).whole_speedup == pytest.approx(
        16 / 9
    )


def test_and_by_as_many_examples():
    before = started(10.0, 4.0, examples_per_step=32.0)
    after = started(18.0, 4.0, 500, examples_per_step=64.0)
    # 16 ms for 32 examples, and 28 for 64.
    assert comparison_of(before, after).whole_speedup == pytest.approx(2 * 16 / 28)


@pytest.mark.parametrize("unknown", [0, 1])
def test_where_one_does_not_know_its_start_up_the_prediction_has_none_either(unknown):
    known = [8.0, 5.0]
    first = diagnosis_of(validating(known[0] if unknown else None))
    found = comparison_of(first, started(10.0, None if unknown else known[1]))
    assert "stands without its start-up" in found.closing
    # Half of 12 ms of validation, in 22 ms with the steps, and not in 30 with the start-up.
    expected, _, _ = found.before.combined_whole_speedup
    assert expected == diagnosis_of(validating(None)).combined_whole_speedup[0]
    [advice] = found.before.recommendations
    assert advice.predicted_speedup == pytest.approx(expected)
    both = comparison_of(diagnosis_of(validating(8.0)), started(10.0, 5.0))
    assert "start-up" not in both.closing
    assert both.before.combined_whole_speedup[0] < expected


def validating(start_s: float | None) -> Summary:
    """Validates for 12 ms of each step."""
    context = between_epochs(12.0) | {"epochs": 10}
    context["outside"] |= {"epoch_gaps": 10, "validations": 10, "usual_validation_s": 1.2}
    if start_s is not None:
        first = {"before_first_step_s": start_s, "first_steps": 1, "first_execution_s": 0.0}
        context |= {"start_up": first}
    return summary(compute=10.0, context=context)


def test_of_compiling_the_whole_training_is_predicted_and_the_step_told_without_it():
    context = between_epochs() | {"jit_compile": True, "shapes_differ": False}
    before = diagnosis_of(summary(compute=2.0, compile=30.0, context=context))
    after = diagnosis_of(summary(compute=2.0, compile=0.0, context=context))
    found = comparison_of(before, after)
    assert "the whole training" in found.closing
    assert "a step 1" not in found.closing
    assert "without it a step takes 2 ms before and 2 ms after" in found.closing
    assert "Compiling" not in comparison_of(after, after).closing


@pytest.mark.parametrize(
    ("ending", "compared"), [("running", False), ("raised", False), ("done", True)]
)
def test_a_run_in_its_first_epoch_is_compared_as_no_whole_training(ending, compared):
    cut_off = between_epochs() | {"ending": {"how": ending}}
    cut_off["outside"] |= {"epoch_gaps": 0}
    whole = comparison(AFTER | {"context": cut_off}, BEFORE | {"context": VALIDATES})
    assert whole.whole_measured is compared
    assert whole.headline.startswith("The whole training" if compared else "A step is")


def test_two_that_are_in_their_first_epoch_are_compared_with_each_other():
    cut_off = between_epochs() | {"ending": {"how": "running"}}
    cut_off["outside"] |= {"epoch_gaps": 0}
    both = {"context": cut_off}
    assert comparison(AFTER | both, BEFORE | both).whole_measured


def test_the_same_fit_twice_is_said_to_be_one():
    first = diagnosis_of(summary(**BEFORE))
    assert "Before and after are the same fit" in comparison_of(first, first).closing
    assert "same fit" not in comparison(AFTER).closing


def test_of_batches_of_different_sizes_the_table_says_what_its_parts_are_of():
    def sized(examples: float) -> Diagnosis:
        return diagnosis_of(summary(**BEFORE, context={"examples_per_step": examples}))

    assert "The parts are those of a step, of 64 and 128 examples." in (
        comparison_of(sized(64.0), sized(128.0)).closing
    )
    # One batch of a run that was cut off was smaller.
    nearly = comparison_of(sized(128.0), sized(127.9))
    assert nearly.timed == "a step"
    assert "examples" not in nearly.closing


def test_of_advice_that_is_measured_one_by_one_nothing_is_in_the_total():
    found = comparison(AFTER)
    advice = found.before.recommendations
    single = replace(advice[0], id="larger-batch", alone=True, tried=True)
    found = replace(found, before=replace(found.before, recommendations=(*advice, single)))
    assert "Predicted for all recommendations together: " in found.closing
