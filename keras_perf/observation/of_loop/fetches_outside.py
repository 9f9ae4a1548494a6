"""Loops that fetch their batches between two calls."""

from __future__ import annotations

from keras_perf.observation.input_model import InputModel

FIRST_CALLS = 3
"""In a loop that fetches outside of its calls none of so many fetches."""

LOOKED_AT = 8
"""Where several share a batch, one of so many fetches none."""


class FetchesOutside:
    """Told by the first calls: by how many batches tf.data hands out meanwhile.

    What a step waits for its batch would lie outside of the train function then, and nothing tells
    it from the loop's own work. Where several calls share a batch, the times between two fetches
    are of them all.

    Attributes:
        found: none of them fetches.
        rarely: not all of them do.
    """

    def __init__(self) -> None:
        self.found = self.rarely = False
        self._looks, self._seen, self._fetching = LOOKED_AT, 0, 0
        self._before: int | None = None

    def call_begins(self, pipeline: InputModel) -> None:
        """A call on this iterator begins."""
        if self._looks:
            self._looks -= 1
            self._before = handed_out(pipeline)

    def looks_no_more(self) -> None:
        """It has raised, and tells nothing: another one does."""
        self._before = None

    def call_ends(self, pipeline: InputModel) -> bool:
        """It has ended; whether it was the one by which it is known that none fetches."""
        before, self._before = self._before, None
        if before is None:
            return False
        fetched = handed_out(pipeline) != before
        self._seen, self._fetching = self._seen + 1, self._fetching + fetched
        self.rarely |= not fetched
        self.found = self._seen >= FIRST_CALLS and not self._fetching
        return self.found and not self._looks


def handed_out(pipeline: InputModel | None) -> int | None:
    """Elements so far; None where tf.data's model does not tell."""
    model = None if pipeline is None else pipeline.read()
    node = None if model is None else model.nodes.get(model.output)
    return None if node is None else int(node.num_elements)
