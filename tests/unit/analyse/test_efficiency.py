"""Model FLOPs utilization, roofline, energy and prices, from figures of a run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_built import summary

from keras_perf.analyse.hardware.efficiency import Efficiency, efficiency_of
from keras_perf.analyse.hardware.gpu_peaks import peak_of
from keras_perf.records.rates import Rates
from keras_perf.records.run.step_work import NotCounted

H100 = "NVIDIA H100 80GB HBM3"
GPU = {"compute_capability": [9, 0], "name": H100}

HALF_OF_PEAK = 0.5 * 989.4e12 * 10e-3
"""FLOPs of a step of 10 ms."""


def of(flops=None, *, gpus=1, rates=None, sensors=None, usual=None, parts=None, **context):
    """Of a run with steps of 10 ms; a usual interval is as all of them, or `usual`."""
    work = None if flops is None else {"flops": flops, "product_bytes": 1e9}
    known = {"training_gpus": [GPU] * gpus, "step_work": work, **context}
    found = summary(sensors=sensors, context=known, **(parts or {"compute": 10.0}))
    return efficiency_of(replace(found, usual=usual or found.usual), rates or Rates())


def test_utilization_is_time_at_peak_by_time_of_a_step():
    found = of({"bfloat16": HALF_OF_PEAK})
    assert found.model_flops_utilization == pytest.approx(0.5)
    assert found.flops_per_sec == pytest.approx(0.5 * 989.4e12)
    assert found.gpu == H100


def test_waiting_for_input_costs_utilization():
    found = of({"bfloat16": HALF_OF_PEAK}, parts={"compute": 10.0, "input_wait": 10.0})
    assert found.model_flops_utilization == pytest.approx(0.25)


def test_each_format_has_its_own_peak():
    found = of({"float16": HALF_OF_PEAK / 2, "float32": HALF_OF_PEAK / 4})
    # TensorFloat-32 is half as fast as float16.
    assert found.model_flops_utilization == pytest.approx(0.25 + 0.25)


def test_float32_without_tensor_float_32_has_the_lower_peak():
    flops = {"float32": 66.9e12 * 10e-3}
    assert of(flops, tensor_float_32=False).model_flops_utilization == pytest.approx(1.0)
    assert of(flops, tensor_float_32=True).model_flops_utilization < 0.15


def test_replicas_share_the_work_and_have_a_gpu_each():
    found = of({"bfloat16": HALF_OF_PEAK}, gpus=4, replicas=4)
    assert found.model_flops_utilization == pytest.approx(0.5)
    assert found.flops_per_step == pytest.approx(4 * HALF_OF_PEAK)


@pytest.mark.parametrize(
    "context",
    [
        {"gpus": 0},
        {"gpus": 1, "replicas": 2},
        {"training_gpus": [{**GPU, "name": f"{H100} MIG 1g.10gb"}]},
        {"training_gpus": [{**GPU, "name": "NVIDIA GeForce RTX 4090 Laptop GPU"}]},
        {"training_gpus": [GPU, {**GPU, "name": "NVIDIA L4"}], "replicas": 2},
    ],
)
def test_without_a_peak_there_is_no_utilization(context):
    found = of({"float32": 1e9}, **context)
    assert found.model_flops_utilization is None
    assert found.flops_per_sec is not None


def test_without_a_peak_for_one_format_there_is_no_utilization():
    t4 = {"compute_capability": [7, 5], "name": "Tesla T4"}
    flops = {"float32": 1e9, "bfloat16": 1e9}
    assert of(flops, training_gpus=[t4]).model_flops_utilization is None


def test_a_cpu_is_compared_with_what_was_measured_only():
    found = of({"float32": 2e8}, gpus=0, rates=Rates(matmul_flops_per_sec=1e11))
    assert found.matmul_utilization == pytest.approx(0.2)
    assert found.model_flops_utilization is None


def test_what_is_not_counted_says_why_and_no_more():
    found = of(gpus=1, step_work={"not_counted": "loop"}, rates=Rates(matmul_flops_per_sec=1e11))
    assert found == Efficiency(not_counted=NotCounted.LOOP)


def test_intensity_without_measured_traffic_takes_every_product_from_memory():
    found = of({"bfloat16": 5e11})
    assert found.flops_per_byte == pytest.approx(500.0)
    assert not found.bytes_measured
    assert found.memory_bandwidth_share is None
    assert found.ridge_flops_per_byte == pytest.approx(989.4e12 / 3350e9)


def test_measured_traffic_gives_the_intensity():
    found = of({"bfloat16": HALF_OF_PEAK}, sensors={"gpu/0/dram_bandwidth_pct": 25.0})
    assert found.bytes_measured
    assert found.memory_bandwidth_share == pytest.approx(0.25)
    assert found.flops_per_byte == pytest.approx(0.5 * 989.4e12 / (0.25 * 3350e9))


def test_traffic_of_more_gpus_than_train_is_not_the_trainings():
    sensors = {"gpu/0/dram_bandwidth_pct": 25.0, "gpu/1/dram_bandwidth_pct": 0.0}
    assert not of({"bfloat16": HALF_OF_PEAK}, sensors=sensors).bytes_measured


def test_energy_and_time_of_an_epoch_have_their_prices():
    sensors = {"gpu/0/energy_per_step_j": 3.0, "gpu/1/energy_per_step_j": 0.6}
    prices = Rates(price_per_kwh=0.5, price_per_hour=7.2)
    found = of(sensors=sensors, epoch_steps=1000, rates=prices)
    assert found.joules_per_step == pytest.approx(3.6)
    assert found.joules_per_epoch == pytest.approx(3600.0)
    assert found.energy_price_per_epoch == pytest.approx(0.0005)
    # Ten seconds.
    assert found.time_price_per_epoch == pytest.approx(0.02)


def test_energy_of_one_of_several_workers_is_not_that_of_their_steps():
    sensors = {"gpu/0/energy_per_step_j": 3.0}
    found = of(sensors=sensors, epoch_steps=1000, workers=4, rates=Rates(price_per_kwh=0.5))
    assert (found.joules_per_step, found.joules_per_epoch) == (None, None)
    assert found.energy_price_per_epoch is None


def test_an_interval_with_a_trial_in_it_tells_neither_of_energy_nor_of_traffic():
    means = {"gpu/0/energy_per_step_j": 3.0, "gpu/0/dram_bandwidth_pct": 10.0}
    usual = {"gpu/0/energy_per_step_j": 2.0, "gpu/0/dram_bandwidth_pct": 25.0}
    found = of({"bfloat16": HALF_OF_PEAK}, sensors=means, usual=usual)
    assert found.joules_per_step == pytest.approx(2.0)
    assert found.memory_bandwidth_share == pytest.approx(0.25)


def test_without_energy_counter_or_length_of_an_epoch_nothing_has_a_price():
    prices = Rates(price_per_kwh=0.5, price_per_hour=7.2)
    assert of(rates=prices) == Efficiency()
    assert of(rates=prices, epoch_steps=1000).joules_per_epoch is None
    assert of(rates=prices, epoch_steps=1000).energy_price_per_epoch is None


def test_nothing_is_said_of_a_run_without_steps():
    assert efficiency_of(summary(0), Rates(price_per_hour=1.0)) == Efficiency()


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf")])
def test_a_price_is_above_zero(value):
    with pytest.raises(ValueError, match="price_per_kwh must be above 0"):
        Rates(price_per_kwh=value)


@pytest.mark.parametrize("name", ["NVIDIA A100-SXM4-80GB", "Tesla V100-SXM2-16GB", "NVIDIA L4"])
def test_a_gpu_is_found_by_the_name_of_its_driver(name):
    peak = peak_of(name)
    assert peak is not None
    assert peak.flops_in("float16", tensor_float_32=True) > peak.flops_in(
        "float32", tensor_float_32=False
    )


def test_bfloat16_has_no_peak_before_ampere():
    assert peak_of("Tesla T4").flops_in("bfloat16", tensor_float_32=True) is None
    assert peak_of("NVIDIA A30").flops_in("bfloat16", tensor_float_32=True) == 165e12
