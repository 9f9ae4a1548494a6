"""How long a loop's passes through its data are."""

from __future__ import annotations

import math

import pytest

from keras_perf.observation.of_loop.passes import Passes


class Dataset:
    """Stands for one: something that can be referred to weakly."""


def test_each_iterator_that_was_read_to_its_end_is_a_pass():
    passes, dataset = Passes(1.0), Dataset()
    assert passes.steps == 0
    for number in (1, 2, 3):
        passes.begins(dataset)
        passes.ends(1000 * number)
        assert passes.steps == 1000


def test_one_that_is_being_read_tells_nothing_of_how_long_it_will_be():
    passes, dataset = Passes(1.0), Dataset()
    passes.begins(dataset)
    assert passes.steps == 0
    passes.ends(1000)
    passes.begins(dataset)
    assert passes.steps == 1000


def test_one_that_was_left_before_its_end_is_none():
    passes, dataset = Passes(1.0), Dataset()
    passes.begins(dataset)
    passes.ends(100)
    passes.begins(dataset)
    passes.begins(dataset)
    assert passes.steps == 0


def test_of_several_datasets_nothing_is_known():
    passes, one, another = Passes(1.0), Dataset(), Dataset()
    for number, dataset in enumerate((one, another, one)):
        passes.begins(dataset)
        passes.ends(100 * number)
    assert passes.steps == 0


def test_one_that_is_made_anew_for_each_pass_is_another_each_time():
    passes = Passes(1.0)
    for number in range(3):
        passes.begins(Dataset())
        passes.ends(100 * number)
    assert passes.steps == 0


def test_an_iterator_that_does_not_tell_its_dataset_is_no_pass():
    passes = Passes(1.0)
    passes.begins(None)
    passes.ends(100)
    assert passes.steps == 0


class Counted(Dataset):
    """One of so many elements, or of minus one or two as TensorFlow has it."""

    def __init__(self, elements):
        self.cardinality = lambda: elements


@pytest.mark.parametrize(
    ("elements", "each", "left"),
    [(100, 1.0, 70), (100, 2.0, 20), (10, 1.0, 0), (-1, 1.0, math.inf)],
)
def test_the_data_last_for_so_many_steps(elements, each, left):
    passes = Passes(each)
    passes.begins(Counted(elements), 500)
    assert passes.left(530) == left
    assert passes.goes_on(530) == (left >= 1)


def test_of_what_tells_no_length_nothing_is_known():
    passes = Passes(1.0)
    for dataset in (None, Dataset(), Counted(-2)):
        passes.begins(dataset, 0)
        assert passes.left(10) == math.inf
        assert not passes.goes_on(10)
