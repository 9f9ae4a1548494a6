"""All rules, and what is known of each recommendation.

`Known` says what that is.
"""

from __future__ import annotations

from keras_perf.advise.rules.async_callback import async_callback
from keras_perf.advise.rules.between_epochs.epoch_hooks import amortize_epoch_callback
from keras_perf.advise.rules.between_epochs.epochs import rarer_validation
from keras_perf.advise.rules.between_epochs.iterator_ends import validation_without_autotune
from keras_perf.advise.rules.between_epochs.longer_epochs import longer_epochs
from keras_perf.advise.rules.between_epochs.one_iterator import one_iterator
from keras_perf.advise.rules.between_epochs.predict_calls import call_the_model
from keras_perf.advise.rules.between_epochs.validation_batches import larger_validation_batches
from keras_perf.advise.rules.between_epochs.validation_input import faster_validation
from keras_perf.advise.rules.compiling.stable_shapes import stable_shapes
from keras_perf.advise.rules.compute import disable_run_eagerly, full_precision
from keras_perf.advise.rules.garbage import tune_gc
from keras_perf.advise.rules.host import amortize_callback
from keras_perf.advise.rules.input.batching import batch_before_map
from keras_perf.advise.rules.input.caching import cache
from keras_perf.advise.rules.input.caching_for_shuffle import cache_for_a_shuffle
from keras_perf.advise.rules.input.files_and_order import interleave, nondeterministic_order
from keras_perf.advise.rules.input.pool_of_threads import private_threadpool
from keras_perf.advise.rules.input.python_input import parallel_input
from keras_perf.advise.rules.input.shuffling import cheaper_shuffle
from keras_perf.advise.rules.input.threads_and_buffers import parallel_map, prefetch
from keras_perf.advise.rules.model_in_hooks import model_at_epoch_end
from keras_perf.advise.rules.on_a_gpu.kernels import enable_xla, gpu_thread_mode
from keras_perf.advise.rules.on_a_gpu.larger_batch import larger_batch
from keras_perf.advise.rules.on_a_gpu.tensor_cores import mixed_precision, multiples_of_8
from keras_perf.advise.rules.only_tried import ONLY_TRIED
from keras_perf.advise.rules.rule import Known, Rule
from keras_perf.advise.rules.steps_per_execution import raise_steps_per_execution
from keras_perf.advise.rules.workers import (
    balance_workers,
    fewer_exchanges,
    reduce_in_half_precision,
)

RULES: tuple[Rule, ...] = (
    prefetch,
    parallel_map,
    parallel_input,
    private_threadpool,
    batch_before_map,
    interleave,
    nondeterministic_order,
    cache,
    cache_for_a_shuffle,
    cheaper_shuffle,
    amortize_callback,
    async_callback,
    model_at_epoch_end,
    call_the_model,
    raise_steps_per_execution,
    tune_gc,
    faster_validation,
    validation_without_autotune,
    larger_validation_batches,
    rarer_validation,
    amortize_epoch_callback,
    one_iterator,
    longer_epochs,
    stable_shapes,
    disable_run_eagerly,
    full_precision,
    enable_xla,
    mixed_precision,
    multiples_of_8,
    larger_batch,
    gpu_thread_mode,
    balance_workers,
    reduce_in_half_precision,
    fewer_exchanges,
    *ONLY_TRIED,
)

_KNOWN = {rule.id: rule.known for rule in RULES}


def known_of(id: str) -> Known:
    """What is known of the recommendation with this id; nothing of one of another version."""
    return _KNOWN.get(id, Known())
