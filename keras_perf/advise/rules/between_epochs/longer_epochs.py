"""Advice on epochs so short that beginning and ending them takes much of the training."""

from __future__ import annotations

from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import StepModel
from keras_perf.records.figures import counted, in_ms, in_percent
from keras_perf.records.run.run_facts import RunFacts

MUCH = 0.1
"""Share of the training that what comes back between epochs is worth longer ones from."""

LITTLE = 0.02
"""Share of the training that it may take once epochs are longer."""

ROUND_NUMBERS = 2, 5, 10, 20, 50, 100, 200, 500, 1000
"""Epochs are advised to be one of these times as long."""

FEWEST_EPOCHS = 2
"""So many are left, at least."""

WAITS_THAT_GO = 0.5
"""Of the waits beside a quick pipeline: those at an epoch's beginning, at best all of them."""


def _followed(facts: RunFacts, advice: Recommendation) -> bool | None:
    """Epochs have more steps."""
    steps = facts.length.epoch_steps
    return None if steps is None else steps > advice.evidence["present"]


@rule("longer-epochs", followed=_followed)
def longer_epochs(situation: Situation) -> Recommendation | None:
    """Keras's own work between epochs, with a new iterator, takes much beside so few steps."""
    model, facts = situation.model, situation.facts
    steps, known = facts.length.epoch_steps, facts.outside
    usual_ms = model.outside.get("epoch_rest", 0.0) - model.once_between_ms
    if known is None or not steps or not known.rest_comes_back:
        return None
    if usual_ms < MUCH * model.training_ms or known.epoch_compiling_s > known.epoch_rest_s / 2:
        return None
    times = _times_as_long(usual_ms, model, facts)
    code = _code(situation, times * steps, -(-(facts.length.epochs or 0) // times))
    if times < 2 or code is None:
        return None

    def change(model: StepModel, optimism: float) -> StepModel:
        gone_ms = usual_ms * (1 - 1 / times)
        rest_ms = model.outside.get("epoch_rest", 0.0)
        outside = model.with_outside({"epoch_rest": max(0.0, 1 - gone_ms / max(1e-9, rest_ms))})
        # A new iterator's first batch is waited for, however quick the pipeline is.
        gone = WAITS_THAT_GO * (1 + optimism) * (1 - 1 / times)
        return outside.with_rest({"get_next": 1 - gone})

    return predicted(
        model,
        change,
        title=f"Make epochs {times} times as long",
        reason=(
            f"An epoch has {counted(steps, 'step')}, and between two of them Keras's own work, "
            f"with the making of a new iterator, takes {in_ms(usual_ms * steps)}, "
            f"{in_percent(usual_ms / model.training_ms)} of the training. What is done once an "
            "epoch, such as validation, schedules and checkpoints, is then done once in "
            f"{times} of the present ones."
        ),
        action=code,
        evidence={
            "rest_ms": usual_ms,
            "share": usual_ms / model.training_ms,
            "present": steps,
            "advised": times * steps,
        },
        of="whole",
    )


def _times_as_long(usual_ms: float, model: StepModel, facts: RunFacts) -> int:
    """A round number, after which little is left, or as large as there are epochs for."""
    most = (facts.length.epochs or 0) // FEWEST_EPOCHS
    left_ms = LITTLE * (model.training_ms - usual_ms)
    possible = [times for times in ROUND_NUMBERS if times <= most] or [1]
    return next((times for times in possible if usual_ms / times <= left_ms), possible[-1])


def _code(situation: Situation, steps: int, epochs: int) -> str | None:
    """The same batches in fewer epochs; None for data of a kind whose passes nobody can join."""
    known = situation.facts.input
    fit = f"model.fit(dataset, ..., steps_per_epoch={steps}, epochs={epochs})"
    if known.input_kind == "PyDataset":
        return (
            "class Longer(YourPyDataset):  # passes through the data, one after the other\n"
            "    def __len__(self):\n"
            f"        return {steps}\n"
            "    def __getitem__(self, index):\n"
            "        return super().__getitem__(index % super().__len__())\n"
            f"model.fit(Longer(...), ..., epochs={epochs})"
        )
    if "repeat" in known.kinds:
        return fit
    again = "dataset = dataset.repeat().prefetch(tf.data.AUTOTUNE)\n"
    if known.input_kind == "arrays":
        rows = situation.facts.length.examples_per_step or 32
        return (
            "dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x))"
            f".batch({rows:.0f})\n{again}{fit}"
        )
    return f"{again}{fit}" if situation.own_dataset else None
