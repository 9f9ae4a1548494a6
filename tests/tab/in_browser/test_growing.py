"""A training that is watched while it goes on."""

import re

import pytest
from browsing import TAB, tensorboard_on
from hand_built import stage

from keras_perf.write.run_writer import RunWriter

pytestmark = [pytest.mark.xdist_group("a browser"), pytest.mark.whole]

CONTEXT = {
    "examples_per_step": 32.0,
    "stages": [stage("TensorSlice", 0.1), stage("Map", 8.0), stage("Batch", 0.2)],
}
STEPS = 10


class Training:
    """One that goes on: its writer stays open."""

    def __init__(self, folder):
        self.writer = RunWriter(str(folder))
        self.step = 0

    def go_on(self, intervals, wait_ms):
        for _ in range(intervals):
            self.step += STEPS
            values = {
                "perf/step_time_ms": wait_ms + 20.0,
                "perf/input_wait_ms": wait_ms,
                "perf/compute_ms": 20.0,
                "perf/interval_steps": float(STEPS),
            }
            self.writer.scalars(self.step, values, wall_time=float(self.step))
        self.writer.context(self.step, CONTEXT)
        self.writer.flush()


@pytest.fixture
def training(tmp_path):
    training = Training(tmp_path / "run")
    yield training
    training.writer.close()


def test_figures_verdict_and_timeline_follow_a_training_that_becomes_slow(page, training, tmp_path):
    training.go_on(20, wait_ms=0.0)
    figures, said = page.locator(".verdict .figures"), page.locator(".timeline > .quiet")
    with tensorboard_on(tmp_path, tensorflow=False) as address:
        page.goto(address + TAB)
        page.locator(".verdict .name", has_text="compute-bound").wait_for()
        assert re.search(r"step\s*\?\s*20\.?0* ms", figures.inner_text())
        said.filter(has_text="Steps 0 to 200.").wait_for()
        said.filter(has_text="Each of the 20 intervals").wait_for()

        training.go_on(60, wait_ms=40.0)
        page.locator(".verdict .name", has_text="input-bound").wait_for()
        # A quarter of the steps took 20 ms, all others 60 ms.
        assert re.search(r"step\s*\?\s*50\.?0* ms", figures.inner_text())
        said.filter(has_text="Steps 0 to 800.").wait_for()
        said.filter(has_text="Each of the 80 intervals").wait_for()
        assert page.locator(".advice").count()
        assert page.locator("h1").inner_text() == "run"


def test_where_one_looks_closely_a_training_goes_on_unseen(page, training, tmp_path):
    training.go_on(20, wait_ms=0.0)
    said = page.locator(".timeline > .quiet")
    with tensorboard_on(tmp_path, tensorflow=False) as address:
        page.goto(address + TAB)
        said.filter(has_text="Each of the 20 intervals").wait_for()
        page.locator(".timeline-canvas").focus()
        page.keyboard.press("+")
        said.filter(has_text="Steps 50 to 150.").wait_for()
        training.go_on(60, wait_ms=40.0)
        page.locator(".verdict .name", has_text="input-bound").wait_for()
        said.filter(has_text="Each of the 10 intervals").wait_for()
        assert "Steps 50 to 150." in said.inner_text()
        page.locator(".timeline-canvas").focus()
        page.keyboard.press("0")
        said.filter(has_text="Steps 0 to 800.").wait_for()
