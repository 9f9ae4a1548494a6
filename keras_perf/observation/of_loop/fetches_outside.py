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
        fetching: some do.
    """

    def __init__(self) -> None:
        self.found = self.rarely = self.fetching = self._told = False
        self._looks, self._seen = LOOKED_AT, 0
        self._before: int | None = None
        self._fetched: bool | None = None

    def call_begins(self, pipeline: InputModel) -> bool:
        """A call on this iterator begins; whether it has turned out now that none fetches."""
        if self._fetched is not None:
            self._one_more(self._fetched)
            self._fetched = None
        known = self.found and not self._looks and not self._told
        self._told |= known
        if self._looks:
            self._looks -= 1
            self._before = handed_out(pipeline)
        return known

    def looks_no_more(self) -> None:
        """It has raised, or none follows on its iterator: its data may have been at their end."""
        self._before = self._fetched = None

    def call_ends(self, pipeline: InputModel) -> None:
        """It has ended."""
        before, self._before = self._before, None
        if before is not None:
            self._fetched = handed_out(pipeline) != before

    def _one_more(self, fetched: bool) -> None:
        self._seen += 1
        self.fetching |= fetched
        self.rarely |= not fetched
        self.found = self._seen >= FIRST_CALLS and not self.fetching


def handed_out(pipeline: InputModel | None) -> int | None:
    """Elements so far; None where tf.data's model does not tell."""
    model = None if pipeline is None else pipeline.read()
    node = None if model is None else model.nodes.get(model.output)
    return None if node is None else int(node.num_elements)
