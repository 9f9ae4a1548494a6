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


def quoted(text: str) -> str:
    r"""The text as a literal of Python's.

    >>> print(quoted('half "done"'))
    "half \"done\""
    """
    return json.dumps(text, ensure_ascii=False)
