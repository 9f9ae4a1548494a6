"""Foreign names in code that is meant to be pasted: none can become code itself."""

from __future__ import annotations

import json
from keyword import iskeyword


def identifier(name: str, otherwise: str) -> str:
    """The name where Python takes it as one, else a name that the reader replaces.

    >>> identifier("Mine", "YourCallback"), identifier("Mine(object): ...", "YourCallback")
    ('Mine', 'YourCallback')
    """
    return name if name.isidentifier() and not iskeyword(name) else otherwise


def compiled_with(own_compile: bool, **options: object) -> str:
    """Code that compiles a model with these options.

    Arguments:
        own_compile: its class has a `compile` that does not take them.
        options: name → value, of Keras's `compile`.

    >>> compiled_with(False, jit_compile=True)
    'model.compile(..., jit_compile=True)'
    >>> print(compiled_with(True, jit_compile=True))
    model.jit_compile = True  # before fit: this model's compile does not take it
    """
    if not own_compile:
        given = ", ".join(f"{name}={value!r}" for name, value in options.items())
        return f"model.compile(..., {given})"
    lines = [f"model.{name} = {value!r}" for name, value in options.items()]
    lines[0] += "  # before fit: this model's compile does not take it"
    return "\n".join(lines)


def quoted(text: str) -> str:
    r"""The text as a literal of Python's.

    >>> print(quoted('half "done"'))
    "half \"done\""
    """
    return json.dumps(text, ensure_ascii=False)
