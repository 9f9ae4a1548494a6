"""What came of trying batch sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import TYPE_CHECKING

import pandas as pd

from keras_perf.records.figures import figure
from keras_perf.records.run.tried.batch_sizes import BatchSize, BatchSizes
from keras_perf.showing import html
from keras_perf.trials.batch_sizes.memory_line import MemoryLine

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WITHIN = 0.98
"""The recommended size has at least this share of the best throughput."""

LATER = "A larger batch is answered later: step_ms is how long one call takes."

CHANGED = (
    "Another batch size trains otherwise: learning rate and convergence change. Look for the "
    "learning rate again with keras_perf.find_learning_rate, and watch the validation."
)


@dataclass(frozen=True)
class TriedSize:
    """One batch size.

    Attributes:
        batch_size: examples of a step.
        step_ms, low_ms, high_ms: median and quartiles of the rounds; NaN if it failed.
        examples_per_sec: from the median.
        peak_mib: memory that training took; NaN if it failed.
        reason: why it failed, or was not tried; empty if it trained.
    """

    batch_size: int
    step_ms: float = math.nan
    low_ms: float = math.nan
    high_ms: float = math.nan
    examples_per_sec: float = math.nan
    peak_mib: float = math.nan
    reason: str = ""

    @classmethod
    def of(cls, batch_size: int, step_ms: Sequence[float], peak_mib: float) -> TriedSize:
        """One that trained, from the rounds' milliseconds a step."""
        low, middle, high = quantiles(step_ms, n=4)
        return cls(batch_size, middle, low, high, 1e3 * batch_size / middle, peak_mib)

    @property
    def failed(self) -> bool:
        """It did not train."""
        return bool(self.reason)

    @property
    def record(self) -> BatchSize:
        """What is kept of it in a run."""
        if self.failed:
            return BatchSize(batch_size=self.batch_size, reason=self.reason)
        return BatchSize(
            batch_size=self.batch_size,
            step_ms=self.step_ms,
            examples_per_sec=self.examples_per_sec,
            peak_mib=self.peak_mib,
        )


@dataclass(frozen=True)
class BatchSizeSweep:
    """What `sweep_batch_size` returns.

    Attributes:
        tried: all sizes, the predicted one among them, smallest first.
        present: the dataset's own batch size.
        limit_mib: memory that training could have taken.
        line: peak memory over batch size; None where the peaks lie on no rising line.
        predicted: the largest batch that fits by that line; None if it was not tried.
        predict: steps are calls of `predict_on_batch`, in place of steps of training.
    """

    tried: tuple[TriedSize, ...]
    present: int
    limit_mib: float
    line: MemoryLine | None
    predicted: int | None
    predict: bool = False

    @property
    def trained(self) -> tuple[TriedSize, ...]:
        """Those that did not fail; at least one."""
        return tuple(each for each in self.tried if not each.failed)

    @property
    def _asked(self) -> tuple[TriedSize, ...]:
        return tuple(each for each in self.trained if each.batch_size != self.predicted)

    @property
    def recommended(self) -> int:
        """The smallest batch size within 2% of the best throughput, of those asked for."""
        best = max(each.examples_per_sec for each in self._asked)
        fast = (each for each in self._asked if each.examples_per_sec >= WITHIN * best)
        return min(each.batch_size for each in fast)

    @property
    def largest(self) -> int | None:
        """The predicted largest batch if it trained, else None."""
        return self.record.largest

    def to_frame(self) -> pd.DataFrame:
        """A row a batch size, smallest first.

        Columns: `batch_size`, `step_ms`, `low_ms`, `high_ms`, `examples_per_sec`, `peak_mib`,
        `failed`, `reason`, as in `TriedSize`.
        """
        columns = [name for name in TriedSize.__dataclass_fields__ if name != "reason"]
        columns += ["failed", "reason"]
        rows = [[getattr(each, name) for name in columns] for each in self.tried]
        return pd.DataFrame(rows, columns=columns)

    def plot(self) -> Figure:
        """Throughput over batch size, as a figure of matplotlib's."""
        from keras_perf.showing.figures import empty

        drawn, axes = empty(4, "")
        frame = self.to_frame()
        frame = frame[~frame["failed"]]
        axes.plot(frame["batch_size"], frame["examples_per_sec"], "o-", label="measured")
        axes.axvline(self.recommended, color="C1", ls="--", label=f"{self.recommended} recommended")
        axes.set_xscale("log", base=2)
        axes.set_xlabel("batch size")
        axes.set_ylabel("examples per second")
        axes.set_ylim(bottom=0)
        axes.legend()
        return drawn

    def _repr_html_(self) -> str:
        best = max(each.examples_per_sec for each in self.trained)
        bars = [0.0 if each.failed else each.examples_per_sec / best for each in self.tried]
        pieces = [html.heading(self.record.reason), html.paragraph(self.record.memory)]
        pieces.append(html.table(_HEADS, [_cells(each) for each in self.tried], bars))
        return html.whole([*pieces, html.paragraph(LATER if self.predict else CHANGED)])

    def __str__(self) -> str:
        lines = [self.record.reason, self.record.memory, "", _row(*_HEADS)]
        lines += [_told(each) for each in self.tried]
        return "\n".join([*lines, "", LATER if self.predict else CHANGED]) + "\n"

    @property
    def record(self) -> BatchSizes:
        """What is kept of it in a run."""
        return BatchSizes(
            tried=tuple(each.record for each in self.tried),
            present=self.present,
            recommended=self.recommended,
            predicted=self.predicted,
            limit_mib=self.limit_mib,
            fixed_mib=None if self.line is None else self.line.fixed_mib,
            per_example_mib=None if self.line is None else self.line.per_example_mib,
            predict=self.predict,
        )


_HEADS = ("batch_size", "step_ms", "quartiles", "examples_per_sec", "peak_mib")


def _row(*cells: str) -> str:
    return "  ".join(
        f"{cell:>{width}}" for cell, width in zip(cells, (10, 8, 15, 16, 8), strict=True)
    )


def _told(each: TriedSize) -> str:
    return f"{each.batch_size:>10}  {each.reason}" if each.failed else _row(*_cells(each))


def _cells(each: TriedSize) -> list[str]:
    if each.failed:
        return [str(each.batch_size), each.reason, "", "", ""]
    return [
        str(each.batch_size),
        figure(each.step_ms),
        f"{figure(each.low_ms)}–{figure(each.high_ms)}",
        figure(each.examples_per_sec),
        figure(each.peak_mib),
    ]
