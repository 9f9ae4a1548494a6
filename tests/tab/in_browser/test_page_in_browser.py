"""The page's cards in a browser: at every width, with a keyboard, in the tab and as a file."""

import re
import sys
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from statistics import median

import pytest
from browsing import FITS, RUN, TAB, tensorboard_on
from hand_built import stage, write_fit
from PIL import Image
from playwright.sync_api import expect

from keras_perf.report.page.page import page_html
from keras_perf.report.run_report import run_reports
from keras_perf.write.run_writer import RunWriter

sys.path.append(str(Path(__file__).parents[3] / "docs"))

import screenshots

pytestmark = [pytest.mark.xdist_group("a browser"), pytest.mark.whole]

WIDTHS = (400, 800, 1400)
CHAIN = [{"kind": "map", "function": "decode_and_augment_a_large_picture"}, {"kind": "batch"}]
PLAIN = dict.fromkeys(("parallel", "stateful", "random", "reads_files"), False)
CHANGE = {"gain": 3.0, "low": 2.9, "high": 3.1, "before_ms": 9.0, "after_ms": 3.0}
CONTEXT = {
    "examples_per_step": 32.0,
    "cpu_count": 8,
    "stages": [
        stage("TensorSlice", 0.1, inputs=0),
        stage("Map", 8.0, inputs=1),
        stage("TensorSlice", 0.1, inputs=0),
        stage("Zip", 0.1, inputs=2),
        stage("BatchV2", 0.2, inputs=1),
    ],
    "dataset": {"chains": [[{"function": "", **PLAIN, **each} for each in CHAIN]]},
    "events": [
        {
            "step": 40 * k,
            "cause": cause,
            "owner": "Mine.on_epoch_end",
            "excess_ms": 9.0 * k,
            "usual_ms": 4.0,
        }
        for k, cause in enumerate(("callback", "input-stall", "garbage-collection"), 1)
    ],
    "advice_trials": {
        "step_ms": 9.0,
        "changes": [
            *(CHANGE | {"id": id_} for id_ in ("cache", "private-threadpool")),
            CHANGE | {"id": "larger-batch", "alters": {"word": "fewer-updates"}},
        ],
    },
}
SHARED = {"gpu/0/other_processes": 1.0, "gpu/0/energy_per_step_j": 3.2}
SENSORS = {"host/cpu_pct": 50.0, "gpu/0/utilization_pct": 80.0, "gpu/0/power_w": 300.0}


def write_all(log_dir, step_ms=10.0):
    write_fit(log_dir, step_ms=step_ms, context=CONTEXT)
    writer = RunWriter(str(log_dir))
    for step in range(10, 110, 10):
        values = {"perf/step_time_ms": step_ms, "perf/input_wait_ms": step_ms / 2}
        values |= {"perf/compute_ms": step_ms / 2, "perf/interval_steps": 10.0}
        writer.scalars(123_400 + step, values | SENSORS, wall_time=float(step))
    writer.context(123_500, CONTEXT)
    writer.close()


def write_full(log_dir):
    """A run with advice on everything, of which one was tried, and with an alert."""
    paid = CHANGE | {"gain": 2.0, "low": 1.9, "high": 2.1}
    tried = [paid | {"id": "parallel-map"}, paid | {"id": "tune-gc", "gain": 1.1, "low": 1.05}]
    context = CONTEXT | {
        "stages": [stage("TensorSlice", 0.1), stage("Map", 8.0), stage("BatchV2", 0.2)],
        "advice_trials": {
            "step_ms": 12.0,
            "ready_ms": 4.0,
            **dict.fromkeys(("changes", "together"), tried),
        },
        "steps_per_execution_trial": {
            "recommended": 8,
            "predicted_speedup": 1.4,
            "low": 1.2,
            "high": 1.6,
            "applied": False,
            "reason": "",
            "evidence": {
                "in_graph_ms": 2.0,
                "per_execution_ms": 1.0,
                "steps_per_execution": 1,
                "trials": {"1": 3.0, "8": 2.2},
            },
        },
    }
    writer = RunWriter(str(log_dir))
    for step in range(10, 410, 10):
        parts = {"input_wait": 7.0, "compute": 2.0, "dispatch": 1.0, "callbacks": 2.0}
        values = {f"perf/{part}_ms": ms for part, ms in parts.items()}
        owners = {"perf_callbacks/Mine.on_train_batch_end_ms": 2.0}
        measured = {"perf/step_time_ms": 12.0, "perf/interval_steps": 10.0}
        writer.scalars(step, values | owners | measured | SENSORS | SHARED, wall_time=float(step))
    writer.context(400, context)
    writer.close()


