"""What lies between the executions of two epochs."""

from __future__ import annotations

from typing import NamedTuple

VALIDATION = "validation"
"""The owner of the time that Keras evaluates the model."""


class EpochGap(NamedTuple):
    """From the end of an epoch's last execution to the begin of the next epoch's first one.

    After the last epoch it ends where training does. Nanoseconds of the executions' clock.
    """

    step: int
    """Optimizer steps before it."""
    begin_ns: int
    end_ns: int
    owners: tuple[tuple[str, int], ...] = ()
    """Whose time it was: (`Class.hook` or `validation`, nanoseconds)."""
    followed: bool = True
    """Another epoch came after it."""
    renewed: bool = True
    """That one has an iterator of its own."""
    compile_ns: int = 0
    """Of what has no owner, compiling; 0 where nothing tells of that."""
    iterator_ns: int | None = None
    """Of what has no owner, what lies between the hooks of the next epoch's begin and those of its
    first batch: in Keras, the making of its iterator. None where no hook of the former ran."""

    validated_ns: int = 0
    """Of validation's, from its first execution on; 0 where nobody knows."""
    unvalidated_ns: int = 0
    """Of validation's, before its first hook: there the last one's iterator may end."""
    hooked_ns: int = 0
    """Of what has no owner, callbacks' hooks before the next epoch's first batch."""
    observed_ns: int = 0
    """What observes training was at work for so long; it is in no part of the gap, which begins so
    much later."""

    @property
    def total_ns(self) -> int:
        """All of it."""
        return self.end_ns - self.begin_ns

    def with_less(self, owner: str, spent_ns: int) -> EpochGap:
        """So much of an owner's time is the rest's."""
        owners = tuple((o, ns - spent_ns if o == owner else ns) for o, ns in self.owners)
        return self._replace(owners=owners)

    @property
    def validation_ns(self) -> int | None:
        """What validation took; None where there was none."""
        spent = [ns for owner, ns in self.owners if owner == VALIDATION]
        return sum(spent) if spent else None

    @property
    def rest_ns(self) -> int:
        """What has no owner: Keras's own work, and making the next epoch's iterator."""
        return self.total_ns - sum(spent for _, spent in self.owners)
