"""Advice to make fewer, longer epochs. Its speed-up is of the whole training."""

from __future__ import annotations

from keras_perf.advise.as_written import whole_executions
from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.between_epochs.own_work_of_keras import (
    AGAIN,
    ends_ms,
    iterators_ms,
    less_rest,
    of_arrays,
    usual_ms,
)
from keras_perf.advise.rules.followed import CLEARLY_MORE
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import StepModel
from keras_perf.records.advice_ids import LONGER_EPOCHS
from keras_perf.records.figures import counted, in_ms, in_percent
from keras_perf.records.run.length import Length
from keras_perf.records.run.run_facts import RunFacts

MUCH = 0.1
"""Share of the training that Keras's own work between epochs is worth longer ones from."""

LITTLE = 0.02
"""Share of the training that the work may take once epochs are longer."""

ROUND_NUMBERS = 2, 5, 10, 20, 50, 100, 200, 500, 1000
"""Epochs are advised to be about one of these times as long."""

PATIENT = ("EarlyStopping", "ReduceLROnPlateau")
"""Of callbacks that count epochs, or validations, until they act."""

FEWEST_EPOCHS = 2
"""So many are left, at least."""


def _lengthened(facts: RunFacts, advice: Recommendation) -> bool | None:
    steps, present = _an_epoch(facts.length), advice.evidence["epoch"]
    return None if steps is None or present is None else steps >= CLEARLY_MORE * present


def _an_epoch(length: Length) -> float | None:
    """Examples, or steps where nobody counts them; None where it is not known."""
    each = length.examples_per_step or 1.0
    return None if length.epoch_steps is None else each * length.epoch_steps


@rule(LONGER_EPOCHS, loses=True, followed=_lengthened)
def longer_epochs(situation: Situation) -> Recommendation | None:
    """Keras's own work between epochs takes much beside so few steps."""
    model, facts = situation.model, situation.facts
    steps, epochs = facts.length.epoch_steps, facts.length.epochs_in_all or 0
    fewer = fewer_epochs(situation)
    if not steps or fewer is None:
        return None
    own_ms, advised = _own_ms(situation), round(steps * epochs / fewer)
    longer = "" if facts.input.input_kind == "PyDataset" else whole_executions(facts, advised)
    code = _code(situation, advised, fewer)
    if code is None:
        return None

    def change(model: StepModel, optimism: float) -> StepModel:
        rarer = less_rest(model, own_ms * (1 - steps / advised))
        return rarer.with_outside(dict.fromkeys(_once_an_epoch(facts), steps / advised))

    return predicted(
        model,
        change,
        title=f"Make {fewer} epochs of {epochs}",
        reason=(
            f"An epoch has {counted(steps, 'step')}, and between two of them Keras's own work "
            f"takes {in_ms(own_ms * steps)}, {in_percent(own_ms / model.training_ms)} of the "
            f"training. In {fewer} epochs of {counted(advised, 'step')} it, and all else that is "
            f"done once an epoch (validation, schedules, checkpoints), is done {fewer} times, not "
            f"{epochs}.{longer}"
        ),
        action=code,
        evidence={"rest_ms": own_ms, "share": own_ms / model.training_ms}
        | {"present": steps, "advised": advised, "epoch": _an_epoch(facts.length)},
        of="whole",
    )


def fewer_epochs(situation: Situation) -> int | None:
    """So many are better than the present ones; None where those are, or some callback counts them.

    With data that repeat an epoch may end within a pass, so that no step is added.
    """
    outside, length = situation.facts.outside, situation.facts.length
    epochs, own_ms = length.epochs_in_all or 0, _own_ms(situation)
    if not length.epoch_steps or own_ms < MUCH * situation.model.training_ms:
        return None
    if outside is None or outside.has_callback(PATIENT) or _code(situation, 1, 1) is None:
        return None
    # What is done in one of several epochs now is done in the last one at least.
    least = max(FEWEST_EPOCHS, outside.validation_period)
    times = _times_as_long(own_ms, situation.model, epochs)
    fewer = max(least, round(epochs / times))
    return fewer if times >= 2 and fewer < epochs else None


def _own_ms(situation: Situation) -> float:
    """Keras's own work between epochs, of a step.

    Longer epochs have fewer iterators, whose ends are waited for as much longer.
    """
    new_ms = max(iterators_ms(situation), ends_ms(situation))
    return usual_ms(situation) - new_ms - _first_hooks_ms(situation)


def _once_an_epoch(facts: RunFacts) -> tuple[str, ...]:
    """What else lies between epochs, and is as much rarer.

    What lives until the next validation lives as much longer, and may be waited for so.
    """
    late = facts.outside is not None and facts.outside.late_validation_ends
    return ("validation", "epoch_callbacks", *([] if late else ["validation_ends"]))


def _first_hooks_ms(situation: Situation) -> float:
    """For each step, hooks before an epoch's first one, which stay: as long as others at most."""
    at_once = situation.facts.settings.steps_per_execution
    executions = (situation.facts.length.epoch_steps or 1) / at_once
    hooks = ("callbacks", "hooks_for_a_core")
    hooks_ms = sum(situation.model.rest.get(name, 0.0) for name in hooks)
    return hooks_ms / max(1.0, executions)


def _times_as_long(own_ms: float, model: StepModel, epochs: int) -> int:
    """A round number, after which little is left, or as large as there are epochs for."""
    most = epochs // FEWEST_EPOCHS
    left_ms = LITTLE * (model.training_ms - own_ms)
    possible = [times for times in ROUND_NUMBERS if times <= most] or [1]
    return next((times for times in possible if own_ms / times <= left_ms), possible[-1])


def _code(situation: Situation, steps: int, epochs: int) -> str | None:
    """The same batches in fewer epochs; None for data of a kind whose passes nobody can join."""
    facts = situation.facts
    fit = f"model.fit(dataset, ..., steps_per_epoch={steps}, epochs={epochs})"
    if facts.input.input_kind == "PyDataset" and facts.length.ends_by_steps:
        return None
    if facts.input.input_kind == "PyDataset":
        return (
            "# passes through the data in one epoch: fit shuffles the batches of all of them, but\n"
            "# for shuffle=False; on_epoch_end comes behind all\n"
            "class Longer(keras.utils.PyDataset):\n"
            "    def __init__(self, inner, **workers):\n"
            "        super().__init__(**workers)\n"
            "        self.inner = inner\n"
            "    def __len__(self):\n"
            f"        return {steps}\n"
            "    def __getitem__(self, index):\n"
            "        return self.inner[index % self.inner.num_batches]\n"
            "    def on_epoch_begin(self):\n"
            "        self.inner.on_epoch_begin()\n"
            "    def on_epoch_end(self):\n"
            "        self.inner.on_epoch_end()\n"
            f"model.fit(Longer(dataset), ..., epochs={epochs})  # with its workers=..."
        )
    if "repeat" in facts.input.kinds and facts.length.ends_by_steps:
        return fit
    made = of_arrays(facts)
    return f"{made}{AGAIN}{fit}" if made or situation.own_dataset else None
