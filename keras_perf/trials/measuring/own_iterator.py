"""An iterator of ours, which ends when it is told to."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf


class OwnIterator:
    """Like `iter(dataset)`, but ended by `close`.

    What `iter` returns ends when Python forgets it, while this thread holds the interpreter and
    waits for the pipeline's threads; where one of them runs Python code, as `numpy_function` and
    `from_generator` do, both wait for ever. Here an operation ends it, which holds nothing.

    Arguments:
        dataset: to iterate.

    Attributes:
        iterator: what a `tf.function` takes in place of `iter(dataset)`, without another trace.
    """

    def __init__(self, dataset: tf.data.Dataset) -> None:
        # An iterator lives on the dataset's cache, which goes with the dataset.
        self._dataset = dataset
        self._deleter: Any = None
        with tf.device("CPU:0"):
            self._handle, self._deleter = tf.raw_ops.AnonymousIteratorV2(
                output_types=(types := _types(dataset.element_spec)),
                output_shapes=[tf.TensorShape(None)] * len(types),
            )
            variant = tf.data.experimental.to_variant(dataset)
            tf.raw_ops.MakeIterator(dataset=variant, iterator=self._handle)
        spec = tf.data.IteratorSpec(dataset.element_spec)
        self.iterator: Any = tf.nest.pack_sequence_as(spec, [self._handle], expand_composites=True)

    def close(self) -> None:
        """Ends its threads and lets go of what it holds; again calls do nothing."""
        if self._deleter is not None:
            # Python may forget it while a function is traced, of which this is no part.
            with tf.init_scope():
                tf.raw_ops.DeleteIterator(handle=self._handle, deleter=self._deleter)
            self._deleter = None

    def __del__(self) -> None:
        self.close()


def first_of(dataset: tf.data.Dataset) -> Any:
    """Its first element; None where it has none."""
    own = OwnIterator(dataset)
    try:
        return next(own.iterator, None)
    finally:
        own.close()


class Feed:
    """A dataset's batches over and over, made only while somebody holds it.

    Of two pipelines that are measured in turn, one would fill its buffers while it is the other's
    turn, and take the processors from it.

    Arguments:
        dataset: to take them from.
        strategy: with several replicas, among which each batch is divided as `fit` does it. Its
            iterator ends when Python forgets it.
    """

    def __init__(
        self, dataset: tf.data.Dataset, strategy: tf.distribute.Strategy | None = None
    ) -> None:
        self._dataset, self._strategy = dataset.repeat(), strategy
        if strategy is not None:
            self._dataset = strategy.experimental_distribute_dataset(self._dataset)
        self._open: Any = None
        self._take: Callable[[Any, tf.Tensor], None] | None = None

    @contextmanager
    def held(self) -> Iterator[Any]:
        """Its iterator; the same one inside of another `with`, a new one outside."""
        if self._open is not None:
            yield self._open
            return
        own = OwnIterator(self._dataset) if self._strategy is None else None
        self._open = iter(self._dataset) if own is None else own.iterator
        try:
            yield self._open
        finally:
            self._open = None
            if own is not None:
                own.close()

    def take_ready(self, quick_s: float, most_s: float) -> None:
        """Takes what lies ready, each in less than so many seconds, for a limited time.

        Arguments:
            quick_s: in which no batch can be made.
            most_s: after which no more is taken: batches may be made as quickly.
        """
        begin = taking = time.perf_counter()
        with self.held():
            while taking - begin < most_s:
                self.take(1)
                taken, taking = time.perf_counter() - taking, time.perf_counter()
                if taken > quick_s:
                    return

    def take(self, batches: int) -> None:
        """Takes so many."""
        with self.held() as iterator:
            if self._take is None:
                # One trace of its own: TensorFlow warns where one function has many.
                take = tf.function(lambda batches_of, count: _take(batches_of, count))
                number = tf.TensorSpec((), tf.int32)
                self._take = take.get_concrete_function(iterator, number)
            self._take(iterator, tf.constant(batches))


def _take(iterator: tf.data.Iterator, batches: tf.Tensor) -> None:
    for _ in tf.range(batches):
        iterator.get_next()


def _types(element_spec: Any) -> list[tf.DType]:
    """Of the tensors that elements consist of in a pipeline; ragged and sparse ones are one."""
    nothing = type(tf.type_spec_from_value(None))
    return [
        spec.dtype if isinstance(spec, tf.TensorSpec) else tf.variant
        for spec in tf.nest.flatten(element_spec)
        if not isinstance(spec, nothing)
    ]
