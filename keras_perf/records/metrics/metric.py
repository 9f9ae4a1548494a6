"""What the table of metrics says of each."""

from __future__ import annotations

from typing import NamedTuple


class Metric(NamedTuple):
    """One logged quantity. `<i>` in a tag stands for a GPU's index, `<owner>` for `Class.hook`.

    `<call>` is `validation`, `evaluate` or `predict`, `<part>` a part of its time.
    """

    tag: str
    unit: str
    meaning: str
    blind_spot: str = ""
