"""What happens to somebody who does what the diagnosis says.

    python benchmarks/follow_up.py [--only NAME,...] [--kinds KIND,...] [--busy N] [--pairs N]

What: each program of `followed_programs/` is trained and diagnosed; the first recommendation that a
machine can follow is followed to the letter, and the program trained and diagnosed again, until
nothing is advised that a machine can do, or it has been followed already (a circle: the same to the
letter, or a number that goes to and fro), or for six turns. At each turn the measured gain is put
beside the predicted one and its interval.

Printed is a row a turn: how many turns it took so far, verdict, whether it is right and by what
that is known, advice left to a person, advice followed, whether `compare` sees that it was
(*taken*), predicted gain with its interval, measured gain with the least and the most of the pairs.
At the end, by kind of program: verdicts that are right, gains inside the stated interval and within
±15 %, programs whose advice came to an end, circles, contradictions in reports.

Kinds: programs like the tests' scenarios; variants of them; published examples; programs beside
others that use half of the machine, which are also made by `--busy N`: N processes that count,
beside every program.

How: which verdict is right is known of an injected bottleneck. Of a published program, and after
advice was followed, the input alone and the step alone are measured, and the verdict must not
contradict them where one takes twice as long as the other. A measured gain is the median of three
pairs of runs, before and after in turn, of which the first have also been diagnosed; a program that
has become too short for figures is trained four times as long.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import result
from followed_programs import KINDS, PROGRAMS, Program, kind_of, named
from following.tally import Tally
from following.turns import turns
from under_load import Condition, busy


def chosen(only: str, kinds: str, others: int) -> Iterator[Program]:
    """Programs by name and kind, all of them where nothing is said."""
    names = set(filter(None, named(only)))
    for program in PROGRAMS:
        made = replace(program, others=others) if others else program
        if kind_of(made) in kinds.split(",") and (not names or made.name in names):
            yield made


def counting(program: Program) -> Condition:
    """The machine as this program has it."""
    cores = os.sched_getaffinity(0)
    return Condition(program.name, program.others, cores, cores)


def main() -> None:
    """Prints the tables."""
    parser = result.parser(__doc__)
    parser.add_argument("--only", default="", help="names, with commas but no spaces between")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--busy", type=int, default=0, help="processes that count beside it")
    parser.add_argument("--pairs", type=int, default=3, help="runs before and after a change")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.getLogger("keras_perf").setLevel(logging.ERROR)
    result.begin()
    tallies = {kind: Tally() for kind in KINDS}
    rows, sums = result.Table(), result.Table()
    for program in chosen(arguments.only, arguments.kinds, arguments.busy):
        with tempfile.TemporaryDirectory() as folder, busy(counting(program)):
            tally = tallies[kind_of(program)]
            for row in turns(program, Path(folder), tally, arguments.pairs):
                rows.add(**row)
    for kind, tally in tallies.items():
        if tally.programs:
            sums.add(**tally.row(kind))
    result.keep(arguments.json, turns=rows, sums=sums)


if __name__ == "__main__":
    main()
