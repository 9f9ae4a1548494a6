"""The figures that the documentation states are those of the newest results."""

from __future__ import annotations

import json
import re
from pathlib import Path

import added_to_a_step
import all as every_benchmark
import figures
import pytest
from shown_figures import blocks

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MADE_OF = {"followed_programs", "following", "shown_figures", "trying"}
"""Folders that hold what benchmarks are made of."""

NO_BENCHMARKS = {"all", "result", "figures", "added_to_a_step"} | {
    f"gpu_{each}" for each in ("checks", "comparisons", "figures", "loads", "programs", "traces")
}


def test_every_page_says_what_was_measured_last():
    found = figures.newest()
    wrong = [
        page.name
        for page in figures.pages()
        if (text := page.read_text(encoding="utf-8")) != figures.renewed(text, found)
    ]
    assert not wrong, "python benchmarks/figures.py writes them anew"


def test_a_figure_that_was_changed_by_hand_is_put_right():
    page = "<!-- figures: split -->\nwithin 0.01 ms\n<!-- end of figures -->\nOther text.\n"
    put_right = figures.renewed(page, figures.newest())
    assert "0.01" not in put_right
    assert put_right.endswith("Other text.\n")


def test_every_block_stands_in_a_page():
    text = "\n".join(page.read_text(encoding="utf-8") for page in figures.pages())
    shown = {name for _, name, *_ in figures.BLOCK.findall(text)}
    assert shown == {"in five", *blocks.BLOCKS}


@pytest.mark.parametrize(
    ("inside", "told"), [(44, "**Not reached**: 44 of 50"), (45, "Reached: 45")]
)
def test_an_aim_is_said_to_be_reached_only_where_it_is(inside, told):
    [row, *_] = figures.newest()["follow_up"]["tables"]["sums"]
    sums = [row | {"inside_interval": inside, "gains": 50}]
    found = figures.newest()["follow_up"] | {"tables": {"sums": sums}}
    assert told in blocks.follow_up(found)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"right_verdicts": 94}, "**Not reached**: 94 of 100"),
        ({"right_verdicts": 95}, "Reached: 95 of 100"),
        ({"circles": "a program: cache"}, "**Not reached**: see the table"),
        ({"contradictions": "the parts do not add up"}, "**Not reached**: see the table"),
    ],
)
def test_verdicts_circles_and_contradictions_have_aims(row, told):
    good = {"kind": "scenario", "programs": 100, "right_verdicts": 100}
    good |= {"inside_interval": 9, "gains": 10, "circles": "none", "contradictions": "none"}
    found = figures.newest()["follow_up"] | {"tables": {"sums": [good | row]}}
    assert told in blocks.follow_up(found)


def test_of_pauses_short_steps_are_told_in_milliseconds():
    shares = {"works_30_ms": 50.0, "waits_30_ms": 60.0, "works_3_ms": 20.0, "waits_3_ms": 50.0}
    saved = {f"{name}_saved_pct": pct for name, pct in shares.items()}
    rows = [{"width": 64, "step_ms": 1.0} | saved, {"width": 512, "step_ms": 2.0} | saved]
    long = {"width": 2048, "step_ms": 30.0} | saved
    found = figures.newest()["pauses"] | {"tables": {"saved": [*rows, long]}}
    told = "1.0 to 3.0 ms without its pause of 30 ms, 0.2 to 2.0 ms without its pause of 3 ms."
    assert blocks.pauses(found).endswith(f"A step of 1.0 to 2.0 ms saves {told}")


def test_of_two_results_the_newer_counts(tmp_path):
    for name, at in (("a-2-cores", "2026-11-22T10:00"), ("b-2-cores", "2026-11-21T10:00")):
        text = json.dumps({"benchmarks": {"split": {"at": at}}})
        (tmp_path / f"{name}-{at[:10]}.json").write_text(text)
    assert figures.newest(tmp_path) == {"split": {"at": "2026-11-22T10:00"}}


@pytest.mark.parametrize(
    ("added_us", "least_us", "most_us", "little"),
    [
        (15.0, 12.0, 18.0, True),
        (25.0, 22.0, 28.0, False),
        (15.0, 9.0, 21.0, False),
        (25.0, 19.0, 31.0, False),
        (4.0, -322.0, 330.0, False),
        (4.0, -8.0, 16.0, False),
        (-30.0, -50.0, -10.0, False),
    ],
)
def test_a_figure_of_the_noise_reaches_no_aim(added_us, least_us, most_us, little):
    row = {"added_us": added_us, "least_us": least_us, "most_us": most_us}
    assert blocks.adds_little(row) is little
    without = {"added_us": added_us}
    assert blocks.adds_little(without) is (0 <= added_us <= blocks.AIM_ADDED_US)


def test_what_is_added_is_told_with_its_interval():
    """Of three repeats with two epochs each; in every one of them 10 or 20 more."""
    base = [[100.0, 101.0], [103.0, 104.0], [102.0, 105.0]]
    more = [[epoch + us for epoch in run] for run, us in zip(base, (10, 20, 20), strict=True)]
    rows = added_to_a_step.table({"base": base, "more": more}, "base", same={"base": 1, "more": 0})
    assert [row["epochs"] for row in rows] == [6, 6]
    assert (rows[0]["added_us"], rows[0]["least_us"], rows[0]["most_us"]) == (0, 0, 0)
    assert rows[1]["added_us"] == 122.5 - 102.5
    assert (rows[1]["least_us"], rows[1]["most_us"]) == (10, 20)
    assert rows[1]["same"] == 0


def test_every_benchmark_is_run_by_the_one_command():
    paths = (path.relative_to(BENCHMARKS) for path in BENCHMARKS.rglob("*.py"))
    scripts = {path.stem for path in paths if path.parts[0] not in MADE_OF} - NO_BENCHMARKS
    assert set(every_benchmark.ARGUMENTS) == set(every_benchmark.QUICK) == scripts


def test_results_have_one_shape_and_name_no_host():
    for file in figures.RESULTS.glob("*.json"):
        kept = json.loads(file.read_text(encoding="utf-8"))
        assert kept["schema"] == every_benchmark.SCHEMA
        assert set(kept["machine"]) == {"cpu", "cores"}
        assert re.fullmatch(r"([a-z0-9-]+-cores|nvidia-[a-z0-9-]+)-\d{4}-\d\d-\d\d", file.stem)
        for name, found in kept["benchmarks"].items():
            assert (found["benchmark"], name in every_benchmark.ARGUMENTS) == (name, True)
            assert set(found) == {"benchmark", "command", "at", "platform", "tables"}
            for rows in found["tables"].values():
                assert len({tuple(row) for row in rows}) == 1
