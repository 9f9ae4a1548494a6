"""The same advice for a custom loop, where nobody calls Keras's `fit` and `compile`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from keras_perf.advise.code_names import quoted
from keras_perf.advise.recommendation import Recommendation
from keras_perf.analyse.summary import Summary

COMMAND = "python train.py"
"""The loop that `keras-perf template train.py` writes."""


def in_a_loop(advice: Recommendation, summary: Summary) -> Recommendation | None:
    """The advice with what to paste into that loop, or its command line.

    None where it would be done so rarely that a training as long as this one has no place for it.
    """
    reword = _REWORDED.get(advice.id)
    return advice if reword is None else reword(advice, summary)


def _steps_per_call(advice: Recommendation, summary: Summary) -> Recommendation:
    steps = advice.evidence["advised"]
    action = f"{COMMAND} --steps-per-call {steps}"
    return replace(advice, title=f"Run {steps} steps per call", action=action)


def _rarer_work(advice: Recommendation, summary: Summary) -> Recommendation | None:
    owner, every = advice.evidence["owner"], advice.evidence["advised"]
    lines = f"    with monitor.outside({quoted(owner)}):\n        ..."
    title = f"Do the work of {owner} {_rarer(advice)} times less often"
    if advice.of == "step":
        lines = f"    with monitor.host({quoted(owner)}):\n        ..."
        title = f"Do the work of {owner} every {every} steps"
        return replace(advice, title=title, action=f"if step % {every} < call.steps:\n{lines}")
    steps = _steps_between(summary, summary.context["outside"]["epoch_gaps"]) * every
    if steps > _length(summary):
        return None
    return replace(advice, title=title, action=f"if step % {steps} < call.steps:\n{lines}")


def _rarer_evaluation(advice: Recommendation, summary: Summary) -> Recommendation:
    spent, share = advice.evidence["validation_ms"], advice.evidence["share"]
    present = _steps_between(summary, summary.context["outside"]["validations"])
    every = _rarer(advice) * present
    title, action = "Evaluate on a part of the data", "test_dataset = test_dataset.take(...)"
    if every <= _length(summary):
        title = f"Evaluate every {every} steps, or on a part of the data"
        action = f"{COMMAND} --evaluate-every {every}"
    return replace(
        advice,
        title=title,
        reason=(
            f"Evaluation takes {spent:.3g} ms for every step of {summary.step_ms:.3g} ms, "
            f"{share:.0%} of the training."
        ),
        action=action,
        evidence={**advice.evidence, "present": present, "advised": every},
    )


def _rarer(advice: Recommendation) -> int:
    return int(advice.evidence["advised"] // max(1, advice.evidence["present"]))


def _steps_between(summary: Summary, times: int) -> int:
    """Steps between two of so many times in the training."""
    return max(1, round(_length(summary) / max(1, times)))


def _length(summary: Summary) -> int:
    """Steps of the training."""
    return int(summary.context["last_step"]) - int(summary.context["first_step"])


def _compile(advice: Recommendation, summary: Summary) -> Recommendation:
    return replace(advice, action=f"{COMMAND} --jit-compile")


def _policy(advice: Recommendation, summary: Summary) -> Recommendation:
    policy = advice.action.split('"')[1]
    return replace(advice, action=f"{COMMAND} --policy {policy}")


def _not_eagerly(advice: Recommendation, summary: Summary) -> Recommendation:
    return replace(
        advice,
        reason=advice.reason.replace("run_eagerly=True", "tf.config.run_functions_eagerly(True)"),
        action="tf.config.run_functions_eagerly(False)",
    )


def _processes(advice: Recommendation, summary: Summary) -> Recommendation:
    return replace(
        advice,
        action=(
            "batches = multiprocessing.Queue(8)\n"
            f"for part in range({advice.evidence['cores']}):  # before TensorFlow is used\n"
            "    arguments = {'target': your_function, 'args': (part, batches), 'daemon': True}\n"
            "    multiprocessing.Process(**arguments).start()  # it puts its part of the batches\n"
            "dataset = tf.data.Dataset.from_generator(\n"
            "    lambda: (batches.get() for _ in range(count)), output_signature=...)"
        ),
    )


_REWORDED: Mapping[str, Callable[[Recommendation, Summary], Recommendation | None]] = {
    "raise-steps-per-execution": _steps_per_call,
    "amortize-callback": _rarer_work,
    "rarer-validation": _rarer_evaluation,
    "enable-xla": _compile,
    "mixed-precision": _policy,
    "disable-run-eagerly": _not_eagerly,
    "parallel-input": _processes,
}
