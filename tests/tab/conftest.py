"""Runs that are written, and the tab's answers about them."""

from types import SimpleNamespace

import pytest
from answers import held_to_schema
from browsing import LOOKS_AGAIN_MS, chromium_of
from hand_built import write_fit
from playwright.sync_api import sync_playwright
from werkzeug.test import Client

from keras_perf.tab.plugin import PerformancePlugin


@pytest.fixture
def runs(tmp_path):
    """Writes runs by name below a directory, which is returned."""

    def write(*names, **arguments):
        for name in names:
            write_fit(tmp_path / "logs" / name, **{"step_ms": 4.0, **arguments})
        return tmp_path / "logs"

    return write


@pytest.fixture
def tab():
    """Asks the tab of a TensorBoard on a directory; each answer is held to its schema."""

    def of(logdir, flags=None):
        context = SimpleNamespace(logdir=str(logdir), flags=flags)
        plugin = PerformancePlugin(context)

        def ask(route, **query):
            answer = Client(plugin.get_plugin_apps()[route]).get(route, query_string=query)
            held_to_schema(route, answer)
            return answer

        ask.plugin = plugin
        return ask

    return of


@pytest.fixture(scope="session")
def chromium():
    with sync_playwright() as playwright:
        browser = chromium_of(playwright)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium):
    """An empty one; it ends with no error in its console."""
    context = chromium.new_context(permissions=["clipboard-read", "clipboard-write"])
    context.set_default_timeout(LOOKS_AGAIN_MS)
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: errors.append(f"dialog {dialog.message}"))

    yield page
    assert not errors
    context.close()
