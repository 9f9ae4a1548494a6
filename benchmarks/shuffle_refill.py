"""How much of a slow input, and of steps that wait for it, is the filling of a shuffle's buffer.

    python benchmarks/shuffle_refill.py [--rounds 5]

What: `wide_deep_cross_networks` of `followed_programs/`, CSV lines that a map takes apart before
`shuffle(1000)`, with this shuffle and without it: a pass through its batches alone, and an epoch of
`fit`. Printed is a row each: the share of its time until the first batch, or the first step, and
how much of that is the filling; beside them the milliseconds of a batch or a step.

How: passes with the shuffle and without it in turn; the first of each, which traces, is left out.
Shares are medians, and of the same passes; milliseconds are those of the quickest one. What fills
the buffer is the preparing of examples, which is done anyway: it is waited for at the beginning in
place of later.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).parent))

import followed_programs as programs
import keras
import result

PROGRAM = next(each for each in programs.PUBLISHED if each.name == "wide_deep_cross_networks")

Pass = Callable[[], tuple[float, float]]
"""Goes through the data; returns milliseconds of a batch, and the share until the first in %."""


class Epoch(keras.callbacks.Callback):
    """When an epoch began, its first step ended, and it ended."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """The next one."""
        self.begin, self.first = time.perf_counter(), 0.0

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Of the last one `end` stays."""
        self.end = time.perf_counter()
        self.first = self.first or self.end


def batches_alone(program: programs.Program) -> Pass:
    """A pass without training."""
    data = program.dataset().prefetch(2)

    def through() -> tuple[float, float]:
        begin = time.perf_counter()
        batches = iter(data)
        next(batches)
        first = time.perf_counter()
        count = 1 + sum(1 for _ in batches)
        whole = time.perf_counter() - begin
        return 1e3 * whole / count, 100 * (first - begin) / whole

    return through


def steps_of_fit(program: programs.Program) -> Pass:
    """An epoch."""
    model, data, epoch = program.made(), program.dataset(), Epoch()
    steps = int(data.cardinality())

    def through() -> tuple[float, float]:
        model.fit(data, verbose=0, shuffle=False, callbacks=[epoch])
        whole = epoch.end - epoch.begin
        return 1e3 * whole / steps, 100 * (epoch.first - epoch.begin) / whole

    return through


def row(what: str, passes: Callable[[programs.Program], Pass], rounds: int) -> dict[str, Any]:
    """With the shuffle and without it."""
    stages = tuple(stage for stage in PROGRAM.stages if stage.kind != "shuffle")
    both = passes(PROGRAM), passes(replace(PROGRAM, stages=stages))
    taken: tuple[list[tuple[float, float]], ...] = ([], [])
    for number in range(rounds + 1):
        for one, found in zip(both, taken, strict=True):
            measured = one()
            if number:
                found.append(measured)
    ms = [min(ms for ms, _ in found) for found in taken]
    first_pct = [median(pct for _, pct in found) for found in taken]
    return {
        "what": what,
        "with_shuffle_ms": ms[0],
        "first_pct": first_pct[0],
        "without_ms": ms[1],
        "without_first_pct": first_pct[1],
        "filling_pct": first_pct[0] - first_pct[1],
    }


def main() -> None:
    """Prints the table."""
    parser = result.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    result.begin()
    parts = result.Table()
    parts.add(**row("a batch, the input alone", batches_alone, arguments.rounds))
    parts.add(**row("a step of fit", steps_of_fit, arguments.rounds))
    result.keep(arguments.json, parts=parts)


if __name__ == "__main__":
    main()
