"""What an observation tells, and who may say how the next execution is run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from keras_perf.observation.backend import TrainFunction
from keras_perf.observation.input_model import InputModel
from keras_perf.records.epoch_gap import EpochGap
from keras_perf.records.execution import Execution, Kind
from keras_perf.records.phase import Phase
from keras_perf.records.run.inference import Inference


class Plan(NamedTuple):
    """How the next execution will be run."""

    function: TrainFunction
    steps: int
    kind: Kind
    around: AbstractContextManager[Any] | None = None
    calls: int = 1
    """Of how many of Keras's calls it runs the steps; each is answered with its own logs."""


class Listener:
    """What an observation tells, always between two executions; each may be left as it is."""

    ends_last = False
    """It is told that all is over when the others have recorded what they know."""

    def executions(self, executions: Sequence[Execution]) -> None:
        """These executions are complete, in their order; told at the end of a stretch."""

    def epoch_gap_ends(self, gap: EpochGap) -> None:
        """What lay between two epochs, or after the last one, is over."""

    def stretch_ends(self, pipeline: InputModel | None, pending_gaps: int | None) -> None:
        """A run of consecutive steady executions on one iterator has ended.

        Arguments:
            pipeline: tf.data's model behind the iterator.
            pending_gaps: how many of its newest gap times came after the last execution that
                was told of; None if unknown.
        """

    def within_short_epoch(self, pipeline: InputModel) -> None:
        """Another execution of an epoch follows that is too short for a stretch to end in it."""

    def phase_begins(self, phase: Phase) -> None:
        """What a custom loop does from now on; in `fit` Keras's own hooks tell it."""

    def interval_ends(self, step: int, wall_time: float, final: bool) -> None:
        """It is time to write a point; the last one if `final`."""

    def function_replaced(self) -> None:
        """A callback has made the train function anew; what was made of the old one is stale."""

    def epoch_ends(self, *, validates: bool) -> None:
        """The epoch's last execution is over; if `validates`, validation begins now."""

    def validation_ends(self, call: Inference) -> None:
        """`fit` has validated."""

    def executions_end(self) -> None:
        """No execution follows; the last interval is still to be written."""

    def observation_ends(self, aborted: bool) -> None:
        """Training has ended, or has raised."""


class Director(Listener):
    """A listener that also decides how the next execution is run."""

    asked_last = False
    """It runs others in place of executions in which no other director sees to anything."""

    def wants(self, plan: Plan) -> bool:
        """Whether to be asked how this one is run; asked before each, so it must be quick."""
        raise NotImplementedError

    def direct(self, plan: Plan) -> Plan:
        """The plan, or another in its place; all executions that are complete have been told."""
        raise NotImplementedError

    def free_steps(self) -> int:
        """How many steps may run from here in one execution that another director makes longer."""
        return sys.maxsize
