"""A run of a million scalars in the tab, and fifty runs: only what is new is read and told."""

import shutil

import pytest
from answers import parts_of
from browsing import RUN, TAB, tensorboard_on
from many_scalars import SCALARS, STEPS, event_file, write_intervals

from keras_perf.read import file_content
from keras_perf.report.page.plots import lane_plot
from keras_perf.tab import shown_runs

pytestmark = [pytest.mark.xdist_group("a browser"), pytest.mark.whole]

INTERVALS = 1_000_000 // SCALARS
ADDED = 20
RUNS = 50


@pytest.fixture(scope="module")
def million(tmp_path_factory):
    """A run of a million scalars that nobody may change, and what it may grow by."""
    folder = tmp_path_factory.mktemp("million")
    write_intervals(folder / "run", INTERVALS)
    write_intervals(folder / "more", ADDED, INTERVALS)
    return event_file(folder / "run"), event_file(folder / "more").read_bytes()


@pytest.fixture
def logs(million, tmp_path):
    """A copy that may grow."""
    folder = tmp_path / "run" / "perf"
    folder.mkdir(parents=True)
    shutil.copy(million[0], folder)
    return tmp_path


@pytest.fixture
def bytes_read(monkeypatch):
    """How many of each reading of a file."""
    read, bytes_from = [], file_content.bytes_from

    def counted(path, begin):
        data = bytes_from(path, begin)
        read.append(len(data))
        return data

    monkeypatch.setattr(file_content, "bytes_from", counted)
    monkeypatch.setattr(shown_runs, "FRESH_S", 0.0)
    return read


def test_a_screen_shows_no_more_columns_than_it_has_and_the_next_one_reads_nothing(
    tab, logs, bytes_read
):
    ask = tab(logs)
    ask("/page", run="run")
    assert bytes_read == [event_file(logs).stat().st_size]
    whole = ask("/steps", run="run", columns=10**9).json
    assert whole["intervals"] == INTERVALS
    assert len(whole["columns"]["mean"]) == 2_000
    near = ask("/steps", run="run", **{"from": 100_000, "to": 100_500}).json
    assert (near["exact"], near["intervals"]) == (True, 500 // STEPS)
    lanes = ask("/lanes", run="run", **{"from": 100_000, "to": 200_000})
    lines = [attributes.get("d", "") for _, attributes, _ in parts_of(lanes.json["content"])]
    assert 0 < max(each.count("L") for each in lines) < 2 * lane_plot.MOST
    assert len(bytes_read) == 1


def test_of_a_run_that_has_grown_only_what_is_new_is_read(tab, logs, million, bytes_read):
    ask = tab(logs)
    ask("/page", run="run")
    ask("/steps", run="run")
    with event_file(logs).open("ab") as file:
        file.write(million[1])
    del bytes_read[:]
    ask("/page", run="run")
    told = ask("/steps", run="run").json
    assert (told["intervals"], told["last"]) == (INTERVALS + ADDED, (INTERVALS + ADDED) * STEPS)
    assert bytes_read == [file_content.SEAM + len(million[1])]


def test_in_the_browser_each_screen_asks_once_and_a_run_that_grows_is_shown_whole(
    page, logs, million
):
    asked = []
    page.on("request", lambda request: asked.append(request.url))

    def answers(route):
        found = [url for url in asked if f"/keras_perf/{route}?" in url]
        asked[:] = [url for url in asked if url not in found]
        return len(found)

    said = page.locator(".timeline > .quiet")
    with tensorboard_on(logs, tensorflow=False) as address:
        page.goto(address + TAB)
        said.filter(has_text=f"{INTERVALS:,} intervals").wait_for()
        page.wait_for_load_state("networkidle")
        assert (answers("page"), answers("steps"), answers("lanes")) == (1, 1, 0)
        page.locator(".timeline-canvas").focus()
        page.keyboard.press("+")
        said.filter(has_text=f"{INTERVALS // 2:,} intervals").wait_for()
        quarter = INTERVALS * STEPS // 4
        page.locator(f".plot[data-steps='{quarter} {3 * quarter}']").first.wait_for()
        assert (answers("page"), answers("steps"), answers("lanes")) == (0, 1, 1)
        page.keyboard.press("0")
        said.filter(has_text=f"{INTERVALS:,} intervals").wait_for()
        page.wait_for_load_state("networkidle")
        asked.clear()
        with event_file(logs).open("ab") as file:
            file.write(million[1])
        said.filter(has_text=f"{INTERVALS + ADDED:,} intervals").wait_for()
        assert (answers("page"), answers("steps")) == (1, 1)


@pytest.fixture
def fifty(tmp_path):
    write_intervals(tmp_path / "run00", ADDED)
    for number in range(1, RUNS):
        shutil.copytree(tmp_path / "run00", tmp_path / f"run{number:02}")
    return tmp_path


def test_of_fifty_runs_each_is_read_once_and_again_when_it_grows(tab, fifty, bytes_read):
    ask = tab(fifty)
    ask("/table")
    assert len(bytes_read) == RUNS
    ask("/table")
    assert len(bytes_read) == RUNS
    write_intervals(fifty / "more", ADDED, ADDED)
    more = event_file(fifty / "more").read_bytes()
    shutil.rmtree(fifty / "more")
    with event_file(fifty / "run07").open("ab") as file:
        file.write(more)
    ask("/table")
    assert bytes_read[RUNS:] == [file_content.SEAM + len(more)]


def test_fifty_runs_are_a_table_that_is_asked_for_once(page, fifty):
    with tensorboard_on(fifty, tensorflow=False) as address:
        page.goto(address + TAB)
        page.locator("h1").wait_for()
        assert page.locator(RUN).locator("option").count() == RUNS + 1
        asked, held = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.route("**/table", lambda route: held.append(route))
        for look in (lambda: page.locator(RUN).select_option(label="all runs"), lambda: None):
            with page.expect_response("**/runs"):
                look()
        held.pop(0).continue_()
        rows = page.locator("table.runs tbody tr")
        rows.nth(RUNS - 1).wait_for()
        assert rows.count() == RUNS
        with page.expect_response("**/runs"):
            pass
        assert len([url for url in asked if url.endswith("/table")]) == 1
        assert not [url for url in asked if "/page" in url or "/steps" in url]
