"""What the exchange of gradients takes, from totals that a test can add up in its head."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_perf.observers.steps.exchange_means import ExchangeTally, exchange_between
from keras_perf.records.run.times.exchange import ExchangeFacts, ExchangeTotals, exchange_scalars

# Ten steps: worker 0 is busy for 4 ms in each, worker 1 for 10, worker 2 for 7; the wire takes 2.
TEN_STEPS = ExchangeTotals(
    steps=10,
    own_s=0.08,
    busy_s=(0.04, 0.10, 0.07),
    slowest_s=0.10,
    rank=0,
    bytes_per_step=1000,
)


def later(steps: int, own_s: float, busy_s: tuple[float, ...], slowest_s: float) -> ExchangeTotals:
    """The totals when so much has been added to those of ten steps."""
    return TEN_STEPS._replace(
        steps=10 + steps,
        own_s=TEN_STEPS.own_s + own_s,
        busy_s=tuple(a + b for a, b in zip(TEN_STEPS.busy_s, busy_s, strict=True)),
        slowest_s=TEN_STEPS.slowest_s + slowest_s,
    )


def test_a_worker_waits_by_as_much_as_the_slowest_is_busy_longer():
    found = exchange_between(None, TEN_STEPS)
    assert found is not None
    assert found == pytest.approx((8.0, 6.0, 3.0, 1, 3.0))
    assert found.wire_ms == pytest.approx(2.0)


def test_the_slowest_worker_waits_for_nobody():
    found = exchange_between(None, TEN_STEPS._replace(rank=1, own_s=0.02))
    assert found is not None
    assert (found.communication_ms, found.peer_wait_ms) == pytest.approx((2.0, 0.0))
    assert found.wire_ms == pytest.approx(2.0)


def test_what_a_worker_waits_for_another_s_own_work_is_no_time_of_the_wire():
    found = exchange_between(None, TEN_STEPS._replace(interrupted=2, interrupted_s=6.0))
    assert found is not None
    assert found == pytest.approx((508.0, 506.0, 3.0, 1, 3.0))
    assert found.wire_ms == pytest.approx(2.0)


def test_only_the_steps_in_between_count():
    now = later(20, own_s=0.1, busy_s=(0.2, 0.1, 0.1), slowest_s=0.2)
    found = exchange_between(TEN_STEPS, now)
    assert found is not None
    assert found.communication_ms == pytest.approx(5.0)
    assert found.peer_wait_ms == pytest.approx(0.0, abs=1e-9)
    assert found.slowest_worker == 0


def test_one_who_is_last_by_chance_is_not_steadily_slow():
    # Each of the two is the slowest in half of the steps, by 6 ms.
    totals = ExchangeTotals(10, 0.05, (0.07, 0.07), 0.10, 0, 1000)
    found = exchange_between(None, totals)
    assert found is not None
    assert found.skew_ms == pytest.approx(3.0)
    assert found.steadily_ms == pytest.approx(0.0)


def test_waiting_is_at_most_the_exchange():
    found = exchange_between(None, TEN_STEPS._replace(own_s=0.03))
    assert found is not None
    assert found.peer_wait_ms == found.communication_ms == pytest.approx(3.0)


def test_without_a_step_there_is_nothing_to_tell():
    assert exchange_between(TEN_STEPS, TEN_STEPS) is None
    assert exchange_between(None, TEN_STEPS._replace(steps=0)) is None


def test_the_first_totals_are_the_beginning():
    watch = ExchangeTally()
    assert watch.facts() is None
    assert watch.take(TEN_STEPS) is None
    assert watch.facts() == ExchangeFacts(workers=3, bytes_per_step=1000)
    now = later(10, own_s=0.08, busy_s=(0.04, 0.10, 0.07), slowest_s=0.10)
    assert watch.take(now) == pytest.approx((8.0, 6.0, 3.0, 1, 3.0))
    assert watch.take(now) is None
    assert watch.facts().slowest_worker == 1
    assert watch.facts().steadily_ms == pytest.approx(3.0)


def test_the_exchange_lies_inside_compute():
    means = exchange_between(None, TEN_STEPS)
    assert means is not None
    assert exchange_scalars(means, 20.0) == pytest.approx(
        {
            "perf/communication_ms": 8.0,
            "perf/peer_wait_ms": 6.0,
            "perf/skew_ms": 3.0,
            "perf/slowest_worker": 1.0,
        }
    )
    cut = exchange_scalars(means, 5.0)
    assert (cut["perf/communication_ms"], cut["perf/peer_wait_ms"]) == (5.0, 5.0)


seconds = st.floats(0.0, 100.0)


@given(st.lists(st.lists(seconds, min_size=3, max_size=3), min_size=1, max_size=20), seconds)
def test_of_any_steps_the_parts_are_in_order(steps, wire_s):
    busy = tuple(sum(step[k] for step in steps) for k in range(3))
    slowest = sum(map(max, steps))
    own = sum(max(step) - step[2] + wire_s for step in steps)
    found = exchange_between(None, ExchangeTotals(len(steps), own, busy, slowest, 2, 1))
    assert found is not None
    assert 0 <= found.peer_wait_ms <= found.communication_ms
    assert found.wire_ms == pytest.approx(1e3 * wire_s, abs=1e-6)
    assert found.steadily_ms <= found.skew_ms + 1e-6
