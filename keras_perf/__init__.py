"""keras_perf: where every millisecond of a Keras training step goes, and what to change.

>>> import keras_perf as kp
>>> callbacks = kp.perf_callbacks("logs/run1")  # model.fit(..., callbacks=callbacks)
"""

from __future__ import annotations

import logging
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from keras_perf.records.text.visible import keep_to_one_line
from keras_perf.records.text.without_tensorflow import NEEDED, lacks_tensorflow

if TYPE_CHECKING:
    from keras_perf.advise.recommendation import Recommendation as Recommendation
    from keras_perf.callbacks.advice_tester import AdviceTester as AdviceTester
    from keras_perf.callbacks.gpu_sampler import GPUUtilizationSampler as GPUUtilizationSampler
    from keras_perf.callbacks.perf_callbacks import perf_callbacks as perf_callbacks
    from keras_perf.callbacks.sample_gpus import sample_gpus as sample_gpus
    from keras_perf.callbacks.step_gap_detector import StepGapDetector as StepGapDetector
    from keras_perf.callbacks.steps_recommender import (
        StepsPerExecutionRecommender as StepsPerExecutionRecommender,
    )
    from keras_perf.callbacks.windowed_profiler import WindowedProfiler as WindowedProfiler
    from keras_perf.capture.profiler_door import step_marker as step_marker
    from keras_perf.read.event_files import NoRunError as NoRunError
    from keras_perf.read.scalars import load_scalars as load_scalars
    from keras_perf.report.compared.comparison import Comparison as Comparison
    from keras_perf.report.compared.comparison import compare as compare
    from keras_perf.report.diagnosis import Diagnosis as Diagnosis
    from keras_perf.report.diagnosis import diagnose as diagnose
    from keras_perf.report.steps_per_execution import StepsPerExecution as StepsPerExecution
    from keras_perf.report.text.fit_list import list_fits as list_fits
    from keras_perf.trace.file.xplane import NoTraceError as NoTraceError
    from keras_perf.trace.read_trace import read_trace as read_trace
    from keras_perf.trace.trace import Trace as Trace
    from keras_perf.trials.batch_sizes.swept import BatchSizeSweep as BatchSizeSweep
    from keras_perf.trials.benchmarks.input_benchmark import (
        benchmark_input_pipeline as benchmark_input_pipeline,
    )
    from keras_perf.trials.benchmarks.matmul_benchmark import benchmark_matmul as benchmark_matmul
    from keras_perf.trials.benchmarks.train_step_benchmark import (
        benchmark_train_step as benchmark_train_step,
    )
    from keras_perf.trials.find_learning_rate import find_learning_rate as find_learning_rate
    from keras_perf.trials.learning_rate.learning_rate_curve import (
        LearningRateCurve as LearningRateCurve,
    )
    from keras_perf.trials.rewriting.tuned_input import TunedInput as TunedInput
    from keras_perf.trials.sweep import sweep_steps_per_execution as sweep_steps_per_execution
    from keras_perf.trials.sweep_batch_size import sweep_batch_size as sweep_batch_size
    from keras_perf.trials.training.tried_advice import TriedAdvice as TriedAdvice
    from keras_perf.trials.try_advice import try_advice as try_advice
    from keras_perf.trials.tune_input import tune_input as tune_input

__version__ = version("keras-perf")

# Every module warns by this logger, and what it names comes from outside.
logging.getLogger(__name__).addFilter(keep_to_one_line)

_HOMES = {
    "AdviceTester": "callbacks.advice_tester",
    "BatchSizeSweep": "trials.batch_sizes.swept",
    "Comparison": "report.compared.comparison",
    "Diagnosis": "report.diagnosis",
    "GPUUtilizationSampler": "callbacks.gpu_sampler",
    "LearningRateCurve": "trials.learning_rate.learning_rate_curve",
    "NoRunError": "read.event_files",
    "Recommendation": "advise.recommendation",
    "StepGapDetector": "callbacks.step_gap_detector",
    "StepsPerExecution": "report.steps_per_execution",
    "NoTraceError": "trace.file.xplane",
    "StepsPerExecutionRecommender": "callbacks.steps_recommender",
    "Trace": "trace.trace",
    "TriedAdvice": "trials.training.tried_advice",
    "TunedInput": "trials.rewriting.tuned_input",
    "WindowedProfiler": "callbacks.windowed_profiler",
    "benchmark_input_pipeline": "trials.benchmarks.input_benchmark",
    "benchmark_matmul": "trials.benchmarks.matmul_benchmark",
    "benchmark_train_step": "trials.benchmarks.train_step_benchmark",
    "compare": "report.compared.comparison",
    "diagnose": "report.diagnosis",
    "find_learning_rate": "trials.find_learning_rate",
    "list_fits": "report.text.fit_list",
    "load_scalars": "read.scalars",
    "perf_callbacks": "callbacks.perf_callbacks",
    "read_trace": "trace.read_trace",
    "sample_gpus": "callbacks.sample_gpus",
    "step_marker": "capture.profiler_door",
    "sweep_batch_size": "trials.sweep_batch_size",
    "sweep_steps_per_execution": "trials.sweep",
    "try_advice": "trials.try_advice",
    "tune_input": "trials.tune_input",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Loads a public name at its first use: reading and diagnosing need no TensorFlow."""
    if name == "loop":
        return import_module("keras_perf.loop")
    if name not in _HOMES:
        raise AttributeError(f"module 'keras_perf' has no attribute {name!r}")
    try:
        value = getattr(import_module(f"keras_perf.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if not lacks_tensorflow(error):
            raise
        raise ImportError(f"keras_perf: {name} {NEEDED}") from error
    globals()[name] = value
    return value


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext keras_perf` adds the magic `%%keras_perf` to a notebook."""
    from keras_perf.notebook.magic import register

    register(shell)


def __dir__() -> list[str]:
    return sorted(__all__)
