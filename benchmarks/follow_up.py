"""What happens to somebody who does what the diagnosis says.

    python benchmarks/follow_up.py [--only NAME,...] [--kinds injected,published]

What: each program of `followed_programs.py` is trained and diagnosed; the first recommendation is
followed to the letter, and the program trained and diagnosed again, until nothing is advised, what
is advised cannot be applied by a machine, or it has been followed already (a circle). At each turn
the measured gain is put beside the predicted one and its interval.

Printed is a row a turn: verdict, whether it is right, advice, predicted gain with
its interval, measured gain, and what the report contradicts itself in. At the end: verdicts that
are right, gains inside the stated interval and within ±15 %, circles, contradictions; for injected
and published programs apart.

How: which verdict is right is known of an injected bottleneck. Of a published program the input
alone and the step alone are measured, and the verdict must not contradict them where one takes
twice as long as the other. A measured gain is that of one run before and one after.
"""

from __future__ import annotations

import gc
import logging
import math
import os
import sys
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import result
from contradictions import contradictions
from followed_programs import INJECTED, PUBLISHED, Program, followed, named

import keras_perf as kp
from keras_perf.analyse.stage_paces import stage_paces

CLOSE = 0.15
CLEARLY = 2.0
MOST_TURNS = 6
EAGER = {"run_eagerly": True}


@dataclass
class Tally:
    """What came of some programs."""

    verdicts: int = 0
    right: int = 0
    gains: int = 0
    inside: int = 0
    close: int = 0
    circles: list[str] = field(default_factory=list)
    contradictions: list[str] = field(default_factory=list)

    def row(self, kind: str) -> dict[str, Any]:
        """What it came to."""
        return {
            "kind": kind,
            "programs": self.verdicts,
            "right_verdicts": self.right,
            "gains": self.gains,
            "inside_interval": self.inside,
            "within_15_pct": self.close,
            "circles": ", ".join(self.circles) or "none",
            "contradictions": "; ".join(self.contradictions) or "none",
        }


def diagnosed(program: Program, log_dir: Path) -> kp.Diagnosis:
    """Trains once; what earlier trainings have left is not searched for garbage."""
    gc.collect()
    gc.freeze()
    traced = bool(program.compiled.get("run_eagerly"))
    program.train(kp.perf_callbacks(log_dir, profiler=traced))
    return kp.diagnose(log_dir)


def is_right(program: Program, found: kp.Diagnosis) -> bool:
    """The verdict is one that is known to be, or does not contradict what is measured apart."""
    if program.verdicts:
        return found.verdict in program.verdicts
    data = program.dataset()
    input_ms = float(kp.benchmark_input_pipeline(data, batches=60)["batch_ms"].median())
    trained = kp.benchmark_train_step(program.made(), next(iter(data)), steps=60)
    step_ms = float(trained["step_ms"].median())
    if found.verdict == "callback-bound":
        return bool(program.works)
    if input_ms > CLEARLY * step_ms:
        return found.verdict == "input-bound"
    if step_ms > CLEARLY * input_ms:
        return found.verdict in ("compute-bound", "dispatch-bound", "inconclusive")
    return True


def turns(program: Program, folder: Path, tally: Tally) -> Iterator[dict[str, Any]]:
    """Rows of the table."""
    found = diagnosed(program, folder / "0")
    right = is_right(program, found)
    tally.verdicts += 1
    tally.right += right
    done: set[tuple[str, str]] = set()
    for turn in range(1, MOST_TURNS + 1):
        tally.contradictions += [f"{program.name}: {each}" for each in contradictions(found)]
        row: dict[str, Any] = {
            "program": program.name if turn == 1 else "",
            "step_ms": found.summary.step_ms,
            "verdict": found.verdict,
            "right": right if turn == 1 else None,
            **dict.fromkeys(("followed", "how")),
            **dict.fromkeys(("predicted", "low", "high", "measured"), math.nan),
        }
        advice = found.recommendations[0] if found.recommendations else None
        if advice is None:
            yield row
            return
        named = advice.id, advice.action
        row["followed"] = advice.id
        if named in done:
            tally.circles.append(f"{program.name}: {advice.id}")
            yield row | {"how": "advised again"}
            return
        done.add(named)
        stages = [pace.name for pace in stage_paces(found.summary.facts)]
        changed = followed(program, advice, stages)
        predicted = advice.speedup_after_others or advice.predicted_speedup
        row |= {"predicted": predicted, "low": advice.low, "high": advice.high}
        if changed is None:
            yield row | {"how": "by a person"}
            return
        after = diagnosed(changed, folder / str(turn))
        if not after.summary.steps:
            yield row | {"how": "too short to measure"}
            return
        compared = kp.compare(folder / str(turn - 1), folder / str(turn))
        gain = compared.speedup if advice.of == "step" else compared.whole_speedup
        inside = advice.low <= gain <= advice.high
        tally.gains += 1
        tally.inside += inside
        tally.close += abs(predicted / gain - 1) <= CLOSE
        yield row | {"measured": gain, "how": "" if inside else "outside"}
        program, found = changed, after


def main() -> None:
    """Prints the table."""
    parser = result.parser(__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--kinds", default="injected,published")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.getLogger("keras_perf").setLevel(logging.ERROR)
    result.begin()
    wanted = set(filter(None, named(arguments.only)))
    tallies: dict[str, Tally] = defaultdict(Tally)
    rows, sums = result.Table(), result.Table()
    for kind, programs in (("injected", INJECTED), ("published", PUBLISHED)):
        for program in programs if kind in arguments.kinds.split(",") else ():
            if wanted and program.name not in wanted:
                continue
            with tempfile.TemporaryDirectory() as folder:
                for row in turns(program, Path(folder), tallies[kind]):
                    rows.add(**row)
    for kind, tally in tallies.items():
        sums.add(**tally.row(kind))
    result.keep(arguments.json, turns=rows, sums=sums)


if __name__ == "__main__":
    main()
