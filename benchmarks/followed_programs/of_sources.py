"""Programs whose files or Python code are slow, and programs beside others."""

from __future__ import annotations

import os

import keras
import tensorflow as tf
from bottlenecks import computed

from followed_programs.input_pieces import (
    PREFETCH,
    Made,
    Rolled,
    convolutions,
    file_names,
    in_processes,
    in_threads,
    of_python,
    of_rows,
    opened,
    parsed,
    parsed_batch,
    rolled,
    small_mlp,
    uneven,
)
from followed_programs.program import Program, Stage

INPUT = ("input-bound",)
UNSURE = ("input-bound", "inconclusive")
"""Where a queue of processes is not seen, or no core is left to tell who holds the interpreter."""

HALF = max(1, len(os.sched_getaffinity(0)) // 2)
"""Processes that use half of the machine."""

OF_FILES_AND_PYTHON = (
    Program(
        "many small files",
        INPUT,
        small_mlp(),
        file_names,
        (
            Stage("flat_map", opened),
            Stage("map", parsed, of_batches=parsed_batch),
            Stage("batch", 8),
            PREFETCH,
        ),
    ),
    Program(
        "uneven elements in order",
        INPUT,
        small_mlp(),
        lambda: tf.data.Dataset.range(400),
        (Stage("map", uneven(400), {"num_parallel_calls": 8}), Stage("prefetch", 1)),
        options={"threading.private_threadpool_size": 16, "deterministic": True},
    ),
    of_python("a generator that waits", 6.0, works=False),
    of_python("a generator that works", 6.0, works=True),
    of_python("a generator that works, 15 ms", 15.0, works=True),
    Program(
        "a PyDataset that works",
        INPUT,
        small_mlp(),
        lambda times: Made(6.0, batches=250 * times, works=True),
        times=1,
        in_processes=in_processes(6.0),
    ),
    Program(
        "a PyDataset that waits, in two threads",
        INPUT,
        small_mlp(),
        in_threads(24.0)(2),
        times=1,
        in_processes=in_threads(24.0),
    ),
    Program(
        "a PyDataset that works beside convolutions",
        ("compute-bound", "dispatch-bound", *UNSURE),
        convolutions,
        lambda times: Rolled(200 * times),
        times=1,
        in_processes=rolled,
        compiled={"loss": keras.losses.SparseCategoricalCrossentropy(from_logits=True)},
    ),
    Program(
        "a PyDataset that works, in four processes",
        UNSURE,
        small_mlp(),
        in_processes(6.0)(4),
        times=1,
        in_processes=in_processes(6.0),
    ),
)

BESIDE_OTHERS = (
    of_python("a generator that waits, others use half", 6.0, works=False, others=HALF),
    of_python(
        "a generator that works, others use half", 6.0, works=True, verdicts=UNSURE, others=HALF
    ),
    of_rows(
        "sequential map that computes, others use half",
        INPUT,
        200,
        Stage("map", computed(300)),
        PREFETCH,
        size=32,
        others=HALF,
    ),
)

OF_SOURCES = (*OF_FILES_AND_PYTHON, *BESIDE_OTHERS)
