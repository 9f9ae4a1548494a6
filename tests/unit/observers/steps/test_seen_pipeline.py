"""Looks at tf.data's model of a pipeline, pass after pass."""

from __future__ import annotations

import weakref
from types import SimpleNamespace
from typing import Any

import pytest

from keras_perf.observers.steps.input import seen_pipeline
from keras_perf.observers.steps.input.seen_pipeline import SeenPipeline
from keras_perf.records.run.input.pipeline import InputFacts, Stage


def ask(name: str, question: Any) -> Any:
    return question()


@pytest.fixture(autouse=True)
def as_given(monkeypatch) -> None:
    """A model here has its stages beside its nodes."""
    monkeypatch.setattr(seen_pipeline, "stages_from_model", lambda model: model.stages)
    monkeypatch.setattr(seen_pipeline, "buffer_fill", lambda model: model.fills)


def model(batches: int, *names: str, fills: tuple[float, ...] = (), **inputs: int) -> Any:
    """A chain of stages of 6 ms each, from its source on, that has made so many batches."""
    nodes = {
        place: SimpleNamespace(name=name, num_elements=batches, inputs=[place - 1] if place else [])
        for place, name in enumerate(names)
    }
    stages = tuple(Stage(name, 6.0, 1, 0.0, inputs=inputs.get(name, 1)) for name in names)
    return SimpleNamespace(nodes=nodes, output=len(names) - 1, stages=stages, fills=fills)


class Iterator:
    """Stands for one."""


FIRST, SECOND, THIRD = Iterator(), Iterator(), Iterator()


def look(seen: SeenPipeline, iterator: Iterator, batches: int, *names: str, **inputs: int) -> None:
    seen.look(iterator, model(batches, *names, **inputs), ask, within_epoch=True)


def costs(seen: SeenPipeline) -> list[float]:
    return [stage.cost_ms for stage in seen.facts(InputFacts(), ask).stages]


FILLING = "Files", "Map", "MemoryCacheImpl", "MemoryCache", "BatchV2"
FILLED = FILLING[2:]


def test_what_fills_a_cache_counts_for_all_batches():
    seen = SeenPipeline()
    look(seen, FIRST, 40, *FILLING)
    look(seen, FIRST, 100, *FILLING)
    assert costs(seen) == [6.0] * 5
    for iterator in (SECOND, THIRD):
        look(seen, iterator, 100, *FILLED)
        # Nothing was fetched between two looks.
        look(seen, iterator, 100, *FILLED)
    assert costs(seen) == pytest.approx([2.0, 2.0, 6.0, 6.0, 6.0])


def test_an_iterator_may_go_on_from_epoch_to_epoch():
    seen = SeenPipeline()
    look(seen, FIRST, 100, *FILLING)
    assert costs(seen) == [6.0] * 5
    look(seen, FIRST, 200, *FILLED)
    look(seen, FIRST, 400, *FILLED)
    assert costs(seen) == pytest.approx([1.5, 1.5, 6.0, 6.0, 6.0])


def test_one_that_is_gone_is_not_held():
    seen, iterator = SeenPipeline(), Iterator()
    gone = weakref.ref(iterator)
    look(seen, iterator, 100, *FILLING)
    del iterator
    assert gone() is None
    look(seen, SECOND, 100, *FILLED)
    assert seen.facts(InputFacts(), ask).stages == model(100, *FILLED).stages


def test_a_pipeline_without_one_works_in_every_pass():
    seen = SeenPipeline()
    for iterator in (FIRST, SECOND):
        look(seen, iterator, 50, "Files", "Map", "BatchV2")
        look(seen, iterator, 100, "Files", "Map", "BatchV2")
        assert costs(seen) == [6.0] * 3
        # Near its end the first stages are gone.
        look(seen, iterator, 120, "BatchV2")
        assert costs(seen) == [6.0] * 3


def test_behind_a_cache_another_dataset_may_come_in():
    seen = SeenPipeline()
    look(seen, FIRST, 50, *FILLING, "Zip", Zip=2)
    assert costs(seen) == [6.0] * 6
    look(seen, SECOND, 50, *FILLED, "Zip", Zip=2)
    assert costs(seen) == [6.0] * 6


def test_before_it_several_may():
    seen = SeenPipeline()
    look(seen, FIRST, 50, *FILLING, Map=2)
    assert costs(seen) == [6.0] * 5
    look(seen, SECOND, 50, *FILLED)
    assert costs(seen) == pytest.approx([3.0, 3.0, 6.0, 6.0, 6.0])


def test_of_two_caches_later_passes_come_from_the_last_one():
    seen = SeenPipeline()
    twice = "Files", "MemoryCacheImpl", "MemoryCache", "Map", "FileCacheImpl", "FileCache", "Batch"
    look(seen, FIRST, 50, *twice)
    assert costs(seen) == [6.0] * 7
    look(seen, SECOND, 50, *twice[4:])
    stages = seen.facts(InputFacts(), ask).stages
    assert [stage.works_for for stage in stages] == pytest.approx([0.5] * 4 + [1.0] * 3)
    assert stages[3].cost_ms == pytest.approx(3.0)


def test_at_the_end_of_an_epoch_only_whether_it_shuffles_is_asked():
    seen = SeenPipeline()
    assert seen.shuffles is None
    over = model(50, "Shuffle", "BatchV2", fills=(0.5,))
    seen.look(FIRST, over, ask, within_epoch=False)
    assert seen.shuffles is True
    assert seen.facts(InputFacts(), ask) == InputFacts()


def test_the_buffers_fill_is_a_mean():
    seen = SeenPipeline()
    for fill in (0.2, 0.6):
        seen.look(FIRST, model(50, "Prefetch", fills=(fill,)), ask, within_epoch=True)
    assert seen.facts(InputFacts(), ask).prefetch_fill == pytest.approx(0.4)
    assert seen.shuffles is False


@pytest.mark.parametrize(("fetches", "ms"), [(1.0, 6.0), (4.0, 24.0), (0.25, 1.5)])
def test_what_a_step_takes_counts_where_it_is_not_one_element(fetches, ms):
    seen = SeenPipeline(fetches)
    look(seen, FIRST, 10, "TensorSlice", "Map")
    assert costs(seen) == [ms, ms]
    found = seen.facts(InputFacts(), ask).stages
    assert [stage.elements_per_batch for stage in found] == [fetches, fetches]
