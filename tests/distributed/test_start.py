"""What `distribute` says before the strategy is made, instead of hanging or training alone."""

import pytest


def said(group):
    assert group.codes() == [0] * group.count, group.tails()
    return [result["said"] for result in group.results()]


def test_a_worker_that_never_comes_is_named_at_the_deadline(nursery):
    group = nursery.start(1, "jobs.in_main:meet", cluster=2, deadline_s=3)
    [line] = said(group)
    assert line.startswith("PeerError: every worker must be there within 3 s, got none of worker 1")
    assert "\n" not in line
    assert group.result()["lasted_s"] > 3


@pytest.mark.parametrize("indices", [[0, 0], [1, 1]])
def test_two_workers_with_one_index_are_told_so(indices, nursery):
    lines = said(nursery.start(2, "jobs.in_main:meet", indices=indices, deadline_s=5))
    assert any("index" in line for line in lines), lines
    assert all(line.startswith("PeerError") and "\n" not in line for line in lines), lines


def test_the_line_that_used_tensorflow_too_early_is_named(nursery):
    [line] = said(nursery.start(1, "jobs.in_main:meet", cluster=2, used=True))
    assert line.startswith("RuntimeError: The strategy for several workers must be made before")
    assert "in_main.py:" in line
    assert "tf.constant(1) + 1  # used too early" in line
