"""One evaluation on JAX, watched from its begin hook to its end hook."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import keras

from keras_perf.backends.jax_compiling import listen, listen_no_more
from keras_perf.backends.jax_input import JaxInput
from keras_perf.backends.jax_steps import StandIn
from keras_perf.observation.failure_line import warn_of
from keras_perf.observation.of_calls.asked_of_call import AskedOfCall
from keras_perf.observers.steps.calls.call_split import CallSplit
from keras_perf.observers.steps.input.pipeline_stages import stages_from_model
from keras_perf.observers.steps.overlapping import OverlappingTimeline
from keras_perf.records.execution import Execution, Kind
from keras_perf.records.run.inference import Inference
from keras_perf.records.run.input.pipeline import Stage

NAME = "test_function"

LOOKED_AT = 8
"""After so many executions the stages of the pipeline are looked at: near its end it lets go of
them."""

_compiled: weakref.WeakSet[Any] = weakref.WeakSet()
"""Test functions that have been called before: what they compile now is for another shape."""


class WatchedEvaluation:
    """Stands in for the model's test function whenever Keras calls it next.

    Arguments:
        model: its model.
        predicts: never; only of what evaluates is it known when the device is done.
        asked: what it was asked to do.
        clock: nanoseconds.
    """

    def __init__(
        self, model: keras.Model, predicts: bool, asked: AskedOfCall, clock: Callable[[], int]
    ) -> None:
        self._model, self._asked, self._now = model, asked, clock
        self._steps = max(1, int(model.steps_per_execution))
        self._timeline = OverlappingTimeline()
        self._stand_in = StandIn(self._timeline, clock)
        self._stand_in.execute = self._execute
        self._begun = clock()
        self._split = CallSplit(self._begun)
        self._function: Any = None
        self._input: JaxInput | None = None
        self._stages: tuple[Stage, ...] = ()
        self._executions = self._done = self._hooks = self._recompiled = 0
        self._open = self._off = False
        listen(self._timeline, clock)

    # -- in the call ---------------------------------------------------------------------

    def arm(self) -> None:
        """Keras calls the function next, and it alone finds ours in its place."""
        self._harmless(self._arm)

    def _arm(self) -> None:
        found = vars(self._model).get(NAME)
        if found is None:
            return
        if found is not self._function:
            self._function, self._call = found, self._stand_in.called(found)
        vars(self._model)[NAME] = self._stand_in

    def ready(self, now: int, batch: int) -> None:
        """The logs of the execution that ended with `batch` have been read, in any thread."""
        self._timeline.ready(now, batch)

    def host(self, owner: str, begin: int, end: int) -> None:
        """A callback's hook ran."""
        if self._open:
            self._timeline.host(owner, begin, end)
        else:
            self._hooks += end - begin

    def _execute(self, iterator: Any) -> Any:
        """In place of the model's function."""
        vars(self._model)[NAME] = self._function
        self._harmless(self._begins, iterator)
        try:
            result = self._call(iterator)
        except StopIteration:
            self._timeline.discard()
            raise
        self._harmless(self._returned)
        return result

    def _harmless(self, work: Callable[..., None], *arguments: Any) -> None:
        if self._off:
            return
        try:
            work(*arguments)
        except Exception as error:  # noqa: BLE001  monitoring never kills an evaluation
            self._off = True
            warn_of(error, f"watching {NAME}", "this call is not in the report")

    def _begins(self, iterator: Any) -> None:
        self._input = self._input or JaxInput(iterator)
        if self._executions == LOOKED_AT:
            self._look_at_stages()
        now = self._now()
        self._timeline.begin(now, now, self._done, self._steps, Kind.STEADY)
        self._open = True

    def _returned(self) -> None:
        self._timeline.returned(self._now())
        self._executions += 1
        self._done += self._steps

    def _look_at_stages(self) -> None:
        model = self._input.read() if self._input is not None else None
        stages = stages_from_model(model) if model is not None else ()
        self._stages = stages if len(stages) >= len(self._stages) else self._stages

    # -- at its end ----------------------------------------------------------------------

    def release(self) -> None:
        """Gives the function back, and hears of no more compiling; again does nothing."""
        listen_no_more(self._timeline)
        if vars(self._model).get(NAME) is self._stand_in:
            vars(self._model)[NAME] = self._function

    def executions_end(self) -> None:
        """No execution follows; hooks may."""
        if self._open:
            self._harmless(self._flush)
        self._open = False
        self.release()

    def _flush(self) -> None:
        missing = max(0, self._done - (self._asked.steps or self._done))
        self._timeline.flush(min(missing, self._steps - 1))
        self._timeline.close(self._now())
        self._add(self._timeline.take())
        self._look_at_stages()
        self._input = None
        self._stand_in.let_go()

    def _add(self, executions: list[Execution]) -> None:
        self._split.add(executions)
        self._split.close_stretch(None, 0)
        compiling = [bool(each.compile_ns) for each in executions]
        known = self._function in _compiled
        self._recompiled = sum(compiling if known else compiling[1:])
        _compiled.add(self._function)

    def end(self) -> Inference | None:
        """The call as a record; None where it could not be watched."""
        self.executions_end()
        found: list[Inference] = []
        self._harmless(lambda: found.append(self._record()))
        return found[0] if found else None

    def _record(self) -> Inference:
        now = self._now()
        parts = self._split.end(now, waited_ns=None, hooks_ns=self._hooks)
        spent = (now - self._begun) / 1e9
        return Inference(
            calls=1,
            executions=self._split.executions,
            steps=self._split.steps,
            spent_s=spent,
            parts_s={part: ns / 1e9 for part, ns in parts.items()},
            first_s=spent,
            traces=self._recompiled,
            examples=self._stand_in.batches.rows or None,
            steps_per_execution=self._steps,
            batch_size=self._asked.batch_size,
            input_kind=self._asked.input_kind,
            dataset=self._asked.dataset,
            stages=self._stages,
        )
