"""How figures of a real GPU compared with those of other tools."""

from __future__ import annotations

from shown_figures.parts import Found, table


def checks(name: str, found: Found) -> str:
    """One of the tables, below where it comes from."""
    [gpu], on = found["tables"]["gpu"], found["platform"]
    versions = [f"{each} {on[each.lower()]}" for each in ("Keras", "JAX") if on[each.lower()]]
    if name.endswith("tensorflow"):
        versions[1:] = [f"TensorFlow {on['tensorflow']}"]
    where = f"{gpu['name']}, driver {gpu['driver']}, {on['cores']} CPU cores"
    head = f"`{found['command']}`, {found['at'][:10]}, {where}, {', '.join(versions)}:"
    shown = table(found["tables"][name], check="figure, and what it was held against", result="")
    return f"{head}\n\n{shown}"
