"""Where in a pipeline a cache belongs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import dropwhile, takewhile

from keras_perf.advise.as_written import WORK, function_of, running, runs_as
from keras_perf.advise.cache_of_several import (
    MIXES,
    behind_all_maps,
    come_together_alike,
    written_meeting,
)
from keras_perf.analyse.stage_paces import StagePace, stage_paces
from keras_perf.records.run.input.pipeline import GENERATOR, OF_A_PART, Chain, WrittenStage
from keras_perf.records.run.run_facts import RunFacts

WORTH_KEEPING = 0.03
"""Work of a smaller share of a step is not worth the memory: what its wait is said to be may be
something else."""

FEWEST_PASSES = 2
"""The first one fills a cache."""

LETS_THROUGH = ("map", "prefetch", "options")
"""What may stand between such a stage and the map."""

BATCHES = ("batch", "padded_batch")

OF_KERAS = ("tensor_slice", "zip")
"""What a dataset that Keras's functions make of a directory or an array begins with."""

OF_LABELS = "keras.utils"
"""What makes labels for all of these functions, as `WrittenStage.made_by`."""

MADE_AGAIN = ("Shuffle", "Batch", "PaddedBatch", "Prefetch")
"""Running stages that stand behind a cache again where one is put before a shuffle."""


@dataclass(frozen=True)
class Place:
    """Where a cache belongs.

    Attributes:
        written: the last stage whose elements are the same in every pass; None if not known, or
            where `whole`.
        after: the same stage, running.
        saved: names of the running stages whose work is saved.
        passes: how often the training goes through the data; None where that is not known.
        steps: of one pass; of an epoch, where that is not known.
        whole: several datasets come together, and all that comes of them is the same in every pass.
        made_by: Keras's function that made all of it, with its batches, which are the same in every
            pass but for the order.
        again: a cache in front of it keeps what it is made of.
    """

    written: WrittenStage | None
    after: StagePace
    saved: tuple[str, ...]
    passes: float | None
    steps: float
    whole: bool = False
    made_by: str = ""
    again: bool = False

    @property
    def call(self) -> str:
        """The stage as it is written."""
        if self.made_by:
            return f"{self.made_by}(..., batch_size=None)"
        if self.whole:
            return "dataset"
        if self.written is None and (meeting := written_meeting(self.after)):
            return meeting
        kind = "map" if self.written is None else self.written.kind
        if kind == "flat_map" and self.written is not None and self.written.function == GENERATOR:
            return "tf.data.Dataset.from_generator(...)"
        arguments = function_of(self.written, "your_function")
        if kind == "map" and self.written is not None and self.written.parallel:
            arguments += ", num_parallel_calls=tf.data.AUTOTUNE"
        return f"dataset.{kind}({arguments})"


def best_place(facts: RunFacts) -> Place | None:
    """Behind the last stage that can stand before shuffles, repeats and all that is random.

    None where there is none, a cache is there already, what runs cannot be told from what is
    written, or passes cannot be told that may not end: a cache that is not read to its end grows
    without end, or stays empty.
    """
    paces, chains = stage_paces(facts), facts.input.chains
    if "cache" in facts.input.kinds or any("Cache" in pace.name for pace in paces):
        return None
    length, pass_steps = facts.length, facts.length.pass_steps
    if facts.input.hidden or not (pass_steps or facts.settings.in_a_loop):
        return None
    names, steps = [pace.name for pace in paces], float(pass_steps or 0)
    if names and pass_steps and not length.ends_by_steps and come_together_alike(chains):
        return Place(None, paces[-1], tuple(names), float(length.passes or 0), steps, whole=True)
    if pass_steps and (made_by := _shuffled_by_keras(chains)):
        batched = next((pace for pace in paces if "Batch" in pace.name), None)
        if batched is None or length.ends_by_steps:
            return None
        before = names[: names.index(batched.name) + 1]
        kept = tuple(name for name in before if not name.startswith(MADE_AGAIN))
        return Place(None, batched, kept, float(length.passes or 0), steps, made_by=made_by)
    written, after = _last_alike(chains, paces)
    if after is None:
        return None
    in_keras = any(s.made_by for chain in chains for s in chain if written in (s, None))
    # Nobody can write a cache into a function of Keras's.
    if in_keras or taken_of(written, chains[0] if chains else ()):
        return None
    saved = [name for name in names[: names.index(after.name) + 1] if not mixes(name)]
    of_pass = _repeated_steps(chains, paces)
    if of_pass is not None:
        steps = of_pass
    elif any("Repeat" in name for name in names):
        # An endless stream, which nobody repeats, would be kept without end.
        unknown = Place(written, after, tuple(saved), None, steps)
        return unknown if len(chains) == 1 and _repeats(chains) == 1 else None
    elif not pass_steps:
        return None
    elif length.ends_by_steps:
        if written is None or written.kind != "map" or not written.elements:
            return None
        steps = written.elements / max(1e-9, after.stage.elements_per_batch)
    in_all = (length.passes or 0) * pass_steps if pass_steps else length.steps
    return Place(written, after, tuple(saved), in_all / steps, steps)


