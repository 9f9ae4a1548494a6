"""A training as data: what advice changes in it can be changed, and nothing else."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import keras
import tensorflow as tf

Callbacks = list[keras.callbacks.Callback]
Making = Callable[[int], keras.callbacks.Callback]


@dataclass(frozen=True)
class Stage:
    """One call on a dataset: `kind` is its name, `argument` what it is given.

    Attributes:
        of_batches: the argument that does the same to whole batches.
    """

    kind: str
    argument: Any = None
    more: Mapping[str, Any] = field(default_factory=dict)
    of_batches: Any = None


@dataclass(frozen=True)
class Work:
    """A callback: `make` is given every how many calls it works.

    Attributes:
        directly: makes the same one, which calls the model itself in place of `predict`.
        rebuilds: it makes the train function anew.
    """

    owner: str
    make: Making
    every: int = 1
    directly: Making | None = None
    rebuilds: bool = False


@dataclass(frozen=True)
class Program:
    """One training.

    Attributes:
        verdicts: those that are right; () where that has to be measured.
        model: makes it, not compiled; `compiled` are the arguments of `compile`.
        source: makes what the pipeline begins with: a dataset, a PyDataset, a generator.
        times: the source is given this number, to hold so many times as much; 0 where it takes
            none.
        stages: of the pipeline, in order.
        policy: what its layers compute in.
        in_processes: makes the whole input as a PyDataset with so many processes, or threads where
            those that are there wait.
        lengths: few, to which its sequences may be padded.
        options: of the dataset, by the names of `tf.data.Options`.
        fit: arguments of `fit`.
        validation: batches of it; 0 for none.
        validates: stages of its pipeline, behind those of the training.
        validation_threads: its maps run in several threads, whatever the training's do.
        validation_untuned: no thread of tf.data's tunes its pipeline.
        validation_batch: its batches are so many times as large, where it has them from a stage.
        works: the user's callbacks.
        tuned_gc: the collector runs as the advice has it.
        traced: a trace is taken.
        others: processes that count beside it.
    """

    name: str
    verdicts: tuple[str, ...]
    model: Callable[[], keras.Model]
    source: Callable[..., Any]
    stages: tuple[Stage, ...] = ()
    times: int = 0
    policy: str = "float32"
    in_processes: Callable[[int], Any] | None = None
    lengths: tuple[int, ...] = ()
    compiled: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    fit: Mapping[str, Any] = field(default_factory=dict)
    validation: int = 0
    validates: tuple[Stage, ...] = ()
    validation_threads: bool = False
    validation_untuned: bool = False
    validation_batch: int = 1
    works: tuple[Work, ...] = ()
    tuned_gc: bool = False
    traced: bool = False
    others: int = 0

    def dataset(self) -> Any:
        """What `fit` is given."""
        data = _made(self.source(self.times) if self.times else self.source(), self.stages)
        if self.options:
            options = tf.data.Options()
            for name, value in self.options.items():
                *path, last = name.split(".")
                at = options
                for part in path:
                    at = getattr(at, part)
                setattr(at, last, value)
            data = data.with_options(options)
        return data

    def validation_data(self) -> Any:
        """What `fit` validates on: as many batches as are said, of the training's pipeline."""
        stages, validates = self.stages, self.validates
        if self.validation_threads:
            stages, validates = _in_threads(stages), _in_threads(validates)
        larger = self.validation_batch
        data = replace(self, stages=_in_batches(stages, larger)).dataset()
        made = _made(data.take(-(-self.validation // larger)), validates)
        if self.validation_untuned:
            options = tf.data.Options()
            options.autotune.enabled = False
            made = made.prefetch(2).with_options(options)
        return made

    def made(self) -> keras.Model:
        """The model, compiled."""
        keras.utils.set_random_seed(1)
        usual = keras.config.dtype_policy()
        keras.config.set_dtype_policy(self.policy)
        try:
            model = self.model()
        finally:
            keras.config.set_dtype_policy(usual)
        model.compile(**{"optimizer": "sgd", "loss": "mse", "jit_compile": False, **self.compiled})
        return model

    def train(self, callbacks: Callbacks) -> None:
        """Once, as it is."""
        usual = gc.get_threshold()
        if self.tuned_gc:
            gc.set_threshold(100_000, 50, 100)
        data, works = self.dataset(), [work.make(work.every) for work in self.works]
        fit = dict(self.fit)
        if self.validation:
            fit["validation_data"] = self.validation_data()
        try:
            self.made().fit(data, verbose=0, shuffle=False, callbacks=[*callbacks, *works], **fit)
        finally:
            gc.set_threshold(*usual)


def _made(data: Any, stages: tuple[Stage, ...]) -> Any:
    """The data with these calls on it."""
    for stage in stages:
        given = () if stage.argument is None else (stage.argument,)
        data = getattr(data, stage.kind)(*given, **stage.more)
    return data


def _in_batches(stages: tuple[Stage, ...], larger: int) -> tuple[Stage, ...]:
    """Of so many times as many examples."""
    return tuple(
        replace(stage, argument=stage.argument * larger) if stage.kind == "batch" else stage
        for stage in stages
    )


def _in_threads(stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
    """Their maps run in several threads."""
    more = {"num_parallel_calls": tf.data.AUTOTUNE}
    return tuple(replace(s, more={**s.more, **more}) if s.kind == "map" else s for s in stages)
