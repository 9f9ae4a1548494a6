"""Whether what `try_advice` measured is what the change brings once it is made.

    python benchmarks/tried.py [--only NAME,...] [--budget-s 30]

What: each program of `followed_programs/` whose input is a dataset. `try_advice` is given model
and dataset, with no hint; what it puts together is made for good (its dataset, and a new model that
is compiled as it says), and both programs are trained by `fit`. Printed is a row a
program: what was put together, what it gained on trial with its interval, what it gains in `fit`.
At the end: how many trials lie within ±5 % of the gain in `fit`, how many intervals hold it, and in
how many programs `fit` itself is known to ±5 %.

How: `fit` of one program and of the other in turn, nine rounds; timed are the steps of each `fit`
after its first tenth, by a callback that both have, and the trials too. A pass through the data
comes first, so that caches are filled. A ratio is that of medians, with its 80 % interval
(`fit_low`, `fit_high`): a trial can be no closer to `fit` than `fit` is to itself.
"""

from __future__ import annotations

import gc
import itertools
import math
import os
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).parent))

import keras
import result
import tensorflow as tf
from followed_programs import PROGRAMS, Program, named

import keras_perf as kp
from keras_perf.trials.measuring.in_turn import Pair, pair_of
from keras_perf.trials.measuring.own_iterator import OwnIterator

ROUNDS = 9
SPAN_S = 0.4
"""Seconds of a timed `fit`, about."""

LEAST_EXECUTIONS, MOST_EXECUTIONS = 20, 2000
CLOSE_PCT = 5
MEASURED = "trial", "low", "high", "fit", "fit_low", "fit_high", "off_by_pct"


class Span(keras.callbacks.Callback):
    """Milliseconds a step, without the first tenth of a `fit`."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Another `fit`."""
        self.steps, self.begin, self.done = self.params["steps"] or sys.maxsize, 0.0, 0

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Begins after the first tenth, ends with the last step."""
        if not self.done and batch + 1 >= self.steps / 10:
            self.begin, self.done = time.perf_counter(), batch + 1
        elif batch + 1 >= self.steps:
            self.step_ms = 1e3 * (time.perf_counter() - self.begin) / (batch + 1 - self.done)


@contextmanager
def collector(rests: bool) -> Iterator[None]:
    """As the advice `tune-gc` has it."""
    usual = gc.get_threshold()
    if rests:
        gc.collect()
        gc.freeze()
        gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()


class Trained:
    """A program that is trained again and again."""

    def __init__(self, program: Program, dataset: Any) -> None:
        self.program, self.model = program, program.made()
        self.dataset = dataset.repeat()
        own = OwnIterator(self.dataset)
        for _ in itertools.islice(own.iterator, 1 + max(0, int(dataset.cardinality()))):
            pass
        own.close()
        self.works = [work.make(work.every) for work in program.works]

    def for_a_span(self) -> int:
        """Steps that take about as long as one is to be timed."""
        at_once = self.model.steps_per_execution
        self.step_ms(4 * at_once)
        usual_ms = self.step_ms(LEAST_EXECUTIONS * at_once)
        executions = 1e3 * SPAN_S / usual_ms / at_once
        return at_once * int(min(MOST_EXECUTIONS, max(LEAST_EXECUTIONS, executions)))

    def step_ms(self, steps: int) -> float:
        """In one `fit`."""
        span = Span()
        with collector(self.program.tuned_gc):
            self.model.fit(
                self.dataset,
                steps_per_epoch=steps,
                verbose=0,
                shuffle=False,
                callbacks=[*self.works, span],
            )
        return span.step_ms


def made_for_good(program: Program, changes: Any) -> Program:
    """The program with all changes but those of its dataset."""
    compiled = dict(program.compiled)
    for each in changes:
        if found := re.search(r"(jit_compile|run_eagerly|steps_per_execution)=(\w+)", each.code):
            name, value = found.groups()
            compiled[name] = int(value) if value.isdigit() else value == "True"
    gc_rests = any(each.id == "tune-gc" for each in changes)
    return replace(program, compiled=compiled, tuned_gc=program.tuned_gc or gc_rests)


def in_fit(before: Trained, after: Trained) -> Pair:
    """How many times as fast the second one is, with its interval."""
    pair = before, after
    steps = [each.for_a_span() for each in pair]
    times: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for each, number, taken in zip(pair, steps, times, strict=True):
            taken.append(each.step_ms(number))
    return pair_of(*times)


def row(program: Program, budget_s: float) -> dict[str, Any]:
    """What was put together, and what it gained on trial and in `fit`."""
    dataset = program.dataset()
    callbacks = [*(work.make(work.every) for work in program.works), Span()]
    tried = kp.try_advice(program.made(), dataset, callbacks=callbacks, budget_s=budget_s)
    what = ", ".join(each.id for each in tried.changes)
    cells: dict[str, Any] = {"program": program.name, "together": what or "nothing"}
    total = tried.trials.total
    if total is None:
        return cells | dict.fromkeys(MEASURED, math.nan)
    after = made_for_good(program, tried.changes)
    real = in_fit(Trained(program, dataset), Trained(after, tried.dataset))
    trial = total.gain, total.low, total.high
    off_by_pct = 100 * (total.gain / real.gain - 1)
    found = *trial, real.gain, real.low, real.high, off_by_pct
    return cells | dict(zip(MEASURED, found, strict=True))


def main() -> None:
    """Prints the table."""
    parser = result.parser(__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--budget-s", type=float, default=30.0)
    arguments = parser.parse_args()
    file = arguments.json and arguments.json.absolute()
    warnings.simplefilter("ignore")
    os.chdir(tempfile.mkdtemp())
    result.begin()
    wanted = set(filter(None, named(arguments.only)))
    rows, sums = result.Table(), result.Table()
    for program in PROGRAMS:
        if program.others or (wanted and program.name not in wanted):
            continue
        if isinstance(program.dataset(), tf.data.Dataset):
            rows.add(**row(program, arguments.budget_s))
            keras.backend.clear_session()
            gc.collect()
    put = [each for each in rows if each["together"] != "nothing"]
    sums.add(
        programs=len(rows),
        put_together=len(put),
        within_5_pct=sum(abs(each["off_by_pct"]) <= CLOSE_PCT for each in put),
        interval_holds=sum(each["low"] <= each["fit"] <= each["high"] for each in put),
        fit_known=sum(
            100 * (each["fit_high"] / each["fit_low"] - 1) <= 2 * CLOSE_PCT for each in put
        ),
    )
    result.keep(file, programs=rows, sums=sums)


if __name__ == "__main__":
    main()
