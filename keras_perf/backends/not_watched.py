"""What stands where a backend's trials are not watched."""

from __future__ import annotations

from keras_perf.observation.trials import TrialsInFit


class NoTrials(TrialsInFit):
    """No other number of steps per execution is tried, for this reason."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self._why = why

    def reason_not_to_try(self) -> str:
        """Always the same."""
        return self._why
