"""The script of a page that is a file: the modules of `static/` in one, as it can load none."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from xml.etree.ElementTree import Element

from keras_perf.report.page.html import element

ENTRY = "file"
"""The module that begins."""

_STATIC = files("keras_perf") / "report" / "page" / "static"
_IMPORT = re.compile(r'^import (\{[\w, ]+\}) from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:const|function|class) (\w+))", re.MULTILINE)


def script() -> Element:
    """To be put behind what it works on."""
    return element("script", script_text(), type="module")


def script_hash() -> str:
    """By which the browser knows that a script is this one; it runs no other."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script_text().encode()).digest()).decode()


@cache
def script_text() -> str:
    """Each module as a function that is called once, behind those that it imports."""
    modules: dict[str, str] = {}
    _add(ENTRY, modules)
    return "\n".join(modules.values())


def sheet() -> str:
    """How a timeline looks."""
    return (_STATIC / "timeline.css").read_text(encoding="utf-8")


def _add(name: str, modules: dict[str, str]) -> None:
    text = (_STATIC / f"{name}.js").read_text(encoding="utf-8")
    for _, other in _IMPORT.findall(text):
        if other not in modules:
            _add(other, modules)
    exported = ", ".join(each for _, each in _EXPORT.findall(text))
    inside = _EXPORT.sub(r"\1", _IMPORT.sub(r"const \1 = \2;", text))
    modules[name] = f"const {name} = (() => {{\n{inside}return {{ {exported} }};\n}})();"
