"""What a wire needs."""

from __future__ import annotations

import pytest

from keras_perf.analyse.ring_time import ring_ms


@pytest.mark.parametrize(
    ("size", "workers", "gbit", "ms"),
    [(125e6, 2, 1.0, 1000.0), (125e6, 2, 10.0, 100.0), (125e6, 4, 1.0, 1500.0), (125e6, 1, 1.0, 0)],
)
def test_a_ring_of_workers_sends_nearly_everything_twice(size, workers, gbit, ms):
    assert ring_ms(size, workers, gbit) == pytest.approx(ms)
