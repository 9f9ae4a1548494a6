"""The Performance tab in TensorBoard, in a browser."""

import re

import pytest
from browsing import FITS, RUN, TAB, tensorboard_on
from hand_built import stage, write_fit

pytestmark = [pytest.mark.xdist_group("a browser"), pytest.mark.whole]

SLOW = {
    "examples_per_step": 32.0,
    "stages": [stage("TensorSlice", 0.1), stage("Map", 8.0), stage("Batch", 0.2)],
}
NASTY = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def tensorboard(tmp_path_factory):
    logs = tmp_path_factory.mktemp("logs")
    write_fit(logs / "slow", step_ms=10.0, context=SLOW)
    write_fit(logs / "quick", step_ms=2.0, context=SLOW | {"jit_compile": True})
    write_fit(logs / "long", step_ms=2.0, intervals=5_000)
    write_fit(logs / NASTY, step_ms=2.0)
    with tensorboard_on(logs, tensorflow=False) as address:
        yield address


@pytest.fixture
def opened(page, tensorboard):
    """Opens a run in the tab, alone, as TensorBoard shows it in a frame."""

    def of(run):
        page.goto(tensorboard + TAB)
        page.locator(RUN).select_option(run)
        page.locator("h1", has_text=run).wait_for()
        return page

    return of


def test_a_run_appears_by_itself_and_its_verdict_first(page, tmp_path):
    with tensorboard_on(tmp_path) as address:
        page.goto(address + TAB)
        page.get_by_text("No run of keras_perf is here yet").wait_for()
        write_fit(tmp_path / "slow", step_ms=10.0, context=SLOW)
        page.locator(".verdict .name").wait_for()
        assert page.locator(".verdict .name").inner_text() == "input-bound"
        assert "Where a step goes" in page.locator("main").inner_text()
        assert page.locator(".advice").count() >= 1
        page.locator(".timeline-canvas svg").wait_for()


def test_advice_is_copied(opened):
    page = opened("slow")
    button = page.locator(".advice .copy").first
    code = page.locator(".advice code").first.inner_text()
    button.click()
    page.get_by_role("button", name="copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").strip() == code.strip()


def test_one_run_is_compared_with_another_and_all_are_sorted(opened):
    page = opened("quick")
    run, before = page.locator(RUN), page.get_by_label("compared with")
    before.select_option("slow")
    page.get_by_text("2 runs compared").wait_for()
    change = page.locator("section.card", has_text="From slow to quick")
    step = change.get_by_role("row", name=re.compile("^step "))
    assert step.get_by_role("cell").all_inner_texts() == [
        "10.000",
        "2.000",
        "8.000",
        "8.000 to 8.000",
    ]
    assert re.search(r"predicted .*, measured 5\.00×", change.inner_text(), re.IGNORECASE)
    differs = change.locator("table.settings").get_by_role("row", name=re.compile("^XLA "))
    assert differs.get_by_role("cell").all_inner_texts() == ["–", "yes"]
    run.select_option(label="all runs")
    page.locator("table.runs").wait_for()
    page.locator("#run1").wait_for(state="detached")
    before.wait_for(state="hidden")
    head = page.get_by_role("columnheader", name="step ms")
    shown = page.locator("table.runs tbody th")
    head.get_by_role("button", name="step ms", exact=True).click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert shown.last.inner_text().endswith("slow")
    head.get_by_role("button", name="step ms", exact=True).click()
    assert head.get_attribute("aria-sort") == "descending"
    assert shown.first.inner_text().endswith("slow")
    shown.first.get_by_role("link").click()
    page.locator("h1", has_text="slow").wait_for()


def test_the_table_is_sorted_by_run_also_where_names_begin_with_numbers(page, tmp_path):
    names = ["9-layers", "20261123-090000", "20261123-121000", "run2", "run10"]
    for name in names:
        write_fit(tmp_path / name, step_ms=4.0)
    with tensorboard_on(tmp_path, tensorflow=False) as address:
        page.goto(address + TAB)
        page.locator(RUN).select_option(label="all runs")
        head = page.get_by_role("columnheader", name="run", exact=True)
        shown = page.locator("table.runs tbody th")
        for order in (names, names[::-1]):
            head.get_by_role("button", name="run", exact=True).click()
            assert shown.all_inner_texts() == order


def test_sorting_and_focus_stay_while_the_table_is_made_anew(page, tmp_path):
    for name, ms in {"quick": 2.0, "slow": 10.0}.items():
        write_fit(tmp_path / name, step_ms=ms)
    with tensorboard_on(tmp_path, tensorflow=False) as address:
        page.goto(address + TAB)
        page.locator(RUN).select_option(label="all runs")
        head = page.get_by_role("columnheader", name="step ms")
        button = head.get_by_role("button", name="step ms", exact=True)
        button.focus()
        for key, order in (("Enter", "ascending"), ("Space", "descending")):
            page.keyboard.press(key)
            assert head.get_attribute("aria-sort") == order
        write_fit(tmp_path / "slowest", step_ms=20.0)
        shown = page.locator("table.runs tbody th")
        shown.get_by_text("slowest").wait_for()
        assert shown.first.inner_text().endswith("slowest")
        assert head.get_attribute("aria-sort") == "descending"
        assert button.evaluate("button => button === document.activeElement")


def test_a_slow_answer_does_not_overwrite_what_was_chosen_meanwhile(opened):
    page, kept = opened("quick"), []
    page.route("**/page?run=long", lambda route: kept.append(route))
    page.locator(RUN).select_option("long")
    page.wait_for_function("document.querySelector('.said').textContent.startsWith('reading')")
    page.locator(RUN).select_option("slow")
    page.locator("h1", has_text="slow").wait_for()
    with page.expect_response("**/page?run=long"):
        kept[0].continue_()
    page.wait_for_timeout(200)
    assert page.locator("h1", has_text="slow").is_visible()


def test_a_server_that_takes_long_is_not_asked_again_meanwhile(opened):
    page, asked = opened("quick"), []
    page.clock.install()
    page.reload()
    page.locator("h1").wait_for()
    page.route("**/runs", lambda route: asked.append(route))
    for _ in range(3):
        page.clock.run_for(6_000)
        page.wait_for_timeout(100)
    assert len(asked) == 1
    asked[0].continue_()


def test_it_is_dark_where_tensorboard_is(page, tensorboard):
    page.goto(tensorboard + "#keras_perf")
    frame = page.frame_locator("iframe")
    frame.locator(".verdict .name").wait_for()

    def ground():
        body = frame.locator("body")
        return body.evaluate("body => getComputedStyle(body).backgroundColor")

    light = ground()
    page.evaluate("document.body.classList.add('dark-mode')")
    frame.locator("html[data-theme=dark]").wait_for(state="attached")
    assert ground() != light
    page.evaluate("document.body.classList.remove('dark-mode')")
    frame.locator("html[data-theme=light]").wait_for(state="attached")
    assert ground() == light


def test_a_narrow_window_is_enough(opened):
    page = opened("slow")
    page.locator(".timeline-canvas svg").wait_for()
    page.set_viewport_size({"width": 400, "height": 800})
    page.wait_for_function(FITS, arg=400)


def test_a_name_runs_no_script(opened):
    assert opened(NASTY).locator("img").count() == 0


def test_a_run_of_thousands_of_intervals_is_shown(opened):
    page = opened("long")
    page.locator(".timeline-canvas svg").wait_for()
    page.get_by_text("5,000 intervals in").wait_for()
