"""Loops that fetch their batches between two calls."""

from __future__ import annotations

from keras_perf.observation.input_model import InputModel

FIRST_CALLS = 3
"""In a loop that fetches outside of its calls none of so many fetches."""


class FetchesOutside:
    """Told by the first calls: by how many batches tf.data hands out meanwhile.

    What a step waits for its batch would lie outside of the train function then, and nothing tells
    it from the loop's own work.

    Attributes:
        found: it is so.
    """

    def __init__(self) -> None:
        self.found = False
        self._left = FIRST_CALLS
        self._before: int | None = None

    def call_begins(self, pipeline: InputModel) -> None:
        """A call on this iterator begins."""
        if self._left:
            self._left -= 1
            self._before = _handed_out(pipeline)

    def looks_no_more(self) -> None:
        """It has raised, and tells nothing: another one does."""
        self._left += self._before is not None
        self._before = None

    def call_ends(self, pipeline: InputModel) -> bool:
        """It has ended; whether it was the one by which it is known to be so."""
        before, self._before = self._before, None
        if before is None:
            return False
        if _handed_out(pipeline) != before:
            # One that fetches is enough.
            self._left = 0
            return False
        self.found = not self._left
        return self.found


def _handed_out(pipeline: InputModel) -> int | None:
    model = pipeline.read()
    node = None if model is None else model.nodes.get(model.output)
    return None if node is None else int(node.num_elements)
