"""How FLOPs, utilization, energy and prices are shown."""

from __future__ import annotations

import json

import pytest
from hand_built import frame, summary

from keras_perf.analyse.hardware.efficiency import Efficiency
from keras_perf.records.rates import Rates
from keras_perf.records.run.step_work import NotCounted
from keras_perf.report.as_json import reports_json
from keras_perf.report.diagnosis import diagnosis_of
from keras_perf.report.page.page import page_html
from keras_perf.report.run_report import RunReport
from keras_perf.report.text.efficiency_table import WHY_NOT_COUNTED, efficiency_rows

H100 = {"compute_capability": [9, 0], "name": "NVIDIA H100 80GB HBM3"}


@pytest.fixture(scope="module")
def report():
    context = {
        "training_gpus": [H100],
        "step_work": {"flops": {"float16": 4.947e12}, "product_bytes": 1e10},
        "epoch_steps": 1000,
    }
    sensors = {"gpu/0/energy_per_step_j": 7.0, "gpu/0/dram_bandwidth_pct": 70.0}
    run = summary(compute=10.0, sensors=sensors, context=context)
    prices = Rates(price_per_kwh=0.4, price_per_hour=3.6)
    return RunReport("logs/run", diagnosis_of(run, prices), frame())


def test_the_text_shows_what_is_known(report):
    shown = dict(efficiency_rows(report.diagnosis.efficiency))
    assert shown == {
        "multiplications per step": "4.95 TFLOP",
        "multiplications per second": "495 TFLOP/s",
        "model FLOPs utilization (of the peak of NVIDIA H100 80GB HBM3)": "50.0%",
        "FLOP per byte of measured traffic of device memory": "211 (memory is the limit below 295)",
        "device memory's bandwidth in use": "70.0%",
        "GPU energy per step": "7 J",
        "GPU energy per epoch": "7 kJ",
        "GPU energy per epoch, price": "0.000778",
        "time of an epoch, price": "0.01",
    }
    text = str(report.diagnosis)
    assert all(label in text for label in shown)
    assert "bound by device memory" in text


def test_page_and_json_show_it_too(report):
    assert "model FLOPs utilization" in page_html([report])
    [run] = json.loads(reports_json([report]))["runs"]
    assert run["efficiency"]["model_flops_utilization"] == pytest.approx(0.5)
    assert run["efficiency"]["not_counted"] is None


def test_a_run_of_which_nothing_is_known_has_no_table():
    assert efficiency_rows(Efficiency()) == []
    assert "Use of the hardware" not in str(diagnosis_of(summary(compute=10.0)))


@pytest.mark.parametrize("why", NotCounted)
def test_what_is_missing_says_why(why):
    [[what, told]] = efficiency_rows(Efficiency(not_counted=why))
    assert what == "multiplications"
    assert told == f"not counted: {WHY_NOT_COUNTED[why]}"


def test_operations_that_were_passed_over_are_named():
    found = Efficiency(flops_per_step=1e9, flops_per_sec=1e12, passed_over=("PyFunc", "Svd"))
    assert ["not counted in these", "PyFunc, Svd"] in efficiency_rows(found)
