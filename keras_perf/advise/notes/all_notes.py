"""Every note on a run, in the order in which they are told."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from keras_perf.advise.notes.callbacks import call_notes
from keras_perf.advise.notes.contention import contention_notes
from keras_perf.advise.notes.devices.gpu import gpu_notes
from keras_perf.advise.notes.devices.gpu_trace import gpu_trace_notes
from keras_perf.advise.notes.devices.gpu_use import shared_gpu_notes
from keras_perf.advise.notes.devices.replicas import replica_notes
from keras_perf.advise.notes.hooks_on_jax import hook_notes
from keras_perf.advise.notes.in_the_step import distribution_notes, step_notes
from keras_perf.advise.notes.inference import inference_notes
from keras_perf.advise.notes.input.loaders import loader_notes
from keras_perf.advise.notes.input.reading import reading_notes
from keras_perf.advise.notes.input.remote_files import remote_file_notes
from keras_perf.advise.notes.input.shuffle_refill import shuffle_notes
from keras_perf.advise.notes.input.slow_input import slow_input_notes
from keras_perf.advise.notes.input.stage_order import order_notes
from keras_perf.advise.notes.memory.device_memory import device_memory_notes
from keras_perf.advise.notes.memory.host_memory import host_memory_notes
from keras_perf.advise.notes.not_measured import not_measured_notes
from keras_perf.advise.notes.nothing_advised import nothing_advised_notes
from keras_perf.advise.notes.settings import settings_notes
from keras_perf.advise.notes.start_up import start_up_notes
from keras_perf.advise.notes.time_counted import time_notes
from keras_perf.advise.notes.trace import trace_notes
from keras_perf.advise.notes.trials import trial_notes
from keras_perf.advise.notes.workers import worker_notes
from keras_perf.advise.situation import Situation


def notes_of(situation: Situation, verdict: str, advised: Collection[str]) -> Iterator[str]:
    """A sentence or two each.

    Arguments:
        situation: of a run with measured steps.
        verdict: its verdict.
        advised: ids of the recommendations, which say with figures what a note would repeat.
    """
    summary = situation.summary
    yield from time_notes(summary)
    yield from start_up_notes(summary, advised)
    yield from order_notes(summary, verdict, advised)
    yield from shuffle_notes(summary, advised)
    of_this_input = [
        *loader_notes(situation, verdict, advised),
        *remote_file_notes(situation, verdict, advised),
    ]
    yield from of_this_input or slow_input_notes(situation, verdict, advised)
    yield from nothing_advised_notes(situation, verdict, advised)
    yield from reading_notes(summary, verdict)
    yield from inference_notes(summary, advised)
    yield from call_notes(situation, advised)
    yield from trial_notes(summary.facts, advised)
    yield from settings_notes(summary.facts)
    yield from step_notes(summary.facts)
    yield from hook_notes(summary.facts)
    yield from distribution_notes(summary.facts)
    yield from worker_notes(summary)
    yield from replica_notes(summary)
    yield from contention_notes(situation)
    yield from host_memory_notes(situation)
    yield from shared_gpu_notes(summary)
    yield from gpu_notes(summary)
    yield from gpu_trace_notes(summary)
    yield from device_memory_notes(summary)
    yield from trace_notes(summary.facts)
    yield from not_measured_notes(summary, advised)
