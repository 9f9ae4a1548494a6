"""The tab's answers to the browser."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import chain
from pathlib import PurePosixPath
from typing import Any
from xml.etree.ElementTree import Element

from tensorboard.plugins import base_plugin
from werkzeug import wrappers

from keras_perf.report.page.cards.machine_card import machine_card
from keras_perf.report.page.html import tree
from keras_perf.report.page.page import page_content, side_by_side
from keras_perf.report.page.plots.timeline import MOST_COLUMNS
from keras_perf.report.page.style import STYLE
from keras_perf.tab.log_dirs import log_dirs
from keras_perf.tab.read_run import ReadRun
from keras_perf.tab.shown_runs import ShownRuns, UnknownRunError

LOGGER = logging.getLogger("keras_perf")

MOST_COMPARED = 8
"""Runs on one page; all of them are in the table."""

KINDS = {".js": "text/javascript", ".css": "text/css"}
"""Files that the browser may load, by how their names end."""

MOST_STEPS = 2**53
"""No browser counts further."""

_STATIC = [files("keras_perf") / place / "static" for place in ("report/page", "tab")]
"""What the HTML report has in it too, and what is the tab's own."""

Answer = Callable[[wrappers.Request], wrappers.Response]


class PerformancePlugin(base_plugin.TBPlugin):  # type: ignore[misc]
    """Runs below TensorBoard's log directory, as `keras-perf report --html` tells them.

    Only runs that were found there can be asked for, by name: no path comes from the browser.

    Arguments:
        context: TensorBoard's.
    """

    plugin_name = "keras_perf"

    def __init__(self, context: base_plugin.TBContext) -> None:
        super().__init__(context)
        self._runs = ShownRuns(log_dirs(context.logdir, context.flags))
        self._told = set[str]()

    def get_plugin_apps(self) -> Mapping[str, Any]:
        """Route → application."""
        answers: dict[str, Answer] = {
            **_static_files(),
            "/page.css": lambda _: _answer(STYLE, "text/css"),
            "/runs": self._list,
            "/page": self._page,
            "/steps": self._steps,
            "/lanes": self._lanes,
            "/table": self._table,
        }
        return {route: wrappers.Request.application(answer) for route, answer in answers.items()}

    def is_active(self) -> bool:
        """Whether there is a run to show."""
        return self._runs.any_known()

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        """The tab's name and its module; it looks for what is new by itself."""
        return base_plugin.FrontendMetadata(
            es_module_path="/index.js", tab_name="Performance", disable_reload=True
        )

    def _list(self, request: wrappers.Request) -> wrappers.Response:
        """`{"runs": [{"name": …, "version": …}, …]}`, the newest first."""
        runs = [{"name": run.name, "version": run.version} for run in self._runs.listed()]
        return _told({"runs": runs})

    def _page(self, request: wrappers.Request) -> wrappers.Response:
        """The runs that `run=` names, as one page: the first, and what changed since."""
        names = request.args.getlist("run")[:MOST_COMPARED]
        if not names:
            return _answer("run must name a run.", "text/plain", 400)
        try:
            return _drawn(page_content([self._runs.report(name) for name in names]))
        except UnknownRunError as error:
            return _answer(f"There is no run {error.args[0]!r} any more.", "text/plain", 404)
        except Exception as error:  # noqa: BLE001  the browser is told
            self._tell_once(f"The page of {names} cannot be made", error)
            why = str(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
            return _answer(f"The run cannot be read: {why}", "text/plain", 500)

    def _steps(self, request: wrappers.Request) -> wrappers.Response:
        """The steps of `run=` after `from=` and up to `to=`, of which `columns=` can be shown."""

        def told(read: ReadRun, first: int, last: int, columns: int) -> wrappers.Response:
            trace_of = read.trace_of if read.of_tensorboard else None
            return _told(read.timeline.between(first, last, columns, trace_of))

        return self._between(request, told)

    def _lanes(self, request: wrappers.Request) -> wrappers.Response:
        """The machine over the steps of `run=` after `from=` and up to `to=`."""

        def told(read: ReadRun, first: int, last: int, _: int) -> wrappers.Response:
            return _drawn(machine_card(read.report, (first, last)))

        return self._between(request, told)

    def _between(
        self,
        request: wrappers.Request,
        told: Callable[[ReadRun, int, int, int], wrappers.Response],
    ) -> wrappers.Response:
        """What is told of a run from one step to another, in so many columns."""
        asked = request.args
        try:
            read = self._runs.read(asked.get("run", ""))
            first = int(asked.get("from", read.timeline.first))
            last = int(asked.get("to", read.timeline.last))
            columns = int(asked.get("columns", MOST_COLUMNS))
        except ValueError:
            return _answer("from, to and columns must be whole numbers.", "text/plain", 400)
        except (UnknownRunError, OSError):
            return _answer("There is no such run that can be read.", "text/plain", 404)
        if not (-MOST_STEPS < first < last < MOST_STEPS and columns > 0):
            return _answer("from must be less than to, and columns above 0.", "text/plain", 400)
        return told(read, first, last, columns)

    def _table(self, request: wrappers.Request) -> wrappers.Response:
        """All runs that can be read, a row each; beside the first that was trained, if any was."""
        places, reports = [], []
        for run in self._runs.listed():
            try:
                reports.append(self._runs.report(run.name))
                summary = reports[-1].summary
                places.append((summary.facts.calls_only or not summary.steps, run.place))
            except Exception as error:  # noqa: BLE001  the others are told
                self._tell_once(f"{run.name} is left out of the table", error)
        if not reports:
            return _answer("There is no run that can be read.", "text/plain", 404)
        first = reports[places.index(min(places))]
        return _drawn(side_by_side(reports, first))

    def _tell_once(self, what: str, error: Exception) -> None:
        """A page that is open asks again every few seconds."""
        line = f"{what}: {type(error).__name__}: {error}"
        if line not in self._told:
            self._told.add(line)
            LOGGER.warning("%s", line, exc_info=error)


def _drawn(part: Element | None) -> wrappers.Response:
    """`{"content": …}`: what `static/tree.js` makes elements of; null where there is nothing."""
    return _told({"content": None if part is None else tree(part)})


def _told(value: Mapping[str, Any]) -> wrappers.Response:
    return _answer(json.dumps(value, separators=(",", ":")), "application/json")


def _static_files() -> dict[str, Answer]:
    """What lies in `static/`, here and there, each under its name."""
    found: dict[str, Answer] = {}
    for file in chain.from_iterable(folder.iterdir() for folder in _STATIC):
        if kind := KINDS.get(PurePosixPath(file.name).suffix):
            found[f"/{file.name}"] = partial(_static, file, kind)
    return found


def _static(file: Traversable, kind: str, request: wrappers.Request) -> wrappers.Response:
    return _answer(file.read_text(encoding="utf-8"), kind)


def _answer(text: str, kind: str, status: int = 200) -> wrappers.Response:
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
    # A name on disk need not be valid Unicode.
    body = text.encode("utf-8", errors="backslashreplace")
    return wrappers.Response(body, status, headers, content_type=f"{kind}; charset=utf-8")
