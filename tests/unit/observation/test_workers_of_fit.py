"""What hands over the batches of workers, in frames and on objects as Keras has them."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import pytest

from keras_perf.observation.of_fit.workers_of_fit import enqueuer_in, time_batches


class Enqueuer:
    """Gives out three batches."""

    def get(self) -> Any:
        yield from ("a", "b", "c")


def frame(epoch_iterator: Any) -> Any:
    return SimpleNamespace(f_locals={"epoch_iterator": epoch_iterator})


def epochs(enqueuer: Any, dataset: Any = None) -> Any:
    adapter = SimpleNamespace(enqueuer=enqueuer)
    return SimpleNamespace(data_adapter=adapter, _distributed_dataset=dataset)


def test_it_is_found_where_keras_has_it():
    enqueuer = Enqueuer()
    assert enqueuer_in(frame(epochs(enqueuer))) is enqueuer


@pytest.mark.parametrize(
    "found",
    [
        None,
        frame(None),
        frame(SimpleNamespace()),
        frame(SimpleNamespace(data_adapter=SimpleNamespace())),
        frame(epochs(None)),
        frame(epochs(SimpleNamespace())),
        frame(epochs(SimpleNamespace(get="one"))),
        # Not a dataset of tf.data's itself, but what a strategy makes of one.
        frame(epochs(Enqueuer(), SimpleNamespace())),
    ],
)
def test_elsewhere_there_is_none(found):
    assert enqueuer_in(found) is None


def test_each_batch_is_timed_from_when_it_is_asked_for():
    enqueuer, told, ticks = Enqueuer(), [], itertools.count(0, 10)
    give_back = time_batches(enqueuer, lambda *times: told.append(times), lambda: next(ticks))
    assert list(enqueuer.get()) == ["a", "b", "c"]
    assert told == [(0, 10), (20, 30), (40, 50)]
    give_back()
    assert "get" not in vars(enqueuer)
    assert list(enqueuer.get()) == ["a", "b", "c"]
    assert len(told) == 3
    give_back()


def test_whoever_has_put_another_one_in_its_place_keeps_it():
    enqueuer = Enqueuer()
    give_back = time_batches(enqueuer, lambda *times: None, lambda: 0)
    another = enqueuer.get = Enqueuer.get
    give_back()
    assert enqueuer.get is another
