"""How soon the Performance tab shows what one asks for.

    python benchmarks/reading/tab.py [--scalars 1000000] [--runs 50] [--repeats 3]

What: in TensorBoard, with chromium, on a run of a million scalars: from the address to the drawn
timeline; from a key that zooms to the timeline and the machine's lanes of these steps; and, once
the browser has heard that the run has grown, from its question to the drawn page. Then fifty runs
that hold a million scalars together: from the choice to their table, the first time and the next.

How: TensorBoard is started anew for each repeat, so nothing was read before; the event files have
just been written and lie in the page cache. Wall time of browser and server together, which share
the machine's cores, by a clock outside both; median over repeats.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[2] / "tests" / "tab"))

import result
from browsing import RUN, TAB, chromium_of, tensorboard_on
from many_scalars import SCALARS, STEPS, event_file, write_intervals
from playwright.sync_api import Browser, Page, sync_playwright

WINDOW = {"width": 1280, "height": 1000}
WAIT_MS = 120_000
ADDED = 20
"""Intervals by which the run grows."""

FIRST, NEXT = "first screen", "next screen"
"""What the aim of a row is for."""

Times = dict[tuple[str, str], list[float]]
"""What was done, which aim it has → seconds of each repeat."""


@contextmanager
def tab_of(browser: Browser, logs: Path) -> Iterator[tuple[Page, str]]:
    """A TensorBoard of its own, a page that shows nothing yet, and the tab's address."""
    with tensorboard_on(logs, tensorflow=False) as address:
        page = browser.new_page(viewport=WINDOW)
        page.set_default_timeout(WAIT_MS)
        yield page, address + TAB
        page.close()


def says(page: Page, text: str) -> None:
    """Waits until the timeline is drawn and says so."""
    page.locator(".timeline > .quiet", has_text=text).wait_for()
    page.locator(".timeline-canvas svg").wait_for()


def one_run(browser: Browser, logs: Path, grown: bytes, intervals: int, times: Times) -> None:
    """Opened, zoomed, grown."""
    with tab_of(browser, logs) as (page, address):
        begin = time.perf_counter()
        page.goto(address)
        says(page, f"{intervals:,} intervals")
        add(times, "opened: timeline drawn", FIRST, begin)
        page.locator(".timeline-canvas").focus()
        begin = time.perf_counter()
        page.keyboard.press("+")
        says(page, f"{intervals // 2:,} intervals")
        add(times, "zoomed: timeline drawn", NEXT, begin)
        half = f"{intervals * STEPS // 4} {intervals * STEPS * 3 // 4}"
        page.locator(f".plot[data-steps='{half}']").first.wait_for()
        add(times, "zoomed: lanes drawn", NEXT, begin)
        page.keyboard.press("0")
        says(page, f"{intervals:,} intervals")
        begun: list[float] = []
        page.on(
            "request", lambda asked: "/page?" in asked.url and begun.append(time.perf_counter())
        )
        with event_file(logs).open("ab") as file:
            file.write(grown)
        says(page, f"{intervals + ADDED:,} intervals")
        add(times, "grown: page drawn", NEXT, begun[0])


def all_runs(browser: Browser, logs: Path, runs: int, times: Times) -> None:
    """The table, of runs that were not read and of runs that were."""
    with tab_of(browser, logs) as (page, address):
        page.goto(address)
        page.locator("h1").wait_for()
        last = page.locator("table.runs tbody tr").nth(runs - 1)
        for what in ("all runs: table drawn", "all runs again: table drawn"):
            begin = time.perf_counter()
            page.locator(RUN).select_option(label="all runs")
            last.wait_for()
            add(times, what, "", begin)
            page.locator(RUN).select_option("run00")
            page.locator("h1").wait_for()


def add(times: Times, what: str, aim: str, begin: float) -> None:
    """Seconds since then."""
    times.setdefault((what, aim), []).append(time.perf_counter() - begin)


def write_runs(logs: Path, runs: int, intervals: int) -> None:
    """No two of one length."""
    for number in range(runs):
        write_intervals(logs / f"run{number:02}", intervals - number)


def measure(scalars: int, runs: int, repeats: int) -> result.Table:
    """Medians, a row a thing to wait for."""
    intervals, times = scalars // SCALARS, {}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        one, many = Path(folder) / "one", Path(folder) / "many"
        write_intervals(one / "run", intervals)
        write_intervals(Path(folder) / "more", ADDED, intervals)
        grown = event_file(Path(folder) / "more").read_bytes()
        write_runs(many, runs, intervals // runs)
        browser = chromium_of(playwright)
        for _ in range(repeats):
            before = event_file(one).read_bytes()
            one_run(browser, one, grown, intervals, times)
            event_file(one).write_bytes(before)
            all_runs(browser, many, runs, times)
        browser.close()
    rows = result.Table()
    for (what, aim), each in times.items():
        rows.add(what=what, aim=aim, s=statistics.median(each), most_s=max(each), repeats=repeats)
    return rows


def main() -> None:
    """Measures and prints."""
    parser = result.parser(__doc__)
    parser.add_argument("--scalars", type=int, default=1_000_000, help="of the long run")
    parser.add_argument("--runs", type=int, default=50, help="in the table")
    parser.add_argument("--repeats", type=int, default=3, help="at least 1")
    arguments = parser.parse_args()
    result.begin()
    table = measure(arguments.scalars, arguments.runs, arguments.repeats)
    result.keep(arguments.json, waits=table)


if __name__ == "__main__":
    main()
