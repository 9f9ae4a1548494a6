"""The page's colours: light or dark as the reader's system is, or as `data-theme` says."""

from __future__ import annotations

from keras_perf.showing.colours import PART_COLOURS

COMMUNICATION = "#8a6fc9"
"""Of what several workers exchange; elsewhere it lies inside compute."""

_NAMED = {**PART_COLOURS, "communication": COMMUNICATION}
_COLOURS = "\n".join(f"  --{part}: {colour};" for part, colour in _NAMED.items())

_DARK = """
    color-scheme: dark;
    --ground: #101318; --card: #181c23; --ink: #e7eaf0; --quiet: #9aa4b2; --line: #2c323c;
    --code: #11151b; --good: #5fd3a0; --good-ground: #12311f;
"""

THEME = f"""
:root {{
  color-scheme: light;
  --ground: #f6f7f9; --card: #ffffff; --ink: #1b1f27; --quiet: #5b6472; --line: #dfe3e9;
  --code: #f1f3f6; --good: #0b7a4b; --good-ground: #e3f5ec;
{_COLOURS}
}}
@media (prefers-color-scheme: dark) {{
  :root:not([data-theme="light"]) {{{_DARK}  }}
}}
:root[data-theme="dark"] {{{_DARK}}}
"""