def _repeats(chains: tuple[Chain, ...]) -> int:
    return sum(stage.kind == "repeat" for chain in chains for stage in chain)


def taken_of(written: WrittenStage | None, chain: Chain) -> bool:
    """What this stage makes, or several datasets together, is not all read, and not repeated."""
    behind = dropwhile(lambda stage: written not in (None, stage), chain)
    once = takewhile(lambda stage: stage.kind != "repeat", behind)
    return any(stage.kind == "take" for stage in once)


def _shuffled_by_keras(chains: tuple[Chain, ...]) -> str:
    """Keras's function that made batches of shuffled examples, which all else is done with; or "".

    The examples are the same in every pass. Whoever had it make batches can have it make examples;
    behind them come the user's own stages, random or not. Not where those take or leave out a part
    of them, which may be that of a validation and would be another one in each pass, or repeat
    them; nor where several such datasets come together.
    """
    if not chains or any(stage.kind in (*OF_A_PART, "repeat") for stage in chains[0]):
        return ""
    batches, *others = chains
    made = [*takewhile(lambda stage: stage.kind not in BATCHES, batches)]
    sources = [stage for chain in others for stage in chain]
    makers = [stage.made_by for stage in (*made, *sources) if stage.kind in WORK]
    if len(made) == len(batches) or not all(makers) or made[0].kind not in OF_KERAS:
        return ""
    # A dataset of Keras's ends with a prefetch: what has one among the sources is one of several.
    apart = any(stage.kind in ("shuffle", "random", "prefetch") for stage in sources)
    shuffled = any(stage.kind == "shuffle" for stage in made)
    made_by = {*makers} - {OF_LABELS}
    return made_by.pop() if shuffled and not apart and len(made_by) == 1 else ""


def _last_alike(
    chains: tuple[Chain, ...], paces: tuple[StagePace, ...]
) -> tuple[WrittenStage | None, StagePace | None]:
    """The last stage before all that mixes or draws, as written where that is known, and as run."""
    if len(chains) != 1:
        return None, behind_all_maps(chains, paces)
    [chain] = chains
    same = same_in_every_pass(chain)
    return (same[-1], running(same[-1], chain, paces)) if same else (None, None)


def _repeated_steps(chains: tuple[Chain, ...], paces: tuple[StagePace, ...]) -> float | None:
    """Steps of one pass through what a repeat is given; None where there is none, or unknown."""
    written = [stage for chain in chains for stage in chain if stage.kind == "repeat"]
    running = [pace.stage for pace in paces if "Repeat" in pace.name]
    if len(written) != 1 or len(running) != 1 or not written[0].elements:
        return None
    if len(chains) > 1 and written[0].elements == 1:
        # One array for every index that it meets: no pass through the data.
        return None
    return written[0].elements / max(1e-9, running[0].elements_per_batch)


def same_in_every_pass(chain: Chain) -> list[WrittenStage]:
    """Stages that do work, from the source on, whose elements do not depend on chance or order."""
    found: list[WrittenStage] = []
    mixed = False
    for stage in chain:
        if stage.kind in MIXES:
            mixed = True
        elif stage.differs or stage.kind == "random" or (mixed and stage.kind not in LETS_THROUGH):
            break
        elif stage.kind in WORK:
            found.append(stage)
    return found


def gone_into_a_shuffle(facts: RunFacts) -> WrittenStage | None:
    """What is the same in every pass and has ended before anybody can ask tf.data for its stages.

    It is so once the buffer of a shuffle behind it holds all data. None where it goes on, is kept
    by a cache already, or cannot be told.
    """
    chain, paces = facts.input.chains[0] if len(facts.input.chains) == 1 else (), stage_paces(facts)
    before = tuple(takewhile(lambda stage: stage.kind != "shuffle", chain))
    made = same_in_every_pass(before)
    if not made or "cache" in facts.input.kinds or not paces or taken_of(made[-1], before):
        return None
    return None if any(runs_as(made[-1].kind, pace.name) for pace in paces) else made[-1]


def mixes(name: str) -> bool:
    """A running stage that gives examples in another order, or again."""
    return "Shuffle" in name or "Repeat" in name
