"""How much of a slow input, and of steps that wait for it, is the filling of a shuffle's buffer.

    python benchmarks/shuffle_refill.py [--rounds 7]

What: `wide_deep_cross_networks` of `followed_programs.py`, CSV lines that a map takes apart before
`shuffle(1000)`, with this shuffle and without it: the wait for the first batch of a pass, shared
among its batches; its batches alone, the first included; the steps of `fit`, with all that an epoch
takes. Printed is a row each: milliseconds of a batch or of a step, and the share that goes without
the shuffle. What fills the buffer is the preparing of examples, which is done anyway: a pass alone
takes hardly longer, and `fit` by what it does not compute meanwhile.

How: passes with the shuffle and without it in turn; the first of each, which traces, is left out.
A figure is that of the quickest pass, which others on the machine slow least.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).parent))

import followed_programs as programs
import result

PROGRAM = next(each for each in programs.PUBLISHED if each.name == "wide_deep_cross_networks")
EPOCHS = 2

Pass = Callable[[], float]


def batches_alone(program: programs.Program) -> Pass:
    """Milliseconds of a batch in one pass through the data."""
    data = program.dataset().prefetch(2)

    def batch_ms() -> float:
        begin = time.perf_counter()
        count = sum(1 for _ in data)
        return 1e3 * (time.perf_counter() - begin) / count

    return batch_ms


def first_batch(program: programs.Program) -> Pass:
    """Milliseconds until the first batch, for each batch of a pass."""
    data = program.dataset().prefetch(2)

    def batch_ms() -> float:
        begin = time.perf_counter()
        next(iter(data))
        return 1e3 * (time.perf_counter() - begin) / int(data.cardinality())

    return batch_ms


def steps_of_fit(program: programs.Program) -> Pass:
    """Milliseconds of a step in some epochs."""
    model, data = program.made(), program.dataset()
    steps = EPOCHS * int(data.cardinality())

    def step_ms() -> float:
        begin = time.perf_counter()
        model.fit(data, epochs=EPOCHS, verbose=0, shuffle=False)
        return 1e3 * (time.perf_counter() - begin) / steps

    return step_ms


def row(what: str, passes: Callable[[programs.Program], Pass], rounds: int) -> dict[str, Any]:
    """With the shuffle and without it."""
    stages = tuple(stage for stage in PROGRAM.stages if stage.kind != "shuffle")
    both = passes(PROGRAM), passes(replace(PROGRAM, stages=stages))
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds + 1):
        for one, taken in zip(both, times, strict=True):
            ms = one()
            if number:
                taken.append(ms)
    shuffled_ms, without_ms = map(min, times)
    filling_ms = shuffled_ms - without_ms
    return {
        "what": what,
        "with_shuffle_ms": shuffled_ms,
        "without_ms": without_ms,
        "filling_ms": filling_ms,
        "filling_pct": 100 * filling_ms / shuffled_ms,
    }


def main() -> None:
    """Prints the table."""
    parser = result.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    result.begin()
    parts = result.Table()
    parts.add(**row("the first batch, the input alone", first_batch, arguments.rounds))
    parts.add(**row("a batch, the input alone", batches_alone, arguments.rounds))
    parts.add(**row("a step of fit", steps_of_fit, arguments.rounds))
    result.keep(arguments.json, parts=parts)


if __name__ == "__main__":
    main()
