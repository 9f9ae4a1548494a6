"""However TensorBoard is started, it has the tab, and the browser asks nobody else."""

from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from browsing import tensorboard_on
from hand_built import write_fit
from prefix_proxy import below

pytestmark = pytest.mark.xdist_group("a browser")


def plain(logs):
    return tensorboard_on(logs)


def fast(logs):
    return tensorboard_on(logs, "--load_fast=true", tensorflow=False)


def slow(logs):
    return tensorboard_on(logs, "--load_fast=false", tensorflow=False)


def several_directories(logs):
    flag = f"--logdir_spec=one:{logs / 'run'},two:{logs / 'other'}"
    return tensorboard_on(None, flag, tensorflow=False)


def below_a_path(logs):
    return tensorboard_on(logs, "--path_prefix=/board/", tensorflow=False)


@contextmanager
def behind_a_proxy(logs):
    with tensorboard_on(logs, tensorflow=False) as server, below("/user/board/", server) as address:
        yield address


OTHER_WAYS = [fast, slow, several_directories, below_a_path, behind_a_proxy]


@pytest.mark.parametrize(
    "started", [plain, *(pytest.param(way, marks=pytest.mark.whole) for way in OTHER_WAYS)]
)
def test_the_tab_is_there_and_asks_nobody_else(page, tmp_path, started):
    for name, step_ms in {"other": 4.0, "run": 9.0}.items():
        write_fit(tmp_path / name, step_ms=step_ms)
    asked, refused = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("response", lambda answer: answer.ok or refused.append(answer.url))
    with started(tmp_path) as address:
        page.goto(address)
        page.get_by_role("tab", name="Performance").click()
        tab = page.frame_locator("iframe")
        tab.locator(".verdict .name").wait_for()
        tab.locator(".timeline-canvas svg").wait_for()
        names = ["one", "two"] if started is several_directories else ["other", "run"]
        told = tab.locator(".bar-of-tools select").first.locator("option").all_inner_texts()
        assert sorted(told) == sorted([*names, "all runs"])
        ours = [urlsplit(url) for url in asked if url.startswith(f"{address}data/plugin/")]
        ours = [each.path for each in ours if "/keras_perf/" in each.path]
        assert {path.rpartition("/")[2] for path in ours} >= {"index.js", "runs", "page", "steps"}
        assert not [url for url in refused if "/keras_perf/" in url]
        # TensorBoard's own fonts lie beside its path.
        servers = {urlsplit(url).netloc for url in asked if not url.startswith(("data:", "blob:"))}
        assert servers == {urlsplit(address).netloc}
