"""Tells by their bytes that batches had one shape."""

from __future__ import annotations


class BatchBytes:
    """Compares how many bytes batches have.

    Attributes:
        alike: all batches had as many bytes, as far as they were counted the last time; XLA then
            has had one shape to compile for.
    """

    def __init__(self) -> None:
        self._each: int | None = None
        self._differ = False
        self.alike = False

    def add(self, delivered: tuple[int, int] | None) -> None:
        """What an iterator has delivered by now.

        Arguments:
            delivered: batches, and the bytes of all of them; None where that is not known, or where
                batches of as many bytes may have several shapes.
        """
        if delivered is None or not delivered[0]:
            self.alike = False
            return
        each, rest = divmod(delivered[1], delivered[0])
        if self._each is None:
            self._each = each
        self._differ |= bool(rest) or each != self._each
        self.alike = not self._differ
