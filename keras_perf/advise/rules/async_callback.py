"""Advice on callbacks for which training on JAX waits, step by step."""

from __future__ import annotations

from dataclasses import replace

from keras_perf.advise.as_written import at
from keras_perf.advise.code_names import identifier
from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.followed import no_hook_waits
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import StepModel, between
from keras_perf.analyse.hardware.gpu_busy import busy_share
from keras_perf.records.advice_ids import ASYNC_CALLBACK
from keras_perf.records.figures import in_ms

SIDE_BY_SIDE = 0.0, 0.85, 1.0
"""Of what device and host can do at the same time, so much they do: worst, expected, best. On an
H200 whose kernels took 2.3 ms of a step of 3.7 it was 0.87."""

OF_KERAS = "BackupAndRestore", "LambdaCallback", "ModelCheckpoint"
"""Classes that are not the user's, of which one callback is told."""


@rule(ASYNC_CALLBACK, followed=no_hook_waits)
def async_callback(situation: Situation) -> Recommendation | None:
    """Batch hooks that may be called late have training wait for the device in each step.

    A step then takes what the device does and what the host does, one after the other; without
    the wait it takes the longer of the two. For how long a GPU runs kernels its sensors tell; of
    another device it is known that it is at most what a step computes.

    What it cannot see: whether the user's own hook may be called late, from another thread.
    """
    settings, computes_ms = situation.facts.settings, situation.summary.parts.get("compute")
    hooks, reads = settings.waiting_hooks, {*map(_class_of, settings.state_reads)}
    late = [hook for hook in settings.late_hooks if _class_of(hook) not in reads]
    if not hooks or not computes_ms or not set(hooks) <= set(late):
        # Keras waits as long as one of them is left.
        return None
    busy, step_ms = busy_share(situation.summary), situation.summary.step_ms
    device_ms = computes_ms if busy is None else min(computes_ms, busy * step_ms)

    def change(model: StepModel, optimism: float) -> StepModel:
        computing_ms = model.rest.get("compute", 0.0)
        on_device_ms = device_ms / computes_ms * computing_ms
        if busy is None:
            # At best what the host prepares in the call is half of the step.
            half_ms = min(on_device_ms, model.step_ms / 2)
            on_device_ms = between(on_device_ms, on_device_ms, half_ms, optimism)
        both_ms = max(0.0, min(on_device_ms, model.step_ms - on_device_ms))
        left_ms = computing_ms - between(*SIDE_BY_SIDE, optimism) * both_ms
        return replace(model, rest={**model.rest, "compute": left_ms})

    sources = situation.facts.hook_sources
    named = ", ".join(f"{hook}{at(sources.get(hook))}" for hook in hooks)
    does = "may compute" if busy is None else "runs kernels"
    return predicted(
        situation.model,
        change,
        title="Let training go on while batch hooks are called",
        reason=(
            f"For {named}, training waits for the result of each step before it prepares the next "
            f"one. The device {does} for {in_ms(device_ms)} of a step of {in_ms(step_ms)}; what "
            "the host does could be done meanwhile."
        ),
        action="\n".join(
            map(_called_late, dict.fromkeys(hook.partition(".")[0] for hook in hooks))
        ),
        evidence={"hooks": list(hooks), "device_ms": device_ms},
    )


def _class_of(hook: str) -> str:
    return hook.partition(".")[0]


def _called_late(name: str) -> str:
    if name in OF_KERAS:
        return f"called_late = keras.callbacks.{name}(...)\ncalled_late.async_safe = True"
    return (
        f"class {identifier(name, 'YourCallback')}(keras.callbacks.Callback):\n"
        "    async_safe = True  # its batch hooks may be called late, several at once and in any\n"
        "    # order, from other threads: they look at what they are given, and neither read nor\n"
        "    # change self.model"
    )
