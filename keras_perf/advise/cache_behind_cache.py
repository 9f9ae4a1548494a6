"""Where a second cache belongs: behind what each pass makes anew of what a first one keeps."""

from __future__ import annotations

from keras_perf.advise.as_written import running
from keras_perf.advise.cache_place import Place, mixes, same_in_every_pass, taken_of
from keras_perf.analyse.stage_paces import stage_paces
from keras_perf.records.run.run_facts import RunFacts


def place_behind_a_cache(facts: RunFacts) -> Place | None:
    """Of a single chain that each epoch reads to its end; None where nothing behind is the same.

    As behind `tfds.load`, which keeps small datasets as they were read, and not what a map makes of
    them. What stands before the cache is not run any more, and tf.data may not show it.
    """
    length, paces = facts.length, stage_paces(facts)
    caches = [place for place, pace in enumerate(paces) if "Cache" in pace.name]
    if any(pace.name.startswith("FileCache") for pace in paces):
        # One that is put elsewhere reads what the files have.
        return None
    if len(facts.input.chains) != 1 or "cache" not in facts.input.kinds or not caches:
        return None
    if facts.input.hidden or not length.epoch_steps or length.ends_by_steps:
        return None
    [chain] = facts.input.chains
    kinds = [stage.kind for stage in chain]
    behind = chain[len(kinds) - kinds[::-1].index("cache") :]
    same = [each for each in same_in_every_pass(chain) if any(each is stage for stage in behind)]
    if not same or "repeat" in kinds or same[-1].source is None or taken_of(same[-1], chain):
        # A function of no source is a library's.
        return None
    after = running(same[-1], behind, paces[caches[-1] + 1 :])
    if after is None:
        return None
    made_anew = paces[caches[-1] + 1 : paces.index(after) + 1]
    saved = tuple(pace.name for pace in made_anew if not mixes(pace.name))
    steps = float(length.epoch_steps)
    return Place(same[-1], after, saved, float(length.epochs_in_all or 0), steps, again=True)
