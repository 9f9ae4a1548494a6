"""Advice on the buffer of a shuffle that is filled again in every epoch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import takewhile

from keras_perf.advise.as_written import (
    function_of,
    lambdas_in,
    runs_as,
    where,
    whole_executions,
)
from keras_perf.advise.recommendation import Change, Recommendation, predicted
from keras_perf.advise.rules.in_a_loop import one_iterator
from keras_perf.advise.rules.input.caching import cache
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import StepModel, between
from keras_perf.analyse.refills import refills_of
from keras_perf.records.advice_ids import CHEAPER_SHUFFLE
from keras_perf.records.figures import counted, in_ms, in_percent
from keras_perf.records.run.input.pipeline import OF_A_PART, Chain, WrittenStage
from keras_perf.records.run.run_facts import RunFacts

HANDS_ON = ("map", "batch", "padded_batch", "ragged_batch", "prefetch", "options")
"""Behind a shuffle that is repeated these do what they did before."""

MOSTLY = 0.8
"""Of the refill: maps that take so much of it go behind the shuffle."""

UNSURE = 0.5
"""So much more or less may be won: work that is done during steps takes cores from them."""

OF_WAITING = ("get_next", "for_a_core", "fetch")
"""Parts of the rest in which a step waits for a batch."""


OF_CSV = "filename_to_dataset"
"""The function of TensorFlow's own that `make_csv_dataset` opens files with, before it shuffles."""


@dataclass(frozen=True)
class _Shuffle:
    """The last shuffle of a pipeline that is one chain.

    Attributes:
        stage: as it is written.
        buffer: elements that it holds.
        maps: those right before it.
        in_maps: their share of what filling its buffer takes, 0 to 1.
        batches: for so many steps its elements are enough.
        repeats: a repeat() right behind it changes nothing but where epochs end.
        parted: by its order some of the elements are taken behind it, for a validation perhaps.
    """

    stage: WrittenStage
    buffer: int
    maps: Chain
    in_maps: float
    batches: float
    repeats: bool
    parted: bool


def _followed(facts: RunFacts, advice: Recommendation) -> bool | None:
    """Repeated, moved before the map, or smaller."""
    if len(facts.input.chains) != 1:
        return None
    (chain,) = facts.input.chains
    place = _last_shuffle(chain)
    if place is None:
        return None
    buffer = chain[place].buffer
    smaller = buffer is not None and buffer < int(advice.evidence["buffer"])
    repeated = any(stage.kind == "repeat" for stage in chain)
    behind = any(stage.kind == "map" for stage in chain[place:])
    moved = advice.evidence["moved"] and behind and not _maps_before(chain, place)
    return bool(smaller or repeated or moved)


@rule(
    CHEAPER_SHUFFLE,
    on="input",
    leaves="only the buffer's filling goes",
    followed=_followed,
    in_a_loop=one_iterator,
)
def cheaper_shuffle(situation: Situation) -> Recommendation | None:
    """Each epoch waits until the buffer of its shuffle is full again.

    While the buffer fills, training waits; once the data are at their end, it empties, and the
    pipeline idles. What is gained if the one goes on during the other is the shorter of both.
    """
    facts, model = situation.facts, situation.model
    refills, shuffle = refills_of(situation.summary), _shuffle_of(situation)
    if refills is None or shuffle is None or not situation.own_dataset or not model.prefetched:
        return None
    computing_ms = sum(ms for part, ms in model.rest.items() if part not in OF_WAITING)
    emptying_ms = shuffle.batches * computing_ms
    moves = shuffle.in_maps >= MOSTLY and cache(situation) is None
    if not moves and not (shuffle.repeats and facts.length.epoch_steps):
        return None
    most = shuffle.in_maps if moves else 1.0
    won = min(most, emptying_ms / refills.each_ms)
    action, title = _repeating(shuffle, facts)
    if moves:
        action, title = _moving(shuffle)
    moved = where(shuffle.maps[-1]) if moves else ""
    limit = ""
    if won < most:
        limit = (
            f" The pipeline is slower than training, which limits what is won to about "
            f"{in_ms(won * refills.each_ms)} each time."
        )
    return predicted(
        model,
        less_refilling(refills.per_step_ms, won, most),
        title=title,
        reason=(
            f"{counted(refills.count, 'epoch')} began with waiting {in_ms(refills.each_ms)} for "
            f"shuffle({shuffle.buffer}) to fill its buffer again, {in_percent(refills.share)} of "
            f"the time of all steps.{limit} A smaller buffer fills faster too, and mixes "
            f"less.{moved if moves else whole_executions(facts, facts.length.epoch_steps)}"
        ),
        action=action,
        evidence={
            "refill_ms": refills.each_ms,
            "refills": refills.count,
            "share": refills.share,
            "buffer": shuffle.buffer,
            "moved": moves,
        },
    )


