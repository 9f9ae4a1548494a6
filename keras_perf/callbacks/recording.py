"""What the callbacks of one `fit` write: one writer a log directory, one context."""

from __future__ import annotations

import os
import platform
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
from keras_perf.report.diagnosis import diagnose
from keras_perf.report.trace import Trace
from keras_perf.write.events import RunWriter

if TYPE_CHECKING:
    from keras_perf.callbacks.observation import Observation


class Recording:
    """Writers by log directory, and the context record that goes into each of them.

    Arguments:
        run: the run's name under a log directory.

    Attributes:
        run: the same.
        context: what is known beside the figures.
        traces: the captures' traces, as they were read.
    """

    def __init__(self, run: str) -> None:
        self.run = run
        self.context: dict[str, Any] = {}
        self._writers: dict[str, RunWriter] = {}
        self._diagnosed: list[str] = []
        self.traces: list[Trace] = []

    def writer(self, log_dir: str) -> RunWriter:
        """The writer for a log directory, made at the first call."""
        if log_dir not in self._writers:
            self._writers[log_dir] = RunWriter(log_dir, self.run)
        return self._writers[log_dir]

    def diagnose_at_end(self, log_dir: str) -> None:
        """Asks for the diagnosis in the Text tab."""
        self.writer(log_dir)
        self._diagnosed.append(log_dir)

    def write_context(self, observation: Observation) -> None:
        """The context as known so far; a killed run keeps the last one written."""
        content = describe(observation) | self.context
        for writer in self._writers.values():
            writer.context(observation.step, content)
            writer.flush()

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
        """Writes context and diagnosis, and closes the files, whatever fails on the way."""
        try:
            self.write_context(observation)
            for log_dir in self._diagnosed if observation.diagnoses else ():
                this = self._writers[log_dir].fit.id
                diagnosis = diagnose(log_dir, fit=this)
                if self.traces:
                    self._note_differences(diagnosis.summary)
                    self.write_context(observation)
                    diagnosis = diagnose(log_dir, fit=this)
                markdown = diagnosis.to_markdown()
                self._writers[log_dir].text(observation.step, "perf/diagnosis", markdown)
        finally:
            for writer in self._writers.values():
                writer.close()
            self._writers.clear()


def describe(observation: Observation) -> dict[str, Any]:
    """What is known of a training without measuring: versions, settings, sizes."""
    model = observation.model
    return {
        "versions": {
            "keras_perf": keras_perf.__version__,
            "tensorflow": tf.__version__,
            "keras": keras.__version__,
            "python": platform.python_version(),
        },
        "cpu_count": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "memory_available_mib": psutil.virtual_memory().available / 2**20,
        "steps_per_execution": observation.steps_per_execution,
        "dtype_policy": str(getattr(model.dtype_policy, "name", model.dtype_policy)),
        "parameters": int(model.count_params()) if model.built else None,
        "input_kind": observation.input_kind,
        "shapes_differ": observation.shapes_differ,
        "training_gpus": training_gpus(),
        "gpu_memory_peak_mib": peak_memory_mib(),
        "gpu_thread_mode": os.environ.get("TF_GPU_THREAD_MODE"),
        "threads": {
            "intra_op": tf.config.threading.get_intra_op_parallelism_threads(),
            "inter_op": tf.config.threading.get_inter_op_parallelism_threads(),
        },
        "float16_softmax": ends_in_float16_softmax(model),
        "layer_widths": layer_widths(model),
        "first_step": observation.first_step,
        "last_step": observation.step,
        "epoch_steps": observation.epoch_steps,
        "epochs": observation.epochs,
        **observation.settings(),
    }
