"""What the figures of any benchmark are shown with: where they come from, tables, aims."""

from __future__ import annotations

from typing import Any

import result

Found = dict[str, Any]
"""What a benchmark found, by `result.keep`."""


def source(found: Found) -> str:
    """Command, day, machine and versions."""
    on = found["platform"]
    machine = f"{on['cpu'] or 'processor not noted'}, {on['cores']} cores"
    engine = "JAX" if "jax" in found["command"] else "TensorFlow"
    versions = f"{engine} {on[engine.lower()]}, Keras {on['keras']}"
    return f"`{found['command']}`, {found['at'][:10]}, {machine}, {versions}"


def table(rows: list[dict[str, Any]], **titles: str) -> str:
    """Columns by key, with these titles."""
    figures = {
        title: any(result.is_figure(row.get(key)) for row in rows) for key, title in titles.items()
    }
    lines = (result.line(row.get(key) for key in titles) for row in rows)
    return "\n".join([result.header(figures), *lines])


def reached(what: str, figure: str, good: bool) -> str:
    """An aim, and whether the newest figures reach it."""
    return f"Aim: {what}. {'Reached' if good else '**Not reached**'}: {figure}."


def tables(names: dict[str, dict[str, str]], found: Found) -> str:
    """Each table of a benchmark that there is, below where it comes from."""
    shown = [table(found["tables"][name], **titles) for name, titles in names.items()]
    return "\n\n".join([f"{source(found)}:", *shown])


def of(rows: list[dict[str, Any]], **where: Any) -> dict[str, Any]:
    """The row that has these values."""
    return next(row for row in rows if all(row[key] == value for key, value in where.items()))
