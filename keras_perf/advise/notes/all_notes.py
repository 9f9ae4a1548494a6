"""Every note on a run, in the order in which they are told."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from keras_perf.advise.notes.callbacks import call_notes
from keras_perf.advise.notes.devices.gpu import gpu_notes
from keras_perf.advise.notes.devices.gpu_trace import gpu_trace_notes
from keras_perf.advise.notes.devices.gpu_use import shared_gpu_notes
from keras_perf.advise.notes.devices.replicas import replica_notes
from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.advise.notes.hooks_on_jax import hook_notes
from keras_perf.advise.notes.in_the_step import distribution_notes, frozen_notes, step_notes
from keras_perf.advise.notes.inference import inference_notes
from keras_perf.advise.notes.input.first_pass import first_pass_notes
from keras_perf.advise.notes.input.loaders import loader_notes
from keras_perf.advise.notes.input.making import making_notes
from keras_perf.advise.notes.input.reading import reading_notes
from keras_perf.advise.notes.input.remote_files import remote_file_notes
from keras_perf.advise.notes.input.shuffle_refill import shuffle_notes
from keras_perf.advise.notes.input.slow_input import slow_input_notes
from keras_perf.advise.notes.input.stage_order import order_notes
from keras_perf.advise.notes.memory.device_memory import device_memory_notes
from keras_perf.advise.notes.memory.host_memory import host_memory_notes
from keras_perf.advise.notes.nothing_advised import nothing_advised_notes
from keras_perf.advise.notes.reliability.contention import contention_notes
from keras_perf.advise.notes.reliability.not_measured import not_measured_notes
from keras_perf.advise.notes.reliability.time_counted import time_notes
from keras_perf.advise.notes.reliability.trace import trace_notes
from keras_perf.advise.notes.settings import settings_notes
from keras_perf.advise.notes.small_batches import small_batch_notes
from keras_perf.advise.notes.start_up import start_up_notes
from keras_perf.advise.notes.trials import trial_notes
from keras_perf.advise.notes.workers import worker_notes


def input_notes(run: Diagnosed) -> Iterator[str]:
    """On what loads it and where its files lie; on the pipeline where there is nothing of that."""
    of_this_input = [*loader_notes(run), *remote_file_notes(run)]
    yield from of_this_input or slow_input_notes(run)


NOTES: tuple[Callable[[Diagnosed], Iterator[str]], ...] = (
    time_notes,
    start_up_notes,
    order_notes,
    shuffle_notes,
    input_notes,
    making_notes,
    first_pass_notes,
    nothing_advised_notes,
    reading_notes,
    inference_notes,
    call_notes,
    trial_notes,
    settings_notes,
    small_batch_notes,
    step_notes,
    frozen_notes,
    hook_notes,
    distribution_notes,
    worker_notes,
    replica_notes,
    contention_notes,
    host_memory_notes,
    shared_gpu_notes,
    gpu_notes,
    gpu_trace_notes,
    device_memory_notes,
    trace_notes,
    not_measured_notes,
)
"""In the order in which they are told: a sentence or two each, or none."""


def notes_of(run: Diagnosed) -> Iterator[str]:
    """All that there is to say of a run."""
    for notes in NOTES:
        yield from notes(run)
