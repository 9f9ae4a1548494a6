"""Events of one kind, by their times."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from keras_perf.trace.cover import Cover, Ticks
from keras_perf.trace.file.xplane import LineEvents


@dataclass(frozen=True)
class Spans:
    """Events of one kind, in the order of their begins."""

    begin: Ticks
    end: Ticks

    @cached_property
    def cover(self) -> Cover:
        """Their union."""
        return Cover(self.begin, self.end)

    def where(self, chosen: NDArray[np.bool_]) -> Spans:
        """Some of them."""
        return Spans(self.begin[chosen], self.end[chosen])


def spans_of(*events: LineEvents) -> Spans:
    """Those of several threads."""
    nothing = np.array([], dtype=np.int64)
    begin = np.concatenate([nothing, *(some.begin for some in events)])
    end = np.concatenate([nothing, *(some.end for some in events)])
    order = np.argsort(begin, kind="stable")
    return Spans(begin[order], end[order])
