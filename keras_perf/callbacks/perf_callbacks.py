"""perf_callbacks: the four together, and the one that tries their advice."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from keras_perf.callbacks.advice_tester import AdviceTester
from keras_perf.callbacks.gpu_sampler import GPUUtilizationSampler
from keras_perf.callbacks.observing_callback import ObservingCallback
from keras_perf.callbacks.step_gap_detector import StepGapDetector
from keras_perf.callbacks.steps_recommender import StepsPerExecutionRecommender
from keras_perf.callbacks.windowed_profiler import WindowedProfiler
from keras_perf.records.arguments import require_bool
from keras_perf.write.writable_log_dir import writable_log_dir

Choice = bool | Mapping[str, Any]


def perf_callbacks(
    log_dir: str | os.PathLike[str],
    *,
    profiler: Choice = True,
    gpu: Choice = True,
    gaps: Choice = True,
    steps_per_execution: Choice = True,
    try_advice: Choice = False,
    summary: bool = True,
) -> list[ObservingCallback]:
    """The four callbacks on one log directory, for `model.fit(callbacks=...)`.

    Arguments:
        log_dir: the directory that TensorBoard is started on; str or os.PathLike.
        profiler: `WindowedProfiler`: True, False to leave it out, or a dict of its arguments.
        gpu: `GPUUtilizationSampler`, likewise.
        gaps: `StepGapDetector`, likewise; without it there is no diagnosis.
        steps_per_execution: `StepsPerExecutionRecommender`, likewise.
        try_advice: `AdviceTester`, likewise: when `fit` is over, half a minute of trials.
        summary: when training ends, `StepGapDetector` prints four lines at most.

    Raises:
        TypeError, ValueError, OSError: a wrong argument, or `log_dir` cannot be written.
        NotImplementedError: Keras computes with a backend that is not observed, such as torch.

    >>> import keras_perf as kp
    >>> len(kp.perf_callbacks("logs/run1", profiler=False, gpu={"interval_s": 1.0}))
    3
    """
    log_dir, summary = writable_log_dir(log_dir), require_bool("summary", summary)
    wanted: list[tuple[str, Choice, type[ObservingCallback]]] = [
        ("profiler", profiler, WindowedProfiler),
        ("gpu", gpu, GPUUtilizationSampler),
        ("gaps", gaps, StepGapDetector),
        ("steps_per_execution", steps_per_execution, StepsPerExecutionRecommender),
        ("try_advice", try_advice, AdviceTester),
    ]
    callbacks = []
    options: dict[str, Any] = {"gaps": {"summary": summary}}
    for name, choice, kind in wanted:
        if isinstance(choice, Mapping):
            callbacks.append(kind(log_dir, **(options.get(name, {}) | choice)))
        elif not isinstance(choice, bool):
            raise TypeError(
                f"{name} must be True, False or a dict of {kind.__name__}'s arguments, "
                f"got {choice!r}."
            )
        elif choice:
            callbacks.append(kind(log_dir, **options.get(name, {})))
    return callbacks
