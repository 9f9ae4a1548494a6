"""The timeline of the Performance tab, in a browser."""

import re

import pytest
from browsing import FITS, TAB, tensorboard_on
from test_steps import CONTEXT, TRACED, capture, outlier, write_run

from keras_perf.records.run_names import RUN
from keras_perf.report.page.page import page_html
from keras_perf.report.run_report import run_reports

pytestmark = [pytest.mark.xdist_group("a browser"), pytest.mark.whole]

LAST = 40_000
NASTY = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    logs = tmp_path_factory.mktemp("logs")
    context = {
        "events": [outlier(7_705, 900.0), outlier(30_000, 90.0, "callback", NASTY)],
        "captures": [capture(7_700, TRACED), capture(20_000, "gone")],
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in context.items():
            patch.setitem(CONTEXT, name, value)
        write_run(logs / "a", intervals=LAST // 10, long_at=(771,))
        write_run(logs / "b", intervals=20)
    (logs / "a" / RUN / "plugins" / "profile" / TRACED).mkdir(parents=True)
    return logs


@pytest.fixture(scope="module")
def tensorboard(logs):
    with tensorboard_on(logs, tensorflow=False) as address:
        yield address


class Shown:
    """A run's timeline, and where its steps are on the screen; it may lie in a frame."""

    def __init__(self, page, within=None):
        self.page, within = page, within or page
        self.canvas = within.locator(".timeline-canvas")
        self.told = within.locator(".timeline-told")
        self.said = within.locator(".timeline > .quiet")
        self.canvas.locator("svg").wait_for()
        self.canvas.scroll_into_view_if_needed()

    def at(self, share, y=220):
        box = self.canvas.bounding_box()
        return box["x"] + 52 + share * (box["width"] - 52), box["y"] + y

    def drag(self, begin, end):
        self.page.mouse.move(*self.at(begin))
        self.page.mouse.down()
        self.page.mouse.move(*self.at((begin + end) / 2))
        self.page.mouse.move(*self.at(end))
        self.page.mouse.up()

    def steps(self):
        """From and to, once they are what the server has answered."""
        self.page.wait_for_load_state("networkidle")
        words = self.said.inner_text().split()
        return int(words[1].replace(",", "")), int(words[3].rstrip(".").replace(",", ""))

    def says(self, text):
        self.said.filter(has_text=text).wait_for()

    def mark(self, kind, step):
        return self.canvas.locator(f".{kind}[data-step='{step}']")


@pytest.fixture
def timeline(page, tensorboard):
    page.set_viewport_size({"width": 1200, "height": 1000})
    page.goto(tensorboard + TAB)
    page.get_by_label("Run").select_option("a")
    page.locator("h1", has_text="a").wait_for()
    page.get_by_text("Longest steps and pauses").wait_for()
    shown = Shown(page)
    shown.says("4,000 intervals")
    return shown


def click(shown, mark):
    box = mark.bounding_box()
    shown.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + min(4, box["height"] / 2))


def test_the_mouse_over_a_column_tells_its_steps_and_parts(timeline):
    timeline.page.mouse.move(*timeline.at(0.5))
    timeline.told.wait_for()
    told = timeline.told.inner_text()
    for each in ("input wait", "compute", "3.000 ms", "1.000 ms"):
        assert each in told
    assert told.splitlines()[0].startswith(("steps 19,", "steps 20,"))
    timeline.page.mouse.move(0, 0)
    timeline.told.wait_for(state="hidden")


def test_dragging_zooms_until_each_interval_is_seen_and_a_double_click_shows_all(timeline):
    assert timeline.steps() == (0, LAST)
    timeline.drag(0.18, 0.21)
    timeline.says("as it was logged")
    begin, end = timeline.steps()
    assert 7_000 < begin < 7_700 < end < 8_600
    # Looked at from afar it was one column among several; now it has its own.
    place = (7_705 - begin) / (end - begin)
    timeline.page.mouse.move(*timeline.at(place))
    timeline.told.filter(has_text="steps 7,701–7,710").wait_for()
    assert "90.0 ms" in timeline.told.inner_text()
    timeline.page.mouse.dblclick(*timeline.at(0.4))
    timeline.says(f"Steps 0 to {LAST:,}.")
    timeline.says("4,000 intervals")


def test_a_long_interval_among_many_is_marked_from_afar(timeline):
    assert timeline.canvas.locator(".clipped").count() == 1
    timeline.says("longer than the axis reaches")


def test_shift_and_drag_moves_and_the_wheel_zooms(timeline):
    page = timeline.page
    timeline.drag(0.25, 0.5)
    begin, end = timeline.steps()
    page.keyboard.down("Shift")
    timeline.drag(0.2, 0.7)
    page.keyboard.up("Shift")
    moved = timeline.steps()
    assert moved[1] - moved[0] == end - begin
    assert (begin - moved[0]) / (end - begin) == pytest.approx(0.5, abs=0.02)
    page.mouse.move(*timeline.at(0.5))
    page.keyboard.down("Alt")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Alt")
    near = timeline.steps()
    assert near[1] - near[0] < (end - begin) * 0.7
    page.mouse.wheel(0, 100)
    assert timeline.steps() == near


def test_the_keyboard_does_what_the_mouse_does(timeline):
    timeline.canvas.focus()
    keys = timeline.page.keyboard
    keys.press("ArrowRight")
    assert timeline.told.inner_text().startswith("steps 1–")
    keys.press("ArrowRight")
    assert not timeline.told.inner_text().startswith("steps 1–")
    for _ in range(3):
        keys.press("+")
    begin, end = timeline.steps()
    assert end - begin == LAST // 8
    keys.press("Shift+ArrowRight")
    assert timeline.steps() == (begin + LAST // 32, end + LAST // 32)
    keys.press("Escape")
    assert timeline.steps() == (0, LAST)


def test_a_click_on_an_outlier_or_a_capture_opens_its_trace(timeline, tensorboard):
    for mark in (timeline.mark("outlier", 7_705), timeline.mark("capture", 7_700)):
        with timeline.page.context.expect_page() as opened:
            click(timeline, mark)
        assert "Its other charts need a network." in timeline.told.inner_text()
        address = opened.value.url
        assert address.startswith(tensorboard + "?run=a%2Fperf%2F" + TRACED)
        assert "&tag=trace_viewer" in address
        assert address.endswith("#profile")
        opened.value.close()


def test_enter_where_an_outlier_is_opens_its_trace(timeline, tensorboard):
    timeline.drag(0.18, 0.21)
    timeline.says("as it was logged")
    begin, _ = timeline.steps()
    timeline.canvas.focus()
    keys = timeline.page.keyboard
    for _ in range((7_705 - begin) // 10 + 1):
        keys.press("ArrowRight")
    assert "step 7,705" in timeline.told.inner_text()
    with timeline.page.context.expect_page() as opened:
        keys.press("Enter")
    assert opened.value.url.startswith(tensorboard + "?run=a%2Fperf%2F" + TRACED)
    opened.value.close()


def test_inside_tensorboard_a_click_on_an_outlier_opens_its_trace_beside_it(page, tensorboard):
    page.set_viewport_size({"width": 1200, "height": 1000})
    page.goto(tensorboard + "#keras_perf")
    frame = page.frame_locator("iframe")
    frame.get_by_label("Run").select_option("a")
    frame.locator("h1", has_text="a").wait_for()
    shown = Shown(page, frame)
    shown.says("4,000 intervals")
    mark = shown.mark("outlier", 7_705)
    with page.context.expect_page() as opened:
        click(shown, mark)
    address = opened.value.url
    assert address.startswith(tensorboard + "?run=a%2Fperf%2F" + TRACED)
    # In a tab of its own, not in the frame, and TensorBoard is as it was.
    opened.value.locator("tb-webapp").wait_for(state="attached")
    assert opened.value.evaluate("window.top === window")
    assert page.url == tensorboard + "#keras_perf"


def test_a_click_on_an_outlier_without_a_trace_says_so(timeline):
    timeline.page.mouse.move(*timeline.at(0.1))
    click(timeline, timeline.mark("outlier", 30_000))
    told = timeline.told.inner_text()
    assert "step 30,000 · callback" in told
    assert "90.0 ms longer than the usual 4.000 ms" in told
    assert "No trace holds this step." in told
    assert NASTY in told
    assert timeline.told.locator("img").count() == 0
    timeline.page.mouse.move(0, 0)
    assert timeline.told.is_visible()
    click(timeline, timeline.mark("capture", 20_000))
    assert "not there any more" in timeline.told.inner_text()


def test_zoom_stays_while_the_run_grows(timeline, tensorboard):
    page = timeline.page
    timeline.drag(0.25, 0.5)
    shown = timeline.steps()

    def grown(route):
        answer = route.fetch()
        runs = answer.json()
        for run in runs["runs"]:
            run["version"] += "+"
        route.fulfill(json=runs)

    page.route("**/runs", grown)
    with page.expect_response("**/page?run=a"):
        pass
    page.wait_for_timeout(300)
    assert timeline.steps() == shown


def test_as_a_file_it_zooms_and_tells_without_a_server(page, tensorboard, logs):
    path = logs / "report.html"
    path.write_text(page_html(run_reports([logs / "a"])), encoding="utf-8")
    page.set_viewport_size({"width": 1200, "height": 1000})
    page.goto(path.as_uri())
    shown = Shown(page)
    shown.says("4,000 intervals in 2,000 columns")
    assert shown.steps() == (0, LAST)
    shown.drag(0.18, 0.21)
    shown.page.mouse.move(*shown.at(0.5))
    begin, end = shown.steps()
    assert 7_000 < begin < 7_700 < end < 8_600
    shown.says(re.compile(r"1\d\d intervals in \d\d columns"))
    click(shown, shown.mark("outlier", 7_705))
    assert "Step was captured." in shown.told.inner_text()
    page.mouse.dblclick(*shown.at(0.4))
    shown.says("4,000 intervals")
    assert len(page.context.pages) == 1


def test_as_a_file_with_the_longest_outliers_it_does_not_deny_the_others(page, logs, monkeypatch):
    monkeypatch.setattr("keras_perf.report.page.plots.timeline.MOST_OUTLIERS", 2)
    path = logs / "longest.html"
    path.write_text(page_html(run_reports([logs / "a"])), encoding="utf-8")
    page.set_viewport_size({"width": 1200, "height": 1000})
    page.goto(path.as_uri())
    shown = Shown(page)
    shown.says("The longest 2 of 3 outliers are marked.")
    shown.drag(0.0, 0.03)
    shown.says("Outliers here: 1; this file holds longer ones only.")
    shown.canvas.get_by_text("outliers, none marked").wait_for()
    page.mouse.dblclick(*shown.at(0.4))
    shown.says("The longest 2 of 3 outliers are marked.")
    shown.drag(0.5, 0.6)
    shown.canvas.get_by_text("no outliers").wait_for()
    assert "utliers" not in shown.said.inner_text()


def test_dark_and_narrow_it_fits(timeline):
    page = timeline.page
    page.set_viewport_size({"width": 400, "height": 800})
    page.wait_for_function(FITS, arg=400)
    text = timeline.canvas.locator("text").first
    colour = "e => getComputedStyle(e).fill"
    light = text.evaluate(colour)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert text.evaluate(colour) != light


def test_behind_another_tab_nothing_is_asked(page, tensorboard):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.install()
    page.goto(tensorboard + "#keras_perf")
    page.frame_locator("iframe").locator(".verdict .name").wait_for()
    page.evaluate("location.hash = 'custom_scalars'")
    page.wait_for_timeout(500)
    asked.clear()
    for _ in range(12):
        page.clock.run_for(10_000)
        page.wait_for_timeout(20)
    assert not [each for each in asked if "/plugin/keras_perf/" in each]
    with page.expect_request("**/plugin/keras_perf/runs"):
        page.evaluate("location.hash = 'keras_perf'")
        page.clock.run_for(10_000)
