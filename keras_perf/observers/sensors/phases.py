"""How much of a span of time was training, validation and neither."""

from __future__ import annotations

from keras_perf.records.phase import Phase


class Phases:
    """The changes from one phase to the next, in monotonic seconds."""

    def __init__(self, begin: float, phase: Phase = Phase.BETWEEN) -> None:
        self._marks = [(begin, phase)]

    def begin(self, now: float, phase: Phase) -> None:
        """From now on it is this one."""
        self._marks.append((now, phase))

    def forget(self, before: float) -> None:
        """What ended by then is not asked for again."""
        first = max((n for n, (since, _) in enumerate(self._marks) if since <= before), default=0)
        # Another list: a thread may be reading this one.
        self._marks = self._marks[first:]

    def seconds(self, begin: float, end: float) -> dict[Phase, float]:
        """Seconds of each phase between two times."""
        found: dict[Phase, float] = {}
        for since, phase in reversed(self._marks):
            if since < end:
                spent = end - max(since, begin)
                found[phase] = found.get(phase, 0.0) + max(0.0, spent)
                end = since
            if since <= begin:
                break
        return {phase: spent for phase, spent in found.items() if spent > 0}
