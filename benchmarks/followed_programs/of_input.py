"""Programs whose input has a bottleneck that was put there."""

from __future__ import annotations

import tensorflow as tf
from bottlenecks import computed, slept

from followed_programs.hooks import pause
from followed_programs.input_pieces import (
    AUTOTUNE,
    PREFETCH,
    in_processes,
    noisy,
    of_rows,
    prepared,
    rows,
    slowly_noisy,
    small_mlp,
    worked,
)
from followed_programs.program import Program, Stage

INPUT = ("input-bound",)
IN_THREADS = {"num_parallel_calls": AUTOTUNE}
OF_MAPS = (
    of_rows("sequential map", INPUT, 400, Stage("map", slept(6.0)), PREFETCH),
    of_rows("sequential map, 2 ms", INPUT, 400, Stage("map", slept(2.0)), PREFETCH),
    of_rows("sequential map, 20 ms", INPUT, 250, Stage("map", slept(20.0)), PREFETCH),
    of_rows(
        "sequential map that computes", INPUT, 200, Stage("map", computed(300)), PREFETCH, size=32
    ),
    of_rows(
        "sequential map, wider model",
        ("compute-bound", "dispatch-bound"),
        200,
        Stage("map", slept(6.0)),
        PREFETCH,
        size=256,
        width=512,
    ),
    of_rows(
        "sequential map, four epochs",
        INPUT,
        80,
        Stage("map", slept(6.0)),
        PREFETCH,
        fit={"epochs": 4},
    ),
    of_rows(
        "a map of Python that works",
        INPUT,
        250,
        Stage("map", worked(6.0)),
        PREFETCH,
        in_processes=in_processes(6.0),
    ),
    of_rows(
        "parallel map that fills the cores",
        INPUT,
        150,
        Stage("map", computed(600), IN_THREADS),
        PREFETCH,
    ),
    Program(
        "waiting in the library's pool",
        INPUT,
        small_mlp(),
        rows(3200),
        (Stage("batch", 8), Stage("map", slept(20.0), IN_THREADS), PREFETCH),
        times=1,
    ),
    Program(
        "a cheap map for each example",
        INPUT,
        small_mlp(features=2),
        rows(2048 * 80, 2),
        (
            Stage("map", lambda x, y: (2.0 * x, y), of_batches=lambda x, y: (2.0 * x, y)),
            Stage("batch", 2048),
            PREFETCH,
        ),
        times=1,
    ),
    of_rows(
        "no prefetch",
        INPUT,
        200,
        Stage("map", slept(6.0)),
        options={"experimental_optimization.inject_prefetch": False},
        works=(pause(4.0),),
    ),
)

OF_PASSES = (
    of_rows(
        "the same work in each epoch",
        INPUT,
        30,
        Stage("map", slept(6.0), {"num_parallel_calls": 1}),
        PREFETCH,
        fit={"epochs": 12},
    ),
    of_rows(
        "the same work in five epochs, 15 ms",
        INPUT,
        30,
        Stage("map", slept(15.0), {"num_parallel_calls": 1}),
        PREFETCH,
        fit={"epochs": 5},
    ),
    Program(
        "a finite repeat",
        INPUT,
        small_mlp(),
        rows(80),
        (Stage("repeat", 80), Stage("map", slept(0.5)), Stage("batch", 16), PREFETCH),
        times=1,
    ),
    Program(
        "a slow map, then a random one",
        INPUT,
        small_mlp(),
        rows(320),
        (
            Stage("map", prepared, IN_THREADS),
            Stage("map", noisy, IN_THREADS),
            Stage("shuffle", 64, {"seed": 1}),
            Stage("batch", 8),
            PREFETCH,
        ),
        fit={"epochs": 8},
    ),
    Program(
        "a slow map, then a random one, all of it shuffled",
        INPUT,
        small_mlp(),
        rows(320),
        (
            Stage("map", prepared, IN_THREADS),
            Stage("map", noisy, IN_THREADS),
            Stage("shuffle", 320, {"seed": 1}),
            Stage("batch", 8),
            PREFETCH,
        ),
        fit={"epochs": 8},
    ),
    Program(
        "a slow map behind a shuffle, then a random one",
        INPUT,
        small_mlp(),
        rows(320),
        (
            Stage("shuffle", 320, {"seed": 1}),
            Stage("map", prepared, IN_THREADS),
            Stage("map", noisy, IN_THREADS),
            Stage("batch", 8),
            PREFETCH,
        ),
        fit={"epochs": 8},
    ),
    of_rows(
        "little preparation beside long steps",
        ("compute-bound",),
        25,
        Stage("map", computed(60)),
        PREFETCH,
        size=256,
        width=1536,
        fit={"epochs": 4},
    ),
    Program(
        "a map before a shuffle of all data",
        INPUT,
        small_mlp(64),
        rows(640),
        (
            Stage("map", slept(1.0)),
            Stage("shuffle", 640, {"seed": 1}),
            Stage("batch", 16),
            PREFETCH,
        ),
        fit={"epochs": 6},
    ),
    Program(
        "a shuffle filled with prepared examples",
        ("compute-bound", "dispatch-bound", "input-bound"),
        small_mlp(1536),
        rows(640),
        (
            Stage("map", slowly_noisy),
            Stage("shuffle", 400, {"seed": 1}),
            Stage("batch", 16),
            PREFETCH,
        ),
        fit={"epochs": 5},
    ),
    Program(
        "a shuffle filled with chosen examples",
        ("compute-bound", "dispatch-bound", "input-bound"),
        small_mlp(1536),
        rows(640),
        (
            Stage("map", slowly_noisy),
            Stage("filter", lambda x, y: tf.reduce_all(x == x)),
            Stage("shuffle", 400, {"seed": 1}),
            Stage("batch", 16),
            PREFETCH,
        ),
        fit={"epochs": 5},
    ),
)

OF_INPUT = (*OF_MAPS, *OF_PASSES)
