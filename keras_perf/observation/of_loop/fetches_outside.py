"""Loops that fetch their batches between two calls."""

from __future__ import annotations

from keras_perf.observation.input_model import InputModel

FIRST_CALLS = 8
"""In a loop that fetches outside of its calls none of so many fetches."""


class FetchesOutside:
    """Told by the first calls: by how many batches tf.data hands out meanwhile.

    What a step waits for its batch would lie outside of the train function then, and nothing tells
    it from the loop's own work. Where several calls share a batch, the times between two fetches
    are of them all.

    Attributes:
        found: none of them fetches.
        rarely: some of them do, but not all.
    """

    def __init__(self) -> None:
        self.found = self.rarely = False
        self._left, self._looks = FIRST_CALLS, 2 * FIRST_CALLS
        self._fetching = 0
        self._before: int | None = None

    def call_begins(self, pipeline: InputModel) -> None:
        """A call on this iterator begins."""
        if self._left and self._looks:
            self._looks -= 1
            self._before = _handed_out(pipeline)

    def looks_no_more(self) -> None:
        """It has raised, and tells nothing: another one does."""
        self._before = None

    def call_ends(self, pipeline: InputModel) -> bool:
        """It has ended; whether it was the one by which either is known."""
        before, self._before = self._before, None
        if before is None:
            return False
        self._left -= 1
        self._fetching += _handed_out(pipeline) != before
        if self._left:
            return False
        self.found, self.rarely = not self._fetching, 0 < self._fetching < FIRST_CALLS
        return self.found or self.rarely


def _handed_out(pipeline: InputModel) -> int | None:
    model = pipeline.read()
    node = None if model is None else model.nodes.get(model.output)
    return None if node is None else int(node.num_elements)
