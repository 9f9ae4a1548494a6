"""What the iterator that `fit` trains on tells about its input pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_perf.observation.facts.batch_shapes import bytes_tell_shapes
from keras_perf.observers.asking import unwarned
from keras_perf.observers.steps.input.measured_waits import measured_waits, timed_waits
from keras_perf.records.execution import Execution


class PipelineModel:
    """tf.data's own model of the pipeline behind an iterator.

    Reading costs some 15 µs and no device sync. It is None from the moment that tf.data says
    that it keeps no model (`options.autotune.enabled = False`).
    """

    tells_gaps = True

    def __init__(self, iterator: Any) -> None:
        self.iterator = iterator
        self._source, self._timed = _readable(iterator), False

    @property
    def feeds_devices(self) -> bool:
        """What can be asked for is not the pipeline but what hands its batches to devices."""
        return self._source is not self.iterator and self._source is not None

    def gap_times(self) -> Sequence[int] | None:
        """Microseconds between two `GetNext`, newest last; None where tf.data keeps none."""
        model = self.read()
        return None if model is None else list(model.gap_times)

    def waits(
        self,
        executions: Sequence[Execution],
        fetches_per_step: float,
        pending_gaps: int,
        next_begin_ns: int | None,
    ) -> dict[int, int] | None:
        """First step → input wait, as far as it is remembered; None where none ever is.

        The arguments are those of `measured_waits`.
        """
        gaps_us = self.gap_times() if self.tells_gaps else None
        if gaps_us is None:
            timed, _ = timed_waits(executions)
            self._timed = self._timed or bool(timed)
            return timed if self._timed else None
        found = measured_waits(executions, fetches_per_step, gaps_us, pending_gaps, next_begin_ns)
        return {} if found is None else found.waits

    def delivered(self) -> tuple[int, int] | None:
        """Batches and their bytes, as tf.data counts them where it hands them out.

        None where as many bytes may be a batch of another shape, and with several replicas, of
        which only one's batches are counted.
        """
        if self._source is not self.iterator or not bytes_tell_shapes(self.iterator):
            return None
        node = self._handing_out()
        return None if node is None else (int(node.num_elements), int(node.bytes_produced))

    def batches(self) -> int | None:
        """As tf.data counts them; None with several replicas, of which only one's are counted."""
        node = self._handing_out() if self._source is self.iterator else None
        return None if node is None else int(node.num_elements)

    def _handing_out(self) -> Any | None:
        model = self.read()
        return None if model is None else model.nodes.get(model.output)

    def read(self) -> Any | None:
        """A `tensorflow.data.model.ModelProto`, or None; after a failure always None."""
        if self._source is None:
            return None
        try:
            return unwarned(tf.data.experimental.get_model_proto, self._source)
        except Exception:  # noqa: BLE001  the diagnosis says that the input wait is missing
            self._source = None
            return None


def _readable(iterator: Any) -> Any | None:
    """The iterator whose model can be asked for.

    A strategy with several local replicas hands out a DistributedIterator; the iterators behind
    it are private (`_iterators[0]._iterator._device_iterators[0]`). Where they are elsewhere,
    the input wait of such a run is missing.
    """
    if not isinstance(iterator, tf.distribute.DistributedIterator):
        return iterator
    try:
        inner = iterator._iterators[0]
        inner = getattr(inner, "_iterator", inner)
        devices = getattr(inner, "_device_iterators", None)
        return devices[0] if devices else inner
    except (AttributeError, IndexError, TypeError):
        return None
