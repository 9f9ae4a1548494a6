"""How often a container's quota of CPU time is used up."""

from __future__ import annotations

import pytest

from keras_perf.observers.container.limits import QuotaPeriods
from keras_perf.observers.container.quota_reader import EVERY_S, QuotaReader
from keras_perf.records.metrics.host_metrics import THROTTLED


def test_it_is_the_share_of_the_periods_since_the_reading_before():
    told = [QuotaPeriods(1000, 900), QuotaPeriods(1010, 904), QuotaPeriods(1020, 904)]
    seconds = [0.0, 1.0, 2.0]
    reader = QuotaReader(lambda: seconds.pop(0), lambda: told.pop(0))
    assert reader.read() == {THROTTLED: pytest.approx(40.0)}
    assert reader.read() == {THROTTLED: 0.0}
    reader.close()


def test_nothing_is_read_so_soon_or_while_no_period_has_ended():
    told, now = [QuotaPeriods(5, 1)], [0.0]
    reader = QuotaReader(lambda: now[0], lambda: told[-1])
    told.append(QuotaPeriods(9, 2))
    now[0] = EVERY_S / 2
    assert reader.read() == {}
    now[0] = 2 * EVERY_S
    assert reader.read() == {THROTTLED: 25.0}
    now[0] = 4 * EVERY_S
    assert reader.read() == {}


@pytest.mark.parametrize("told", [[None], [QuotaPeriods(5, 1), None]])
def test_without_a_quota_there_is_nothing(told):
    reader = QuotaReader(iter([0.0, 9.0]).__next__, iter(told).__next__)
    assert reader.read() == {}


def test_of_counters_that_begin_anew_the_next_ones_tell():
    told = [QuotaPeriods(900, 400), QuotaPeriods(5, 1), QuotaPeriods(15, 9)]
    reader = QuotaReader(iter([0.0, 1.0, 2.0]).__next__, iter(told).__next__)
    assert reader.read() == {}
    assert reader.read() == {THROTTLED: 80.0}
