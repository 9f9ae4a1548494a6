"""One batch size, measured in this process: `python -m keras_perf.trials.batch_sizes.child TASK`.

It answers in one line of JSON. Memory that runs out ends this process and no other.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import keras

from keras_perf.records.reasons.why_not_trained import WhyNotTrained
from keras_perf.records.run.json_form import stored
from keras_perf.records.text.error_line import error_line
from keras_perf.trials.backends.chosen import trial_backend
from keras_perf.trials.measuring.rounds import timed_rounds
from keras_perf.trials.other_process.answers import answers_apart
from keras_perf.trials.other_process.parent import end_before_parent, end_with_parent
from keras_perf.trials.other_process.saved_model import SavedModel

ROUNDS = 5
MOST_EXECUTIONS = 200


@dataclass(frozen=True)
class Task:
    """What a child is to do.

    Attributes:
        model: to train.
        batch: where a batch was saved.
        settings: of the program's, as its library calls them.
        batch_size: examples of a step.
        memory_limit_mib: what training may take; None for what there is.
        seconds: of measuring, about.
        parent: number of the process that asks; the child ends with it.
        predict: calls of `predict_on_batch`, in place of steps of training.
    """

    model: SavedModel
    batch: str
    settings: dict[str, Any]
    batch_size: int
    memory_limit_mib: float | None
    seconds: float
    parent: int
    predict: bool = False


@dataclass(frozen=True)
class Answer:
    """What a child found.

    Attributes:
        step_ms: of each round.
        peak_mib, limit_mib: memory that training took, and could have taken.
        failed: what went wrong, in one line; empty if nothing.
        out_of_memory: that was memory.
        unreadable: the model could not be read.
    """

    step_ms: list[float] = field(default_factory=list)
    peak_mib: float = 0.0
    limit_mib: float = 0.0
    failed: str = ""
    out_of_memory: bool = False
    unreadable: bool = False


def measured(task: Task) -> Answer:
    """Trains with batches of this size for a while, or predicts."""
    backend = trial_backend()
    backend.set_as_program(task.settings)
    backend.only_so_much(task.memory_limit_mib)
    try:
        model = task.model.read()
        batch = backend.load(task.batch)
        backend.build(model, batch)
    except Exception as error:  # noqa: BLE001  whatever the user's classes raise
        out = is_out_of_memory(error)
        return Answer(failed=error_line(error), out_of_memory=out, unreadable=not out)
    if not (model.compiled or task.predict):
        return Answer(failed="it is not compiled after reading", unreadable=True)
    try:
        memory = backend.training_memory(task.memory_limit_mib)
        times = call_times if task.predict else step_times
        step_ms = times(model, backend.tiled(batch, task.batch_size), task.seconds)
        peak, limit = memory.peak_mib(), memory.limit_mib
        if peak > limit:
            took = WhyNotTrained.TOOK_MORE.of(peak_mib=peak, limit_mib=limit)
            return Answer(failed=took, out_of_memory=True)
        return Answer(step_ms, peak, limit)
    except Exception as error:  # noqa: BLE001  the parent tells it of this batch size
        return Answer(failed=error_line(error), out_of_memory=is_out_of_memory(error))


def step_times(model: keras.Model, batch: Any, seconds: float) -> list[float]:
    """Milliseconds of a step in each round; before them a step that traces, and a round."""
    execute, per_execution = trial_backend().execution(model, batch)
    return _rounds(execute, per_execution, seconds)


def call_times(model: keras.Model, batch: Any, seconds: float) -> list[float]:
    """Milliseconds of a call of `predict_on_batch` in each round, its result in NumPy's arrays."""
    return _rounds(trial_backend().prediction(model, batch), 1, seconds)


def _rounds(execute: Callable[[], object], per_execution: int, seconds: float) -> list[float]:
    execute()
    begin = time.perf_counter()
    execute()
    fitting = int(seconds / ROUNDS / (time.perf_counter() - begin))
    executions = max(1, min(fitting, MOST_EXECUTIONS))

    def run() -> int:
        for _ in range(executions):
            execute()
        return 0

    frame = timed_rounds("step", "steps", executions * per_execution, ROUNDS, run)
    return [float(each) for each in frame["step_ms"]]


def is_out_of_memory(error: Exception) -> bool:
    """Also where XLA or cuDNN gives it another name."""
    if isinstance(error, MemoryError) or type(error).__name__ == "ResourceExhaustedError":
        return True
    text = str(error).lower()
    return any(each in text for each in ("out of memory", "resource_exhausted", "bad_alloc"))


def main(task: str) -> None:
    """Measures, and answers what was found."""
    answers = answers_apart()
    told = json.loads(task)
    end_with_parent(told["parent"])
    end_before_parent()
    answer = measured(Task(**{**told, "model": SavedModel(**told["model"])}))
    print(json.dumps(stored(answer)), file=answers)


if __name__ == "__main__":
    main(sys.argv[1])
