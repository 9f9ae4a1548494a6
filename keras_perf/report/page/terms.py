"""Figures of the page that are no logged metrics: what each means, and what it cannot see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Term(NamedTuple):
    """What a reader is told of a figure."""

    meaning: str
    blind_spot: str = ""


TERMS: Mapping[str, Term] = {
    "times the first": Term(
        "How many times as fast as the first run, which the table's caption names: per example "
        "where both know their batch size, else per step.",
        "Whether the machine was equally busy; comparing two runs gives the interval.",
    ),
    "stage threads": Term("How many calls of the stage run at a time."),
    "stage size": Term("What the stage hands on for a batch, in bytes.", "What it holds itself."),
    "stage work": Term(
        "Processing time of the stage for one batch, over all its threads, as tf.data keeps it.",
        "Waiting for storage counts as work; waiting for a core does too.",
    ),
    "stage time": Term(
        "The stage's work for one batch, shared among its threads. The longest sets the pace.",
        "Threads that wait for each other, or for a core.",
    ),
    "stage buffer": Term(
        "Elements in the stage's buffer when it was looked at, of those that fit. A buffer before "
        "training that stays empty says that the input is too slow.",
        "Moments in between.",
    ),
    "host": Term(
        "The rest of a worker's step: dispatch, callbacks, Keras's own loop, compiling.",
    ),
    "share of a step": Term("Milliseconds of it by those of the mean step."),
    "saved": Term(
        "Before less after, in milliseconds per step; below 0 it takes longer now.",
        "Which change it was due to, where several were made.",
    ),
    "interval of what was saved": Term(
        "90% interval from resampling both runs' intervals a thousand times; where it contains 0, "
        "the change may be chance.",
        "What differs from run to run, such as another load on the machine.",
    ),
    "predicted gain": Term(
        "How many times as fast it was to become by this change, alone or once those above it are "
        "done.",
        "What a change does to caches, memory bandwidth and other threads.",
    ),
    "multiplications": Term(
        "Floating-point operations of the multiplications of a step, forward and backward, as the "
        "graph has them; per second: by the mean time of a step.",
        "What is no multiplication, and whether one was of use.",
    ),
    "model FLOPs utilization": Term(
        "Time that the multiplications would take at the peak, as a share of the mean step.",
        "Clocks below boost; what is computed again counts too.",
    ),
    "arithmetic intensity": Term(
        "Multiplications by the bytes that go through device memory. Below the limit beside it "
        "memory is reached first.",
        "Where the traffic was not measured, operands that stay in caches.",
    ),
    "energy of an epoch": Term(
        "Energy of a step, of the sampled GPUs, times the steps of an epoch.",
        "Validation, and energy of the host.",
    ),
    "price": Term(
        "From the rates that you gave: energy by the kilowatt-hour, time by the hour.",
        "Energy of the host.",
    ),
}
