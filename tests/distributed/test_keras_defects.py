"""Why there is a loop of its own: what Keras 3 gets wrong by itself under a strategy.

Each test asks for what would be right. One that passes all at once means that Keras has mended
it, and that what we do in its place may be left out.
"""

import pytest

pytestmark = pytest.mark.xdist_group("keras_defects")


def wrong(reason):
    return pytest.mark.xfail(strict=True, raises=AssertionError, reason=reason)


@pytest.fixture
def found(once):
    return once("keras_defects", 1, "jobs.keras_defects:under_mirrored").result()


@wrong("fit builds its metrics from values of one replica (keras #20585)")
def test_fit_trains_under_several_workers(nursery):
    group = nursery.run(2, "jobs.keras_defects:under_several_workers")
    assert [result["error"] for result in group.results()] == [None, None]


@wrong("each replica's gradients are clipped before they are summed")
def test_clipping_is_that_of_one_device(found):
    assert found["clipping"] < 1e-5


@wrong("each replica's mean over its own examples counts the same, however few they are")
def test_an_uneven_last_batch_is_that_of_one_device(found):
    assert found["uneven"] < 1e-5


@wrong("a merge_call inside a cond")
def test_gradients_are_accumulated_under_a_strategy(found):
    assert found["accumulation"] is None


@wrong("LossScaleOptimizer looks for an overflow in the first replica's gradients only")
def test_an_overflow_in_the_second_replica_is_skipped(found):
    assert found["overflow"]


@wrong("the seed generator's state is the same on all replicas")
def test_dropout_masks_differ_between_replicas(found):
    first, second = found["masks"]
    assert first != second


@wrong("BatchNormalization's moving statistics are each replica's own")
def test_moving_statistics_are_those_of_all_replicas(found):
    first, second = found["statistics"]
    assert first == second


@wrong("a seed generator is not among what TensorFlow's checkpoint tracks in a Keras 3 model")
def test_a_checkpoint_of_tensorflow_has_the_state_of_random_numbers(found):
    saved, restored = found["seeds"]
    assert restored == saved
