"""Advice on what Keras itself does between epochs. Its speed-ups are of the whole training."""

from __future__ import annotations

from keras_perf.advise.as_written import batch_size, whole_executions
from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import StepModel
from keras_perf.records.figures import counted, in_ms, in_percent, in_s
from keras_perf.records.run.library import is_tuned, on_jax
from keras_perf.records.run.run_facts import RunFacts

MUCH = 0.1
"""Share of the training that Keras's own work between epochs is worth longer ones from."""

WORTH = 0.05
"""Share of the training that new iterators are worth making only one from."""

LITTLE = 0.02
"""Share of the training that the work may take once epochs are longer."""

ROUND_NUMBERS = 2, 5, 10, 20, 50, 100, 200, 500, 1000
"""Epochs are advised to be about one of these times as long."""

FEWEST_EPOCHS = 2
"""So many are left, at least."""

WAITS_THAT_GO = 0.5
"""Of the waits beside a quick pipeline: those at an epoch's beginning, at best all of them."""

AGAIN = "dataset = dataset.repeat().prefetch(tf.data.AUTOTUNE)\n"


OF_THE_LAST = (
    ": most of it for the end of the last one, while the thread that tunes tf.data's pipeline "
    "sleeps, for up to as long as the iterator has lived, and a minute at most. One such wait "
    "stays, before fit returns: up to {}"
)

LONGEST_WAIT_MS = 60e3
"""For the end of an iterator that has lived for longer."""


def _repeats(facts: RunFacts, _: Recommendation) -> bool:
    return "repeat" in facts.input.kinds


@rule("one-iterator", followed=_repeats)
def one_iterator(situation: Situation) -> Recommendation | None:
    """Making a new iterator in each epoch takes a noticeable part of the training."""
    model, facts = situation.model, situation.facts
    iterator_ms, steps = _iterators_ms(situation), facts.length.epoch_steps
    share = iterator_ms / model.training_ms
    if not steps or share < WORTH:
        return None

    ends = _ends_ms(situation) > iterator_ms / 2
    last_ms = _last_end_ms(situation, iterator_ms) if ends else 0.0

    def change(model: StepModel, optimism: float) -> StepModel:
        spared_ms = iterator_ms + last_ms * min(0.0, optimism)
        # An iterator's first batch is waited for, however quick the pipeline is.
        return _less_rest(model, spared_ms).with_rest(
            {"get_next": 1 - WAITS_THAT_GO * (1 + optimism)}
        )

    longer = whole_executions(facts, steps)
    of_the_last = OF_THE_LAST.format(in_s(last_ms * facts.length.steps / 1e3)) if ends else ""

    return predicted(
        model,
        change,
        title="Make one iterator for all epochs",
        reason=(
            f"Each epoch of {counted(steps, 'step')} begins with the making of a new iterator, "
            f"which takes {in_ms(iterator_ms * steps)}, {in_percent(share)} of the training"
            f"{of_the_last}. Keras keeps the iterator of data without an end"
            f"{'.' + longer if longer else ', and epochs stay as they are.'}"
        ),
        action=f"{_of_arrays(facts)}{AGAIN}model.fit(dataset, ..., steps_per_epoch={steps})",
        evidence={"iterator_ms": iterator_ms, "share": share},
        of="whole",
    )


def _lengthened(facts: RunFacts, advice: Recommendation) -> bool | None:
    steps = facts.length.epoch_steps
    return None if steps is None else steps > advice.evidence["present"]


@rule("longer-epochs", loses=True, followed=_lengthened)
def longer_epochs(situation: Situation) -> Recommendation | None:
    """Keras's own work between epochs takes much beside so few steps."""
    model, facts = situation.model, situation.facts
    steps, epochs = facts.length.epoch_steps, facts.length.epochs or 0
    # Longer epochs have fewer iterators, whose ends are waited for as much longer.
    iterators_ms = max(_iterators_ms(situation), _ends_ms(situation))
    own_ms = _usual_ms(situation) - iterators_ms - _first_hooks_ms(situation)
    if not steps or own_ms < MUCH * model.training_ms:
        return None
    times = _times_as_long(own_ms, model, epochs)
    # With data that repeat an epoch may end within a pass, so that no step is added.
    fewer = max(FEWEST_EPOCHS, round(epochs / times))
    advised = round(steps * epochs / fewer)
    longer = "" if facts.input.input_kind == "PyDataset" else whole_executions(facts, advised)
    code = _code(situation, advised, fewer)
    if times < 2 or code is None:
        return None

    def change(model: StepModel, optimism: float) -> StepModel:
        rarer = _less_rest(model, own_ms * (1 - steps / advised))
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
        evidence={
            "rest_ms": own_ms,
            "share": own_ms / model.training_ms,
            "present": steps,
            "advised": advised,
        },
        of="whole",
    )


def _once_an_epoch(facts: RunFacts) -> tuple[str, ...]:
    """What else lies between epochs, and is as much rarer.

    What lives until the next validation lives as much longer, and may be waited for so.
    """
    late = facts.outside is not None and facts.outside.late_validation_ends
    return ("validation", "epoch_callbacks", *([] if late else ["validation_ends"]))


