"""What entering and leaving the train function costs, as it is known from elsewhere."""

from __future__ import annotations

from typing import NamedTuple


class KnownDispatch(NamedTuple):
    """Of an execution."""

    share: float
    """Of the time inside an ordinary one."""
    ms: float
    """Of one execution, while that was measured."""

    def ns_of(self, inside_ns: int, executions: int) -> int:
        """Of several: in proportion on a machine that became faster, but no more for a long wait.

        Arguments:
            inside_ns: the time inside all of them, in which one may have filled a shuffle's buffer.
            executions: how many they were.
        """
        return round(min(self.share * inside_ns, 1e6 * self.ms * executions))
