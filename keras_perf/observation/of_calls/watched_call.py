"""One evaluation or prediction, watched from its begin hook to its end hook."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import keras

from keras_perf.observation.failure_line import warn_of
from keras_perf.observation.of_calls.asked_of_call import AskedOfCall
from keras_perf.observers.sensors.core_wait import OwnTime
from keras_perf.observers.steps.calls.call_split import CallSplit
from keras_perf.observers.steps.input.pipeline_stages import stages_from_model
from keras_perf.observers.steps.timeline import Timeline
from keras_perf.records.execution import Kind
from keras_perf.records.run.inference import Inference
from keras_perf.records.run.input.pipeline import Stage

LOOKED_AT = 8
"""After so many executions the stages of the pipeline are looked at first: near its end it lets
go of them."""


class WatchedCall(ABC):
    """Stands in for the model's test or predict function whenever Keras calls it next.

    Arguments:
        model: its model.
        name: of the function, as an attribute of the model.
        asked: what it was asked to do.
        clock: nanoseconds.
        timeline: of its executions.

    Attributes:
        raised: is told what the function raises beside the end of its data.
    """

    at_the_end: ClassVar[tuple[type[Exception], ...]] = (StopIteration,)
    """What the function raises where its data have ended."""

    def __init__(
        self,
        model: keras.Model,
        name: str,
        asked: AskedOfCall,
        clock: Callable[[], int],
        timeline: Timeline,
    ) -> None:
        self._model, self._name, self._asked, self._now = model, name, asked, clock
        self._timeline = timeline
        self.raised: Callable[[BaseException], object] = lambda error: None
        self._stand_in: Callable[..., Any] = self._execute
        self._function: Any = None
        self._call: Callable[[Any], Any] = lambda data: None
        self._steps = max(1, int(model.steps_per_execution))
        self._begun = clock()
        self._split, self._own = CallSplit(self._begun), OwnTime()
        self._stages: tuple[Stage, ...] = ()
        self._executions = self._done = self._running = self._hooks = 0
        self._open = self._off = False
        self._counted = True

    @abstractmethod
    def _replaced(self, function: Any) -> None:
        """Keras made this function anew; sets what calls it."""

    @abstractmethod
    def _begins(self, data: Any) -> None:
        """The function is about to be called with these; begins an execution."""

    @abstractmethod
    def _flush(self) -> None:
        """Adds what ran to the split."""

    @abstractmethod
    def _retraces_and_examples(self) -> tuple[int, float | None]:
        """How often it was traced again; examples, None where they are not known."""

    # -- in the call ---------------------------------------------------------------------

    def arm(self) -> None:
        """Keras calls the function next, and it alone finds ours in its place."""
        self._harmless(self._arm)

    def _arm(self) -> None:
        found = vars(self._model).get(self._name)
        if found is None or found is self._stand_in:
            # Not called since, in a loop of the user's own.
            return
        if found is not self._function:
            self._function = found
            self._replaced(found)
        vars(self._model)[self._name] = self._stand_in

    def ready(self, now: int, batch: int) -> None:
        """The logs of the execution that ended with `batch` have been read, in any thread."""
        self._timeline.ready(now, batch)

    def host(self, owner: str, begin: int, end: int) -> None:
        """A callback's hook ran."""
        if self._open:
            self._timeline.host(owner, begin, end)
        else:
            self._hooks += end - begin

    def _execute(self, *arguments: Any, **named: Any) -> Any:
        """In place of the model's function; one with other arguments is the user's, and called."""
        vars(self._model)[self._name] = self._function
        if named or len(arguments) != 1:
            return self._function(*arguments, **named)
        data = arguments[0]
        self._harmless(self._begins, data)
        try:
            result = self._call(data)
        except self.at_the_end:
            self._harmless(self._data_ended)
            raise
        except BaseException as error:
            self.raised(error)
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
            warn_of(error, f"watching {self._name}", "this call is not in the report")

    def _begin(self, entry: int, now: int, steps: int) -> None:
        """An execution; what lies between `entry` and `now` is ours."""
        self._running, self._open = steps, True
        self._timeline.begin(entry, now, self._done, steps, Kind.STEADY)
        if steps > 1:
            self._own.begin()

    def _data_ended(self) -> None:
        self._timeline.discard()

    def _returned(self) -> None:
        own_ns = self._own.take() if self._running > 1 else 0
        self._timeline.returned(self._now(), own_ns)
        self._executions += 1
        self._done += self._running

    def _look_at(self, pipeline: Any) -> None:
        stages = stages_from_model(pipeline) if pipeline is not None else ()
        self._stages = stages if len(stages) >= len(self._stages) else self._stages

    # -- at its end ----------------------------------------------------------------------

    def release(self) -> None:
        """Gives back what was taken; again does nothing."""
        self.give_back()

    def give_back(self) -> None:
        """The function; again does nothing. Asks for no lock: the garbage collector may call."""
        self._own.close()
        if vars(self._model).get(self._name) is self._stand_in:
            vars(self._model)[self._name] = self._function

    def executions_end(self) -> None:
        """No execution follows; hooks may."""
        if self._open:
            self._harmless(self._flush)
        self._open = False
        self.release()

    def _ran(self) -> int | None:
        """Batches that ran, as far as executions are known to have been cut; None if unknown."""
        most = self._asked.most(self._steps)
        return self._done if most is None else most

    def _flush_timeline(self) -> int:
        """The last execution may have had fewer steps; how many it did not run."""
        ran = self._ran()
        self._counted = ran is not None
        missing = max(0, self._done - (ran or self._done))
        self._timeline.flush(min(missing, self._steps - 1))
        return missing

    def end(self) -> Inference | None:
        """The call as a record; None where it could not be watched."""
        self.executions_end()
        found: list[Inference] = []
        self._harmless(lambda: found.append(self._record()))
        return found[0] if found else None

    def _record(self) -> Inference:
        now = self._now()
        parts = self._split.end(now, waited_ns=self._waited_ns, hooks_ns=self._hooks)
        spent = (now - self._begun) / 1e9
        retraces, examples = self._retraces_and_examples()
        return Inference(
            calls=1,
            executions=self._split.executions,
            steps=self._split.steps if self._counted else 0,
            spent_s=spent,
            parts_s={part: ns / 1e9 for part, ns in parts.items()},
            first_s=spent,
            traces=retraces,
            examples=examples or None,
            steps_per_execution=self._steps,
            batch_size=self._asked.batch_size,
            input_kind=self._asked.input_kind,
            dataset=self._asked.dataset,
            stages=self._stages,
        )

    @property
    def _waited_ns(self) -> int | None:
        """For input, outside of executions; None where none is waited for there."""
        return None
