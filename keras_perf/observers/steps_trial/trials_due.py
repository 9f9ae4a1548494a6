"""Which trial comes next, and when."""

from __future__ import annotations

from collections.abc import Callable

from keras_perf.observers.steps_trial.steps_to_try import CONFIRMATIONS, TRIALS, Room, in_turn
from keras_perf.observers.steps_trial.trial_times import RUN_UP, TrialTimes

BETWEEN = 4
"""Ordinary executions before each trial, so that a drifting machine drifts for both."""

REPEATS = 4
"""So many times more trials are made where those so far cannot be told from noise."""


class TrialQueue:
    """Lengths of the trials to come.

    First come two lengths in turn, then one beyond what they lead to: what a step costs in the
    graph shows best in long executions. The longest is repeated where noise hides what is gained.
    """

    def __init__(self) -> None:
        self._due: list[int] = []
        self._since_trial = 0
        self._confirmed = False
        self._repeats = 0

    def ordinary_follows(self) -> bool:
        """An ordinary execution is about to run; whether a trial may take its place."""
        self._since_trial += 1
        return self._since_trial > BETWEEN or self._running_up

    @property
    def _running_up(self) -> bool:
        """The run-up before the next one has been made."""
        return len(self._due) % (1 + RUN_UP) > 0

    @property
    def next_steps(self) -> int:
        """Steps of the next trial; 0 where none is due."""
        return self._due[0] if self._due else 0

    @property
    def room_steps(self) -> int:
        """Steps without an interruption that it needs, with its run-up."""
        return self.next_steps if self._running_up else self.next_steps * (1 + RUN_UP)

    def take(self) -> int:
        """Steps of the next trial, which is run now."""
        self._since_trial = 0
        return self._due.pop(0)

    def fill(self, room: Room, times: TrialTimes, choose: Callable[[], int]) -> str | None:
        """Makes more trials due, if there are more to make.

        Arguments:
            room: what the training leaves for trials.
            times: of the trials so far.
            choose: tells the length that they lead to.

        Returns:
            Why there are none at all, or None.
        """
        if not times.lengths:
            lengths, refusal = room.first_lengths()
            self._due = in_turn(lengths, TRIALS)
            return refusal
        beyond = None if self._confirmed else room.length_beyond(choose(), times.lengths)
        if beyond is not None:
            self._confirmed = True
            self._due = in_turn([beyond], CONFIRMATIONS)
        return None

    def repeat(self, room: Room, times: TrialTimes) -> bool:
        """Makes the longest trials due once more; whether training leaves room for that."""
        length = room.length_again(times.lengths, times.trial_steps)
        if length is None or self._repeats == REPEATS:
            return False
        self._repeats += 1
        self._due = in_turn([length], CONFIRMATIONS)
        return True
