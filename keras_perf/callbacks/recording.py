"""What the callbacks of one `fit` write: one writer a log directory, one context."""

from __future__ import annotations

import json
import logging
import os
import platform
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import keras
import psutil
import tensorflow as tf

import keras_perf
from keras_perf.analyse.summary import Summary
from keras_perf.analyse.trace_agreement import compare_with_split
from keras_perf.callbacks.model_facts import (
    ends_in_float16_softmax,
    layer_widths,
    peak_memory_mib,
    training_gpus,
)
from keras_perf.callbacks.safe_writer import SafeWriter
from keras_perf.observers.asking import Answer, Questions, answers, unwarned
from keras_perf.report.diagnosis import Diagnosis, diagnose
from keras_perf.report.trace import Trace

if TYPE_CHECKING:
    from keras_perf.callbacks.observation import Observation

logger = logging.getLogger("keras_perf")


class Recording:
    """Writers by log directory, and the context record that goes into each of them.

    Arguments:
        run: the run's name under a log directory.

    Attributes:
        run: the same.
        context: what is known beside the figures.
        not_known: name → reason of what would be in the context, but could not be asked.
        traces: the captures' traces, as they were read.
    """

    def __init__(self, run: str) -> None:
        self.run = run
        self.context: dict[str, Any] = {}
        self.not_known: dict[str, str] = {}
        self._told: set[str] = set()
        self._writers: dict[str, SafeWriter] = {}
        self._diagnosed: list[str] = []
        self.traces: list[Trace] = []

    def writer(self, log_dir: str) -> SafeWriter:
        """The writer for a log directory, made at the first call."""
        if log_dir not in self._writers:
            self._writers[log_dir] = SafeWriter(log_dir, self.run)
        return self._writers[log_dir]

    def diagnose_at_end(self, log_dir: str) -> None:
        """Asks for the diagnosis in the Text tab."""
        self.writer(log_dir)
        self._diagnosed.append(log_dir)

    def learn(self, questions: Questions) -> dict[str, Any]:
        """Name → answer, for the context too; what fails is absent, and named with it."""
        found = answers(questions, self.not_known)
        self.context |= found
        return found

    def ask(self, name: str, question: Callable[[], Answer]) -> Answer | None:
        """The answer, which is not for the context; None if it fails, and that is named."""
        answer: Answer | None = answers({name: question}, self.not_known).get(name)
        return answer

    def write_context(self, observation: Observation) -> None:
        """The context as known so far; a killed run keeps the last one written."""
        known = answers(facts(observation), self.not_known) | self.context
        content = answers({n: partial(_plain, v) for n, v in known.items()}, self.not_known)
        self._say_what_is_not_known()
        if self.not_known:
            content["not_known"] = self.not_known
        for writer in self._writers.values():
            writer.context(observation.step, content)
            writer.flush()

    def _say_what_is_not_known(self) -> None:
        new = {name: why for name, why in self.not_known.items() if name not in self._told}
        self._told |= new.keys()
        if new:
            logger.warning(
                "keras_perf: not known of this training: %s. Advice that needs it is missing.",
                ", ".join(f"{name} ({why})" for name, why in new.items()),
            )

    def flush(self) -> None:
        """Lets others read what was written so far."""
        for writer in self._writers.values():
            writer.flush()

    def _note_differences(self, summary: Summary) -> None:
        """Where the newest trace and the split do not tell the same, and why."""
        compared = compare_with_split(self.traces[-1].to_frame(), summary)
        self.context["trace_differences"] = [str(each) for each in compared if not each.agrees]
        self.context["trace_agrees"] = [each.part for each in compared if each.agrees]

    def finish(self, observation: Observation) -> None:
        """Writes context and diagnosis."""
        self.write_context(observation)
        for log_dir in self._diagnosed if observation.diagnoses else ():
            if not self._writers[log_dir].lost:
                markdown = unwarned(self._diagnosis, observation, log_dir).to_markdown()
                self._writers[log_dir].text(observation.step, "perf/diagnosis", markdown)

    def _diagnosis(self, observation: Observation, log_dir: str) -> Diagnosis:
        this = self._writers[log_dir].fit
        diagnosis = diagnose(log_dir, fit=this)
        if self.traces:
            self._note_differences(diagnosis.summary)
            self.write_context(observation)
            diagnosis = diagnose(log_dir, fit=this)
        return diagnosis

    def close(self) -> None:
        """Closes the files; each is closed, whatever happens to another."""
        with ExitStack() as each:
            while self._writers:
                each.callback(self._writers.popitem()[1].close)


def facts(observation: Observation) -> Questions:
    """What is known of a training without measuring: versions, settings, sizes."""
    model, threading = observation.model, tf.config.threading
    return {
        "versions": _versions,
        "cpu_count": _cpu_count,
        "memory_available_mib": lambda: psutil.virtual_memory().available / 2**20,
        "steps_per_execution": lambda: observation.steps_per_execution,
        "dtype_policy": lambda: str(getattr(model.dtype_policy, "name", model.dtype_policy)),
        "parameters": lambda: int(model.count_params()) if model.built else None,
        "input_kind": lambda: observation.input_kind,
        "shapes_differ": lambda: observation.shapes_differ,
        "training_gpus": training_gpus,
        "gpu_memory_peak_mib": peak_memory_mib,
        "gpu_thread_mode": partial(os.environ.get, "TF_GPU_THREAD_MODE"),
        "threads": lambda: {
            "intra_op": threading.get_intra_op_parallelism_threads(),
            "inter_op": threading.get_inter_op_parallelism_threads(),
        },
        "float16_softmax": partial(ends_in_float16_softmax, model),
        "layer_widths": partial(layer_widths, model),
        "first_step": lambda: observation.first_step,
        "last_step": lambda: observation.step,
        "epoch_steps": lambda: observation.epoch_steps,
        "epochs": lambda: observation.epochs,
        **observation.settings(),
    }


def _versions() -> dict[str, str]:
    return {
        "keras_perf": keras_perf.__version__,
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "python": platform.python_version(),
    }


def _cpu_count() -> int | None:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def _plain(value: Any) -> Any:
    """A value as it is read back; raises where it cannot be written."""
    return json.loads(json.dumps(value, default=str))
