"""What the other tabs of TensorBoard show of our runs: Profile, Custom Scalars, Text."""

import shutil

import pytest
import tensorboard
from browsing import LOOKS_AGAIN_MS, tensorboard_on
from built_trace import BuiltPlane, marker, runs, wait
from built_trace import write as write_trace
from hand_built import stage
from playwright.sync_api import expect
from test_steps import CONTEXT, GONE, TRACED, capture, outlier, write_run

from keras_perf import diagnose
from keras_perf.records.run_names import RUN
from keras_perf.report.summary_picture import SIZE, picture_tag, summary_picture
from keras_perf.write.run_writer import RunWriter

pytestmark = [pytest.mark.xdist_group("a browser"), pytest.mark.whole]

SLOW = {
    "examples_per_step": 32.0,
    "stages": [stage("TensorSlice", 0.1), stage("Map", 8.0), stage("Batch", 0.2)],
}


def five_steps():
    """What a profiler tells of steps of 10 ms that wait for their input."""
    begins = [(step, 10.0 * step) for step in range(5)]
    python = [marker(step, begin, begin + 9.5) for step, begin in begins]
    python += [runs(begin + 4.0, begin + 9.0) for _, begin in begins]
    waits = [wait(begin + 0.5, begin + 4.0) for _, begin in begins]
    return BuiltPlane("/host:CPU").line("python", *python).line("tf_data_get_next", *waits)


@pytest.fixture
def traced(tmp_path, monkeypatch):
    """A log directory with a run whose outlier was captured, its trace, and a newer one."""
    monkeypatch.setitem(CONTEXT, "events", [outlier(7_705, 900.0)])
    monkeypatch.setitem(CONTEXT, "captures", [capture(7_700, TRACED)])
    logs = tmp_path / "logs"
    write_run(logs / "a", intervals=1_000, long_at=(771,))
    built = write_trace(tmp_path / "built", five_steps())
    for name in (TRACED, GONE):
        folder = logs / "a" / RUN / "plugins" / "profile" / name
        folder.mkdir(parents=True)
        shutil.copy(built, folder)
    return logs


@pytest.mark.skipif(
    tuple(map(int, tensorboard.version.VERSION.split(".")[:2])) < (2, 17),
    reason="TensorBoard 2.16 drops from its address which trace is asked for",
)
def test_a_click_on_an_outlier_shows_its_trace_in_the_profile_tab(page, traced):
    page.set_viewport_size({"width": 1200, "height": 1000})
    with tensorboard_on(traced, tensorflow=False) as address:
        # There is no other server: what Profile draws with Google's charts stays empty.
        page.context.route(lambda url: not url.startswith(address), lambda route: route.abort())
        page.goto(f"{address}#keras_perf")
        outlier = page.frame_locator("iframe").locator(".outlier[data-step='7705']")
        outlier.wait_for()
        mark = outlier.locator("path").bounding_box()
        with page.context.expect_page() as opened:
            page.mouse.click(mark["x"] + mark["width"] / 2, mark["y"] + mark["height"] / 2)
        profile = opened.value.frame_locator("iframe")
        profile.get_by_text("Sessions (2)").wait_for()
        profile.get_by_text(f"a/{RUN}/{TRACED}").wait_for()
        profile.get_by_text("Trace Viewer", exact=True).wait_for()
        viewer = profile.frame_locator("iframe")
        viewer.locator("#track_view_container").get_by_text("vm /host:CPU").wait_for()
        viewer.get_by_text("tf_data_get_next").wait_for()


@pytest.fixture
def told(tmp_path):
    """A run with its diagnosis as text, as callbacks leave it."""
    writer = RunWriter(str(tmp_path / "run"))
    for step in range(10, 210, 10):
        values = {"perf/step_time_ms": 10.0, "perf/input_wait_ms": 5.0, "perf/compute_ms": 5.0}
        values |= {"perf/interval_steps": 10.0, "gpu/0/utilization_pct": 40.0}
        writer.scalars(step, values | {"gpu/1/utilization_pct": 60.0}, wall_time=float(step))
    writer.context(200, SLOW)
    writer.flush()
    diagnosis = diagnose(tmp_path / "run")
    writer.text(200, "perf/diagnosis", diagnosis.to_markdown())
    writer.close()
    return tmp_path, diagnosis


def test_custom_scalars_has_charts_with_names_one_can_read(page, told):
    logs, _ = told
    page.set_viewport_size({"width": 1400, "height": 1000})
    with tensorboard_on(logs, tensorflow=False) as address:
        page.goto(f"{address}#custom_scalars")
        for title in ("Step time (ms)", "Input wait (ms)", "Compute (ms)", "Utilization (%)"):
            page.get_by_text(title, exact=True).wait_for()
        # One figure a chart, of each run; of GPUs all.
        page.get_by_text("Matches (2)").wait_for()
        expect(page.get_by_text("Matches (1)")).to_have_count(4, timeout=LOOKS_AGAIN_MS)


@pytest.mark.parametrize("sensors", [{}, {"gpu/0/utilization_pct": 40.0, "gpu/0/power_w": 90.0}])
def test_time_series_shows_picture_and_step_time_without_unfolding(page, tmp_path, sensors):
    writer = RunWriter(str(tmp_path))
    parts = dict.fromkeys(["input_wait", "compute", "callbacks", "other_host"], 2.5)
    values = {f"perf/{part}_ms": ms for part, ms in parts.items()} | {"perf/step_time_ms": 10.0}
    values |= {"perf/interval_steps": 10.0, "perf/steps_per_sec": 100.0}
    values |= {"capture/size_mib": 3.0, "host/cpu_pct": 50.0, "host/process_memory_mib": 900.0}
    for step in range(10, 210, 10):
        writer.scalars(step, values | sensors, wall_time=float(step))
    writer.context(200, SLOW)
    writer.flush()
    diagnosis = diagnose(tmp_path)
    picture = picture_tag(diagnosis)
    writer.picture(200, picture, summary_picture(diagnosis), SIZE)
    writer.close()
    # So high that every card of an open group is in the window.
    page.set_viewport_size({"width": 1400, "height": 3000})
    with tensorboard_on(tmp_path, tensorflow=False) as address:
        page.goto(f"{address}#timeseries")
        cards = page.locator("metrics-card-groups card-view")
        for shown in ("perf/step_time_ms", picture):
            cards.filter(has=page.get_by_title(shown, exact=True)).wait_for()
        expect(cards.locator("image-card img")).to_have_count(1, timeout=LOOKS_AGAIN_MS)


def test_the_diagnosis_begins_with_what_counts_where_the_text_tab_cuts_it(page, told):
    logs, diagnosis = told
    page.set_viewport_size({"width": 1400, "height": 1000})
    with tensorboard_on(logs, tensorflow=False) as address:
        page.goto(f"{address}#text")
        text = page.locator("tf-text-loader #steps-container, tf-text-loader .step-text").first
        verdict = page.get_by_role("heading", name=diagnosis.verdict, exact=True)
        advice = page.get_by_text(f"1. {diagnosis.recommendations[0].title}")
        # The box grows when the text comes.
        for said in (verdict, advice):
            said.wait_for()
        bottom = text.bounding_box()["y"] + text.bounding_box()["height"]
        for said in (verdict, advice):
            assert said.bounding_box()["y"] < bottom
