"""What the order of a dataset's stages tells, as notes: none of it has been measured.

The order is that of the dataset as it was written (`InputFacts.dataset`). What tf.data
changes by itself is left out: it runs stateless maps in parallel and adds a prefetch at the end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import takewhile

from keras_perf.advise.as_written import at, running
from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.analyse.stage_paces import stage_paces
from keras_perf.analyse.summary import Summary
from keras_perf.records.advice_ids import CACHE, INTERLEAVE, PREFETCH
from keras_perf.records.figures import figure, in_ms
from keras_perf.records.run.input.pipeline import Chain, WrittenStage

BATCHES = ("batch", "padded_batch", "ragged_batch", "sparse_batch")
REGROUPS = ("unbatch", "rebatch", "flat_map", "interleave", "window", "group_by_window")
"""Stages after which elements are not the batches of before."""

WORKS = ("map", "filter", "flat_map", "interleave", *BATCHES)

PASSED_ON = ("map", "shuffle", "prefetch", "options")
"""Stages between a map and a skip that leave as many elements, which can be left out before."""

LEFT_OUT = 0.05
"""Of the elements: a skip that leaves out fewer, as a header, costs little."""

PER_STEP = 1.0
"""So many files for each step are many."""


def order_notes(run: Diagnosed) -> Iterator[str]:
    """A sentence for each stage that stands where it does harm for certain.

    What only costs time is told where the input is what training waits for, or where that could
    not be measured.
    """
    summary, advised = run.summary, run.advised
    written = run.facts.input.dataset
    if written is None:
        return
    chains = written.chains
    last, *others = chains
    again = (run.facts.length.epochs or 1) > 1
    if not any(_places(chain, ("shuffle",)) for chain in others):
        yield from _shuffle_after_batch(last)
    for chain in chains:
        yield from made_and_left_out(chain)
    if again:
        yield from _cache_after_shuffle(last)
        for chain in chains:
            yield from _cache_after_random(chain)
    measured = "input_wait" in summary.parts
    if measured and run.verdict != "input-bound":
        return
    if PREFETCH not in advised:
        yield from _last_prefetch(last, added=written.prefetch_added)
    for chain in chains:
        if again:
            yield from _filter_after_cache(chain)
            yield from _reads_and_draws(chain, summary)
        if not {INTERLEAVE, CACHE} & advised:
            yield from _files(chain, summary)
        if not measured or run.facts.input.hidden:
            yield from _maps(chain)


def _shuffle_after_batch(chain: Chain) -> Iterator[str]:
    shuffles, batches = _places(chain, ("shuffle",)), _places(chain, BATCHES)
    if not shuffles or not batches or shuffles[0] < batches[-1]:
        return
    shuffle, batch = chain[shuffles[0]], chain[batches[-1]]
    if not _places(chain[batches[-1] : shuffles[0]], REGROUPS):
        yield (
            f"{_told(shuffle)} comes after {_told(batch)}: it moves whole batches, in which the "
            f"same examples always meet. Put {_told(shuffle)} before {_told(batch)}."
        )


def made_and_left_out(chain: Chain) -> Iterator[str]:
    """A skip behind maps, which make what it leaves out in each pass; nothing where a cache is."""
    for (place, skip), after in zip(enumerate(chain), chain[1:], strict=False):
        given, left = skip.elements or 0, after.elements
        behind = _maps_at_the_end(chain[:place]) if skip.kind == "skip" else []
        if not behind or left is None or given - left <= LEFT_OUT * given:
            continue
        if not _places(chain, ("cache",)):
            yield (
                f"skip() comes after {', '.join(map(_placed, behind))}: each pass makes the "
                f"{given - left:,} elements of {given:,} that it leaves out. "
                f"Put {', '.join(map(_told, behind))} behind skip()."
            )


def _maps_at_the_end(before: Chain) -> list[WrittenStage]:
    """From the first of them on only such stages follow as pass elements on."""
    passing = [*takewhile(lambda stage: stage.kind in PASSED_ON, reversed(before))]
    return [stage for stage in reversed(passing) if stage.kind == "map"]


def _cache_after_shuffle(chain: Chain) -> Iterator[str]:
    shuffles, caches = _places(chain, ("shuffle",)), _places(chain, ("cache",))
    if shuffles and caches and shuffles[-1] < caches[-1]:
        shuffle, cache = chain[shuffles[-1]], chain[caches[-1]]
        mend = f"Put {_told(cache)} before {_told(shuffle)}."
        between = {stage.kind for stage in chain[shuffles[-1] : caches[-1]]}
        if not between.isdisjoint(WORKS):
            # What is made there is to be kept, and the shuffle may be another function's.
            mend = f"Put a shuffle() behind {_told(cache)}."
        yield (
            f"{_told(cache)} comes after {_told(shuffle)}, and nothing shuffles after it: every "
            f"epoch has the first one's order. {mend}"
        )


def _cache_after_random(chain: Chain) -> Iterator[str]:
    caches = _places(chain, ("cache",))
    for stage in chain[: caches[-1]] if caches else ():
        if stage.kind == "map" and stage.random:
            cache = chain[caches[-1]]
            yield (
                f"{_placed(stage)} draws random numbers before {_told(cache)}: every epoch repeats "
                f"the first one's draws. Put {_told(stage)} after {_told(cache)}."
            )


def _last_prefetch(chain: Chain, *, added: bool) -> Iterator[str]:
    """Only where tf.data adds none, and the last stage has no threads of its own."""
    prefetches = _places(chain, ("prefetch",))
    behind = [stage for stage in chain[prefetches[-1] if prefetches else 0 :] if _works(stage)]
    if added or not behind or any(stage.parallel for stage in behind) or _is_fused(behind):
        return
    names = ", ".join(map(_told, behind))
    if prefetches:
        yield f"prefetch() is not last: {names} behind it works while training waits. Put it last."
    else:
        yield f"Nothing prefetches: {names} works while training waits. Put prefetch() last."


def _is_fused(stages: Sequence[WrittenStage]) -> bool:
    """tf.data makes a stage with a thread of its own of a map and the batch after it."""
    return [stage.kind for stage in stages[-2:]] == ["map", "batch"]


def _filter_after_cache(chain: Chain) -> Iterator[str]:
    caches = _places(chain, ("cache",))
    behind = chain[caches[-1] :] if caches else ()
    for stage in takewhile(lambda stage: not stage.random, behind):
        if stage.kind == "filter":
            cache = _told(chain[caches[-1]])
            yield (
                f"{_placed(stage)} comes after {cache}: what it drops stays in memory, and is "
                f"dropped again in every epoch. Put {_told(stage)} before {cache}."
            )


def _reads_and_draws(chain: Chain, summary: Summary) -> Iterator[str]:
    """One function does what is the same in every pass and what is not, so neither is cached."""
    for place, stage in () if _places(chain, ("cache",)) else enumerate(chain):
        if stage.kind == "map" and stage.random and (stage.reads_files or stage.one_at_a_time):
            shuffled = _places(chain[:place], ("shuffle",))
            between = ".shuffle(...)" if shuffled else ""
            yield (
                f"{_placed(stage)} reads or decodes, and draws random numbers: a cache behind it "
                "would repeat the first epoch's draws. Split it in two, with cache() between, or "
                f"cache(filename) where memory does not suffice: map(read).cache(){between}"
                f".map(draw). {_how_to_measure(stage, chain, summary)}"
            )


def _how_to_measure(stage: WrittenStage, chain: Chain, summary: Summary) -> str:
    """What of a map a cache would save is known once its parts are two maps."""
    pace = running(stage, chain, stage_paces(summary.facts))
    most = f" (at most {in_ms(pace.ms)} a batch)" if pace is not None and pace.ms else ""
    return (
        f"What that saves{most} was not measured: kp.tune_input(dataset) of the split dataset "
        "measures its parts and the cache, as keras-perf run --try-advice does in training."
    )


def _files(chain: Chain, summary: Summary) -> Iterator[str]:
    """Files read one for each element; how long opening one takes was not measured."""
    steps = summary.facts.length.epoch_steps or 0
    for place, stage in enumerate(chain):
        elements = stage.elements
        if not stage.reads_files or not elements or not steps:
            continue
        if summary.facts.length.ends_by_steps:
            continue
        if _places(chain[:place], BATCHES) or _places(chain, ("repeat", "take", "skip", "shard")):
            # Of how many of them an epoch consists is not known.
            continue
        if elements / steps >= PER_STEP and not _cached(chain[place:], summary):
            yield (
                f"{_placed(stage)} opens {figure(elements / steps)} files for each step "
                f"({elements:,} in an epoch); what that costs was not measured by itself. Write "
                "the examples into fewer files of 100 MB and more (TFRecord), read by interleave()."
            )


def _cached(after: Chain, summary: Summary) -> bool:
    """Only the first epoch reads files."""
    return bool(_places(after, ("cache",))) and (summary.facts.length.epochs or 1) > 1


def _maps(chain: Chain) -> Iterator[str]:
    """Where nothing of the pipeline was measured: maps that tf.data cannot run in parallel."""
    maps = [s for s in chain if s.kind == "map" and s.stateful and not s.parallel]
    if maps:
        names = ", ".join(map(_placed, maps))
        yield (
            f"{names}: one element at a time, on one thread, since the function is stateful "
            "(Python, random numbers). Give map() num_parallel_calls=tf.data.AUTOTUNE."
        )


def _places(chain: Chain, kinds: Collection[str]) -> list[int]:
    return [place for place, stage in enumerate(chain) if stage.kind in kinds]


def _works(stage: WrittenStage) -> bool:
    return stage.kind in WORKS


def _told(stage: WrittenStage) -> str:
    """As it is written in the user's program."""
    return f"{stage.kind}({stage.function})"


def _placed(stage: WrittenStage) -> str:
    """The same with the line of its function, where that is known."""
    return f"{_told(stage)}{at(stage.source)}"
