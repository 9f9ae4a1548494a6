"""Our own characters where a terminal, a file or a font has none of them."""

from __future__ import annotations

import codecs

PLAIN = {
    "×": "x",
    "≤": "<=",
    "≥": ">=",
    "–": "-",
    "−": "-",
    "…": "...",
    "←": "<-",
    "▶": ">",
    "→": "->",
    "·": "-",
    "÷": "/",
    "±": "+-",
    "µ": "u",
    "°": "deg",
    "∞": "inf",
}
"""For our own characters, where the terminal or the file has none of them."""

PLAINLY = "keras_perf.plain"
"""What to do about a missing character, as `str.encode` takes it in `errors`."""


def _in_plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    shown = (PLAIN.get(c) or c.encode("ascii", "backslashreplace").decode() for c in missing)
    return "".join(shown), error.end


codecs.register_error(PLAINLY, _in_plain)
