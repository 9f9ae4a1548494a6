"""One change of a pipeline, applied without being measured."""

import tensorflow as tf

from keras_perf.trials.rewriting.changes import NoLongerPossibleError, possible_changes
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph
from keras_perf.trials.rewriting.same_elements import checksums

ALL = 10_000, 60.0


def numbers(count=24):
    return tf.data.Dataset.range(count)


def of(kind, dataset):
    """The changes of this kind, and the reasons against others."""
    graph = PipelineGraph.of(dataset)
    found, left = possible_changes(graph)
    reasons = [each.why for each in left if each.id == kind]
    return graph, [each for each in found if each.id == kind], reasons


def assert_alike(made, change, graph, passes=2):
    """Elements, order, types and number, in each pass."""
    changed, as_it_was = change.made(graph).dataset(), made()
    assert changed.element_spec == as_it_was.element_spec
    assert changed.cardinality() == as_it_was.cardinality()
    for _ in range(passes):
        assert checksums(changed, *ALL) == checksums(as_it_was, *ALL)


def rewritten(dataset, alone=12):
    """Each possible change alone, or so many, then all one on top of the other, by name."""
    graph = PipelineGraph.of(dataset)
    found, _ = possible_changes(graph)
    together, settings = graph, []
    for place, change in enumerate(found):
        if place < alone:
            made = set_to(change.made(graph).dataset(), [change.options])
            yield f"{change.id}, {change.where}", made
        try:
            together = change.made(together)
        except NoLongerPossibleError:
            continue
        settings.append(change.options)
    yield "all together", set_to(together.dataset(), settings)


def some_changed(dataset):
    """The same of one in which something can be changed."""
    found = [*rewritten(dataset)]
    assert len(found) > 1
    return found


def set_to(dataset, settings):
    for setting in filter(None, settings):
        options = tf.data.Options()
        setting(options)
        dataset = dataset.with_options(options)
    return dataset


def operations(graph):
    return [stage.op.removesuffix("V3").removesuffix("V2") for stage in graph.stages]


VARIABLE = tf.Variable(3, dtype=tf.int64)
