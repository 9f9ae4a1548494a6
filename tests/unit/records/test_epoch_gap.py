"""What lies between two epochs, and how much of it nobody owns."""

from __future__ import annotations

from keras_perf.records.epoch_gap import VALIDATION, EpochGap


def test_a_gap_without_owners_is_all_rest():
    gap = EpochGap(40, 100, 130)
    assert (gap.total_ns, gap.rest_ns) == (30, 30)


def test_what_owners_took_is_no_rest():
    gap = EpochGap(40, 100, 130, ((VALIDATION, 20), ("A.on_epoch_end", 3), ("A.on_epoch_end", 2)))
    assert (gap.total_ns, gap.rest_ns) == (30, 5)


def test_an_empty_gap_has_no_rest():
    assert EpochGap(40, 100, 100).rest_ns == 0
