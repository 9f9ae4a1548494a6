"""The turns of a follow-up: what is followed, what ends it, and what it is called."""

from __future__ import annotations

import gc
import json
import logging
import sys
from dataclasses import replace
from types import SimpleNamespace

import follow_up
import pytest
from followed_programs import PROGRAMS
from followed_programs.input_pieces import of_rows
from followed_programs.program import Work
from following import judging, turns
from following.judging import Judged
from following.tally import Tally

from keras_perf.advise.recommendation import Recommendation

WORK = Work("Hook", lambda every: None)
PROGRAM = of_rows("a program", ("callback-bound",), 40, works=(WORK,))


def rarer(advised: int) -> Recommendation:
    evidence = {"owner": "Hook.on_train_batch_end", "advised": advised}
    return Recommendation("amortize-callback", "", "", f"% {advised}", 2.0, 1.5, 2.5, evidence)


BY_A_PERSON = Recommendation("enable-xla", "", "", "jit_compile=True", 3.0, 1.0, 4.0)


def diagnosis(
    *advice: Recommendation, verdict: str = "callback-bound", steps: int = 100, step_ms: float = 1.0
):
    summary = SimpleNamespace(facts=None, step_ms=step_ms, steps=steps)
    return SimpleNamespace(verdict=verdict, recommendations=advice, summary=summary)


@pytest.fixture
def followed(monkeypatch, tmp_path):
    """Runs a follow-up in which every training finds what the script says of it."""
    monkeypatch.setattr(turns, "contradictions", lambda found: ())
    monkeypatch.setattr(turns, "stage_paces", lambda facts: ())
    monkeypatch.setattr(turns, "judged_later", lambda program, found: Judged(True))
    compared = SimpleNamespace(
        speedup=2.0,
        whole_speedup=3.0,
        advice_frame=lambda: {
            "id": ["amortize-callback", "cache", "amortize-callback"],
            "title": ["of another", "", ""],
            "taken": [False, False, True],
        },
    )
    monkeypatch.setattr(turns.kp, "compare", lambda before, after: compared)

    def follow(find, program=PROGRAM, pairs=1):
        trained = []

        def run(program, log_dir):
            trained.append((log_dir.name, program))
            return turns.Run(program, log_dir, find(program))

        monkeypatch.setattr(turns.Run, "of", run)
        tally = Tally()
        rows = list(turns.turns(program, tmp_path, tally, pairs))
        return rows, tally, trained

    return follow


def test_a_follow_up_ends_where_nothing_is_advised(followed):
    def find(program):
        return diagnosis() if program.works[0].every == 20 else diagnosis(rarer(20))

    rows, tally, _ = followed(find)
    assert [row["turns"] for row in rows] == [0, 1]
    assert [row["followed"] for row in rows] == ["amortize-callback", None]
    assert (rows[0]["measured"], rows[0]["taken"], rows[0]["how"]) == (2.0, True, None)
    assert (tally.programs, tally.right, tally.later_right, tally.ended) == (1, 1, 1, 1)
    assert (tally.gains, tally.inside, tally.taken, tally.circles) == (1, 1, 1, [])
    assert not tally.left_to_a_person


def test_before_and_after_are_trained_in_turn_and_the_median_is_measured(followed, monkeypatch):
    gains = {"1": 9.0, "1 pair 1/after": 1.5, "1 pair 2/after": 2.5}
    told = turns.kp.compare(None, None)

    def compare(before, after):
        place = "/".join(after.parts[-2:]) if "pair" in str(after) else after.name
        return SimpleNamespace(**{**vars(told), "speedup": gains[place]})

    monkeypatch.setattr(turns.kp, "compare", compare)

    def find(program):
        return diagnosis() if program.works[0].every == 20 else diagnosis(rarer(20))

    rows, tally, trained = followed(find, pairs=3)
    assert [rows[0][name] for name in ("measured", "least", "most")] == [2.5, 1.5, 9.0]
    in_turn = [(name, program.works[0].every) for name, program in trained]
    assert in_turn == [("0", 1), ("1", 20), *[("before", 1), ("after", 20)] * 2]
    assert tally.gains == 1


