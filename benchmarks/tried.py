"""Whether what `try_advice` measured is what the change brings once it is made.

    python benchmarks/tried.py [--only NAME,...] [--budget-s 30] [--within-s S]

What: each program of `followed_programs/` whose input is a dataset. It is trained and diagnosed
once, for what the model of a step predicts. Then `try_advice` is given model and dataset, with no
hint; what it puts together is made for good (its dataset, and a new model that is compiled as it
says). The program is also mended by hand in a few ways that leave weights and elements as they are
(`trying/mended.py`), of which the fastest counts. All three are trained by `fit`. Printed is a row
a program: what was put together, what the model predicts of it, what it gained on trial with its
interval, what it gains in `fit`; how the best mended program is written, and what share of its
speed the program has that `try_advice` made (`of_best`).

At the end: how many predictions and how many trials lie within ±5 % and ±15 % of the gain in `fit`,
how many intervals hold it, in how many programs `fit` itself is known to ±5 %, and how many reach
0.95 of the best mended program's speed. Nothing is predicted of changes that are not all advised.

How: `fit` of the programs in turn, nine rounds; timed are the steps of each `fit` after its first
tenth, by a callback that all have, and the trials too. A pass through the data comes first, so that
caches are filled. A ratio is that of medians, with its 80 % interval (`fit_low`, `fit_high`): a
trial can be no closer to `fit` than `fit` is to itself.

With --within-s no program is begun after so many seconds; with the same --json FILE another call
goes on with those that FILE lacks.
"""

from __future__ import annotations

import gc
import json
import math
import os
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parent))

import keras
import result
import tensorflow as tf
from followed_programs import PROGRAMS, Program, named
from following.turns import Run
from trying.in_turn import Span, Trained, in_fit
from trying.mended import best_mended
from trying.predicted import predicted

import keras_perf as kp
from keras_perf.trials.measuring.in_turn import pair_of

CLOSE_PCT = 5, 15
OF_BEST = 0.95


def made_for_good(program: Program, changes: Any) -> Program:
    """The program with all changes but those of its dataset."""
    compiled = dict(program.compiled)
    for each in changes:
        if found := re.search(r"(jit_compile|run_eagerly|steps_per_execution)=(\w+)", each.code):
            name, value = found.groups()
            compiled[name] = int(value) if value.isdigit() else value == "True"
    gc_rests = any(each.id == "tune-gc" for each in changes)
    return replace(program, compiled=compiled, tuned_gc=program.tuned_gc or gc_rests)


def row(program: Program, budget_s: float) -> dict[str, Any]:
    """What was put together, predicted of it, and gained on trial and in `fit`."""
    dataset = program.dataset()
    with tempfile.TemporaryDirectory() as folder:
        found = Run.of(program, Path(folder)).found
    # Else the collector would rest already.
    gc.unfreeze()
    callbacks = [*(work.make(work.every) for work in program.works), Span()]
    tried = kp.try_advice(program.made(), dataset, callbacks=callbacks, budget_s=budget_s)
    what, total = [each.id for each in tried.changes], tried.trials.total
    best, mended = best_mended(program)
    after = Trained(made_for_good(program, tried.changes), tried.dataset)
    before_ms, after_ms, best_ms = in_fit(Trained(program, dataset), after, mended)
    real, of_best = pair_of(before_ms, after_ms), pair_of(best_ms, after_ms)
    nothing = total is None
    of_trial = (math.nan,) * 3 if total is None else (total.gain, total.low, total.high)
    return {
        "program": program.name,
        "together": ", ".join(what) or "nothing",
        "predicted": predicted(found, what),
        **dict(zip(("trial", "low", "high"), of_trial, strict=True)),
        "fit": math.nan if nothing else real.gain,
        "fit_low": math.nan if nothing else real.low,
        "fit_high": math.nan if nothing else real.high,
        "off_by_pct": 100 * (of_trial[0] / real.gain - 1),
        "best_mended": best.how,
        "of_best": of_best.gain,
        "of_best_low": of_best.low,
        "of_best_high": of_best.high,
    }


def close(rows: list[Any], key: str, pct: float) -> int:
    """Of how many programs this is so near to the gain in `fit`."""
    return sum(_is(each[key]) and abs(each[key] / each["fit"] - 1) <= pct / 100 for each in rows)


def _is(value: float | None) -> bool:
    """It was measured; a file has nothing in place of NaN."""
    return value is not None and not math.isnan(value)


def sums(rows: list[Any]) -> dict[str, int]:
    """What all of it came to."""
    put = [each for each in rows if each["together"] != "nothing"]
    five, fifteen = CLOSE_PCT
    return {
        "programs": len(rows),
        "put_together": len(put),
        "within_5_pct": close(put, "trial", five),
        "within_15_pct": close(put, "trial", fifteen),
        "interval_holds": sum(each["low"] <= each["fit"] <= each["high"] for each in put),
        "fit_known": sum(
            100 * (each["fit_high"] / each["fit_low"] - 1) <= 2 * five for each in put
        ),
        "predicted": sum(_is(each["predicted"]) for each in put),
        "predicted_within_5_pct": close(put, "predicted", five),
        "predicted_within_15_pct": close(put, "predicted", fifteen),
        "reach_best": sum(each["of_best"] >= OF_BEST for each in rows),
        "below_best": sum(each["of_best_high"] < OF_BEST for each in rows),
    }


def chosen(only: str, done: set[str]) -> Iterator[Program]:
    """Programs of a dataset, that nothing runs beside, which are not done yet."""
    wanted = set(filter(None, named(only)))
    for program in PROGRAMS:
        left_out = program.others or program.name in done
        if left_out or (wanted and program.name not in wanted):
            continue
        if isinstance(program.dataset(), tf.data.Dataset):
            yield program


def before(file: Path | None) -> list[dict[str, Any]]:
    """Rows of an earlier call that the file holds."""
    if file is None or not file.exists():
        return []
    kept: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["tables"]["programs"]
    return kept


def main() -> None:
    """Prints the table."""
    parser = result.parser(__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--budget-s", type=float, default=30.0)
    parser.add_argument("--within-s", type=float, default=math.inf)
    arguments = parser.parse_args()
    file = arguments.json and arguments.json.absolute()
    warnings.simplefilter("ignore")
    os.chdir(tempfile.mkdtemp())
    result.begin()
    rows, ends = result.Table(), time.monotonic() + arguments.within_s
    for each in before(file):
        rows.add(**each)
    for program in chosen(arguments.only, {str(each["program"]) for each in rows}):
        if time.monotonic() > ends:
            print(f"\nStopped before {program.name}: {arguments.within_s:.0f} s are over.")
            break
        rows.add(**row(program, arguments.budget_s))
        keras.backend.clear_session()
        gc.collect()
    total = result.Table()
    total.add(**sums(rows))
    result.keep(file, programs=rows, sums=total)


if __name__ == "__main__":
    main()
