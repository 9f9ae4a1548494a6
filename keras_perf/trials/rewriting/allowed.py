"""What a rewriting may change of the elements."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Allowed:
    """Nothing, unless the caller says so.

    Attributes:
        order: they may come in another order, which may differ between runs.
        random_numbers: a map that draws random numbers may draw others for an element, from the
            same distributions.
    """

    order: bool = False
    random_numbers: bool = False


NOTHING = Allowed()
