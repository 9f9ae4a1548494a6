"""What each number of the page means, in place."""

from __future__ import annotations

import pandas as pd
import pytest
from hand_built import stage, summary, write_fit

from keras_perf.records.interval import PARTS, part_name
from keras_perf.records.rates import Rates
from keras_perf.report.diagnosis import diagnosis_of
from keras_perf.report.page.cards.measured_cards import efficiency_card, owners_card
from keras_perf.report.page.cards.pipeline_card import pipeline_card
from keras_perf.report.page.comparison import change_card
from keras_perf.report.page.meanings import meaning
from keras_perf.report.page.page import side_by_side
from keras_perf.report.run_report import RunReport, run_reports

CONTEXT = {
    "cpu_count": 8,
    "examples_per_step": 32.0,
    "stages": [stage("TensorSlice", 0.5), stage("Map", 3.0), stage("Shuffle", 0.5)],
}


def asked_in(card):
    """Of what the buttons of a card tell the meaning."""
    names = [button.attrib["aria-label"] for button in card.iter("button")]
    return {name.removeprefix("What ").removesuffix(" means") for name in names}


def test_in_each_table_a_number_says_what_it_means(tmp_path):
    for name, step_ms in (("a", 4.0), ("b", 2.0)):
        write_fit(tmp_path / name, step_ms=step_ms, context=CONTEXT)
    runs = run_reports([tmp_path / "a", tmp_path / "b"])
    parts = {*map(part_name, PARTS)}
    table = {"step ms", *parts, "steps/s", "examples/s", "J/example", "× the first"}
    told = side_by_side(runs, runs[0])
    assert asked_in(told) == table
    assert {each.attrib["id"] for each in told.iter("div") if "popover" in each.attrib} == {
        button.attrib["popovertarget"] for button in told.iter("button")
    }
    changed = {"step", *parts, "saved ms", "90% interval", "predicted"}
    assert asked_in(change_card(*runs)) == changed
    assert asked_in(pipeline_card(runs[0])) == {"threads", "size", "work, ms", "time, ms", "buffer"}


def test_the_use_of_the_hardware_and_the_owners_of_host_time_say_what_they_mean():
    found = diagnosis_of(
        summary(
            compute=4.0,
            callbacks=2.0,
            owners={"Mine.on_train_batch_end": 2.0},
            sensors={"gpu/0/energy_per_step_j": 3.0},
            context={"epoch_steps": 10},
        ),
        Rates(price_per_kwh=0.5, price_per_hour=7.2),
    )
    report = RunReport("a", found, pd.DataFrame())
    assert asked_in(owners_card(report)) == {"ms", "share"}
    card = efficiency_card(report)
    rows = [next(each.itertext()).strip() for each in card.findall(".//tbody//th")]
    assert asked_in(card) == {*rows} >= {"GPU energy per epoch, price", "GPU energy per step"}
    target = "popovertarget"
    asked = {button.attrib["aria-label"]: button.attrib[target] for button in card.iter("button")}
    assert asked["What GPU energy per epoch, price means"] == "about-price"
    assert asked["What GPU energy per epoch means"] == "about-energy-of-an-epoch"


def test_what_has_no_meaning_gets_no_button():
    with pytest.raises(KeyError):
        meaning("perf/no_such_ms", "nothing")
