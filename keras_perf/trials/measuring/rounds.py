"""The same work timed in rounds."""

from __future__ import annotations

import time
from collections.abc import Callable

import pandas as pd


def timed_rounds(
    unit: str, units: str, count: int, repeats: int, run: Callable[[], int]
) -> pd.DataFrame:
    """Time of each round, after one that is not counted.

    Returns:
        A frame with a row a round: `round` (from 1), `<units>`, `<unit>_ms`, `<units>_per_sec`,
        `examples_per_sec`.

    Arguments:
        unit: what is counted, in the singular.
        units: the same in the plural.
        count: how many of them a round has.
        repeats: rounds that are counted.
        run: does a round, waits for its end, and returns its number of examples.
    """
    run()
    rows = []
    for number in range(1, repeats + 1):
        begin = time.perf_counter()
        examples = run()
        seconds = time.perf_counter() - begin
        rows.append((number, count, seconds / count * 1e3, count / seconds, examples / seconds))
    columns = ["round", units, f"{unit}_ms", f"{units}_per_sec", "examples_per_sec"]
    return pd.DataFrame(rows, columns=columns)