NO_CLIPBOARD = "Object.defineProperty(navigator, 'clipboard', {configurable: true})"
"""As a page has it that came over http from another machine."""


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    logs = tmp_path_factory.mktemp("logs")
    write_all(logs / "before", 12.0)
    write_all(logs / "after")
    write_full(logs / "full")
    return logs


@pytest.fixture(scope="module")
def file(logs):
    """The HTML report of two runs, as a file's address."""
    path = logs / "report.html"
    path.write_text(page_html(run_reports([logs / "before", logs / "after"])), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def tensorboard(logs):
    with tensorboard_on(logs, tensorflow=False) as address:
        yield address


@pytest.mark.parametrize("width", WIDTHS)
def test_at_every_width_text_is_large_enough_and_inside(page, file, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(file)
    page.locator(".timeline-canvas svg").first.wait_for()
    page.wait_for_function(FITS, arg=width)
    assert page.evaluate(TOO_SMALL) == []
    assert page.evaluate(OUTSIDE, [".plot span, figcaption, .lane-head span", width]) == []
    assert page.evaluate(OUTSIDE, ["caption span", width]) == []
    assert page.evaluate(A_WORD_A_LINE) == []
    assert page.evaluate(CUT) == []


TOO_SMALL = """() => [...document.querySelectorAll("main *")].filter(each =>
  [...each.childNodes].some(n => n.nodeType === 3 && n.data.trim()) && each.getClientRects().length
  && parseFloat(getComputedStyle(each).fontSize) < 10).map(each => each.textContent)"""
"""Nothing is drawn smaller than its style says: no plot is scaled."""

OUTSIDE = """([what, width]) => [...document.querySelectorAll(what)].filter(each => {
  const box = each.getBoundingClientRect();
  return box.width && (box.left < 0 || box.right > width);
}).map(each => each.textContent)"""

CUT = """() => [...document.querySelectorAll(".stack-labels span")].filter(each =>
  getComputedStyle(each).visibility === "visible" && each.scrollWidth > each.clientWidth
).map(each => each.textContent)"""

A_WORD_A_LINE = """() => [...document.querySelectorAll("td, tbody th")].filter(each => {
  const text = document.createRange();
  text.selectNodeContents(each);
  const line = parseFloat(getComputedStyle(each).lineHeight);
  const lines = Math.round(text.getBoundingClientRect().height / line);
  return lines > 2 && each.textContent.length < 8 * lines;
}).map(each => each.textContent)"""


def at_the_right_edge(scrolled):
    """How bright most of it is, 0 to 255."""
    picture = Image.open(BytesIO(scrolled.screenshot())).convert("L")
    width, height = picture.size
    return median(picture.getpixel((width - 1, y)) for y in range(height))


def test_a_table_that_goes_on_beside_a_narrow_screen_has_a_shadow_there_until_its_end(page, file):
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(file)
    scrolled = page.locator(".scroll:has(table.events)").first
    begun = at_the_right_edge(scrolled)
    scrolled.evaluate("each => { each.scrollLeft = each.scrollWidth }")
    assert begun < at_the_right_edge(scrolled)


def test_a_keyboard_asks_what_a_number_means_and_closes_it_again(page, file):
    page.goto(file)
    button = page.get_by_role("button", name="What step means").first
    button.focus()
    page.keyboard.press("Enter")
    told = page.locator("#about-perf-step-time-ms")
    told.wait_for(state="visible")
    assert "Mean time from one step's begin to the next" in told.inner_text()
    assert "Cannot see: Excludes warm-up" in told.inner_text()
    page.keyboard.press("Escape")
    told.wait_for(state="hidden")
    assert button.evaluate("each => each === document.activeElement")


def test_a_finger_asks_what_a_number_means(chromium, file):
    context = chromium.new_context(has_touch=True, viewport={"width": 400, "height": 800})
    page = context.new_page()
    page.goto(file)
    page.get_by_role("button", name="What power, W means").first.tap()
    told = page.locator("#about-gpu-i-power-w")
    told.wait_for(state="visible")
    box = told.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 400
    context.close()


def test_what_a_number_means_stays_in_sight_while_the_run_grows(page, tensorboard):
    page.goto(tensorboard + TAB)
    page.locator(RUN).select_option("after")
    page.locator("h1", has_text="after").wait_for()
    page.get_by_role("button", name="What step means").first.click()
    told = page.locator("#about-perf-step-time-ms")
    told.wait_for(state="visible")
    told.evaluate("each => each.dataset.old = 'yes'")
    page.locator(RUN).evaluate("each => each.dispatchEvent(new Event('change'))")
    page.locator("#about-perf-step-time-ms:not([data-old])").wait_for(state="visible")


def test_the_report_as_a_file_copies_advice(page, file):
    page.goto(file)
    page.locator(".advice .copy").first.click()
    page.get_by_role("button", name="copied").wait_for()
    code = page.locator(".advice code").first.inner_text()
    assert page.evaluate("navigator.clipboard.readText()").strip() == code.strip()


def test_advice_is_copied_where_the_browser_gives_the_page_no_clipboard(page, file):
    page.add_init_script(NO_CLIPBOARD)
    page.goto(file)
    code = page.locator(".advice code").first.inner_text()
    page.locator(".advice .copy").first.click()
    page.get_by_role("button", name="copied").wait_for()
    assert page.evaluate("getSelection().toString()") == ""
    other = page.context.new_page()
    other.goto(file)
    other.bring_to_front()
    assert other.evaluate("navigator.clipboard.readText()").strip() == code.strip()
    page.bring_to_front()
    page.evaluate("document.execCommand = () => false")
    page.locator(".advice .copy").first.click()
    page.get_by_role("button", name="selected: press Ctrl+C").wait_for()
    assert page.evaluate("getSelection().toString()").strip() == code.strip()


def step_of(text):
    return int(text.replace(",", ""))


def test_the_machine_s_lanes_show_the_steps_that_the_timeline_shows(page, file):
    page.goto(file)
    run, other = page.locator("#run1"), page.locator("#run2")
    run.locator(".timeline-canvas svg").wait_for()
    shown, whole = ".plot[data-steps] svg > svg", "0 0 1000 100"
    lanes = run.locator(shown)
    run.get_by_label("zoom in").click()
    told = run.locator(".timeline > .quiet").inner_text()
    begin, end = map(step_of, re.match(r"Steps ([\d,]+) to ([\d,]+)\.", told).groups())
    first, last = map(
        int, run.locator(".plot[data-steps]").first.get_attribute("data-steps").split()
    )
    assert first < begin < end < last
    for lane in lanes.all():
        left, _, width, _ = map(float, lane.get_attribute("viewBox").split())
        assert first + (last - first) * left / 1000 == pytest.approx(begin)
        assert (last - first) * width / 1000 == pytest.approx(end - begin)
    labels = run.locator(".plot[data-steps] .steps span").all_inner_texts()
    assert labels
    assert all(begin <= step_of(label) <= end for label in labels)
    assert other.locator(shown).first.get_attribute("viewBox") == whole
    run.get_by_label("show all steps").click()
    assert [lane.get_attribute("viewBox") for lane in lanes.all()] == [whole] * lanes.count()


def test_in_the_tab_lanes_are_drawn_anew_from_all_points_of_the_steps(page, tensorboard):
    page.goto(tensorboard + TAB)
    page.locator(RUN).select_option("after")
    page.locator("h1", has_text="after").wait_for()
    page.locator(".timeline-canvas svg").wait_for()
    lane = page.locator(".plot[data-steps]").first
    whole = lane.get_attribute("data-steps")
    page.get_by_label("zoom in").click()
    page.locator(f".plot[data-steps]:not([data-steps='{whole}'])").first.wait_for()
    told = page.locator(".timeline > .quiet").inner_text()
    begin, end = map(step_of, re.match(r"Steps ([\d,]+) to ([\d,]+)\.", told).groups())
    assert lane.get_attribute("data-steps") == f"{begin} {end}"
    assert lane.locator("svg > svg").first.get_attribute("viewBox") == "0 0 1000 100"
    page.get_by_label("show all steps").click()
    page.locator(f".plot[data-steps='{whole}']").first.wait_for()


def test_a_comparison_s_table_leads_to_its_runs_also_where_links_lead_elsewhere(page, tensorboard):
    page.goto(tensorboard + "#keras_perf")
    frame = page.frame_locator("iframe")
    frame.locator("h1").wait_for()
    frame.locator(RUN).select_option("after")
    frame.get_by_label("compared with").select_option("before")
    table = frame.locator("table.runs")
    table.get_by_role("link", name="after").click()
    frame.locator("#run2:focus").wait_for()
    top = frame.locator("#run2").evaluate("each => each.getBoundingClientRect().top")
    assert abs(top) < 200
    assert frame.locator("h1").inner_text() == "2 runs compared"


def test_the_verdict_names_what_to_change_first_and_leads_there(page, tensorboard):
    page.goto(tensorboard + TAB)
    link = page.locator(".first-advice a").first
    link.click()
    page.locator("#run1-advice-1:focus").wait_for()
    assert page.locator("#run1-advice-1 h4").inner_text().startswith(f"1. {link.inner_text()}")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_first_screen_has_the_verdict_what_to_do_and_the_steps(page, tensorboard, theme):
    page.add_init_script(f"localStorage._tb_global_settings = JSON.stringify({{theme: '{theme}'}})")
    page.set_viewport_size({"width": 1280, "height": 940})
    page.goto(tensorboard + "#keras_perf")
    frame = page.frame_locator("iframe")
    frame.locator(RUN).select_option("full")
    frame.locator("h1", has_text="full").wait_for()
    frame.locator(".timeline-canvas .outlier").first.wait_for()
    screen = frame.locator("html").evaluate(ON_SCREEN, ["h1", ".verdict", ".timeline-canvas"])
    assert screen == [True] * 3
    verdict = frame.locator(".verdict")
    assert verdict.locator(".name").inner_text() == "input-bound"
    assert verdict.locator(".because").inner_text().count(".") == 1
    assert verdict.locator(".because").inner_text().startswith("Training waits for its data: ")
    told = verdict.inner_text()
    assert "is shared: other processes have it open" in told
    assert re.search(r"^step \?\n12 ms$", told, re.MULTILINE)
    assert re.search(r"predicted with all advice followed\na step [\d.]+ ms, [\d.]+×", told)
    first = verdict.locator(".first-advice li")
    assert frame.locator(".advice").count() >= 4
    assert first.count() == 3
    ways = [re.search("measured|predicted", text).group() for text in first.all_inner_texts()]
    assert {*ways} == {"measured", "predicted"}
    expect(frame.locator(".timeline-canvas path[data-part]")).to_have_count(4)


ON_SCREEN = """(html, what) => what.map(each => {
  const { top, bottom } = document.querySelector(each).getBoundingClientRect();
  return top >= 0 && bottom < window.innerHeight;
})"""


NAMES_AND_AREAS = """() => {
  const canvas = document.querySelector(".timeline-canvas");
  const names = [...canvas?.querySelectorAll(".part-name") ?? []];
  return names.length && names.map(name => [
    name.textContent,
    name.getBoundingClientRect(),
    canvas
      .querySelector(`path[data-part=${name.textContent.replace(" ", "_")}]`)
      .getBoundingClientRect(),
  ]);
}"""
"""In one look: whenever the run's figures come, all is drawn anew."""


def test_parts_have_their_names_where_they_are_drawn(page, tensorboard):
    page.set_viewport_size({"width": 1200, "height": 900})
    page.goto(tensorboard + TAB)
    page.locator(RUN).select_option("full")
    page.locator("h1", has_text="full").wait_for()
    drawn = page.wait_for_function(NAMES_AND_AREAS).json_value()
    # Dispatch is too low for its name.
    assert [name for name, _, _ in drawn] == ["input wait", "compute", "callbacks"]
    for _, box, area in drawn:
        for side, size in (("x", "width"), ("y", "height")):
            assert area[side] <= box[side] + 1
            assert box[side] + box[size] <= area[side] + area[size] + 1
    # Its card may be made anew meanwhile, and has its names a moment later.
    legend = page.locator(".timeline-legend", has_text="callbacks").inner_text().split("\n")
    assert legend[:5] == ["from below:", "input wait", "compute", "dispatch", "callbacks"]


def test_runs_are_sorted_by_energy_and_what_is_unknown_comes_last(page, tensorboard):
    page.goto(tensorboard + TAB)
    page.locator(RUN).select_option(label="all runs")
    by_energy = page.get_by_role("button", name="J/example", exact=True)
    by_energy.focus()
    for order in ("ascending", "descending"):
        page.keyboard.press("Space")
        page.locator(f"th[aria-sort={order}]", has=by_energy).wait_for()
        cells = page.locator("table.runs tbody td:nth-child(12)").all_inner_texts()
        assert cells == ["0.1", "–", "–"]
    page.get_by_role("button", name="What J/example means").click()
    page.get_by_text("The same for each training example.").wait_for()


def test_the_tab_shows_what_the_html_report_shows(page, tensorboard, logs):
    for name in ("full", "before"):
        [report] = run_reports([logs / name])
        path = logs / "one.html"
        path.write_text(page_html([replace(report, name=name)]), encoding="utf-8")
        page.goto(path.as_uri())
        page.locator(".timeline-canvas svg").wait_for()
        in_file = page.locator("main").evaluate(SHOWN)
        page.goto(tensorboard + TAB)
        page.locator(RUN).select_option(name)
        page.locator("h1", has_text=name).wait_for()
        page.locator(".timeline-canvas svg").wait_for()
        assert page.locator("main").evaluate(SHOWN) == in_file


SHOWN = """main => {
  const told = (node) => node.nodeType === 3 ? node.data : [
    node.localName, ...[...node.attributes].map(({ name, value }) => `${name}=${value}`).sort(),
    ...(node.matches(".timeline") ? [] : [...node.childNodes].map(told)),
  ];
  main.querySelectorAll(".copy").forEach(button => button.remove());
  return told(main);
}"""
"""All that the server made of a page; what the browser adds to it is left out."""


def test_it_is_there_however_tensorboard_was_started(page, logs):
    spec = f"--logdir_spec=one:{logs / 'before'},two:{logs / 'after'}"
    with tensorboard_on(None, spec, "--load_fast=false", "--path_prefix=/x") as address:
        assert address.endswith("/x/")
        page.goto(address + "#keras_perf")
        frame = page.frame_locator("iframe")
        frame.locator(".verdict .name").wait_for()
        runs = frame.locator(RUN)
        assert {"one", "two"} <= set(runs.locator("option").all_inner_texts())
        assert frame.locator("h1").inner_text() in {"one", "two"}


def test_the_documentation_s_pictures_are_made_of_any_run(page, tensorboard, tmp_path):
    # `page` has started the browser that the pictures are taken in.
    screenshots.take(page.context.browser, tensorboard, "after", tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == set(screenshots.PICTURES)
    light, dark = ((tmp_path / name).read_bytes() for name in [*screenshots.PICTURES][:2])
    assert light != dark
