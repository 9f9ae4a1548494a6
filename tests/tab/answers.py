"""What the tab answers, held to its schemas, and read as a reader would."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema

_SCHEMAS = Path(__file__).with_name("schemas")

Tree = list[Any]
"""`[tag, attributes, children]`."""


def schema(name: str) -> dict[str, Any]:
    """Of `runs`, `steps` or `content`."""
    read: dict[str, Any] = json.loads((_SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    return read


SCHEMAS = {
    route: jsonschema.Draft202012Validator(schema(name))
    for route, name in {
        "/runs": "runs",
        "/steps": "steps",
        "/page": "content",
        "/table": "content",
        "/lanes": "content",
    }.items()
}


def held_to_schema(route: str, answer: Any) -> None:
    """Fails where the answer to a question that was understood has another form."""
    if answer.status_code == 200 and route in SCHEMAS:
        assert answer.content_type == "application/json; charset=utf-8"
        SCHEMAS[route].validate(answer.json)


def parts_of(part: Tree) -> Iterator[Tree]:
    """It, and all elements in it, as they stand in the page."""
    yield part
    for child in part[2]:
        if not isinstance(child, str):
            yield from parts_of(child)


def text_of(part: Tree) -> str:
    """All text in it; what begins anew in the page begins a line."""
    told = (child if isinstance(child, str) else text_of(child) for child in part[2])
    return ("" if part[0] in INLINE else "\n") + "".join(told)


INLINE = {"a", "b", "code", "small", "span", "strong", "em", "i"}
