"""What a step of Keras on JAX fetches."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from types import GeneratorType
from typing import Any

import jax

from keras_perf.backends.jax_batches import ALL_TIMED, THEN_EACH, Batches
from keras_perf.capture import jax_door
from keras_perf.observation.facts.input.tf_data import imported_tensorflow
from keras_perf.observers.steps.overlapping import OverlappingTimeline
from keras_perf.records.execution import Execution

NEXT_BATCH = "keras_perf: next batch"
"""How a trace names what a step waits for; see `keras_perf.trace.host`."""


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
        self._timeline.fetching = True
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