def _usual_ms(situation: Situation) -> float:
    """For each step, what of the rest comes back in each epoch; 0 where most of it does not.

    Nor where it is compiling, which JAX does for metrics, or a custom loop's own work.
    """
    known = situation.facts.outside
    if known is None or not known.rest_comes_back or situation.facts.settings.in_a_loop:
        return 0.0
    if known.epoch_compiling_s > known.epoch_rest_s / 2:
        return 0.0
    return situation.model.outside.get("epoch_rest", 0.0) - situation.model.once_between_ms


def _iterators_ms(situation: Situation) -> float:
    """For each step, what new iterators take, where one for all epochs can be made."""
    facts, usual_ms = situation.facts, _usual_ms(situation)
    known = facts.outside
    if known is None or not usual_ms or not known.usual_iterator_s or not facts.length.steps:
        return 0.0
    # On JAX Keras makes batches of arrays without tf.data.
    of_arrays = facts.input.input_kind == "arrays" and not on_jax(facts)
    if "repeat" in facts.input.kinds or not (situation.own_dataset or of_arrays):
        return 0.0
    # After the last epoch there is no other one to make.
    spent_ms = 1e3 * known.usual_iterator_s * (known.epoch_gaps - 1)
    return min(usual_ms, spent_ms / facts.length.steps)


def _ends_ms(situation: Situation) -> float:
    """For each step, what the ends of epochs' iterators are waited for."""
    facts, known = situation.facts, situation.facts.outside
    if known is None or not facts.length.steps or not is_tuned(facts, facts.input):
        return 0.0
    spent_ms = 1e3 * (known.usual_iterator_end_s or 0.0) * (known.epoch_gaps - 1)
    return spent_ms / facts.length.steps


def _last_end_ms(situation: Situation, spared_ms: float) -> float:
    """For each step, how long fit may wait at its end for an iterator that lives through it."""
    lives_ms = situation.model.training_ms - spared_ms
    return min(lives_ms, LONGEST_WAIT_MS / situation.facts.length.steps)


def _first_hooks_ms(situation: Situation) -> float:
    """For each step, hooks before an epoch's first one, which stay: as long as others at most."""
    at_once = situation.facts.settings.steps_per_execution
    executions = (situation.facts.length.epoch_steps or 1) / at_once
    return situation.model.rest.get("callbacks", 0.0) / max(1.0, executions)


def _less_rest(model: StepModel, gone_ms: float) -> StepModel:
    rest_ms = model.outside.get("epoch_rest", 0.0)
    return model.with_outside({"epoch_rest": max(0.0, 1 - gone_ms / max(1e-9, rest_ms))})


def _times_as_long(own_ms: float, model: StepModel, epochs: int) -> int:
    """A round number, after which little is left, or as large as there are epochs for."""
    most = epochs // FEWEST_EPOCHS
    left_ms = LITTLE * (model.training_ms - own_ms)
    possible = [times for times in ROUND_NUMBERS if times <= most] or [1]
    return next((times for times in possible if own_ms / times <= left_ms), possible[-1])


def _of_arrays(facts: RunFacts) -> str:
    """Code that makes a dataset of them, by whole batches as Keras does; "" of others.

    `from_tensor_slices((x, y)).shuffle(rows).batch(1024)` took 1.6 ms a batch, this 0.3: it has no
    work for each example.
    """
    if facts.input.input_kind != "arrays" or on_jax(facts):
        return ""
    batch = batch_size(facts) or "batch_size"
    return (
        "# of the rows that fit trains on, without those of validation_split: x alone where there\n"
        "# is no y, sample weights as a third, and tuples in place of lists of arrays\n"
        "data = tf.nest.map_structure(tf.convert_to_tensor, (x, y))\n"
        "rows = len(tf.nest.flatten(data)[0])\n"
        "def a_pass(_):\n"
        "    order = tf.random.shuffle(tf.range(rows))  # tf.range alone where shuffle=False\n"
        f"    return tf.data.Dataset.from_tensors(order).rebatch({batch})\n"
        "def rows_at(places):\n"
        "    return tf.nest.map_structure(lambda each: tf.gather(each, places), data)\n"
        "dataset = tf.data.Dataset.range(1).flat_map(a_pass).map(rows_at)\n"
    )


def _code(situation: Situation, steps: int, epochs: int) -> str | None:
    """The same batches in fewer epochs; None for data of a kind whose passes nobody can join."""
    facts = situation.facts
    fit = f"model.fit(dataset, ..., steps_per_epoch={steps}, epochs={epochs})"
    if facts.input.input_kind == "PyDataset":
        return (
            "# passes through the data in one epoch: fit shuffles the batches of all of them, but\n"
            "# for shuffle=False; on_epoch_end comes behind all\n"
            "class Longer(YourPyDataset):\n"
            "    def __len__(self):\n"
            f"        return {steps}\n"
            "    def __getitem__(self, index):\n"
            "        return super().__getitem__(index % super().__len__())\n"
            f"model.fit(Longer(...), ..., epochs={epochs})"
        )
    if "repeat" in facts.input.kinds:
        return fit
    made = _of_arrays(facts)
    return f"{made}{AGAIN}{fit}" if made or situation.own_dataset else None
