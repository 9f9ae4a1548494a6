"""What a training is made of."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import keras
import tensorflow as tf

from keras_perf.trials.backends.chosen import training_backend
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph
from keras_perf.trials.rewriting.shuffle_buffers import soon_filled

Setting = Callable[[tf.data.Options], None]
Transformation = Callable[[tf.data.Dataset], tf.data.Dataset]


@dataclass(frozen=True)
class Setup:
    """The parts of a training that trials change; `dataclasses.replace` makes another one.

    Attributes:
        model: compiled.
        graph: of its dataset.
        jit_compile, run_eagerly: as `compile` takes them.
        options: set on the dataset, one after the other.
        behind: what is done to the batches behind the graph.
        ready: every step finds the first batch, again and again.
        calls: steps per execution, as a multiple of the model's own.
        rows: a batch has so many times as many rows; a step's time is divided by it.
        callbacks: whose hooks are called around each execution.
        collector_rests: Python's garbage collector knows nothing of what lives already.
        keras_loop: Keras's list of callbacks is called around each execution, also an empty one.
        others_wait: for callbacks of `fit` that are none of these, Keras waits for each execution.
        epoch_steps: as `fit` had them; None where that is not known.
    """

    model: keras.Model
    graph: PipelineGraph
    jit_compile: bool
    run_eagerly: bool
    options: tuple[Setting, ...] = ()
    behind: tuple[Transformation, ...] = ()
    ready: bool = False
    calls: int = 1
    rows: int = 1
    callbacks: tuple[keras.callbacks.Callback, ...] = ()
    collector_rests: bool = False
    keras_loop: bool = True
    others_wait: bool = False
    epoch_steps: int | None = None

    @property
    def steps(self) -> int:
        """Of an execution."""
        return self.calls * int(self.model.steps_per_execution)

    @property
    def most_steps(self) -> float:
        """An execution ends with the data, and with the epoch; infinite where neither is known."""
        known = [each for each in (self.graph.batches, self.epoch_steps) if each]
        return min(known, default=math.inf)

    def whole_calls(self, most: float) -> int:
        """At most so many an execution; where more than half of them do, such as divide an epoch.

        With `steps_per_epoch` on data without an end Keras makes its last execution a whole one.
        """
        own, steps = int(self.model.steps_per_execution), self.epoch_steps or 0
        calls = int(min(most, self.most_steps / own))
        return next((n for n in range(calls, calls // 2, -1) if steps % (n * own) == 0), calls)

    @property
    def input(self) -> tuple[object, ...]:
        """What its batches depend on: setups that are equal in it can share them."""
        return id(self.graph), self.options, self.behind, self.ready

    @property
    def strategy(self) -> tf.distribute.Strategy | None:
        """Of the model, where it has several replicas."""
        found: tf.distribute.Strategy | None = training_backend().strategy(self.model)
        return found

    def dataset(self) -> tf.data.Dataset:
        """One to measure, which begins anew, with shuffles that are soon filled."""
        dataset = with_options(soon_filled(self.graph).dataset(), self.options)
        for each in self.behind:
            dataset = each(dataset)
        # Of a cache the element has the shapes of the dataset, of a tensor its own.
        return dataset.take(1).cache() if self.ready else dataset


def with_options(dataset: tf.data.Dataset, settings: tuple[Setting, ...]) -> tf.data.Dataset:
    """The dataset with these settings, the last of which wins."""
    for setting in settings:
        chosen = tf.data.Options()
        setting(chosen)
        dataset = dataset.with_options(chosen)
    return dataset
