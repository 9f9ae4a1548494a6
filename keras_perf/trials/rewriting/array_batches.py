"""Keras's own pipeline of batches of arrays, in place of the graph of a dataset."""

from __future__ import annotations

import tensorflow as tf
from tensorflow.core.framework.graph_pb2 import GraphDef

from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph


class ArrayBatches(PipelineGraph):
    """Iterated as it is: to write it as a graph would copy the arrays. It shows no stages.

    Arguments:
        dataset: one pass through the arrays.
        rows: of a whole batch.
        batches: of a pass.
    """

    def __init__(self, dataset: tf.data.Dataset, rows: int, batches: int) -> None:
        super().__init__(GraphDef(), dataset.element_spec)
        self._dataset, self.rows, self._batches = dataset, rows, batches

    @property
    def batches(self) -> int:
        """Of a pass, which TensorFlow does not know of this pipeline."""
        return self._batches

    def copy(self) -> ArrayBatches:
        """The same: nothing in it can be changed."""
        return self

    def dataset(self) -> tf.data.Dataset:
        """Another iterator of it begins another pass."""
        return self._dataset
