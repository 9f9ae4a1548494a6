"""The Performance tab in TensorBoard, in a browser."""

import re
import shutil
import subprocess
import sys

import pytest
from hand_built import stage, write_fit
from playwright.sync_api import sync_playwright

SLOW = {
    "examples_per_step": 32.0,
    "stages": [stage("TensorSlice", 0.1), stage("Map", 8.0), stage("Batch", 0.2)],
    "written_input": {},
}
LOOKS_AGAIN_MS = 60_000
"""For what appears by itself; a machine may be slow."""


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def tensorboard(logs):
    """Its address; on this machine only, at a free port."""
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(logs)]
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", "0"], stderr=subprocess.PIPE, text=True
    )
    for line in process.stderr:
        if found := re.search(r"http://127\.0\.0\.1:\d+/", line):
            break
    yield found.group()
    process.kill()
    process.communicate()


@pytest.fixture(scope="module")
def chromium():
    executable = shutil.which("chromium")
    assert executable, "chromium must be installed: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium, tensorboard):
    """The tab alone, as TensorBoard shows it in a frame; ends with no error in its console."""
    context = chromium.new_context(permissions=["clipboard-read", "clipboard-write"])
    context.set_default_timeout(LOOKS_AGAIN_MS)
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: errors.append(f"dialog {dialog.message}"))

    def at(path="data/plugin_entry.html?name=keras_perf"):
        page.goto(tensorboard + path)
        return page

    yield at
    assert not errors
    context.close()


def text_of(page):
    return page.locator("main").inner_text()


def test_a_run_appears_by_itself_and_its_verdict_first(opened, logs):
    page = opened()
    page.get_by_text("No run of keras_perf is here yet").wait_for()
    write_fit(logs / "slow", step_ms=10.0, context=SLOW)
    page.locator(".verdict .name").wait_for()
    assert page.locator(".verdict .name").inner_text() == "input-bound"
    assert "Where a step goes" in text_of(page)
    assert page.locator(".advice").count() >= 1
    assert page.locator("svg").count() >= 1


def test_advice_is_copied(opened):
    page = opened()
    button = page.locator(".advice .copy").first
    code = page.locator(".advice code").first.inner_text()
    button.click()
    page.get_by_role("button", name="copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").strip() == code.strip()


def test_one_run_is_compared_with_another_and_all_are_sorted(opened, logs):
    write_fit(logs / "quick", step_ms=2.0, context=SLOW)
    page = opened()
    run, before = page.get_by_label("Run"), page.get_by_label("compared with")
    run.select_option("quick")
    before.select_option("slow")
    page.get_by_text("2 runs compared").wait_for()
    run.select_option(label="all runs")
    page.locator("table.runs").wait_for()
    page.locator("#run1").wait_for(state="detached")
    head = page.get_by_role("columnheader", name="step ms")
    for down, first in ((False, "quick"), (True, "slow")):
        head.click()
        assert head.get_attribute("aria-sort") == ("descending" if down else "ascending")
        assert page.locator("table.runs tbody th").first.inner_text().endswith(first)


def test_it_is_dark_where_tensorboard_is(opened):
    page = opened("#keras_perf")
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
    page = opened()
    page.set_viewport_size({"width": 400, "height": 800})
    page.locator(".verdict .name").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_a_name_runs_no_script(opened, logs):
    name = "<img src=x onerror=alert(1)>"
    write_fit(logs / name, step_ms=2.0)
    page = opened()
    page.get_by_label("Run").select_option(name)
    page.get_by_role("heading", name="onerror").wait_for()
    assert page.locator("img").count() == 0


def test_a_run_of_thousands_of_intervals_is_shown(opened, logs):
    write_fit(logs / "long", step_ms=2.0, intervals=5_000)
    page = opened()
    page.get_by_label("Run").select_option("long")
    page.get_by_role("heading", name="long").wait_for()
    assert page.locator("svg").count() >= 1
