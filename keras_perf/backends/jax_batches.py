"""What the batches were that a step of Keras on JAX has fetched."""

from __future__ import annotations

from collections import Counter
from typing import Any

import jax

from keras_perf.trials.backends.jax_training import REMAINDER

Shapes = tuple[tuple[int, ...], ...]

MOST_SHAPES = 100
"""So many are remembered."""

ALL_TIMED, THEN_EACH = 100, 7
"""The CPU time of the first batches is read, and then of each seventh: reading a thread's clock
takes up to 6 us, and an input seldom has a rhythm of seven batches."""


class Batches:
    """What the batches were that a training has fetched.

    Attributes:
        stacked: Keras hands over the batches of an execution as one, along a first axis.
        shapes: of all arrays of each batch, in their order, and how many batches had them.
        described: by those, shapes and formats of the first batch that had them.
        fetched: how many batches there were.
        rows: of all of them, as the first array of each has them.
    """

    def __init__(self) -> None:
        self.shapes: Counter[Shapes] = Counter()
        self.described: dict[Shapes, Any] = {}
        self.fetched = self.rows = 0
        self._timed = self._took_ns = 0
        self.stacked = False

    def add(self, fetched: Any, took_ns: int | None = None) -> None:
        """There was another one, or several together.

        Arguments:
            fetched: what the iterator gave.
            took_ns: CPU time of the thread that fetched; None where it is not to count.
        """
        before = self.fetched
        remains = type(fetched).__name__ == REMAINDER
        for each in fetched if remains else [fetched]:
            self._add(each, self.stacked and not remains)
        if took_ns is not None:
            self._timed += self.fetched - before
            self._took_ns += took_ns

    def _add(self, batch: Any, stacked: bool) -> None:
        shapes, count = self._as_before(batch) or _shapes(batch), 1
        if stacked and shapes and shapes[0]:
            count, shapes = shapes[0][0], tuple(shape[1:] for shape in shapes)
        self.fetched += count
        if not shapes or not shapes[0]:
            return
        self.rows += count * shapes[0][0]
        if shapes in self.shapes or len(self.shapes) < MOST_SHAPES:
            self.shapes[shapes] += count
            if shapes not in self.described:
                self.described[shapes] = described(batch, stacked=stacked)

    def _as_before(self, batch: Any) -> Shapes | None:
        """Its shapes, if there were such batches of nothing but arrays; found in no time."""
        if type(batch) is not tuple:
            return None
        shapes: Any = tuple([getattr(array, "shape", None) for array in batch])
        try:
            return shapes if shapes in self.shapes else None
        except TypeError:
            # A shape of another library's.
            return None

    @property
    def rows_differ(self) -> bool:
        """Not all had as many rows."""
        return len({first[0] for first, *_ in self.shapes}) > 1

    @property
    def shapes_differ(self) -> bool:
        """They differed in more than their number of rows, in whichever of their arrays."""
        return len({tuple(shape[1:] for shape in shapes) for shapes in self.shapes}) > 1

    @property
    def fetch_cpu_ms(self) -> float | None:
        """CPU time of fetching a batch, on average; None where none was timed."""
        return self._took_ns / self._timed / 1e6 if self._timed else None

    @property
    def mean_mib(self) -> float | None:
        """Of a batch as JAX keeps it; None where no batch was one of arrays alone."""
        known = {
            shapes: _bytes(each) for shapes, each in self.described.items() if each is not None
        }
        count = sum(self.shapes[shapes] for shapes in known)
        total = sum(self.shapes[shapes] * size for shapes, size in known.items())
        return total / count / 2**20 if count else None

    @property
    def mean_rows(self) -> float | None:
        """Of a batch; None where it is not known."""
        return self.rows / self.fetched if self.rows else None


def described(arrays: Any, *, stacked: bool = False) -> Any | None:
    """Shapes and formats in the place of arrays, which are not held; None of what JAX has not.

    Of stacked ones those of each within.
    """
    try:
        return jax.tree.map(_described_within if stacked else _described, arrays)
    except Exception:  # noqa: BLE001  then what a step multiplies is not counted
        return None


def _described(array: Any) -> Any:
    dtype = getattr(array, "dtype", None)
    if dtype is None:
        return array
    place = getattr(array, "sharding", None)
    return jax.ShapeDtypeStruct(array.shape, jax.dtypes.canonicalize_dtype(dtype), sharding=place)


def _described_within(array: Any) -> Any:
    """Where on the devices it lies is known only of all together."""
    dtype = jax.dtypes.canonicalize_dtype(array.dtype)
    return jax.ShapeDtypeStruct(array.shape[1:], dtype)


def _bytes(described: Any) -> int:
    leaves = jax.tree.leaves(described)
    return sum(each.size * each.dtype.itemsize for each in leaves if hasattr(each, "dtype"))


def _shapes(batch: Any) -> Shapes:
    """Of all arrays of a batch, in their order; () in the place of one not of whole numbers."""
    shape = getattr(batch, "shape", None)
    if shape is not None:
        whole = isinstance(shape, tuple) and all(isinstance(each, int) for each in shape)
        return (tuple(shape) if whole else (),)
    parts = batch.values() if isinstance(batch, dict) else batch
    if not isinstance(batch, dict | list | tuple):
        return ()
    return tuple(shape for part in parts for shape in _shapes(part))
