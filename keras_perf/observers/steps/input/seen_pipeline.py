"""What tf.data's model of a training's pipeline tells, from one look at it to the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Any

from keras_perf.observers.steps.input.pipeline_stages import buffer_fill, stages_from_model
from keras_perf.records.run.input.pipeline import InputFacts, Stage

Ask = Callable[[str, Callable[[], Any]], Any]


class SeenPipeline:
    """Its stages, and how full its last prefetch buffer was on average.

    Near its end a pipeline lets go of its first stages: the most that were seen count.

    Attributes:
        shuffles: one of its stages does; None before the first look.
    """

    def __init__(self) -> None:
        self.shuffles: bool | None = None
        self._model: Any = None
        self._stages: tuple[Stage, ...] = ()
        self._fills: list[float] = []

    def look(self, model: Any, ask: Ask, *, within_epoch: bool) -> None:
        """Between two executions, or at the end of an epoch, where only `shuffles` is asked.

        Arguments:
            model: a `tensorflow.data.model.ModelProto`.
            ask: answers a question by its name; None where it fails.
            within_epoch: more executions may follow on its iterator.
        """
        if within_epoch:
            self._model = model
            self._fills += ask("prefetch_fill", partial(buffer_fill, model)) or ()
        if self.shuffles is None:
            self.shuffles = any(n.name.startswith("Shuffle") for n in model.nodes.values())

    def facts(self, known: InputFacts, ask: Ask) -> InputFacts:
        """What is known of the input, with what was seen."""
        if (stages := ask("stages", self._most_stages)) is not None:
            known = replace(known, stages=stages)
        return replace(known, prefetch_fill=fmean(self._fills)) if self._fills else known

    def _most_stages(self) -> tuple[Stage, ...]:
        if self._model is not None:
            stages = stages_from_model(self._model)
            self._stages = stages if len(stages) >= len(self._stages) else self._stages
        return self._stages

    def let_go(self) -> None:
        """Of the model."""
        self._model = None
