"""What the last call of a loop comes to that has raised, or has found no data."""

from __future__ import annotations

from keras_perf.observation.listener import Plan
from keras_perf.observation.observation import Observation
from keras_perf.observation.of_loop.passes import Passes


class LastCall:
    """Leaves out of all counts what it has not run.

    Arguments:
        loop: the observation of the loop.
        passes: told where the data end.
    """

    def __init__(self, loop: Observation, passes: Passes) -> None:
        self._loop, self._passes = loop, passes
        self._steps = 0
        self._found_none: bool | None = None

    def begins(self, plan: Plan) -> None:
        """A call begins."""
        self._steps = plan.steps

    @property
    def failed(self) -> bool:
        """It has raised, and not because its data were at their end."""
        return self._found_none is False

    def raises(self, plan: Plan, *, marked: bool, out_of_data: bool) -> None:
        """It never was, but for the steps that it has run until it was out of data.

        Arguments:
            plan: of the call.
            marked: its function had returned.
            out_of_data: some iterator has ended.
        """
        loop, passes = self._loop, self._passes
        end = loop.step if marked else loop.step + plan.steps
        out_of_data = out_of_data and not passes.has_more(loop.pipeline)
        lacking = passes.without_data(end, loop.pipeline) if out_of_data else 0
        missing = min(plan.steps, lacking or plan.steps)
        if missing < plan.steps and not marked:
            loop.returned(plan, unseen=True)
            marked = True
        if missing < plan.steps:
            loop.timeline.ready(loop.now())
        self._leave_out(missing if marked else 0)
        self._found_none = out_of_data
        if out_of_data:
            passes.ends(loop.step - loop.first_step)

    def found_no_data(self) -> None:
        """Looks whether it has ended by `break`, or run fewer steps, and nothing was raised."""
        loop, passes = self._loop, self._passes
        if loop.timeline.begun_ns is None or passes.goes_on(loop.step):
            return
        missing = passes.without_data(loop.step, loop.pipeline) - passes.fetched_ahead
        if 0 < missing <= self._steps:
            self._leave_out(missing)
            self._found_none = True
            passes.ends(loop.step - loop.first_step)

    def _leave_out(self, counted: int) -> None:
        """So many steps that were counted; of an execution without any nothing is left."""
        loop = self._loop
        loop.step, loop.batch = loop.step - counted, loop.batch - counted
        if 0 < counted < self._steps:
            loop.timeline.flush(counted)
        else:
            loop.timeline.discard()

    def take_pending(self) -> int | None:
        """How many times the iterator was asked after the last execution; None if unknown."""
        found_none, self._found_none = self._found_none, None
        if found_none is None:
            return 0
        # How often a call that raised had asked before is known of one that asks once.
        return 1 if found_none and self._loop.pace.fetches(self._steps) == 1 else None
