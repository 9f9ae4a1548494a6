"""Files that come over a network, where training waits for them; no other place was tried."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.advise.remote_files import reading_stage, remote_systems
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.computing import UNSEEN_INSIDE
from keras_perf.records.advice_ids import INTERLEAVE
from keras_perf.records.figures import in_ms


def remote_file_notes(run: Diagnosed) -> Iterator[str]:
    """A sentence or two, where the input is the bottleneck and reading them sets its pace."""
    situation, advised = run.situation, run.advised
    systems = remote_systems(situation)
    if run.verdict != "input-bound" or not systems or (stage := reading_stage(situation)) is None:
        return
    model, facts = situation.model, situation.facts
    remedies = ["a copy of them on a local disk", "fewer, larger files (100 MB and more)"]
    if model.threads.get(stage, 1) == 1 and INTERLEAVE not in advised:
        remedies.insert(0, "several files at a time (interleave with num_parallel_calls)")
    if (facts.length.epochs or 1) > 1 and "cache" not in {*facts.input.kinds, *advised}:
        remedies.append("cache(filename) on a local disk, which later epochs read")
    yield (
        f"The files are not on a local disk ({', '.join(systems)}), and reading them sets the "
        f"pace: {_share_of(stage, situation)}. What helps: {'; '.join(remedies)}. What each "
        "gains was not measured."
    )


def _share_of(stage: str, situation: Situation) -> str:
    """Of a batch's time; a stage that runs pipelines of its own does more than tf.data counts."""
    model, counted, able_ms = situation.model, situation.paces[stage], situation.able_ms
    if not stage.startswith(UNSEEN_INSIDE) or model.produce_ms <= able_ms:
        return f"{stage} takes {in_ms(counted)} of the {in_ms(able_ms)} that a batch needs"
    return (
        f"a batch took {in_ms(model.produce_ms)}, of which about {in_ms(model.stages[stage])} went "
        f"to {stage}; tf.data counts {in_ms(counted)} of its work"
    )
