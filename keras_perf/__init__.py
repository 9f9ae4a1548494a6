"""keras_perf: where every millisecond of a Keras training step goes, and what to change.

>>> import keras_perf as kp
>>> callbacks = kp.perf_callbacks("logs/run1")  # model.fit(..., callbacks=callbacks)
"""

from __future__ import annotations

import logging
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from keras_perf.records.visible import keep_to_one_line

if TYPE_CHECKING:
    from keras_perf.callbacks.gaps import StepGapDetector
    from keras_perf.callbacks.gpu import GPUUtilizationSampler
    from keras_perf.callbacks.profiler import WindowedProfiler
    from keras_perf.callbacks.profiler_door import step_marker
    from keras_perf.callbacks.recommender import StepsPerExecutionRecommender
    from keras_perf.callbacks.sampling import sample_gpus
    from keras_perf.callbacks.suite import perf_callbacks
    from keras_perf.read.scalars import load_scalars
    from keras_perf.report.comparison import Comparison, compare
    from keras_perf.report.diagnosis import Diagnosis, diagnose
    from keras_perf.report.fit_list import list_fits
    from keras_perf.report.trace import Trace, read_trace
    from keras_perf.trials.input_benchmark import benchmark_input_pipeline
    from keras_perf.trials.sweep import sweep_steps_per_execution
    from keras_perf.trials.train_step_benchmark import benchmark_train_step

__version__ = version("keras-perf")

# Every module warns by this logger, and what it names comes from outside.
logging.getLogger(__name__).addFilter(keep_to_one_line)

_HOMES = {
    "Comparison": "report.comparison",
    "Diagnosis": "report.diagnosis",
    "GPUUtilizationSampler": "callbacks.gpu",
    "StepGapDetector": "callbacks.gaps",
    "StepsPerExecutionRecommender": "callbacks.recommender",
    "Trace": "report.trace",
    "WindowedProfiler": "callbacks.profiler",
    "benchmark_input_pipeline": "trials.input_benchmark",
    "benchmark_train_step": "trials.train_step_benchmark",
    "compare": "report.comparison",
    "diagnose": "report.diagnosis",
    "list_fits": "report.fit_list",
    "load_scalars": "read.scalars",
    "perf_callbacks": "callbacks.suite",
    "read_trace": "report.trace",
    "sample_gpus": "callbacks.sampling",
    "step_marker": "callbacks.profiler_door",
    "sweep_steps_per_execution": "trials.sweep",
}

__all__ = [
    "Comparison",
    "Diagnosis",
    "GPUUtilizationSampler",
    "StepGapDetector",
    "StepsPerExecutionRecommender",
    "Trace",
    "WindowedProfiler",
    "benchmark_input_pipeline",
    "benchmark_train_step",
    "compare",
    "diagnose",
    "list_fits",
    "load_scalars",
    "perf_callbacks",
    "read_trace",
    "sample_gpus",
    "step_marker",
    "sweep_steps_per_execution",
]


def __getattr__(name: str) -> Any:
    """Loads a public name at its first use: reading and diagnosing need no TensorFlow."""
    if name not in _HOMES:
        raise AttributeError(f"module 'keras_perf' has no attribute {name!r}")
    value = getattr(import_module(f"keras_perf.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
