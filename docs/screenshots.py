"""Makes the documentation's screenshots of the Performance tab: make screenshots.

Trains the demo's digits as a beginner does and as recommended, starts TensorBoard, and looks at
it in chromium, as the tests of the tab do.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Frame, Page, ViewportSize, sync_playwright
from rich.console import Console

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests" / "tab"))

from browsing import RUN, chromium_of, tensorboard_on  # noqa: E402

WAIT_MS = 60_000
SCALE = 1.5
"""Pixels of the picture for one of the page."""

PICTURES = {
    "performance_tab.png": (1280, 940, "light"),
    "performance_tab_dark.png": (1280, 940, "dark"),
    "performance_tab_narrow.png": (400, 860, "light"),
}
"""File → width and height of the window, and theme."""


def main() -> None:
    """Writes the pictures, of two runs of the demo's or of a log directory that is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logdir", nargs="?", type=Path, help="default: the demo is trained")
    parser.add_argument("--run", default="before", help="the one to show; default: %(default)s")
    parser.add_argument("--into", type=Path, default=ROOT / "docs", help="default: docs")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="keras_perf_screenshots_") as folder:
        logs = asked.logdir or _trained(Path(folder) / "digits")
        with tensorboard_on(logs) as address, sync_playwright() as playwright:
            browser = chromium_of(playwright)
            take(browser, address, asked.run, asked.into)
            browser.close()


def _trained(logs: Path) -> Path:
    from keras_perf.cli.demo import run

    run(logs, Console(stderr=True))
    return logs


def take(browser: Browser, address: str, run: str, into: Path) -> None:
    """All pictures of one run.

    Arguments:
        browser: chromium.
        address: of a TensorBoard.
        run: its name there.
        into: a directory that is there.
    """
    for name, (width, height, theme) in PICTURES.items():
        window = ViewportSize(width=width, height=height)
        page = browser.new_page(viewport=window, device_scale_factor=SCALE)
        page.set_default_timeout(WAIT_MS)
        _open(page, address, run, theme)
        page.screenshot(path=into / name)
        page.close()


def _open(page: Page, address: str, run: str, theme: str) -> None:
    setting = json.dumps({"theme": theme})
    page.add_init_script(f"localStorage.setItem('_tb_global_settings', '{setting}')")
    page.goto(f"{address}#keras_perf")
    page.locator("iframe").wait_for()
    found = page.locator("iframe").element_handle()
    frame = found.content_frame() if found is not None else None
    assert isinstance(frame, Frame)
    frame.locator(RUN).select_option(run)
    frame.locator("h1", has_text=run).wait_for()
    # The timeline asks for its steps by itself.
    page.wait_for_load_state("networkidle")


if __name__ == "__main__":
    main()
