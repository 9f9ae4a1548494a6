"""What was tried beside a training is told with it: batch sizes, learning rates."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import pytest
from hand_built import write_fit

from keras_perf import diagnose
from keras_perf.read.left_out import LeftOutWarning
from keras_perf.records.run.tried.batch_sizes import BatchSize, BatchSizes
from keras_perf.records.run.tried.learning_rates import LearningRates
from keras_perf.report.as_json import reports_json
from keras_perf.report.page.cards.batch_sizes_card import batch_sizes_card
from keras_perf.report.page.cards.learning_rates_card import learning_rates_card
from keras_perf.report.page.page import page_html
from keras_perf.report.run_report import run_reports
from keras_perf.report.text.learning_rates_table import learning_rate_rows
from keras_perf.trials.kept_in_run import KeptInRun


def size(batch_size, step_ms, peak_mib):
    per_second = 1e3 * batch_size / step_ms
    return BatchSize(
        batch_size=batch_size, step_ms=step_ms, examples_per_sec=per_second, peak_mib=peak_mib
    )


FAILED = BatchSize(batch_size=4096, reason="out of memory: <it> had 1000 MiB")
SIZES = BatchSizes(
    tried=(size(32, 10.0, 100.0), size(64, 11.0, 164.0), size(900, 150.0, 940.0), FAILED),
    present=32,
    recommended=64,
    predicted=900,
    limit_mib=1000.0,
    fixed_mib=36.0,
    per_example_mib=2.0,
)
RATES = LearningRates(
    learning_rates=(1e-4, 1e-3, 1e-2, 1e-1),
    smoothed_losses=(1.0, 0.9, 0.3, 50.0),
    suggestion=3e-3,
    diverged=True,
)


def report_of(log_dir):
    [report] = run_reports([log_dir])
    return report


@pytest.mark.parametrize("first", ["training", "trial"])
def test_a_trial_is_told_with_the_training_of_its_directory(tmp_path, first):
    def train():
        write_fit(tmp_path, step_ms=4.0)

    def try_sizes():
        KeptInRun(tmp_path).keep({"batch_sizes": SIZES}, {32: {"batch_size/step_time_ms": 10.0}})

    for each in (train, try_sizes) if first == "training" else (try_sizes, train):
        each()
    KeptInRun(tmp_path).keep({"learning_rates": RATES})
    report = report_of(tmp_path)
    assert report.step_ms == pytest.approx(4.0)
    assert report.summary.facts.batch_sizes == SIZES
    assert report.summary.facts.learning_rates == RATES
    told = str(report.diagnosis)
    assert "Batch sizes, tried" in told
    assert "Learning rates, tried" in told
    assert "other fit" not in told, "a trial is none"
    [run] = json.loads(reports_json([report]))["runs"]
    assert run["batch_sizes"]["recommended"] == 64


def test_the_newest_trial_counts(tmp_path):
    write_fit(tmp_path, step_ms=4.0)
    newer = BatchSizes(tried=(size(8, 1.0, 9.0),), present=8, recommended=8)
    for each in (SIZES, newer):
        KeptInRun(tmp_path).keep({"batch_sizes": each})
    assert report_of(tmp_path).summary.facts.batch_sizes == newer


def test_a_trial_without_a_training_is_told_alone(tmp_path):
    KeptInRun(tmp_path).keep({"batch_sizes": SIZES}, {32: {"batch_size/step_time_ms": 10.0}})
    told = diagnose(tmp_path)
    assert told.verdict == "inconclusive"
    assert "what was tried beside one" in told.explanation
    assert "Batch sizes, tried" in page_html([report_of(tmp_path)])


def test_without_a_log_dir_nothing_is_written_and_a_wrong_one_is_refused_at_once(tmp_path):
    KeptInRun(None).keep({"batch_sizes": SIZES})
    with pytest.raises(TypeError, match="log_dir must be"):
        KeptInRun(3)
    assert not [*tmp_path.iterdir()]


def test_batch_sizes_are_curves_with_the_recommended_and_the_largest(tmp_path):
    KeptInRun(tmp_path).keep({"batch_sizes": SIZES})
    card = batch_sizes_card(report_of(tmp_path))
    titles = [each.find("title").text for each in card.iter("svg") if each.get("role") == "img"]
    assert titles == [
        "examples per second over batch size: 32: 3200.000, 64: 5818.182, 900: 6000.000",
        "step, ms over batch size: 32: 10.000, 64: 11.000, 900: 150.000",
        "peak of memory, MiB over batch size: 32: 100.000, 64: 164.000, 900: 940.000",
    ]
    assert [each.text for each in card.iter("title")].count("900: largest that fits") == 3
    said = card.find("p").text
    assert said.startswith("Batch size 64: 5,818 examples per second, 1.82× as many as at 32.")
    assert "Memory: 36 MiB and 2 MiB an example, of 1,000 MiB." in said
    rows = [[*map("".join, (cell.itertext() for cell in row))] for row in card.find(".//tbody")]
    assert rows[1] == ["64", "11", "5,818", "164", "recommended"]
    assert rows[3] == ["4,096", "–", "–", "–", "out of memory: <it> had 1000 MiB"]


def test_the_text_tells_the_shape_of_the_loss_in_four_rows():
    assert [*learning_rate_rows(RATES)] == [
        ["0.0001", "1", "first"],
        ["0.001", "0.9", "suggested"],
        ["0.01", "0.3", "lowest loss"],
        ["0.1", "50", "last"],
    ]
    assert [*learning_rate_rows(LearningRates())] == []
    inconclusive = LearningRates(learning_rates=(1e-4,), smoothed_losses=(1.0,))
    assert [row[2] for row in learning_rate_rows(inconclusive)] == ["first, lowest loss, last"]


def test_the_step_that_diverged_does_not_flatten_the_curve(tmp_path):
    KeptInRun(tmp_path).keep({"learning_rates": RATES})
    card = learning_rates_card(report_of(tmp_path))
    assert "Learning rate 0.003: there the loss fell steepest" in card.find("p").text
    scale = [each.text for each in card.find(".//div[@class='scale']")]
    assert max(map(float, scale)) <= 1.1


@pytest.mark.parametrize("large", [4e15, 3.4e38])
def test_a_loss_that_grew_beyond_all_bounds_is_told_with_the_others(tmp_path, large):
    rates = replace(RATES, smoothed_losses=(1.0, 0.9, 0.3, large))
    KeptInRun(tmp_path).keep({"learning_rates": rates})
    report = report_of(tmp_path)
    assert report.summary.facts.learning_rates == rates
    assert "lowest loss" in str(report.diagnosis)
    scale = learning_rates_card(report).find(".//div[@class='scale']")
    assert max(float(each.text) for each in scale) <= 1.1


@pytest.mark.parametrize("losses", [(), (1.0, 1e300, 0.9, 0.3)])
def test_rates_whose_losses_cannot_be_read_are_not_told(tmp_path, losses):
    write_fit(tmp_path, step_ms=4.0)
    KeptInRun(tmp_path).keep({"learning_rates": replace(RATES, smoothed_losses=losses)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftOutWarning)
        report = report_of(tmp_path)
    assert learning_rates_card(report) is None
    assert "Learning rates, tried" not in page_html([report])
    assert "Learning rates, tried" not in str(report.diagnosis)


def test_one_loss_is_told_and_not_drawn(tmp_path):
    KeptInRun(tmp_path).keep({"learning_rates": replace(RATES, smoothed_losses=(1.0,))})
    card = learning_rates_card(report_of(tmp_path))
    assert card.find(".//tbody/tr/td").text == "1"
    assert card.find("figure") is None


@pytest.mark.parametrize("card", [batch_sizes_card, learning_rates_card])
def test_without_a_trial_there_is_no_card(tmp_path, card):
    write_fit(tmp_path, step_ms=4.0)
    assert card(report_of(tmp_path)) is None
