"""Where a cache belongs in what several datasets make together."""

from __future__ import annotations

from keras_perf.advise.as_written import WORK, runs_as
from keras_perf.analyse.stage_paces import StagePace
from keras_perf.records.run.input.pipeline import Chain

MIXES = ("shuffle", "repeat")
"""Stages before which a map can be put that stands after them: each example comes out the same."""

MEETINGS = {"Zip": "tf.data.Dataset.zip(...)", "Concatenate": "dataset.concatenate(...)"}
"""Where datasets meet, as it runs → as it is written; others draw from them at random."""

GOES_THROUGH = ("Prefetch", "Batch", "PaddedBatch", "ParallelBatch")
"""What may stand between a map and there: its elements are the same in every pass, too."""


def come_together_alike(chains: tuple[Chain, ...]) -> bool:
    """Several datasets make one that has an end and is the same in every pass.

    As `keras.utils.timeseries_dataset_from_array` does, whose datasets of one array each repeat it
    without end.
    """
    if len(chains) < 2:
        return False
    together, *others = chains
    stages = [stage for chain in chains for stage in chain]
    return (
        any(stage.kind in WORK for stage in stages)
        and any(stage.elements is not None for stage in together[1:])
        and not any(stage.differs for stage in stages)
        and not any(stage.kind in MIXES for stage in together)
        and not any(stage.kind in ("shuffle", "random") for chain in others for stage in chain)
    )


def behind_all_maps(chains: tuple[Chain, ...], paces: tuple[StagePace, ...]) -> StagePace | None:
    """Where several datasets come together, or nothing is known of how they are written.

    Behind where they meet, if none of them is mapped behind it: in front of it a cache would keep
    what one of them makes. Not behind a map of shuffled batches: kept, they would be the same in
    the same order for ever.
    """
    maps = [n for n, pace in enumerate(paces) if runs_as("map", pace.name)]
    if not maps or any(stage.differs for chain in chains for stage in chain):
        return None
    last = maps[-1]
    shuffle = next((n for n, pace in enumerate(paces[:last]) if "Shuffle" in pace.name), last)
    between = (pace.name for pace in paces[shuffle + 1 : last])
    if not all(runs_as("map", name) or name.startswith("Prefetch") for name in between):
        return None
    meets = [n for n, pace in enumerate(paces) if n > last and (pace.stage.inputs or 0) > 1]
    if not meets:
        return paces[last]
    before, meeting = paces[: meets[-1]], paces[meets[-1]]
    mixed = any(mix in pace.name for pace in before for mix in ("Shuffle", "Random"))
    way = (pace for pace in before[last + 1 :] if pace.stage.inputs != 0)
    known = written_meeting(meeting) and all(pace.name.startswith(GOES_THROUGH) for pace in way)
    return meeting if known and not mixed else None


def written_meeting(pace: StagePace) -> str:
    """How it is written that datasets meet in this running stage; "" if they do not."""
    return next((code for name, code in MEETINGS.items() if pace.name.startswith(name)), "")
