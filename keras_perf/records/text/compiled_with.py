"""Code that compiles a model with other options."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any


def compiled_with(own_compile: bool, **options: object) -> str:
    """Code that compiles a model with these options.

    Arguments:
        own_compile: its class has a `compile` that does not take them.
        options: name → value, of Keras's `compile`.

    >>> compiled_with(False, jit_compile=True)
    'model.compile(..., jit_compile=True)'
    >>> print(compiled_with(True, jit_compile=True))
    model.jit_compile = True  # after compile, which does not take it, and before fit
    """
    if not own_compile:
        given = ", ".join(f"{name}={value!r}" for name, value in options.items())
        return f"model.compile(..., {given})"
    lines = [f"model.{name} = {value!r}" for name, value in options.items()]
    lines[0] += "  # after compile, which does not take it, and before fit"
    return "\n".join(lines)


def takes_options(compiles: Any) -> bool:
    """Whether a model's `compile` can be given what Keras's own takes."""
    known = signature(compiles).parameters
    takes_all = any(each.kind is Parameter.VAR_KEYWORD for each in known.values())
    return takes_all or known.keys() >= {"jit_compile", "run_eagerly", "steps_per_execution"}


def compiled_by(compiles: Any, **options: object) -> str:
    """The same for a model that is there, of its `compile`."""
    return compiled_with(not takes_options(compiles), **options)
