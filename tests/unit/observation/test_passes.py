"""How often a loop goes through its data."""

from __future__ import annotations

from keras_perf.observation.of_loop.passes import Passes


class Dataset:
    """Stands for one: something that can be referred to weakly."""


def test_each_iterator_that_was_read_to_its_end_is_a_pass_and_so_is_the_one_that_is_read():
    passes, dataset = Passes(), Dataset()
    assert passes.number is None
    for number in (1, 2, 3):
        passes.begins(dataset)
        assert passes.number == number
        passes.ends()
    assert passes.number == 3


def test_one_that_was_left_before_its_end_is_none():
    passes, dataset = Passes(), Dataset()
    passes.begins(dataset)
    passes.begins(dataset)
    assert passes.number is None


def test_of_several_datasets_nothing_is_known():
    passes, one, another = Passes(), Dataset(), Dataset()
    for dataset in (one, another, one):
        passes.begins(dataset)
        passes.ends()
    assert passes.number is None


def test_one_that_is_made_anew_for_each_pass_is_another_each_time():
    passes = Passes()
    for _ in range(3):
        passes.begins(Dataset())
        passes.ends()
    assert passes.number is None


def test_an_iterator_that_does_not_tell_its_dataset_is_no_pass():
    passes = Passes()
    passes.begins(None)
    assert passes.number is None
