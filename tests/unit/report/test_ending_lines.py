"""What is printed when a training ends."""

from __future__ import annotations

from dataclasses import replace

from hand_built import summary
from test_diagnosis import FAST, SLOW_INPUT

from keras_perf.records.run.ending import Ending, How
from keras_perf.report.diagnosis import diagnosis_of
from keras_perf.report.ending_lines import ending_lines


def lines(diagnosis, log_dir="logs/run1"):
    return ending_lines(diagnosis, log_dir).splitlines()


def test_verdict_with_its_share_best_advice_with_its_gain_and_where_to_look():
    assert lines(diagnosis_of(summary(**SLOW_INPUT))) == [
        "keras_perf: input-bound: input wait takes 80% of a step of 10 ms",
        "  best advice: Run the map in parallel: stage Map (2) [parallel-map], "
        "a step 2.11× (1.77–2.43) as fast, predicted, and 2 more",
        "  more: keras-perf report logs/run1, or the Performance tab of "
        "tensorboard --logdir logs/run1",
    ]


def test_without_advice_there_is_no_line_for_it():
    first, second = lines(diagnosis_of(summary(**FAST)))
    assert first == "keras_perf: compute-bound: compute takes 99% of a step of 10 ms"
    assert second.startswith("  more:")


def test_of_too_few_steps_it_says_what_is_missing():
    first, _ = lines(diagnosis_of(summary(steps=3, **FAST)))
    assert first.startswith("keras_perf: inconclusive: only 3 steps were measured")


def test_a_training_that_failed_says_by_what_in_four_lines_at_most():
    found = diagnosis_of(summary(**SLOW_INPUT))
    facts = replace(found.summary.facts, ending=Ending(How.RAISED, "ValueError"))
    failed = replace(
        found, summary=replace(found.summary, facts=facts), alerts=("No GPU is used.", "More.")
    )
    alert, verdict, *_ = shown = lines(failed)
    assert alert == "No GPU is used."
    assert verdict.startswith("keras_perf: training was ended by ValueError; input-bound: ")
    assert len(shown) == 4


def test_names_cannot_steer_a_terminal_or_a_shell():
    *_, where = lines(diagnosis_of(summary(**FAST)), "a b\x1b[31m; rm x")
    assert "\x1b" not in where
    assert "keras-perf report 'a b\\x1b[31m; rm x'," in where


def test_of_callbacks_it_is_told_what_they_take():
    found = summary(input_wait=0.0, compute=1.0, callbacks=9.0)
    assert lines(diagnosis_of(found))[0].startswith(
        "keras_perf: callback-bound: callbacks take 90% of a step of 10 ms"
    )
