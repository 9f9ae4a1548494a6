"""What the settings of a Grain dataset or a torch `DataLoader` show; none of it was tried."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.advise.loaders import reads_in_threads, started_once
from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.interpreter import LOADERS
from keras_perf.advise.step.step_parts import stalled
from keras_perf.records.advice_ids import PARALLEL_INPUT
from keras_perf.records.figures import in_ms
from keras_perf.records.run.library import library_of
from keras_perf.records.run.times.outlier import Cause

WORTH = 0.05
"""Pauses that take less than this share of the training are left alone."""

MORE_THREADS = 4
"""Threads that wait for storage are advised to be so many times as many."""


def loader_notes(run: Diagnosed) -> Iterator[str]:
    """A sentence or two, where training waits for such a loader."""
    facts = run.facts
    loader, name = facts.input.loader, LOADERS.get(facts.input.input_kind or "")
    if loader is None or name is None:
        return
    if loader.workers and not loader.persistent:
        yield from _started_anew(run.situation, name)
    if run.verdict != "input-bound":
        return
    if reads_in_threads(facts) and PARALLEL_INPUT not in run.advised:
        threads = loader.read_threads or 0
        options = f"grain.ReadOptions(num_threads={MORE_THREADS * threads})"
        where = f"to_iter_dataset({options})"
        if loader.kind == "DataLoader":
            where = f"read_options={options}"
        read, them = f"{threads} threads read", "them"
        waits, more = "they wait", "more of them"
        if threads == 1:
            read, them, waits, more = "1 thread reads", "it", "it waits", "more threads"
        yield (
            f"{read} the examples of the {name}, and training waits for {them}. If {waits} for "
            f"storage, {more} help: {where}. If Python computes in {them}, processes do: "
            "mp_prefetch, or worker_count of a grain.DataLoader. What either gains was not "
            "measured."
        )
    if loader.pinned:
        yield (
            "pin_memory=True buys nothing here: Keras copies each batch of the DataLoader into "
            f"{library_of(facts).name}'s own memory."
        )


def _started_anew(situation: Situation, name: str) -> Iterator[str]:
    """Processes that live for an epoch; how long they take to start shows at its first batch."""
    facts, model = situation.facts, situation.model
    paused_ms = stalled(situation.summary, Cause.ITERATOR)
    loader = facts.input.loader
    once = (facts.length.epochs or 1) < 2
    if once or paused_ms < WORTH * model.whole_ms or loader is None:
        return
    remedy = "persistent_workers=True keeps them"
    if facts.input.input_kind == "Grain":
        remedy = started_once(loader)
    yield (
        f"The first batch of an epoch comes late, which is {in_ms(paused_ms)} of each step on "
        f"average, also because the {loader.workers} processes of the {name} start again in each "
        f"epoch: {remedy}."
    )
