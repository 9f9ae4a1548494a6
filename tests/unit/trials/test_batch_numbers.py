"""Numbers of batches that several trainings share."""

from __future__ import annotations

from keras_perf.trials.training.batches.batch_numbers import BatchNumbers


def test_they_count_on_whoever_takes_them():
    numbers = BatchNumbers()
    assert [numbers.take(1), numbers.take(4), numbers.take(1)] == [0, 1, 5]


def test_behind_an_epoch_s_last_one_the_first_one_follows():
    numbers = BatchNumbers()
    numbers.of_epoch = 10
    assert [numbers.take(4) for _ in range(4)] == [0, 4, 0, 4]
