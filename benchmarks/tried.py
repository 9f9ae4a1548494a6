"""Whether what `try_advice` measured is what the change brings once it is made.

    python benchmarks/tried.py [--only NAME,...] [--budget-s 30] [--out FILE]

What: each program of `followed_programs.py` whose input is a dataset. `try_advice` is given model
and dataset, with no hint; what it puts together is made for good (its dataset, and a new model that
is compiled as it says), and both programs are trained by `fit`. Printed, as Markdown, is a row a
program: what was put together, what it gained on trial with its interval, what it gains in `fit`.
At the end: how many trials lie within ±5 % of the gain in `fit`, and how many intervals hold it.

How: `fit` of one program and of the other in turn, five rounds; timed are the steps of each `fit`
after its first tenth, by a callback that both have, and the trials too. A pass through the data
comes first, so that caches are filled. A ratio is that of medians.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import itertools
import os
import platform
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).parent))

import followed_programs as programs
import keras
import tensorflow as tf

import keras_perf as kp
from keras_perf.trials.measuring.own_iterator import OwnIterator

ROUNDS = 5
SPAN_S = 0.6
"""Seconds of a timed `fit`, about."""

LEAST_EXECUTIONS, MOST_EXECUTIONS = 20, 2000
CLOSE = 0.05


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

    def __init__(self, program: programs.Program, dataset: Any) -> None:
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


def made_for_good(program: programs.Program, changes: Any) -> programs.Program:
    """The program with all changes but those of its dataset."""
    compiled = dict(program.compiled)
    for each in changes:
        if found := re.search(r"(jit_compile|run_eagerly|steps_per_execution)=(\w+)", each.code):
            name, value = found.groups()
            compiled[name] = int(value) if value.isdigit() else value == "True"
    gc_rests = any(each.id == "tune-gc" for each in changes)
    return replace(program, compiled=compiled, tuned_gc=program.tuned_gc or gc_rests)


def in_fit(before: Trained, after: Trained) -> float:
    """How many times as fast the second one is."""
    pair = before, after
    steps = [each.for_a_span() for each in pair]
    times: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for each, number, taken in zip(pair, steps, times, strict=True):
            taken.append(each.step_ms(number))
    return median(times[0]) / median(times[1])


def row(program: programs.Program, budget_s: float) -> tuple[list[str], float | None, bool]:
    """Cells; trial against `fit` as a ratio, None where nothing was put together; inside."""
    dataset = program.dataset()
    callbacks = [*(work.make(work.every) for work in program.works), Span()]
    tried = kp.try_advice(program.made(), dataset, callbacks=callbacks, budget_s=budget_s)
    total = tried.trials.total
    if total is None:
        return [program.name, "nothing", "", "", ""], None, True
    after = made_for_good(program, tried.changes)
    real = in_fit(Trained(program, dataset), Trained(after, tried.dataset))
    what = ", ".join(each.id for each in tried.changes)
    measured = f"{total.gain:.2f}× ({total.low:.2f}–{total.high:.2f})"
    inside = total.low <= real <= total.high
    ratio = total.gain / real
    return [program.name, what, measured, f"{real:.2f}×", f"{ratio - 1:+.0%}"], ratio, inside


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--budget-s", type=float, default=30.0)
    parser.add_argument("--out", type=Path, help="also written there")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    os.chdir(tempfile.mkdtemp())
    lines = [
        f"{datetime.date.today()}, {platform.platform()}, {os.cpu_count()} CPUs, "
        f"python {platform.python_version()}, tensorflow {tf.__version__}, "
        f"{arguments.budget_s:.0f} s a program\n",
        "| program | put together | on trial | in fit | difference |",
        "|---|---|---:|---:|---:|",
    ]
    print("\n".join(lines), flush=True)
    wanted = set(filter(None, arguments.only.split(",")))
    ratios, held = [], 0
    for program in (*programs.INJECTED, *programs.PUBLISHED):
        if (wanted and program.name not in wanted) or not isinstance(
            program.dataset(), tf.data.Dataset
        ):
            continue
        cells, ratio, inside = row(program, arguments.budget_s)
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)
        if ratio is not None:
            ratios.append(ratio)
            held += inside
        keras.backend.clear_session()
        gc.collect()
    close = sum(abs(ratio - 1) <= CLOSE for ratio in ratios)
    lines.append(
        f"\n{close} of {len(ratios)} trials within ±5 % of the gain in fit, "
        f"{held} of {len(ratios)} intervals hold it."
    )
    print(lines[-1])
    if arguments.out:
        arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
