"""What a shuffle's buffer costs is said; how large it is stays the caller's choice."""

import numpy as np
import pytest
import tensorflow as tf

from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph
from keras_perf.trials.rewriting.shuffle_buffers import FEW, smaller_buffers, soon_filled


def priced(dataset, element_ms):
    return smaller_buffers(
        PipelineGraph.of(dataset), look_at=8, within_s=1.0, element_ms=lambda _: element_ms
    )


def rows(count):
    return tf.data.Dataset.from_tensor_slices(np.zeros((count, 1024), "float32"))


def test_a_buffer_that_takes_long_to_fill_is_named_with_bytes_and_seconds():
    [found] = priced(rows(600).shuffle(512).batch(4), 4.0)
    assert (found.id, found.where) == ("smaller-shuffle", "shuffle(512)")
    assert "512 elements take 2 MiB, and 2.05 s to fill" in found.why


def test_a_buffer_larger_than_the_data_holds_the_data():
    [found] = priced(rows(300).shuffle(10_000), 10.0)
    assert "its 300 elements take" in found.why
    assert "3 s to fill" in found.why


def test_a_large_buffer_is_named_even_if_it_fills_quickly():
    assert len(priced(rows(1).repeat().shuffle(70_000), 1e-6)) == 1


def test_small_buffers_and_pipelines_without_one_are_passed_over():
    assert priced(rows(600).shuffle(100).batch(4), 1.0) == []
    assert priced(rows(600).batch(4), 1e3) == []


def test_each_of_several_buffers_is_named():
    assert len(priced(rows(600).shuffle(512).batch(4).shuffle(100), 20.0)) == 2


def test_a_buffer_of_what_cannot_be_looked_at_is_passed_over():
    assert priced(rows(600).window(2).shuffle(300), 1e3) == []


def buffers(graph):
    return [int(graph.value(s.input[1])) for s in graph.stages if s.op.startswith("Shuffle")]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "shuffled",
    [
        lambda data: data.shuffle(150, seed=3).repeat(2),
        lambda data: data.apply(tf.data.experimental.shuffle_and_repeat(150, 2, seed=3)),
    ],
    ids=["shuffle", "shuffle_and_repeat"],
)
def test_on_trial_a_buffer_holds_few_and_each_pass_has_the_same_elements(shuffled):
    data = shuffled(tf.data.Dataset.range(200))
    graph = PipelineGraph.of(data)
    short = soon_filled(graph)
    assert (buffers(graph), buffers(short)) == ([150], [FEW])
    found = [int(each) for each in short.dataset()]
    assert sorted(found[:200]) == sorted(found[200:]) == list(range(200))
    assert found != [int(each) for each in graph.dataset()]


def test_on_trial_a_buffer_that_holds_few_stays_as_it_is():
    graph = PipelineGraph.of(rows(9).shuffle(5, seed=1).batch(2).shuffle(64))
    assert buffers(soon_filled(graph)) == [5, 64]
