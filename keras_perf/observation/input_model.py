"""What is asked of the input that an execution fetches from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from keras_perf.records.execution import Execution


class InputModel(Protocol):
    """The input behind one iterator.

    Attributes:
        iterator: that executions are called with.
        tells_gaps: the gap times of tf.data's own model tell how long steps waited.
    """

    iterator: Any
    tells_gaps: bool

    def gap_times(self) -> Sequence[int] | None:
        """Microseconds between two `GetNext` of tf.data, newest last; None where there are none."""

    def waits(
        self,
        executions: Sequence[Execution],
        fetches_per_step: float,
        pending_gaps: int,
        next_begin_ns: int | None,
    ) -> dict[int, int] | None:
        """First step → input wait, as far as it is known; None where none ever is."""

    def delivered(self) -> tuple[int, int] | None:
        """Batches that were fetched, and the bytes of all of them.

        None where that is not known, or where as many bytes may be a batch of another shape.
        """

    def read(self) -> Any | None:
        """tf.data's own model of the pipeline, or None."""
