"""The input alone, without training."""

from __future__ import annotations

from typing import Any

import pandas as pd
import tensorflow as tf

from keras_perf.records.arguments import require_count
from keras_perf.trials.arguments import check_dataset
from keras_perf.trials.compiled import NO_BATCH
from keras_perf.trials.measuring.examples import examples_in
from keras_perf.trials.measuring.rounds import timed_rounds


def benchmark_input_pipeline(
    dataset: tf.data.Dataset, *, batches: int = 100, repeats: int = 3
) -> pd.DataFrame:
    """Time of a batch where nothing waits for it but the next: the input's bound on throughput.

    The other one of the pair is `benchmark_train_step`. With both medians, of `batch_ms` here
    and `step_ms` there, a step that prefetches takes about the larger, one that does not about
    the sum. `input-bound` is confirmed if the input takes longer than the step, and refuted if a
    prefetching input takes less.

    Returns:
        A frame with a row a round: `round`, `batches`, `batch_ms` (mean of the round),
        `batches_per_sec`, `examples_per_sec`. One round before them fills buffers, lets
        `tf.data` tune itself, and is not counted.

    Arguments:
        dataset: batches, as given to `fit`. It is repeated without end, and what the beginning
            of a pass costs (opening files, filling a shuffle buffer) is shared by its batches:
            let a round hold whole passes if it is short. It can be iterated from its beginning
            afterwards, like after any other pass: a shuffle without `reshuffle_each_iteration=
            False` goes on to its next order, and a `cache()` keeps what was read.
        batches: batches in a round.
        repeats: rounds.

    Raises:
        TypeError: `dataset` is not a `tf.data.Dataset`.
        ValueError: it is empty or not batched, or a number is below 1.

    What it cannot see: what prefetching hides, which takes a consumer that works meanwhile; the
    processors that training takes from the input, and all of them where it trains on the CPU;
    the copy of a batch to a GPU. With `cache()` rounds become fast once a pass is complete: then
    the last rows are the later epochs.

    Example:
    >>> dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
    >>> keras_perf.benchmark_input_pipeline(dataset)["batch_ms"].median()
    """
    check_dataset(dataset)
    batches = require_count("batches", batches)
    repeats = require_count("repeats", repeats)
    iterator = iter(dataset.repeat())
    if not iterator.get_next_as_optional().has_value():
        raise ValueError(NO_BATCH)
    # In the graph, where training takes its batches too: in Python each costs another 0.1 ms.
    take, number = tf.function(_take), tf.constant(batches)
    return timed_rounds("batch", "batches", batches, repeats, lambda: int(take(iterator, number)))


def _take(iterator: Any, batches: tf.Tensor) -> tf.Tensor:
    """Number of examples in that many batches."""
    examples = tf.constant(0, tf.int64)
    for _ in tf.range(batches):
        examples += examples_in(iterator.get_next())
    return examples
