"""What a step takes in the train function where an execution has more of them."""

from __future__ import annotations

from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import between
from keras_perf.records.run.tried.steps_trial import StepsTrial

IN_GRAPH_OFF = 0.15
"""In long executions a step in the graph took up to so much of its time more or less than the
trials' short ones told."""


def left_inside(situation: Situation, trial: StepsTrial, optimism: float) -> float:
    """Share of a step's time in the train function that is left in longer executions.

    So many times less as on trial, beside whose executions it was measured; of what computes no
    less is left than computes in the graph. What a step waits for input lies in the trial's times.
    """
    rest, number = situation.model.rest, trial.steps_per_execution
    now_ms = situation.model.inside_ms
    if not now_ms:
        return 1.0
    computing_ms = rest.get("compute", 0.0)
    shared_ms = rest.get("dispatch", 0.0) * trial.present / number
    in_graph_ms, execution_ms = trial.in_graph_ms, trial.per_execution_ms
    off = 1 - IN_GRAPH_OFF * optimism
    if in_graph_ms is None or execution_ms is None or not trial.predicted_speedup:
        return min(1.0, (computing_ms + shared_ms) * off / now_ms)
    waits_ms = min(situation.summary.parts.get("input_wait", 0.0), in_graph_ms / 2)
    computed_ms = in_graph_ms - waits_ms
    before_ms = computed_ms + execution_ms / trial.present
    gain = before_ms / max(1e-9, computed_ms + execution_ms / number)
    least, most = (end / trial.predicted_speedup for end in (trial.low, trial.high))
    bound = between(least, 1.0, most, optimism)
    least_ms = min(computing_ms, in_graph_ms) + shared_ms
    return min(1.0, max(1 / gain, least_ms / now_ms) / max(1e-9, bound) * off)