def test_a_number_that_goes_to_and_fro_is_a_circle(followed):
    rows, tally, _ = followed(
        lambda program: diagnosis(rarer({1: 20, 20: 5}.get(program.works[0].every, 30)))
    )
    assert rows[-1]["how"] == "advised again"
    assert tally.circles == ["a program: amortize-callback"]
    assert not tally.ended


def test_advice_that_can_be_followed_only_once_is_a_circle_if_it_comes_again(followed):
    stable = Recommendation(
        "stable-shapes", "", "", "keep it", 2.0, 1.5, 2.5, {"function_replacements": 7}
    )
    rebuilds = replace(PROGRAM, works=(replace(WORK, rebuilds=True),))
    rows, tally, _ = followed(lambda program: diagnosis(BY_A_PERSON, stable), rebuilds)
    assert [row["how"] for row in rows] == [None, "advised again"]
    assert tally.circles == ["a program: stable-shapes"]


def test_advice_without_an_end_is_said_to_have_none(followed):
    rows, tally, _ = followed(lambda program: diagnosis(rarer(20 * program.works[0].every)))
    assert rows[-1]["how"] == f"no end after {turns.MOST_TURNS} turns"
    assert len(rows) == turns.MOST_TURNS + 1
    assert not tally.ended
    assert not tally.circles


def test_the_next_advice_is_followed_where_the_first_needs_a_person(followed):
    def find(program):
        more = () if program.works[0].every > 1 else (rarer(20),)
        return diagnosis(BY_A_PERSON, *more)

    rows, tally, _ = followed(find)
    assert [row["left_to_a_person"] for row in rows] == ["enable-xla", "enable-xla"]
    assert [row["followed"] for row in rows] == ["amortize-callback", None]
    assert tally.ended == 1


def test_advice_that_pays_only_after_another_is_not_taken_before_it(followed):
    after = replace(rarer(20), speedup_after_others=2.0)
    rows, tally, _ = followed(lambda program: diagnosis(BY_A_PERSON, after))
    assert rows[0]["left_to_a_person"] == "enable-xla, amortize-callback"
    assert rows[0]["followed"] is None
    assert tally.left_to_a_person == 1


def test_a_program_that_has_become_too_short_is_trained_longer_before_and_after(followed):
    def find(program):
        if program.works[0].every == 1:
            return diagnosis(rarer(20))
        return diagnosis(steps=100 if program.times > 1 else 0)

    rows, tally, trained = followed(find)
    assert [name for name, _ in trained] == ["0", "1", "1 longer", "1 before"]
    assert {program.times for _, program in trained[2:]} == {4}
    assert tally.gains == 1
    assert len(rows) == 2


def test_an_inconclusive_run_is_followed_by_a_longer_one(followed):
    def find(program):
        if program.works[0].every == 1:
            return diagnosis(rarer(20))
        return diagnosis(verdict="compute-bound" if program.times > 1 else "inconclusive")

    rows, _, trained = followed(find)
    assert [name for name, _ in trained] == ["0", "1", "1 longer"]
    assert rows[-1]["verdict"] == "compute-bound"


def test_a_program_that_stays_too_short_is_said_to(followed):
    fixed = replace(PROGRAM, times=0)

    def find(program):
        return diagnosis(rarer(20)) if program.works[0].every == 1 else diagnosis(steps=0)

    rows, tally, _ = followed(find, fixed)
    assert [row["how"] for row in rows] == ["too short to measure"]
    assert not tally.gains


@pytest.mark.parametrize(
    ("verdict", "input_ms", "step_ms", "right", "known_by"),
    [
        ("input-bound", 5.0, 2.0, True, "input"),
        ("compute-bound", 5.0, 2.0, False, "input"),
        ("inconclusive", 5.0, 2.0, False, "input"),
        ("dispatch-bound", 2.0, 5.0, True, "step"),
        ("input-bound", 2.0, 5.0, False, "step"),
        ("input-bound", 2.0, 3.0, True, "either"),
        ("compile-bound", 2.0, 3.0, False, "either"),
    ],
)
def test_a_verdict_is_judged_by_input_and_step_alone(
    monkeypatch, verdict, input_ms, step_ms, right, known_by
):
    monkeypatch.setattr(judging, "alone", lambda *_: (input_ms, step_ms))
    measured = replace(PROGRAM, verdicts=())
    found = judging.judged_first(measured, diagnosis(verdict=verdict))
    assert (found.right, found.known_by) == (right, known_by)
    assert (found.input_ms, found.step_ms) == (input_ms, step_ms)


