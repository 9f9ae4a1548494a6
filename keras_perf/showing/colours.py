"""The colours of what is drawn, on pages and in figures alike."""

from __future__ import annotations

# Okabe and Ito's colours, which the colour-blind can tell apart, moved to where each has a
# contrast of 3:1 at least both to white and to the page's dark ground.
PART_COLOURS = {
    "input_wait": "#d55e00",
    "compute": "#2b7fc3",
    "dispatch": "#b86399",
    "callbacks": "#b8860b",
    "other_host": "#7f7f7f",
    "compile": "#0c9a72",
}

TRIAL = PART_COLOURS["compute"]
"""Of a bar that stands for something that was tried."""
