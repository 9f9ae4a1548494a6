"""How a step of Keras on JAX is called, fetched for and compiled."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax

from keras_perf.capture import jax_door
from keras_perf.observers.steps.overlapping import OverlappingTimeline
from keras_perf.records.execution import Execution

NEXT_BATCH = "keras_perf: next batch"
"""How a trace names what a step waits for; see `keras_perf.trace.host`."""

COMPILING = "/jax/core/compile/"
"""Events of `jax.monitoring` that begin so tell how long something was traced or compiled."""

MOST_SHAPES = 100
"""So many are remembered."""


class Batches:
    """What the batches were that a training has fetched.

    Attributes:
        shapes: of the first array of each batch.
        fetched: how many batches there were.
        rows: of all of them.
    """

    def __init__(self) -> None:
        self.shapes: set[tuple[int, ...]] = set()
        self.fetched = self.rows = 0

    def add(self, batch: Any) -> None:
        """There was another one."""
        shape = _first_shape(batch)
        self.fetched += 1
        if shape:
            self.rows += shape[0]
            if shape not in self.shapes and len(self.shapes) < MOST_SHAPES:
                self.shapes.add(shape)

    @property
    def rows_differ(self) -> bool:
        """Not all had as many rows."""
        return len({shape[0] for shape in self.shapes}) > 1

    @property
    def shapes_differ(self) -> bool:
        """They differed in more than their number of rows."""
        return len({shape[1:] for shape in self.shapes}) > 1

    @property
    def mean_rows(self) -> float | None:
        """Of a batch; None where it is not known."""
        return self.rows / self.fetched if self.rows else None


def _first_shape(batch: Any) -> tuple[int, ...]:
    """Of the first array of a batch; () where it has none."""
    while not hasattr(batch, "shape"):
        if isinstance(batch, dict):
            batch = tuple(batch.values())
        if not isinstance(batch, list | tuple) or not batch:
            return ()
        batch = batch[0]
    shape = batch.shape
    whole = isinstance(shape, tuple) and all(isinstance(each, int) for each in shape)
    return shape if whole else ()


class TimedIterator:
    """Iterates over batches, and tells how long each was waited for.

    Arguments:
        source: the iterator that Keras fetches from.
        timeline: is told.
        batches: are told too.
        clock: nanoseconds.
    """

    def __init__(
        self,
        source: Iterator[Any],
        timeline: OverlappingTimeline,
        batches: Batches,
        clock: Callable[[], int],
    ) -> None:
        self.source, self._timeline, self._batches = source, timeline, batches
        self._now = clock

    def __iter__(self) -> TimedIterator:
        return self

    def __next__(self) -> Any:
        begin = self._now()
        if jax_door.captures():
            with jax.profiler.TraceAnnotation(NEXT_BATCH):
                batch = next(self.source)
        else:
            batch = next(self.source)
        self._timeline.fetched(begin, self._now())
        self._batches.add(batch)
        return batch


class JaxInput:
    """The input behind an iterator: tf.data's own model lies out of reach in Keras's generator."""

    def __init__(self, iterator: TimedIterator) -> None:
        self.iterator = iterator

    def gap_times(self) -> None:
        """There are none."""

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

    def read(self) -> None:
        """There is none."""


class StandIn:
    """What Keras calls in place of the train function, which takes the state of the model too.

    Attributes:
        execute: is called with the iterator, and calls the train function.
        batches: what the iterator has given.
    """

    def __init__(self, timeline: OverlappingTimeline, clock: Callable[[], int]) -> None:
        self._timeline, self._now = timeline, clock
        self.execute: Callable[[Any], Any] = lambda iterator: None
        self._state: Any = None
        self._log: Any = None
        self.batches = Batches()
        self._timed: TimedIterator | None = None

    def __call__(self, state: Any, iterator: Iterator[Any]) -> Any:
        """Takes the state until the train function is called with it."""
        timed = self._timed
        if timed is None or timed.source is not iterator:
            timed = TimedIterator(iterator, self._timeline, self.batches, self._now)
            self._timed = timed
        self._note_if_done(self._log)
        self._state = state
        result = self.execute(timed)
        self._log = _an_array(result[0])
        self._note_if_done(self._log)
        return result

    def _note_if_done(self, log: Any) -> None:
        """Whoever reads the logs in another thread may come to know of it only later."""
        try:
            done = log is not None and log.is_ready()
        except RuntimeError:
            # Somebody has deleted the array.
            done, self._log = False, None
        if done:
            self._timeline.ready(self._now())
            self._log = None

    def let_go(self) -> None:
        """Training is over: holds neither batches nor what was computed.

        Of the state it is called with in another thread meanwhile, the call itself lets go.
        """
        self._timed = self._log = None

    def called(self, function: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
        """The train function with the state that is held; it donates it, so it is let go of."""

        def call(iterator: Any) -> Any:
            state, self._state = self._state, None
            return function(state, iterator)

        return call


def _an_array(logs: Any) -> Any | None:
    """One of the logs, with which the others are ready too; None where none tells."""
    found = next(iter(logs.values()), None) if isinstance(logs, dict) else logs
    return found if hasattr(found, "is_ready") else None


_listening: weakref.WeakKeyDictionary[OverlappingTimeline, Callable[[], int]] = (
    weakref.WeakKeyDictionary()
)
_registered = False


def listen(timeline: OverlappingTimeline, clock: Callable[[], int]) -> None:
    """Tells the timeline from now on of what JAX compiles."""
    global _registered
    if not _registered:
        # Once in a process: a listener that is taken back is told only by the newest of JAX.
        jax.monitoring.register_event_duration_secs_listener(_heard)
        _registered = True
    _listening[timeline] = clock


def listen_no_more(timeline: OverlappingTimeline) -> None:
    """Tells it no more."""
    _listening.pop(timeline, None)


def _heard(event: str, duration: float, **_: Any) -> None:
    if event.startswith(COMPILING):
        for timeline, clock in list(_listening.items()):
            now = clock()
            timeline.compiled(now - round(duration * 1e9), now)
