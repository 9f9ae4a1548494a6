"""Advice on batch hooks that read `self.model` while training on JAX goes on."""

from __future__ import annotations

from collections.abc import Sequence

from keras_perf.advise.as_written import at
from keras_perf.advise.code_names import identifier
from keras_perf.advise.gains.less_of_parts import less_of
from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.host import BEFORE_A_STEP, FREQUENCY_ARGUMENTS
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import StepModel, between
from keras_perf.records.advice_ids import MODEL_AT_EPOCH_END
from keras_perf.records.figures import in_ms
from keras_perf.records.run.run_facts import RunFacts

OFTEN = 0.1
"""A hook that reads the state in fewer of the steps is none to speak of."""

WITH_COLLECTING = 1.0, 1.8, 3.0
"""What reading costs, in times as long as handing the state back takes: worst, expected, best.
Five models of 32 to 608 variables, on one core of a CPU and on two: 1.0 to 2.2, and 3.0 of the one
whose arrays are large (`benchmarks/other_backends/reading_the_model_on_jax.py`)."""

MEANWHILE = 0.0, 1.0, 3.0
"""The same where the device computes meanwhile."""

OF_A_STEP = ("on_train_batch_begin", "on_train_batch_end")

HELD_IN = ("callbacks", "hooks_for_a_core", "other_host")
"""The parts of a step that hold it; where the device computes meanwhile, computing does too."""


def often_read_by(facts: RunFacts) -> list[str]:
    """The hooks, as `Class.hook`, that read the model in many of the steps."""
    least = max(10, OFTEN * facts.length.steps)
    reads = facts.settings.state_reads
    return sorted(hook for hook, times in reads.items() if times >= least)


def _followed(facts: RunFacts, advice: Recommendation) -> bool:
    """None of them does so any more."""
    return set(advice.evidence["hooks"]).isdisjoint(often_read_by(facts))


@rule(MODEL_AT_EPOCH_END, followed=_followed)
def model_at_epoch_end(situation: Situation) -> Recommendation | None:
    """Each time a hook reads the model within an epoch, JAX's state is handed to its variables.

    What it cannot see: how long it takes to collect the state again for the next step, which is
    taken to be nearly as long as handing it back.
    """
    facts, settings = situation.facts, situation.facts.settings
    # Those of a validation's batches take no part of a step.
    hooks = [hook for hook in often_read_by(facts) if hook.endswith(OF_A_STEP)]
    spent_s = sum(settings.state_reads_s.get(hook, 0.0) for hook in hooks)
    if (
        not spent_s
        or not facts.length.steps
        or not settings.steering_hooks.keys().isdisjoint(hooks)
    ):
        return None
    spent_ms = 1e3 * spent_s / facts.length.steps
    waits = bool(settings.waiting_hooks)

    def change(model: StepModel, optimism: float) -> StepModel:
        gone_ms = spent_ms * between(*(WITH_COLLECTING if waits else MEANWHILE), optimism)
        return less_of(model, HELD_IN if waits else (*HELD_IN, "compute"), gone_ms)

    named = ", ".join(f"{hook}{at(facts.hook_sources.get(hook))}" for hook in hooks)
    return predicted(
        situation.model,
        change,
        title="Read the model at an epoch's end, not in batch hooks",
        reason=(
            f"{named} read self.model while an epoch ran: each time, the whole state of model and "
            f"optimizer is handed back to its variables, {in_ms(spent_ms)} of a step of "
            f"{in_ms(situation.summary.step_ms)}, and collected again for the next step, which was "
            "not timed. At an epoch's end it is there without that. If training uses what such a "
            "hook makes, leave it as it is."
        ),
        action="\n\n".join(_elsewhere(name, hooks) for name in _classes(hooks)),
        evidence={"hooks": hooks, "state_reads_ms": spent_ms},
    )


def _classes(hooks: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(hook.partition(".")[0] for hook in hooks))


def _elsewhere(name: str, hooks: Sequence[str]) -> str:
    """Code of a callback that reads the model between epochs."""
    if name in FREQUENCY_ARGUMENTS:
        return f'keras.callbacks.{name}(..., {FREQUENCY_ARGUMENTS[name]}="epoch")'
    if name == "LambdaCallback":
        return "keras.callbacks.LambdaCallback(on_epoch_end=your_function)"
    own = [hook.partition(".")[2] for hook in hooks if hook.startswith(f"{name}.")]
    methods = "".join(
        f"    def {identifier(hook, BEFORE_A_STEP)}(self, batch, logs=None):\n"
        "        ...  # without self.model\n\n"
        for hook in own
    )
    return (
        f"class {identifier(name, 'YourCallback')}(keras.callbacks.Callback):\n{methods}"
        "    def on_epoch_end(self, epoch, logs=None):\n"
        "        ...  # what reads self.model"
    )
