"""What is known of a training that is observed, without measuring."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import keras

from keras_perf.observation.backend import Backend
from keras_perf.observation.input_model import InputModel
from keras_perf.observation.run_record import Recording
from keras_perf.observers.asking import Questions
from keras_perf.observers.steps.input.batch_bytes import BatchBytes
from keras_perf.observers.steps.recompiling import RecompileGuess


class ObservedTraining:
    """The questions that are asked of a training, whoever drives it, and what they are about.

    Attributes:
        model: being trained.
        backend: what the library tells that computes.
        first_step: optimizer steps before this training.
        step: optimizer steps before the next execution.
        traces: how often the train function was traced, or compiled where that is told.
        steps_per_execution: of an ordinary execution.
        fetches_per_step: how often a step asks the iterator for an element.
        epochs: number of epochs asked for, where that is known.
        epoch_steps: steps of a whole epoch, as far as they are known.
        input_kind: as in `InputFacts`.
        pipeline: tf.data's model behind the iterator.
        rows_differ: batches may have different numbers of rows; None if unknown.
        many_shapes: they may differ in more than that.
        feeds_devices: tf.data tells of what hands batches to devices, not of the pipeline.
        batch_bytes: tell whether batches had one shape.
        recompile_guess: says which executions compiled unseen.
        work: counts what a step multiplies, at the end.
        recording: where listeners write.
    """

    traces: int

    def __init__(
        self,
        model: keras.Model,
        backend: Backend,
        steps_per_execution: int,
        fetches_per_step: float,
        first_step: int,
        run: str,
    ) -> None:
        self.model, self.backend = model, backend
        self.steps_per_execution = steps_per_execution
        self.fetches_per_step = fetches_per_step
        self.first_step = self.step = first_step
        self.epochs: int | None = None
        self.epoch_steps: int | None = None
        self.input_kind: str | None = None
        self.pipeline: InputModel | None = None
        self._read_from: Callable[[], Any] = lambda: None
        self.rows_differ: bool | None = None
        self.many_shapes = self.feeds_devices = False
        self.work = backend.work
        self.batch_bytes, self.recompile_guess = BatchBytes(), RecompileGuess()
        self.recording = Recording(run, self._facts)
        self.recording.learn(backend.facts_at_begin())

    @property
    def shapes_may_differ(self) -> bool:
        """XLA compiles the steps, and nothing keeps batches to one shape but for their rows."""
        return self.many_shapes and self.compiled_by_xla

    @property
    def shapes_differ(self) -> bool:
        """They may differ, and by their bytes batches were not all alike."""
        return self.shapes_may_differ and not self.batch_bytes.alike

    @property
    def compiled_by_xla(self) -> bool:
        """XLA compiles the steps, and nothing tells when."""
        return False

    def reads(self, iterator: Any) -> bool:
        """Executions fetch from this iterator from now on; True if they did before, too."""
        goes_on = self._read_from() is iterator
        with suppress(TypeError):
            # Held, it would not end when its user lets it go.
            self._read_from = weakref.ref(iterator)
        self.pipeline = self.backend.input_model(iterator)
        self.rows_differ = self.backend.rows_may_differ(self.pipeline)
        self.many_shapes |= self.backend.many_shapes(self.pipeline)
        self.feeds_devices |= bool(getattr(self.pipeline, "feeds_devices", False))
        return goes_on

    def gaps_of_single_steps(self) -> Sequence[int]:
        """tf.data's gap times, where an ordinary execution is one step that fetches once."""
        if self.pipeline is None or self.steps_per_execution > 1 or self.fetches_per_step != 1:
            return ()
        return self.pipeline.gap_times() or ()

    def settings(self) -> Questions:
        """What the driver adds to the facts of the run: name → what is asked."""
        raise NotImplementedError

    def _facts(self) -> Questions:
        """What is known of a training without measuring: versions, settings, sizes."""
        return {
            **self.backend.facts(self.model),
            "steps_per_execution": lambda: self.steps_per_execution,
            "operations_in_step": lambda: self.backend.operations_in_step(
                self._function_asked(), self.traces
            ),
            "input_kind": lambda: self.input_kind,
            "many_shapes": lambda: self.many_shapes,
            "feeds_devices": lambda: self.feeds_devices,
            "shapes_differ": lambda: self.shapes_differ,
            "rows_differ": lambda: self.rows_differ,
            "guessed_compilations": lambda: self.recompile_guess.found,
            "guessed_compile_ms": lambda: self.recompile_guess.found_ns / 1e6,
            "first_step": lambda: self.first_step,
            "last_step": lambda: self.step,
            "epoch_steps": lambda: self.epoch_steps,
            "epochs": lambda: self.epochs,
            "step_work": lambda: self.work.asked(
                self._function_asked(),
                examples=self.recording.facts.length.examples_per_step,
                replicas=self.settings()["replicas"](),
                batches_per_step=self.fetches_per_step,
                steps_per_call=self.steps_per_execution,
            ),
            "function_traces": lambda: self.traces,
            **self.settings(),
        }

    def count_examples(self) -> float | None:
        """Examples in a step where they are known, which the facts of the run hold from then on."""
        self.recording.learn({"examples_per_step": self.examples_per_step})
        return self.recording.facts.length.examples_per_step

    def examples_per_step(self) -> float | None:
        """Examples in a step, where they are known; asked while the device is idle."""
        return None

    def _function_asked(self) -> Any:
        """What ordinary executions call."""
        raise NotImplementedError