def less_refilling(per_step_ms: float, won: float, most: float) -> Change:
    """Refilling is done during steps, where its work may disturb them, or is less.

    Arguments:
        per_step_ms: waits for it, shared among all steps.
        won: the share of them that is expected to go.
        most: the same, at best.
    """

    def change(model: StepModel, optimism: float) -> StepModel:
        at_best = min(most, (1 + UNSURE) * won)
        saved_ms = per_step_ms * between((1 - UNSURE) * won, won, at_best, optimism)
        stalls_ms = model.rest.get("get_next", 0.0)
        if stalls_ms:
            rest = {**model.rest, "get_next": max(0.0, stalls_ms - saved_ms)}
            return replace(model, rest=rest)
        return model.hidden(max(0.0, 1 - saved_ms / max(1e-9, model.produce_ms)))

    return change


def _repeating(shuffle: _Shuffle, facts: RunFacts) -> tuple[str, str]:
    """tf.data makes one stage of both, which goes on filling its buffer from pass to pass."""
    repeated = (
        f"dataset = dataset.shuffle({shuffle.buffer}).repeat()  # right behind it\n"
        "# what stands before and behind them as before; passes are not mixed, though a batch may\n"
    )
    if any(stage.function == OF_CSV for stage in facts.input.chains[0]):
        repeated = (
            "dataset = tf.data.experimental.make_csv_dataset(..., num_epochs=None)\n"
            "# it repeats right behind its shuffle; passes are not mixed, though a batch may\n"
        )
    action = (
        f"{repeated}# hold the end of one and the beginning of the next\n"
        f"model.fit(dataset, steps_per_epoch={facts.length.epoch_steps}, ...)"
    )
    return action, "Repeat right behind the shuffle, so that its buffer stays full"


def _moving(shuffle: _Shuffle) -> tuple[str, str]:
    """The buffer holds what is not prepared yet: the same examples, in the same kind of order."""
    calls = "".join(f".map({function_of(each, 'your_function')}, ...)" for each in shuffle.maps)
    drawn = ""
    if any(each.random for each in shuffle.maps):
        drawn = "; random numbers fall on other examples"
    arguments, order = str(shuffle.buffer), ""
    if shuffle.parted:
        arguments += ", ..."
        order = "\n# with its seed and reshuffle_each_iteration, by which parts are the same ones"
    action = (
        f"{lambdas_in(*shuffle.maps)}dataset = dataset.shuffle({arguments}){calls}"
        f"  # the same examples, in less memory{drawn}{order}"
    )
    return action, "Shuffle before the map, so that the buffer fills at once"


def _shuffle_of(situation: Situation) -> _Shuffle | None:
    """None where there is none, where it is repeated already, or where something is not known."""
    facts = situation.facts
    if len(facts.input.chains) != 1:
        return None
    (chain,) = facts.input.chains
    place = _last_shuffle(chain)
    if place is None or any(stage.kind == "repeat" for stage in chain):
        return None
    stage, behind = chain[place], chain[place + 1 :]
    if any(each.made_by for each in behind):
        # Nobody can write something else into a function of Keras's.
        return None
    maps, per_batch = _maps_before(chain, place), _elements_per_batch(facts)
    if not stage.buffer or not per_batch or any(each.kind == "cache" for each in behind):
        return None
    if stage.buffer < per_batch:
        # It is full before the first batch is: the wait was for something else.
        return None
    return _Shuffle(
        stage,
        stage.buffer,
        maps,
        _share_of_maps(situation.paces) if maps else 0.0,
        min(stage.buffer / per_batch, facts.length.epoch_steps or math.inf),
        all(each.kind in HANDS_ON for each in behind),
        any(each.kind in OF_A_PART for each in behind),
    )


def _last_shuffle(chain: Chain) -> int | None:
    places = [place for place, stage in enumerate(chain) if stage.kind == "shuffle"]
    return places[-1] if places else None


def _maps_before(chain: Chain, place: int) -> Chain:
    first = place
    while first and chain[first - 1].kind == "map":
        first -= 1
    return chain[first:place]


def _elements_per_batch(facts: RunFacts) -> float | None:
    """Of the running shuffle; None where tf.data does not show one."""
    running = [stage for stage in facts.input.stages if stage.name.startswith("Shuffle")]
    return running[-1].elements_per_batch if running else None


def _share_of_maps(paces: Mapping[str, float]) -> float:
    """Of all that runs before the shuffle, what the maps right before it take."""
    names = list(paces)
    place = max(n for n, name in enumerate(names) if name.startswith("Shuffle"))
    maps = takewhile(lambda name: runs_as("map", name), reversed(names[:place]))
    whole = sum(paces[name] for name in names[:place])
    return sum(paces[name] for name in maps) / whole if whole else 0.0
