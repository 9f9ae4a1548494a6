"""Tag and value of one evaluation or prediction."""

from __future__ import annotations

from keras_perf.records.run.inference import Inference


def call_scalars(kind: str, call: Inference) -> dict[str, float]:
    """Milliseconds per batch, and examples a second; what was not measured is absent.

    Arguments:
        kind: the beginning of the tags, such as `validation`.
        call: one call.
    """
    if not call.steps:
        return {}
    values = {f"{kind}/step_time_ms": call.step_ms}
    for part in call.parts_s:
        values[f"{kind}/{part}_ms"] = call.per_step_ms(part) or 0.0
    if (pace := call.examples_per_sec) is not None:
        values[f"{kind}/examples_per_sec"] = pace
    return values
