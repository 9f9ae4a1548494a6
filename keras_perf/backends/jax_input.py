"""What a step of Keras on JAX fetches."""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from types import GeneratorType
from typing import Any

import jax

from keras_perf.capture import jax_door
from keras_perf.observation.facts.input.tf_data import imported_tensorflow
from keras_perf.observers.steps.overlapping import OverlappingTimeline
from keras_perf.records.execution import Execution
from keras_perf.trials.backends.jax_training import REMAINDER

NEXT_BATCH = "keras_perf: next batch"
"""How a trace names what a step waits for; see `keras_perf.trace.host`."""

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


class TimedIterator:
    """Iterates over batches, and tells how long each was waited for.

    The CPU time that the first one takes is not counted: a source begins with it.

    Arguments:
        source: the iterator that Keras fetches from.
        timeline: is told.
        batches: are told too.
        clock: nanoseconds.
        cpu_clock: nanoseconds for which the thread that asks has computed.
    """

    def __init__(
        self,
        source: Iterator[Any],
        timeline: OverlappingTimeline,
        batches: Batches,
        clock: Callable[[], int],
        cpu_clock: Callable[[], int] = time.thread_time_ns,
    ) -> None:
        self.source, self._timeline, self._batches = source, timeline, batches
        self._now, self._computed = clock, cpu_clock
        self._count = 0

    def __iter__(self) -> TimedIterator:
        return self

    def __next__(self) -> Any:
        count = self._count = self._count + 1
        reads = 1 < count <= ALL_TIMED or not count % THEN_EACH
        computed = self._computed() if reads else 0
        begin = self._now()
        if jax_door.captures():
            with jax.profiler.TraceAnnotation(NEXT_BATCH):
                batch = next(self.source)
        else:
            batch = next(self.source)
        self._timeline.fetched(begin, self._now())
        self._batches.add(batch, self._computed() - computed if reads else None)
        return batch


class JaxInput:
    """The input behind an iterator, and tf.data's own model of it, where there is one."""

    tells_gaps = False

    def __init__(self, iterator: TimedIterator) -> None:
        self.iterator = iterator
        self._model: Any = None

    def gap_times(self) -> None:
        """The iterator itself is timed."""

    def waits(
        self,
        executions: Sequence[Execution],
        fetches_per_step: float,
        pending_gaps: int,
        next_begin_ns: int | None,
    ) -> dict[int, int]:
        """First step → input wait, as each was timed."""
        return {e.first_step: e.input_wait_ns for e in executions if e.input_wait_ns is not None}

    def delivered(self) -> None:
        """JAX tells when it compiles."""

    def read(self) -> Any | None:
        """A `tensorflow.data.model.ModelProto`; None without tf.data, or before its first batch."""
        if self._model is None and (found := tf_data_behind(self.iterator.source)) is not None:
            # TensorFlow is there: whoever has such an iterator has imported it.
            from keras_perf.observation.facts.input.pipeline_model import PipelineModel

            self._model = PipelineModel(found)
        return None if self._model is None else self._model.read()


def tf_data_behind(source: Any) -> Any | None:
    """The iterator of tf.data that Keras's generators fetch from; None where there is none.

    A generator holds what it iterates over in no variable, but Python's garbage collector sees it.
    Where Keras iterates in another way, the stages are missing.
    """
    tensorflow = imported_tensorflow()
    found: Any = source
    while tensorflow is not None and _is_of_keras(found):
        held, kinds = gc.get_referents(found), (tensorflow.data.Iterator, GeneratorType)
        found = next((each for each in held if isinstance(each, kinds)), None)
    is_one = tensorflow is not None and isinstance(found, tensorflow.data.Iterator)
    return found if is_one else None


def _is_of_keras(generator: Any) -> bool:
    """What a user's own generator fetches from is the user's affair."""
    frame = generator.gi_frame if isinstance(generator, GeneratorType) else None
    return frame is not None and str(frame.f_globals.get("__name__")).startswith("keras.")
