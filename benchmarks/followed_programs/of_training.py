"""Programs with a bottleneck put into callbacks, validation, compiling or the model."""

from __future__ import annotations

from typing import Any

from bottlenecks import slept

from followed_programs.hooks import (
    RareChatter,
    RareLitter,
    checkpoint,
    epoch_hook,
    hook,
    predicts,
    unfreezes,
)
from followed_programs.input_pieces import (
    PREFETCH,
    another_length_each_time,
    lengths_that_vary,
    of_rows,
    rows,
    sequence_model,
    sequences,
    small_mlp,
)
from followed_programs.program import Program, Stage, Work
from followed_programs.published_input import images, slices
from followed_programs.published_models import convnet

CALLBACK, COMPILE = ("callback-bound",), ("compile-bound",)
COMPUTE, DISPATCH, EAGER = ("compute-bound",), ("dispatch-bound",), ("eager-bound",)
OF_THE_STEP = ("compute-bound", "dispatch-bound", "input-bound", "inconclusive")
"""What is put there lies between epochs, of which no verdict tells."""

XLA: dict[str, Any] = {"jit_compile": True}
FOUR_LENGTHS = (15, 30, 45, 60)

OF_CALLBACKS = (
    of_rows("a batch hook", CALLBACK, 315, works=(hook(10.0),), size=64),
    of_rows("a batch hook, 3 ms", CALLBACK, 315, works=(hook(3.0),), size=64),
    of_rows("a batch hook, 30 ms", CALLBACK, 200, works=(hook(30.0),), size=64),
    of_rows("a batch hook every 7 steps", CALLBACK, 315, works=(hook(30.0, 7),), size=64),
    of_rows(
        "a batch hook beside long steps", CALLBACK, 150, works=(hook(15.0),), size=256, width=1024
    ),
    of_rows("an epoch's hook", CALLBACK, 60, works=(epoch_hook(200.0),), fit={"epochs": 10}),
    of_rows("predictions one by one", CALLBACK, 60, works=(predicts(),), fit={"epochs": 5}),
    of_rows(
        "a checkpoint in every batch",
        CALLBACK,
        150,
        works=(Work("ModelCheckpoint", checkpoint),),
        size=256,
        width=256,
    ),
    of_rows("chatter", CALLBACK, 200, works=(Work("RareChatter", RareChatter),)),
    of_rows(
        "a storm of garbage",
        CALLBACK,
        150,
        works=(Work("RareLitter", RareLitter),),
        size=64,
        width=512,
    ),
)

BETWEEN_EPOCHS = (
    of_rows("many short epochs", OF_THE_STEP, 3, fit={"epochs": 400}),
    of_rows(
        "validation longer than the epoch",
        OF_THE_STEP,
        60,
        validation=60,
        fit={"epochs": 8},
        width=64,
    ),
    of_rows(
        "validation in three epochs",
        OF_THE_STEP,
        60,
        validation=60,
        validates=(Stage("repeat", 4),),
        fit={"epochs": 3},
        size=128,
        width=512,
    ),
    of_rows(
        "validation that waits for its input",
        OF_THE_STEP,
        60,
        validation=30,
        validates=(Stage("map", slept(20.0)),),
        fit={"epochs": 6},
    ),
    of_rows(
        "a callback smaller than validation and the rest",
        OF_THE_STEP,
        60,
        validation=12,
        works=(epoch_hook(5.0),),
        fit={"epochs": 12},
    ),
)

OF_COMPILING = (
    Program(
        "a partial batch under XLA",
        COMPILE,
        small_mlp(),
        rows(2403),
        (Stage("batch", 8),),
        times=1,
        compiled=XLA,
        fit={"epochs": 2},
    ),
    Program(
        "lengths that vary under XLA",
        COMPILE,
        sequence_model,
        lengths_that_vary(),
        times=1,
        compiled=XLA,
    ),
    Program(
        "lengths that vary now and then under XLA",
        COMPILE,
        sequence_model,
        lengths_that_vary(20),
        times=1,
        compiled=XLA,
    ),
    Program(
        "lengths that vary under XLA, without a remainder",
        COMPILE,
        sequence_model,
        sequences,
        (Stage("padded_batch", 8, {"drop_remainder": True}), PREFETCH),
        times=1,
        lengths=FOUR_LENGTHS,
        compiled=XLA,
    ),
    Program(
        "every batch of another length",
        COMPILE,
        sequence_model,
        another_length_each_time,
        compiled=XLA,
        traced=True,
    ),
    of_rows("a train function made anew", COMPILE, 200, works=(unfreezes(25),)),
)

OF_THE_MODEL = (
    of_rows("a tiny model", DISPATCH, 640, fit={"epochs": 4}),
    of_rows("a tiny model, 64 rows", DISPATCH, 640, size=64, fit={"epochs": 4}),
    of_rows("a tiny model, 64 wide", DISPATCH, 640, width=64, size=32, fit={"epochs": 4}),
    of_rows("eager", EAGER, 300, compiled={"run_eagerly": True}),
    of_rows("eager, 256 wide", EAGER, 100, compiled={"run_eagerly": True}, width=256, size=64),
    of_rows("float16 on a CPU", COMPUTE, 100, policy="mixed_float16", width=512, size=32),
    Program(
        "convolutions in float16 on a CPU",
        COMPUTE,
        convnet,
        slices(*images(3200, 28)),
        (Stage("batch", 32), PREFETCH),
        compiled={"loss": "sparse_categorical_crossentropy"},
        policy="mixed_float16",
    ),
    of_rows("too short", ("inconclusive",), 15, Stage("map", slept(6.0))),
    Program(
        "healthy",
        COMPUTE,
        small_mlp(1536, features=512),
        rows(256 * 80, 512),
        (Stage("batch", 256), Stage("cache"), PREFETCH),
    ),
)

OF_TRAINING = (*OF_CALLBACKS, *BETWEEN_EPOCHS, *OF_COMPILING, *OF_THE_MODEL)
