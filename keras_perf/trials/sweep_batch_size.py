"""Throughput, step time and memory over batch sizes, each in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import keras

from keras_perf.observers.delayed_signals import uninterrupted
from keras_perf.records.arguments import require_bool, require_counts, require_number
from keras_perf.trials.backends.chosen import trial_backend
from keras_perf.trials.batch_sizes.handed_over import handed_over, measured_in_a_child
from keras_perf.trials.batch_sizes.sizes_in_turn import SizesInTurn
from keras_perf.trials.batch_sizes.swept import BatchSizeSweep
from keras_perf.trials.compiled import require_compiled, require_model
from keras_perf.trials.kept_draws import kept_draws
from keras_perf.trials.kept_in_run import KeptInRun

if TYPE_CHECKING:
    import tensorflow as tf

AROUND = 8
"""So many times smaller and larger than the present batch size are those tried by default."""


@kept_draws()
def sweep_batch_size(
    model: keras.Model,
    dataset: tf.data.Dataset | tuple[Any, ...],
    batch_sizes: Sequence[int] | None = None,
    *,
    seconds: float = 2.0,
    memory_limit_mib: float | None = None,
    limit_s: float = 120.0,
    predict: bool = False,
    log_dir: str | os.PathLike[str] | None = None,
) -> BatchSizeSweep:
    """Throughput, step time and peak memory of training, or of predicting, over batch sizes.

    Each size trains a copy of the model in a process of its own, one after the other, so that
    running out of memory ends that process only, and is a row that says so. The model goes there
    as a `.keras` file and is not trained here; if it is not built yet, it is built. A line through
    the peaks of memory predicts the largest batch that fits, which is tried once, too. Ctrl-C ends
    it with the sizes that have trained by then.

    The steps find their batch ready, in Keras's own train function: one batch of the dataset, its
    examples repeated or left out. What the input takes is not in the figures; see
    `benchmark_input_pipeline`.

    Returns:
        A `BatchSizeSweep`: `.recommended` (the smallest size within 2% of the best throughput),
        `.predicted` (the largest batch that fits by the line), `.largest` (the same if it
        trained, else None), `.to_frame()`, `.plot()`; print it.

    Arguments:
        model: compiled, for one device, and one that `model.save` writes. Classes and functions of
            your own must be in a module that can be imported, functions registered with Keras.
        dataset: batches, as given to `fit`; one is taken, from a copy where TensorFlow can write
            one, so that its shuffles keep their orders. On JAX also arrays, `(x, y)`, of which
            `fit` makes batches of 32.
        batch_sizes: examples of a step; None for powers of two from an eighth to eight times the
            present size.
        seconds: of measuring each size, about; starting a process takes some seconds more.
        memory_limit_mib: as if no more MiB were left for training. None for the GPU's, or for nine
            tenths of what is available to a process.
        limit_s: seconds after which a process is ended.
        predict: for those who serve: steps are calls of `model.predict_on_batch`, and the model
            need not be compiled.
        log_dir: of the callbacks: the result is written there, and the report, the HTML page and
            TensorBoard show it with the run. None writes nothing.

    Raises:
        TypeError: `dataset` is no `tf.data.Dataset` (on JAX: nor arrays), or an argument is of the
            wrong type.
        ValueError: the model is not compiled, cannot be written or read, or is distributed; the
            dataset is empty or not batched, writes files of the user's, or holds more in memory
            than copies have room for; a number is out of its range; no size could be trained; or
            this process has taken the whole GPU.
        OSError: `log_dir` cannot be written.
        NotImplementedError: Keras computes with neither TensorFlow nor JAX.

    What it cannot see: how learning goes on with another batch size; memory that shows in longer
    training only; several devices. The further the predicted size lies from those tried, the less
    certain it is: the peak of its own trial shows how much was left. On a GPU, peaks are of
    the library's allocator, which holds the weights, too. On a CPU they are resident memory beyond
    what the process holds before it trains; trying the predicted size takes nearly all memory that
    is available, unless `memory_limit_mib` is set.

    Example:
    >>> sweep = keras_perf.sweep_batch_size(model, dataset)
    >>> print(sweep)
    >>> dataset = dataset.unbatch().batch(sweep.recommended)
    """
    require_bool("predict", predict)
    run = KeptInRun(log_dir)
    backend = trial_backend()
    backend.check_data(dataset)
    require_model(model)
    backend.check_alone(model)
    chosen = batch_sizes
    if chosen is not None:
        chosen = require_counts("batch_sizes", chosen, "None takes powers of two.")
    seconds = require_number("seconds", seconds, above=0, remedy="The default is 2.0.")
    limit_s = require_number("limit_s", limit_s, above=0, remedy="The default is 120.0.")
    if memory_limit_mib is not None:
        remedy = "None takes what is available."
        memory_limit_mib = require_number(
            "memory_limit_mib", memory_limit_mib, above=0, remedy=remedy
        )
    backend.check_room()
    if not predict:
        require_compiled(model)
    batch = backend.first_batch(dataset)
    backend.build(model, batch)
    present = backend.examples(batch)
    sizes = sorted({*(chosen or sizes_around(present))})
    with uninterrupted(), handed_over(model, batch) as written:
        measure = partial(
            measured_in_a_child,
            written,
            memory_limit_mib=memory_limit_mib,
            seconds=seconds,
            limit_s=limit_s,
            predict=predict,
        )
        found = SizesInTurn(measure, limit_s, len(sizes)).run(sizes, present)
    sweep = replace(found, predict=predict)
    run.keep({"batch_sizes": sweep.record}, _scalars(sweep))
    return sweep


def _scalars(sweep: BatchSizeSweep) -> dict[int, dict[str, float]]:
    """TensorBoard plots them over the batch size, in place of a step."""
    return {
        each.batch_size: {
            "batch_size/step_time_ms": each.step_ms,
            "batch_size/examples_per_sec": each.examples_per_sec,
            "batch_size/peak_mib": each.peak_mib,
        }
        for each in sweep.trained
    }


def sizes_around(present: int) -> list[int]:
    """The present size, and powers of two from an eighth of it to eight times."""
    powers = [2**power for power in range((AROUND * present).bit_length())]
    return sorted({present, *(power for power in powers if power * AROUND >= present)})
