"""Batches: full ones, and how several replicas share them."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_perf.loop.distribution import Distribution
from keras_perf.observation.facts.input.distribution_options import picked_by_the_worker


def batched(dataset: tf.data.Dataset, batch_size: int, *, exact: bool = False) -> tf.data.Dataset:
    """Batches of one shape.

    Arguments:
        dataset: of single examples (x, y).
        batch_size: examples in a batch of all replicas together.
        exact: keep the last examples too, where they do not fill a batch: it is filled up with
            its own examples again, and every batch is (x, y, weight) with a weight of 1 or 0 for
            each example. Else the last ones are left out, and batches are (x, y).

    Raises:
        ValueError: not one batch is full, and none would be left.

    One shape means that XLA compiles once and no replica is ever without a row.
    What it cannot hide: layers that look at a whole batch, such as BatchNormalization, see the
    examples that fill it up.
    """
    if 0 <= dataset.cardinality() < batch_size and not exact:
        raise ValueError(
            f"A batch must not be larger than the dataset's {dataset.cardinality()} examples, got "
            f"{batch_size}. Lower the batch size, or keep the last, smaller batch with exact=True."
        )
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


def as_count(steps: int, *, usual: int) -> Any:
    """A number of steps as a `tf.function` takes it without being traced for each number.

    Arguments:
        steps: of this call.
        usual: of most calls. Where that is 1, so is the result for 1: a loop in the graph costs
            up to 0.1 ms a call, which single steps then do without. `LoopMonitor` tries no other
            number then.
    """
    return 1 if steps == usual == 1 else tf.constant(steps)


def counted(steps: Any) -> Any:
    """What a `for` in a `tf.function` runs over, to make this number of steps; see `as_count`."""
    return range(steps) if isinstance(steps, int) else tf.range(steps)


def part_of(stacked: Any, place: Any) -> Any:
    """The element of each tensor of a structure at a place."""
    return tf.nest.map_structure(lambda each: each[place], stacked)


def count_batches(dataset: tf.data.Dataset, batch_size: int) -> int:
    """Batches in one pass over single examples, the last one smaller; reads it if it must.

    Raises:
        ValueError: the dataset has no end, or no examples.
    """
    examples = int(dataset.cardinality())
    if examples == tf.data.INFINITE_CARDINALITY:
        raise ValueError("The dataset must have an end to be counted: leave out its repeat().")
    if examples < 0:
        examples = int(dataset.reduce(np.int64(0), lambda count, *_: count + 1))
    if not examples:
        raise ValueError(
            "The dataset must have examples, got one of none: see where they are read."
        )
    return -(-examples // batch_size)


def own_files(distribution: Distribution, files: Sequence[str]) -> list[str]:
    """The part of the files that this worker reads, for `iterate(..., sharding="file")`.

    By their names in order, for a folder is listed in another one on each machine. All workers call
    it.

    Raises:
        ValueError: their number is not a multiple of the number of workers.
        RuntimeError: the workers do not have the same files.
    """
    if not files or len(files) % distribution.workers:
        raise ValueError(
            f"The number of files must be a multiple of the {distribution.workers} workers, got "
            f"{len(files)}: some would read more than others. Use sharding='data', or write the "
            "data to more files."
        )
    ordered = sorted(files)
    distribution.agreed(zlib.crc32("\n".join(ordered).encode()), "files (shown as a checksum)")
    return ordered[distribution.rank :: distribution.workers]


def iterate(
    distribution: Distribution, dataset: tf.data.Dataset, batch_size: int, *, sharding: str = "data"
) -> Any:
    """An iterator over a dataset of batches, which the replicas share.

    With one replica it is the dataset's plain iterator, which costs half as much.

    Arguments:
        distribution: where the training runs.
        dataset: endless (`repeat()`), because the end of a distributed one is looked for in
            every step, with a collective.
        batch_size: examples in a step of all replicas together.
        sharding: `data`: the dataset is the same on all workers and has the whole batches, of
            which each worker keeps its part: the batches of one process. `file`: it is of this
            worker's `own_files`, in batches of `batch_size` ÷ workers: other batches, less
            reading. TensorFlow's own choice (AUTO) changes from one to the other by what it
            finds in the dataset, and is not offered.

    Raises:
        ValueError: another `sharding`; a batch that the replicas cannot share equally, or of
            another size than said; a dataset that ends.
    """
    if sharding not in ("data", "file"):
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
    if distribution.replicas == 1:
        return iter(dataset)
    if dataset.cardinality() >= 0:
        raise ValueError(
            "The dataset must be endless: otherwise every step looks for its end, with a "
            "collective. Add .repeat(), and count the steps."
        )
    strategy = distribution.strategy
    if sharding == "file":
        of_a_worker = batch_size // distribution.workers
        if (rows := _rows(dataset)) not in (None, of_a_worker):
            raise ValueError(
                f"With sharding='file' the batches of each of the {distribution.workers} workers "
                f"must have {of_a_worker} examples, got {rows}: a training that goes on would skip "
                "others than it has seen. Make them with batch_size // distribution.workers."
            )
        of_a_replica = dataset.rebatch(batch_size // distribution.replicas)
        shared = strategy.distribute_datasets_from_function(lambda _: of_a_replica)
        return picked_by_the_worker(iter(shared))
    options = tf.data.Options()
    policy = tf.data.experimental.AutoShardPolicy.DATA
    options.experimental_distribute.auto_shard_policy = policy
    return iter(strategy.experimental_distribute_dataset(dataset.with_options(options)))


def _rows(dataset: tf.data.Dataset) -> int | None:
    """Of a batch; None where they may differ, or elements hold something else than tensors."""
    shapes = [getattr(spec, "shape", None) for spec in tf.nest.flatten(dataset.element_spec)]
    known = {shape[0] if shape is not None and shape.rank else None for shape in shapes}
    return known.pop() if len(known) == 1 else None
