"""What tf.data's model of a training's pipeline tells, from one look at it to the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from weakref import ref

from keras_perf.observers.steps.input.pipeline_stages import buffer_fill, stages_from_model
from keras_perf.records.run.input.pipeline import InputFacts, Stage

Ask = Callable[[str, Callable[[], Any]], Any]


class SeenPipeline:
    """Its stages, and how full its last prefetch buffer was on average.

    Near its end a pipeline lets go of its first stages: the most that were seen count. What stands
    before a cache works in the pass that fills it, and rests in later ones; its work for a batch is
    the mean of all batches. Of several elements for a step, or of one for several, what is known of
    one is told of what a step takes.

    Arguments:
        fetches_per_step: how often a step asks for an element.

    Attributes:
        shuffles: one of its stages does; None before the first look.
    """

    def __init__(self, fetches_per_step: float = 1.0) -> None:
        self._per_step = fetches_per_step
        self.shuffles: bool | None = None
        self._model: Any = None
        self._stages: tuple[Stage, ...] = ()
        self._fills, self._looks = 0.0, 0
        self._made = self._batches = self._from_cache = 0
        self._seen: ref[object] | None = None

    def look(self, iterator: object, model: Any, ask: Ask, *, within_epoch: bool) -> None:
        """Between two executions, or at the end of an epoch, where only `shuffles` is asked.

        Arguments:
            iterator: stands for the one behind which the pipeline is; it is not held.
            model: a `tensorflow.data.model.ModelProto`.
            ask: answers a question by its name; None where it fails.
            within_epoch: more executions may follow on its iterator.
        """
        if within_epoch:
            self._model = model
            for fill in ask("prefetch_fill", partial(buffer_fill, model)) or ():
                self._fills += fill
                self._looks += 1
            ask("passes", partial(self._count, iterator, model))
        if self.shuffles is None:
            self.shuffles = any(n.name.startswith("Shuffle") for n in model.nodes.values())

    def _count(self, iterator: object, model: Any) -> None:
        """Batches since the last look; another iterator begins anew."""
        same = self._seen is not None and self._seen() is iterator
        before = self._made if same else 0
        self._seen = ref(iterator)
        self._made = model.nodes[model.output].num_elements if model.output in model.nodes else 0
        new = max(0, self._made - before)
        self._batches += new
        if any("Cache" in node.name and not node.inputs for node in model.nodes.values()):
            self._from_cache += new

    def facts(self, known: InputFacts, ask: Ask) -> InputFacts:
        """What is known of the input, with what was seen."""
        if (stages := ask("stages", self._most_stages)) is not None:
            known = replace(known, stages=stages)
        return replace(known, prefetch_fill=self._fills / self._looks) if self._looks else known

    def _most_stages(self) -> tuple[Stage, ...]:
        if self._model is not None:
            stages = stages_from_model(self._model)
            self._stages = stages if len(stages) >= len(self._stages) else self._stages
        return tuple(map(self._for_a_step, self._over_all_passes(self._stages)))

    def _for_a_step(self, stage: Stage) -> Stage:
        return replace(
            stage,
            cost_ms=self._per_step * stage.cost_ms,
            bytes_per_batch=self._per_step * stage.bytes_per_batch,
            elements_per_batch=self._per_step * stage.elements_per_batch,
        )

    def _over_all_passes(self, stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
        """Of datasets that come together behind a cache, each counts as in the pass it was seen."""
        caches = [at for at, stage in enumerate(stages) if "Cache" in stage.name]
        if not self._from_cache or not caches:
            return stages
        last = caches[-1]
        while last - 1 in caches:
            # tf.data shows a cache as two stages.
            last -= 1
        if any((stage.inputs or 0) > 1 for stage in stages[last:]):
            return stages
        share = 1 - self._from_cache / self._batches
        filling = (
            replace(stage, cost_ms=share * stage.cost_ms, works_for=share)
            for stage in stages[:last]
        )
        return (*filling, *stages[last:])

    def let_go(self) -> None:
        """Of the model."""
        self._model = None
