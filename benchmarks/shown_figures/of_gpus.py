"""How figures of a real GPU compared with those of other tools."""

from __future__ import annotations

from shown_figures.parts import Found, of, table


def checks(name: str, found: Found) -> str:
    """One of the tables, below where it comes from."""
    if name not in found["tables"]:
        return "The newest results have none: this backend was not installed there."
    gpu = of(found["tables"]["gpu"], table=name)
    where = f"{gpu['name']}, driver {gpu['driver']}, {found['platform']['cores']} CPU cores"
    head = f"`{found['command']}`, {gpu['date']}, {where}; {gpu['how']}:"
    shown = table(found["tables"][name], check="figure, and what it was held against", result="")
    return f"{head}\n\n{shown}"
