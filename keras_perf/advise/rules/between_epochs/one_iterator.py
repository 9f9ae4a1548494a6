"""Advice to make one iterator for all epochs. Its speed-up is of the whole training."""

from __future__ import annotations

from keras_perf.advise.as_written import whole_executions
from keras_perf.advise.gains.less_of_parts import less_of
from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.between_epochs.own_work_of_keras import (
    AGAIN,
    OR_UNTUNED,
    ends_ms,
    iterators_ms,
    less_rest,
    of_arrays,
)
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import StepModel
from keras_perf.records.advice_ids import ONE_ITERATOR
from keras_perf.records.figures import counted, in_ms, in_percent, in_s
from keras_perf.records.run.library import is_tuned
from keras_perf.records.run.run_facts import RunFacts

WORTH = 0.05
"""Share of the training that new iterators are worth making only one from."""

OF_WAITING = ("get_next", "for_a_core", "fetch")
"""Waits of a step beside a quick pipeline, those first that are longest at an epoch's begin."""

LIKE_OTHERS = 0.5
"""Share of the first waits that others may take over, at worst."""

OF_THE_LAST = (
    ": most of it for the end of the last one, while the thread that tunes tf.data's pipeline "
    "sleeps, for up to as long as the iterator has lived, and a minute at most. One such wait "
    "stays, before fit returns: up to {}"
)

LONGEST_WAIT_MS = 60e3
"""For the end of an iterator that has lived for longer."""


def _repeats(facts: RunFacts, advice: Recommendation) -> bool:
    repeats = "repeat" in facts.input.kinds and facts.length.ends_by_steps
    return repeats or (OR_UNTUNED in advice.action and not is_tuned(facts, facts.input))


@rule(ONE_ITERATOR, followed=_repeats)
def one_iterator(situation: Situation) -> Recommendation | None:
    """Making a new iterator in each epoch takes a noticeable part of the training."""
    model, facts = situation.model, situation.facts
    iterator_ms, steps = iterators_ms(situation), facts.length.epoch_steps
    share = iterator_ms / model.training_ms
    known = facts.outside
    if not steps or share < WORTH or known is None:
        return None

    ends = ends_ms(situation) > iterator_ms / 2
    last_ms = _last_end_ms(situation, iterator_ms) if ends else 0.0

    def change(model: StepModel, optimism: float) -> StepModel:
        spared_ms = iterator_ms + last_ms * min(0.0, optimism)
        # An iterator's first batch is waited for, however quick the pipeline is.
        gone_ms = _first_waits_ms(situation) * (1 + LIKE_OTHERS * min(0.0, optimism))
        return less_rest(less_of(model, OF_WAITING, gone_ms), spared_ms)

    longer = whole_executions(facts, steps)
    of_the_last = OF_THE_LAST.format(in_s(last_ms * facts.length.steps / 1e3)) if ends else ""

    return predicted(
        model,
        change,
        title="Make one iterator for all epochs",
        reason=(
            f"Each epoch of {counted(steps, 'step')} begins with the making of a new iterator, "
            f"which takes {in_ms(1e3 * (known.usual_iterator_s or 0.0))}, {in_percent(share)} of "
            f"the training{of_the_last}. Keras keeps the iterator of data without an end"
            f"{'.' + longer if longer else ', and epochs stay as they are.'}"
        ),
        action=(
            f"{of_arrays(facts)}{AGAIN}model.fit(dataset, ..., steps_per_epoch={steps})"
            f"{OR_UNTUNED if ends else ''}"
        ),
        evidence={"iterator_ms": iterator_ms, "share": share},
        of="whole",
    )


def _first_waits_ms(situation: Situation) -> float:
    """For each step, what an epoch's first execution waits for longer than the others do."""
    known, epoch_steps = situation.facts.outside, situation.facts.length.epoch_steps
    wait_ms = situation.summary.parts.get("input_wait", 0.0)
    steps = situation.facts.steps_before_gaps
    if known is None or not known.usual_first_wait_s or not steps or not epoch_steps:
        return 0.0
    first_ms = 1e3 * known.usual_first_wait_s
    each = situation.facts.settings.steps_per_execution
    later = epoch_steps / each - 1
    if later <= 0:
        return 0.0
    others_ms = max(0.0, wait_ms * epoch_steps - first_ms) / later
    return max(0.0, first_ms - others_ms) * (known.epoch_gaps - 1) / steps


def _last_end_ms(situation: Situation, spared_ms: float) -> float:
    """For each step, how long fit may wait at its end for an iterator that lives through it."""
    lives_ms = situation.model.training_ms - spared_ms
    return min(lives_ms, LONGEST_WAIT_MS / situation.facts.length.steps)
