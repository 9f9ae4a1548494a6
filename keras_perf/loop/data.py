"""Batches: full ones, and how several replicas share them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_perf.loop.distribution import Distribution

SHARDING = {
    "data": tf.data.experimental.AutoShardPolicy.DATA,
    "file": tf.data.experimental.AutoShardPolicy.FILE,
}


def batched(dataset: tf.data.Dataset, batch_size: int, *, exact: bool = False) -> tf.data.Dataset:
    """Batches of one shape.

    Arguments:
        dataset: of single examples (x, y).
        batch_size: examples in a batch of all replicas together.
        exact: keep the last examples too, where they do not fill a batch: it is filled up with
            its own examples again, and every batch is (x, y, weight) with a weight of 1 or 0 for
            each example. Else the last ones are left out, and batches are (x, y).

    One shape means that XLA compiles once and no replica is ever without a row.
    What it cannot hide: layers that look at a whole batch, such as BatchNormalization, see the
    examples that fill it up.
    """
    if not exact:
        return dataset.batch(batch_size, drop_remainder=True)

    def fill_up(x: Any, y: Any) -> tuple[Any, Any, Any]:
        rows = tf.range(batch_size)
        count = tf.shape(tf.nest.flatten(x)[0])[0]

        def filled(each: Any) -> Any:
            each_filled = tf.gather(each, rows % count)
            each_filled.set_shape([batch_size, *each.shape[1:]])
            return each_filled

        weight = tf.cast(rows < count, tf.float32)
        return *tf.nest.map_structure(filled, (x, y)), weight

    return dataset.batch(batch_size).map(fill_up)


def counted(steps: Any) -> Any:
    """What a `for` in a `tf.function` runs over, to make so many steps.

    Arguments:
        steps: a tensor, for a loop in the graph whose length is not traced; or an int, for as
            many steps one after the other without one. A graph's loop costs some 0.1 ms a call.
    """
    return range(steps) if isinstance(steps, int) else tf.range(steps)


def iterate(
    distribution: Distribution,
    dataset: tf.data.Dataset,
    batch_size: int,
    *,
    sharding: str = "data",
    files: Sequence[str] = (),
) -> Any:
    """An iterator over a dataset of batches, which the replicas share.

    With one replica it is the dataset's plain iterator, which costs half as much.

    Arguments:
        distribution: where the training runs.
        dataset: of batches for all replicas together; endless (`repeat()`), because the
            end of a distributed one is looked for in every step, with a collective.
        batch_size: examples in each.
        sharding: `data`: every worker reads all, and keeps its part of each batch: the batches
            are those of one process. `file`: each worker reads files of its own: other
            batches, less reading. TensorFlow's own choice (AUTO) changes from one to the other
            by what it finds in the dataset, and is not offered.
        files: with `file`, the files that the dataset reads.

    Raises:
        ValueError: another `sharding`; a batch that the replicas cannot share equally; files
            that the workers cannot.
    """
    if sharding not in SHARDING:
        raise ValueError(
            f"sharding must be 'data' or 'file', got {sharding!r}. 'data' gives the batches of "
            "one process; 'file' reads less where there are many files."
        )
    if batch_size % distribution.replicas:
        raise ValueError(
            f"The batch size must be a multiple of the {distribution.replicas} replicas, got "
            f"{batch_size}. The next one is {-(-batch_size // distribution.replicas)} × "
            f"{distribution.replicas}."
        )
    if sharding == "file" and (not files or len(files) % distribution.workers):
        raise ValueError(
            f"With sharding='file' the number of files must be a multiple of the "
            f"{distribution.workers} workers, got {len(files)}: a worker without a file gets "
            "empty batches. Use sharding='data', or write the data to more files."
        )
    if distribution.replicas == 1:
        return iter(dataset)
    if dataset.cardinality() >= 0:
        raise ValueError(
            "The dataset must be endless: its end would be looked for in every step, with a "
            "collective. Add .repeat(), and count the steps."
        )
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = SHARDING[sharding]
    return iter(
        distribution.strategy.experimental_distribute_dataset(dataset.with_options(options))
    )
