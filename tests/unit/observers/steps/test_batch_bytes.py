"""Batches of one shape, told by their bytes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from keras_perf.observers.steps.input.batch_bytes import BatchBytes


def alike(*delivered: tuple[int, int] | None) -> list[bool]:
    """After each time that bytes were counted."""
    found, told = BatchBytes(), []
    for each in delivered:
        found.add(each)
        told.append(found.alike)
    return told


def test_batches_of_as_many_bytes_are_alike_whichever_iterator_delivers_them():
    assert alike((10, 640), (40, 2560), (3, 192)) == [True, True, True]


def test_one_larger_batch_is_seen_and_remembered():
    assert alike((10, 640), (20, 1281), (30, 1920), (3, 192)) == [True, False, False, False]


def test_another_epoch_of_larger_batches_is_seen():
    assert alike((10, 640), (10, 1280)) == [True, False]


def test_nothing_is_known_where_nothing_was_counted():
    assert not BatchBytes().alike
    assert alike(None, (10, 640), None, (20, 1280), (0, 0)) == [False, True, False, True, False]


@given(st.lists(st.integers(1, 10**6), min_size=2, max_size=40))
def test_they_are_alike_as_long_as_all_have_as_many_bytes(each):
    delivered = [(n, sum(each[:n])) for n in range(1, len(each) + 1)]
    expected = [len(set(each[:n])) == 1 for n in range(1, len(each) + 1)]
    assert alike(*delivered) == expected
