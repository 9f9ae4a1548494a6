"""Whether what the diagnosis predicts comes true.

    python benchmarks/diagnosis.py [--rounds 3] [--variants] [--only no_prefetch,...]

What: the programs of `tests/scenarios/bottlenecks.py`, each with one bottleneck that was put
there, run as they are and mended as the first recommendation says. Printed are the verdict, the
recommendation, the speed-up it predicted and what `compare` measured, in how many rounds each was
the expected one, and at the end the share of predictions within ±15 % of the measured speed-up.

`--variants` adds each program with other lengths, widths and numbers, which the rules were not
fitted to one by one.

How: as they are and mended in turn, so many rounds; predicted and measured are medians over the
rounds. A recommendation that concerns what lies between epochs is compared on the whole training.
A round whose first recommendation is not the expected one is in no prediction, since the mended
program follows the expected one; such rounds are counted.
"""

from __future__ import annotations

import argparse
import datetime
import logging
import os
import platform
import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "scenarios"))

import bottlenecks
import tensorflow as tf

import keras_perf as kp

CLOSE = 0.15


def measure(
    scenario: bottlenecks.Scenario, rounds: int, variant: Mapping[str, Any]
) -> tuple[list[str], float | None, int]:
    """One row of the table, how far the prediction was off, and rounds with other advice."""
    verdicts, tops, predicted, measured = [], [], [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            before, after = Path(folder, "before"), Path(folder, "after")
            scenario.train(kp.perf_callbacks(before, profiler=scenario.traced), False, **variant)
            found = kp.diagnose(before)
            verdicts.append(found.verdict)
            tops.append(found.recommendations[0].id if found.recommendations else "–")
            if scenario.top is None or tops[-1] != scenario.top:
                continue
            scenario.train(kp.perf_callbacks(after, profiler=False), True, **variant)
            compared = kp.compare(before, after)
            best = found.recommendations[0]
            predicted.append(best.predicted_speedup)
            measured.append(compared.speedup if best.of == "step" else compared.whole_speedup)
    right = sum(v in scenario.verdicts for v in verdicts)
    named = ", ".join(f"{name} {value}" for name, value in variant.items())
    row = [
        f"– {named}" if variant else scenario.name,
        max(set(verdicts), key=verdicts.count),
        f"{right}/{rounds}",
    ]
    row.append(max(set(tops), key=tops.count))
    if scenario.top is None:
        return [*row, "", "", "", ""], None, 0
    row.append(f"{len(predicted)}/{rounds}")
    others = rounds - len(predicted)
    if not predicted:
        return [*row, "", "", ""], None, others
    expected, came = median(predicted), median(measured)
    off = expected / came - 1
    return [*row, f"{expected:.2f}", f"{came:.2f}", f"{off:+.0%}"], off, others


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--variants", action="store_true")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.getLogger("keras_perf").setLevel(logging.ERROR)
    print(
        f"{datetime.date.today()}, {platform.platform()}, {os.cpu_count()} CPUs, "
        f"python {platform.python_version()}, tensorflow {tf.__version__}"
    )
    header = ["scenario", "verdict", "right", "first advice", "right", "predicted", "measured"]
    header += ["off"]
    widths = [34, 16, 7, 27, 7, 11, 10, 7]
    print("".join(h.rjust(w) for h, w in zip(header, widths, strict=True)))
    wanted = set(filter(None, arguments.only.split(",")))
    errors, others = [], 0
    for scenario in bottlenecks.SCENARIOS:
        if wanted and scenario.name not in wanted:
            continue
        for variant in ({}, *(scenario.variants if arguments.variants else ())):
            row, off, other = measure(scenario, arguments.rounds, variant)
            others += other
            print("".join(c.rjust(w) for c, w in zip(row, widths, strict=True)), flush=True)
            if off is not None:
                errors.append(abs(off))
    close = sum(error <= CLOSE for error in errors)
    print(f"{close} of {len(errors)} predictions within ±{CLOSE:.0%} of what was measured")
    if others:
        print(f"{others} rounds had another first recommendation than expected; they are in none")


if __name__ == "__main__":
    main()
