"""One program, whose advice is followed until there is none."""

from __future__ import annotations

import gc
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from contradictions import contradictions
from followed_programs.program import Program

import keras_perf as kp
from following.followed import Trail, followed, lengthened
from following.judging import judged_first, judged_later
from following.tally import Tally
from keras_perf.analyse.stage_paces import stage_paces

MOST_TURNS = 6
FIGURES = "predicted", "low", "high", "measured", "least", "most"


@dataclass(frozen=True)
class Run:
    """A program that was trained once."""

    program: Program
    log_dir: Path
    found: kp.Diagnosis = field(repr=False)

    @classmethod
    def of(cls, program: Program, log_dir: Path) -> Run:
        """Trains; what earlier trainings have left is not searched for garbage."""
        gc.collect()
        gc.freeze()
        traced = program.traced or bool(program.compiled.get("run_eagerly"))
        program.train(kp.perf_callbacks(log_dir, profiler=traced, summary=False))
        return cls(program, log_dir, kp.diagnose(log_dir))

    @property
    def measured(self) -> bool:
        """Steps were, after the warm-up."""
        return self.found.summary.steps > 0

    @property
    def says_little(self) -> bool:
        """It was too short for a verdict, and can be longer."""
        thin = not self.measured or self.found.verdict == "inconclusive"
        return thin and self.program.times > 0

    def next(self, trail: Trail) -> tuple[Any, Program | None, list[str]]:
        """The first advice that a machine can follow, the program with it, ids left to a person.

        Of advice that pays only once another is followed none is taken out of its turn; what was
        followed already comes without a program.
        """
        stages = [pace.name for pace in stage_paces(self.found.summary.facts)]
        left: list[str] = []
        for advice in self.found.recommendations:
            if trail.leads_back(advice):
                return advice, None, left
            alone = not left or advice.speedup_after_others is None
            changed = followed(self.program, advice, stages) if alone else None
            if changed is not None:
                return advice, changed, left
            left.append(advice.id)
        return None, None, left


def turns(program: Program, folder: Path, tally: Tally, pairs: int) -> Iterator[dict[str, Any]]:
    """Rows of the table.

    Arguments:
        program: that is followed.
        folder: for its runs.
        tally: of its kind.
        pairs: runs before and after each change, in turn, whose median gain is the measured one.
    """
    run, trail = Run.of(program, folder / "0"), Trail()
    for turn in range(MOST_TURNS + 1):
        row = _begun(run, turn, tally)
        advice, changed, left = run.next(trail)
        row["left_to_a_person"] = ", ".join(left) or None
        if advice is None:
            tally.end(left=bool(left))
            yield row
            return
        row |= {"followed": advice.id, **_predicted(advice)}
        if changed is None:
            tally.circles.append(f"{program.name}: {advice.id}")
            yield row | {"how": "advised again"}
            return
        if turn == MOST_TURNS:
            yield row | {"how": f"no end after {MOST_TURNS} turns"}
            return
        trail.add(advice)
        before, after, following = _trained(run, changed, folder / str(turn + 1))
        if not after.measured:
            yield row | {"how": "too short to measure"}
            return
        yield row | _compared(before, after, advice, tally, pairs)
        run = following


def _begun(run: Run, turn: int, tally: Tally) -> dict[str, Any]:
    """What there is before advice is followed."""
    program, found = run.program, run.found
    tally.contradictions += [f"{program.name}: {each}" for each in contradictions(found)]
    judged = judged_later(program, found) if turn else judged_first(program, found)
    tally.judge(judged.right, later=turn > 0)
    return {
        "program": "" if turn else program.name,
        "turns": turn,
        "step_ms": found.summary.step_ms,
        "verdict": found.verdict,
        **judged.cells,
        **dict.fromkeys(("left_to_a_person", "followed", "taken", "how")),
        **dict.fromkeys(FIGURES, math.nan),
    }


def _trained(run: Run, changed: Program, log_dir: Path) -> tuple[Run, Run, Run]:
    """Before and after the change, as long as each other; and what is gone on with.

    A program that has become too short is trained on more data: both of a pair where the second
    would have no figures, and what follows in any case.
    """
    after = following = Run.of(changed, log_dir)
    longer = lengthened(changed)
    if after.says_little and longer is not None:
        following = Run.of(longer, log_dir.with_name(f"{log_dir.name} longer"))
    if after.measured or following is after:
        return run, after, following
    before = lengthened(run.program)
    if before is None:
        return run, after, following
    return Run.of(before, log_dir.with_name(f"{log_dir.name} before")), following, following


def _compared(before: Run, after: Run, advice: Any, tally: Tally, pairs: int) -> dict[str, Any]:
    """Predicted, measured, and whether the tool sees that its advice was followed."""
    compared = kp.compare(before.log_dir, after.log_dir)
    gains = [_gain(compared, advice)]
    for number in range(1, pairs):
        pair = Path(f"{after.log_dir} pair {number}")
        first, second = (
            Run.of(run.program, pair / name) for name, run in (("before", before), ("after", after))
        )
        if first.measured and second.measured:
            gains.append(_gain(kp.compare(first.log_dir, second.log_dir), advice))
    gain = median(gains)
    predicted = _predicted(advice)["predicted"]
    inside, taken = advice.low <= gain <= advice.high, _taken(compared, advice)
    tally.gain(predicted, inside=inside, measured=gain, taken=taken is True)
    return {
        "measured": gain,
        "least": min(gains),
        "most": max(gains),
        "taken": taken,
        "how": None if inside else "outside",
    }


def _gain(compared: kp.Comparison, advice: Any) -> float:
    """Of what the advice is about."""
    return compared.speedup if advice.of == "step" else compared.whole_speedup


def _predicted(advice: Any) -> dict[str, float]:
    """Of the advice alone, or once what was before it is done."""
    gain = advice.speedup_after_others or advice.predicted_speedup
    return {"predicted": gain, "low": advice.low, "high": advice.high}


def _taken(compared: kp.Comparison, advice: Any) -> bool | None:
    """As the comparison tells; None where it does not, or the longer run was advised another."""
    frame = compared.advice_frame()
    given = zip(frame["id"], frame["title"], frame["taken"], strict=True)
    found = [taken for id, title, taken in given if (id, title) == (advice.id, advice.title)]
    return None if not found or found[0] is None else bool(found[0])
