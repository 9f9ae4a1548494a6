"""Samples become the figures of an interval."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_perf.observers.sensors.aggregation import Aggregate, Percentiles
from keras_perf.records.metrics.gpu_metrics import GPU_METRICS, SAMPLED
from keras_perf.records.phase import Phase

T, V, B = Phase.TRAINING, Phase.VALIDATION, Phase.BETWEEN
BUSY = "gpu/0/utilization_pct"


def of(*samples, phase=T) -> dict[str, float]:
    """What is taken after (values, seconds) of one phase."""
    aggregate = Aggregate()
    for values, seconds in samples:
        aggregate.add(values, {phase: seconds})
    return aggregate.take()


def test_each_sample_weighs_as_long_as_it_stands_for():
    assert of(({"gpu/0/mean_power_w": 100.0}, 3.0), ({"gpu/0/mean_power_w": 500.0}, 1.0)) == {
        "gpu/0/mean_power_w": 200.0
    }


def test_a_tag_that_comes_late_is_averaged_over_its_own_time():
    assert of(({"host/a": 1.0}, 9.0), ({"host/a": 1.0, "host/b": 7.0}, 1.0)) == {
        "host/a": 1.0,
        "host/b": 7.0,
    }


def test_taking_begins_anew():
    aggregate = Aggregate()
    aggregate.add({"host/a": 1.0}, {T: 1.0})
    aggregate.take()
    assert aggregate.take() == {}
    aggregate.add({"host/a": 5.0}, {T: 1.0})
    assert aggregate.take() == {"host/a": 5.0}


def test_a_sample_that_stands_for_no_time_is_absent_and_no_zero():
    aggregate = Aggregate()
    aggregate.add({"host/a": 5.0}, {})
    assert aggregate.take() == {}


def test_utilization_has_extremes():
    assert of(*[({BUSY: value}, 1.0) for value in (0.0, 0.0, 30.0, 50.0, 100.0)]) == {
        BUSY: 36.0,
        "gpu/0/min_utilization_pct": 0.0,
        "gpu/0/max_utilization_pct": 100.0,
    }


def test_the_drivers_own_samples_count_each():
    found = of(({BUSY: [0.0, 100.0, 20.0, 80.0]}, 1.0), ({BUSY: 100.0}, 1.0))
    assert found[BUSY] == 75.0
    assert found["gpu/0/min_utilization_pct"] == 0.0
    assert found["gpu/0/max_utilization_pct"] == 100.0


def test_validation_and_between_do_not_count_as_training():
    aggregate = Aggregate()
    aggregate.add({BUSY: 90.0, "gpu/0/power_w": 300.0}, {T: 1.0})
    aggregate.add({BUSY: 40.0, "gpu/0/power_w": 200.0}, {V: 1.0})
    aggregate.add({BUSY: 0.0, "gpu/0/power_w": 100.0}, {B: 1.0})
    found = aggregate.take()
    assert found[BUSY] == 90.0
    assert found["gpu/0/validation_utilization_pct"] == 40.0
    assert found["gpu/0/power_w"] == 300.0
    assert not {tag for tag in found if "between" in tag or tag.endswith("validation_power_w")}


def test_a_sample_across_two_phases_belongs_to_both_by_time():
    aggregate = Aggregate()
    aggregate.add({BUSY: 90.0}, {T: 1.0, V: 3.0})
    aggregate.add({BUSY: 10.0}, {T: 3.0})
    found = aggregate.take()
    assert (found[BUSY], found["gpu/0/validation_utilization_pct"]) == (30.0, 90.0)


def test_a_sample_that_lies_mostly_elsewhere_is_no_extreme_of_training():
    aggregate = Aggregate()
    aggregate.add({BUSY: 5.0}, {V: 0.6, T: 0.4})
    assert aggregate.take() == {BUSY: 5.0, "gpu/0/validation_utilization_pct": 5.0}
    aggregate.add({BUSY: 5.0}, {V: 0.6, T: 0.4})
    aggregate.add({BUSY: 90.0}, {V: 0.5, T: 0.5})
    found = aggregate.take()
    assert found["gpu/0/min_utilization_pct"] == found["gpu/0/max_utilization_pct"] == 90.0
    assert found[BUSY] == pytest.approx((0.4 * 5.0 + 0.5 * 90.0) / 0.9)


def test_percentiles_are_of_all_training_after_the_first_interval():
    aggregate = Aggregate()
    aggregate.add({BUSY: 0.0}, {T: 100.0})
    assert "gpu/0/p5_utilization_pct" not in aggregate.take()
    for value in (20.0, 90.0):
        aggregate.add({BUSY: value}, {T: 1.0})
        aggregate.add({BUSY: 0.0}, {V: 100.0})
        found = aggregate.take()
    assert found["gpu/0/p5_utilization_pct"] == 20.0
    assert found["gpu/0/p95_utilization_pct"] == 90.0


@given(st.lists(st.floats(0, 100), min_size=1, max_size=50))
def test_percentiles_lie_within_what_was_seen(values):
    percentiles = Percentiles()
    percentiles.add(values, 1.0)
    low, middle, high = (percentiles.at(p) for p in (5, 50, 95))
    assert round(min(values)) <= low <= middle <= high <= round(max(values))


def test_every_figure_is_in_the_table_of_metrics():
    aggregate = Aggregate()
    sampled = {metric.tag.replace("<i>", "0"): 50.0 for metric in SAMPLED}
    for _ in range(2):
        aggregate.add(sampled, {T: 2.0, V: 1.0, B: 1.0})
        found = aggregate.take()
    table = {metric.tag.replace("<i>", "0") for metric in GPU_METRICS}
    assert set(found) <= table
    assert table - set(found) == {
        f"gpu/0/{name}" for name in ("energy_j", "energy_per_step_j", "energy_per_example_j")
    }


def test_one_gpus_figures_are_not_anothers():
    found = of(({"gpu/0/utilization_pct": 10.0, "gpu/1/utilization_pct": 90.0}, 1.0))
    assert found["gpu/0/max_utilization_pct"] == pytest.approx(10.0)
    assert found["gpu/1/min_utilization_pct"] == pytest.approx(90.0)