@pytest.mark.parametrize(("gain", "right"), [(1.2, True), (1.02, False)])
def test_a_callback_bound_program_is_quicker_without_its_callbacks(monkeypatch, gain, right):
    took = {1: gain, 0: 1.0}
    monkeypatch.setattr(judging, "_training_s", lambda program: took[len(program.works)])
    found = judging.judged_first(replace(PROGRAM, verdicts=()), diagnosis())
    assert (found.right, found.known_by) == (right, f"without callbacks {gain:.2f}×")


@pytest.mark.parametrize(
    ("verdict", "step_ms", "alone_ms", "right"),
    [
        ("input-bound", 5.0, (5.0, 1.0), True),
        ("compute-bound", 5.0, (5.0, 1.0), False),
        ("compute-bound", 1.0, (0.2, 1.0), True),
        ("input-bound", 1.0, (0.2, 1.0), False),
        ("input-bound", 1.0, (0.2, 0.8), None),
        ("compute-bound", 1.0, (0.8, 1.0), None),
        ("compute-bound", 3.0, (5.0, 1.0), None),
        ("callback-bound", 5.0, (5.0, 1.0), None),
        ("inconclusive", 5.0, (5.0, 1.0), None),
    ],
)
def test_a_later_verdict_is_judged_only_where_what_is_clearly_longer_fits_the_step(
    monkeypatch, verdict, step_ms, alone_ms, right
):
    monkeypatch.setattr(judging, "alone", lambda *_: alone_ms)
    found = diagnosis(verdict=verdict, step_ms=step_ms)
    assert judging.judged_later(PROGRAM, found).right is right


def test_a_later_step_that_is_still_run_eagerly_is_judged_by_that(monkeypatch):
    eager = replace(PROGRAM, compiled={"run_eagerly": True})
    assert judging.judged_later(eager, diagnosis(verdict="eager-bound")).right
    assert judging.judged_later(eager, diagnosis(verdict="compute-bound")).right is False


@pytest.fixture
def main(monkeypatch, tmp_path):
    """The benchmark on these programs; what it finds."""
    log = logging.getLogger("keras_perf")
    level, kept = log.level, tmp_path / "kept.json"

    def run(*programs, arguments=()):
        monkeypatch.setattr(follow_up, "PROGRAMS", programs)
        monkeypatch.setattr(sys, "argv", ["follow_up.py", "--json", str(kept), *arguments])
        follow_up.main()
        return json.loads(kept.read_text(encoding="utf-8"))["tables"]

    yield run
    log.setLevel(level)
    gc.unfreeze()


@pytest.mark.whole
def test_two_programs_are_followed_to_their_ends(main):
    eager = of_rows("steps one by one", ("eager-bound",), 60, compiled={"run_eagerly": True})
    [short] = [each for each in PROGRAMS if each.name == "too short"]
    found = main(eager, short)
    first, *later, last = found["turns"]
    assert (first["verdict"], first["right"], first["known_by"]) == (
        "eager-bound",
        True,
        "put there",
    )
    assert (first["followed"], first["taken"]) == ("disable-run-eagerly", True)
    assert first["low"] <= first["predicted"] <= first["high"]
    assert first["measured"] > 0
    assert [row["turns"] for row in later] == list(range(1, 1 + len(later)))
    assert (last["program"], last["turns"]) == ("too short", 0)
    assert (last["verdict"], last["followed"]) == ("inconclusive", None)
    kinds = {row["kind"]: row for row in found["sums"]}
    assert set(kinds) == {"scenario", "variant"}
    for row in kinds.values():
        assert (row["programs"], row["right_verdicts"]) == (1, 1)
        assert row["contradictions"] == "none"
    assert kinds["scenario"]["ended"] == 1


def test_programs_beside_others_are_told_apart(main):
    [short] = [each for each in PROGRAMS if each.name == "too short"]
    found = main(short, arguments=["--busy", "1"])
    assert [row["kind"] for row in found["sums"]] == ["beside others"]
    assert [row["verdict"] for row in found["turns"]] == ["inconclusive"]
