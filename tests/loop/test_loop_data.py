"""Batches of one shape, and what cannot be shared among replicas."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_perf.loop import as_count, batched, count_batches, counted, iterate, own_files
from keras_perf.loop.distribution import Distribution
from keras_perf.observation.facts.input.distribution_options import options_of_iterator
from keras_perf.records.reasons.why_no_steps import WhyNoSteps
from keras_perf.trials.train_functions.train_function import takes_a_number


def numbers(count):
    return tf.data.Dataset.range(count).map(lambda i: ({"a": [i, -i]}, i))


class Several(Distribution):
    replicas, workers = 4, 2


def several():
    return Several(tf.distribute.get_strategy())


def alone():
    return Distribution(tf.distribute.get_strategy())


def test_full_batches_leave_the_last_examples_out():
    batches = list(batched(numbers(10), 4))
    assert [y.numpy().tolist() for _, y in batches] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert batches[0][0]["a"].shape == (4, 2)


def test_exact_batches_are_filled_up_with_their_own_examples():
    *_, (x, y, weights) = batched(numbers(10), 4, exact=True)
    assert y.numpy().tolist() == [8, 9, 8, 9]
    assert x["a"].numpy().tolist() == [[8, -8], [9, -9], [8, -8], [9, -9]]
    assert weights.numpy().tolist() == [1, 1, 0, 0]
    assert weights.dtype == tf.float32


@pytest.mark.parametrize("exact", [False, True])
def test_batches_have_one_shape_that_is_known_before(exact):
    specs = tf.nest.flatten(batched(numbers(10), 4, exact=exact).element_spec)
    assert all(spec.shape[0] == 4 for spec in specs)


@settings(deadline=None, max_examples=20)
@given(count=st.integers(1, 50), size=st.integers(1, 9))
def test_exact_batches_have_every_example_once(count, size):
    seen = [y.numpy()[w.numpy() == 1] for _, y, w in batched(numbers(count), size, exact=True)]
    np.testing.assert_array_equal(np.concatenate(seen), np.arange(count))


def test_one_replica_has_the_plain_iterator():
    iterator = iterate(alone(), batched(numbers(8), 4), 4)
    assert next(iterator)[1].numpy().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("size", "arguments", "words"),
    [
        (8, {"sharding": "auto"}, "sharding must be 'data' or 'file', got 'auto'"),
        (6, {}, "a multiple of the 4 replicas, got 6. The next one is 2 × 4"),
        (8, {}, r"must be endless: .* Add .repeat\(\)"),
    ],
)
def test_what_replicas_cannot_share_is_refused(size, arguments, words):
    with pytest.raises(ValueError, match=words):
        iterate(several(), batched(numbers(24), size), size, **arguments)


def test_batches_of_all_workers_are_refused_where_each_reads_its_own_files():
    """A training that goes on skips batches: as many examples as it has seen."""
    words = "must have 4 examples, got 8: a training that goes on would skip others"
    with pytest.raises(ValueError, match=words):
        iterate(several(), batched(numbers(24), 8).repeat(), 8, sharding="file")


def test_files_are_shared_out_by_their_names(monkeypatch):
    """Whatever order each machine lists them in."""
    where, agreed = several(), []
    monkeypatch.setattr(where, "agreed", lambda value, what: agreed.append((value, what)))
    assert own_files(where, ["b", "d", "a", "c"]) == ["a", "c"]
    assert own_files(where, ["a", "b", "c", "d"]) == ["a", "c"]
    assert agreed[0] == agreed[1]


@pytest.mark.parametrize(
    ("dataset", "words"),
    [
        (lambda: numbers(8).repeat(), "must have an end"),
        (lambda: numbers(8).filter(lambda *_: False), "must have examples"),
        (lambda: numbers(8).take(0), "must have examples"),
    ],
)
def test_what_cannot_be_counted_is_refused(dataset, words):
    with pytest.raises(ValueError, match=words):
        count_batches(dataset(), 4)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_files_that_workers_cannot_share_are_refused(count):
    with pytest.raises(ValueError, match=f"a multiple of the 2 workers, got {count}: some would"):
        own_files(several(), [str(n) for n in range(count)])


def test_a_batch_larger_than_the_data_is_refused_where_none_would_be_left():
    with pytest.raises(ValueError, match="larger than the dataset's 3 examples, got 4"):
        batched(numbers(3), 4)
    assert len(list(batched(numbers(3), 4, exact=True))) == 1


@pytest.mark.parametrize("count", [1, 8, 9])
def test_batches_are_counted_also_where_the_length_is_not_known(count):
    known = numbers(count)
    assert count_batches(known, 4) == -(-count // 4)
    unknown = known.filter(lambda *_: True)
    assert unknown.cardinality() == tf.data.UNKNOWN_CARDINALITY
    assert count_batches(unknown, 4) == -(-count // 4)


def test_a_function_is_traced_once_for_single_steps_and_once_for_all_other_numbers():
    @tf.function
    def run(steps):
        done = tf.constant(0)
        for _ in counted(steps):
            done += 1
        return done

    assert [int(run(as_count(n, usual=1))) for n in (1, 1)] == [1, 1]
    assert run.experimental_get_tracing_count() == 1
    assert [int(run(as_count(n, usual=10))) for n in (10, 10, 7, 1)] == [10, 10, 7, 1]
    assert run.experimental_get_tracing_count() == 2


@pytest.mark.parametrize(("usual", "takes_any"), [(1, False), (2, True)])
def test_other_numbers_are_tried_from_two_steps_a_call_on_as_the_reason_says(usual, takes_any):
    @tf.function
    def run(steps):
        for _ in counted(steps):
            tf.no_op()

    run(as_count(1, usual=usual))
    assert takes_a_number(run) == takes_any
    assert "--steps-per-call 2 or more" in WhyNoSteps.TRACED_AGAIN.of()


def test_what_reads_files_of_its_own_is_not_called_unsharded():
    where = Several(tf.distribute.MirroredStrategy(["CPU:0"]))
    endless = batched(numbers(8), 2).repeat()
    assert options_of_iterator(iterate(where, endless, 4, sharding="file")) == {}
