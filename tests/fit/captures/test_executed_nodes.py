"""Nodes that a step runs, of small graphs."""

import tensorflow as tf

from keras_perf.capture.executed_nodes import UNKNOWN_ROUNDS, executed_nodes


def nodes(function, *arguments):
    """Of the graph itself, and of what executing it runs."""
    graph = tf.function(function).get_concrete_function(*arguments).graph.as_graph_def()
    return len(graph.node), executed_nodes(graph)


def body_nodes(rounds):
    """Nodes beyond the graph's own of a function with a loop of so many rounds in it."""

    @tf.function
    def inner(x):
        return tf.while_loop(
            lambda i, x: True, lambda i, x: (i + 1, tf.tanh(x)), (0, x), maximum_iterations=rounds
        )[1]

    own, all_ = nodes(lambda x: inner(x) + 1.0, tf.constant(1.0))
    return all_ - own


def test_without_functions_every_node_counts_once():
    own, all_ = nodes(lambda x: x * 2.0 + 1.0, tf.constant(1.0))
    assert own == all_ > 3


def test_a_loop_s_nodes_count_in_each_of_its_rounds():
    ten, twenty, thirty = body_nodes(10), body_nodes(20), body_nodes(30)
    assert thirty - twenty == twenty - ten > 10 * 3


def test_a_loop_of_unknown_length_counts_as_a_hundred_rounds():
    assert UNKNOWN_ROUNDS == 100
    # A bound on the rounds is a few nodes of its own.
    assert body_nodes(80) < body_nodes(None) < body_nodes(100)


def test_the_loop_over_an_execution_s_steps_counts_once():
    def steps(count):
        def execution(x):
            return tf.while_loop(
                lambda i, x: i < count, lambda i, x: (i + 1, tf.tanh(x)), (0, x), name="steps"
            )[1]

        return nodes(execution, tf.constant(1.0))

    assert steps(4) == steps(64)
    own, all_ = steps(4)
    assert all_ > own


def test_a_function_called_twice_counts_twice_and_of_two_branches_the_longer():
    @tf.function
    def called(x):
        return tf.tanh(tf.tanh(x))

    own_once, once = nodes(lambda x: called(x), tf.constant(1.0))
    own_twice, twice = nodes(lambda x: called(called(x)), tf.constant(1.0))
    assert twice - own_twice == 2 * (once - own_once) > 0

    def branches(x):
        return tf.cond(x > 0, lambda: tf.tanh(tf.tanh(tf.tanh(x))), lambda: x)

    own, all_ = nodes(branches, tf.constant(1.0))
    assert 3 < all_ - own < 8
