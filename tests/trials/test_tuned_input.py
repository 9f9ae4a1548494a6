"""What tuning found, as text, frame and figure."""

import pytest
import tensorflow as tf

from keras_perf.trials.measuring.side_by_side import Pair
from keras_perf.trials.rewriting.changes import Change
from keras_perf.trials.rewriting.tuned_input import TunedInput, as_measured


def tried(name, before_ms, after_ms, *, kept=True):
    gain = before_ms / after_ms
    pair = Pair(before_ms, after_ms, gain, gain * 0.8, gain * 1.25)
    return as_measured(Change(name, "map(f)", "code", "costs"), pair, kept=kept)


@pytest.fixture
def tuned():
    found = (
        tried("parallel-map", 10.0, 5.0),
        tried("private-threadpool", 5.0, 6.0, kept=False),
        tried("cache", 5.0, 1.0),
    )
    return TunedInput(tf.data.Dataset.range(1).batch(1), found, (), 10.0, 1.0)


def test_the_figure_has_a_bar_for_each_change_that_was_kept_with_its_interval(tuned):
    [axes] = tuned.plot().axes
    assert [bar.get_height() for bar in axes.patches] == [10.0, 5.0, 1.0]
    labels = [each.get_text() for each in axes.get_xticklabels()]
    assert labels == ["as it was", "parallel-map\nmap(f)", "cache\nmap(f)"]
    ends = axes.collections[0].get_segments()[2][:, 1]
    assert ends == pytest.approx([0.8, 1.25])
    assert axes.get_title() == "10.00× as fast"


def test_where_nothing_was_kept_the_figure_has_one_bar():
    [axes] = TunedInput(tf.data.Dataset.range(1), (), (), 3.0, 3.0).plot().axes
    assert [bar.get_height() for bar in axes.patches] == [3.0]


def test_several_changes_of_one_name_have_a_bar_each(tuned):
    same = (tried("parallel-map", 8.0, 4.0), tried("parallel-map", 4.0, 2.0))
    [axes] = TunedInput(tuned.dataset, same, (), 8.0, 2.0).plot().axes
    assert len({bar.get_x() for bar in axes.patches}) == 3
