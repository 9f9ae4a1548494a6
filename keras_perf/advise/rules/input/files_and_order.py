"""Advice on files that are read one by one, and on elements that wait for each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import dropwhile

from keras_perf.advise.as_written import WORK, function_of, lambdas_in, where, written_as
from keras_perf.advise.python_threads import about_python, useful_threads
from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.followed import lets_overtake, reads_in_parallel
from keras_perf.advise.rules.input.on_one_core import (
    CALLS,
    has_to_wait,
    of_use,
    own_pool,
)
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.computing import UNSEEN_INSIDE
from keras_perf.advise.step.step_model import MOSTLY_WAITING, StepModel
from keras_perf.advise.step.step_parts import stalled
from keras_perf.records.advice_ids import INTERLEAVE, NONDETERMINISTIC_ORDER
from keras_perf.records.figures import in_ms
from keras_perf.records.run.input.pipeline import (
    BY_PLACE,
    RECORD_READERS,
    Chain,
    Stage,
    WrittenStage,
)
from keras_perf.records.run.times.outlier import Cause

IDLE_PCT = 70.0

FILE_READERS = (*RECORD_READERS, "CSV", "FlatMap", "Interleave")
"""Stages that read files, or run a pipeline for each file."""

FILES_IN_ORDER = (
    "# files: those that are read now, in the same order; examples of several are mixed then\n"
)

NO_FILES = ("Generator", "Window", "ParallelInterleave", "LegacyParallelInterleave")
"""Where one of these is, what runs pipelines runs them for something else, or in parallel."""


@rule(
    INTERLEAVE,
    on="input",
    leaves="the work stays, shared by the CPUs",
    tried_title="Read several files at a time",
    followed=reads_in_parallel,
)
def interleave(situation: Situation) -> Recommendation | None:
    """Files are read one after the other."""
    model = situation.model
    readers = _one_after_the_other(model)
    other = any(name.startswith(NO_FILES) for name in model.stages)
    alone = has_to_wait(situation)
    if not readers or other or not (model.cores > 1 or alone) or not situation.own_dataset:
        return None
    stage = max(readers, key=lambda name: readers[name])
    kind = next((kind for kind in RECORD_READERS if stage.startswith(kind)), None)
    written = written_as(stage, situation.facts)
    if _of_one(written, situation) or _place_tells(situation):
        return None
    files = _how_many(written, situation) or math.inf

    def change(model: StepModel, optimism: float) -> StepModel:
        # Reading waits for storage as much as it computes: more than the cores can be of use.
        of_cores = max(1.0, model.cores * (1 + 0.5 * optimism))
        threads = min(files, of_use(CALLS, optimism) if alone else of_cores)
        return model.with_threads(stage, useful_threads(situation, stage, threads, optimism))

    what, work, one, source = "Read several files", "Reading", "file", "files"
    lines = FILES_IN_ORDER
    if not kind and not _may_read_files(situation, written):
        what, work = "Run several datasets", "Running the datasets of its elements"
        one, source, lines = "dataset", "dataset", "# elements are mixed then\n"
    return predicted(
        model,
        change,
        title=f"{what} at a time: stage {stage}",
        reason=(
            f"{work} takes {in_ms(situation.paces[stage])} of the {in_ms(situation.able_ms)} that "
            f"a batch needs, one {one} after the other.{where(written)}"
            f"{about_python(situation, stage)}"
        ),
        action=f"{lines}{_read_at_a_time(kind, source, written, alone=alone)}",
        evidence={"stage": stage, "stage_ms": situation.paces[stage]},
    )


def _one_after_the_other(model: StepModel) -> dict[str, float]:
    """Stages that read a file, or run a dataset, after the other."""
    one_by_one = (name for name in model.stages if model.threads.get(name, 1) == 1)
    return {name: model.stages[name] for name in one_by_one if name.startswith(FILE_READERS)}


def _place_tells(situation: Situation) -> bool:
    """Of another order, examples would be other pairs, or another part of the data."""
    chains = situation.facts.input.chains
    if any(stage.kind == "zip" for chain in chains for stage in chain):
        return True
    behind = (dropwhile(lambda stage: not _reads(stage), chain) for chain in chains)
    return any(stage.kind in BY_PLACE for chain in behind for stage in chain)


def _reads(stage: WrittenStage) -> bool:
    return stage.is_reader or stage.kind in ("flat_map", "interleave")


def _of_one(written: WrittenStage | None, situation: Situation) -> bool:
    """There is one file to read, or one dataset to run: several at a time are none."""
    return _how_many(written, situation) == 1


def _how_many(written: WrittenStage | None, situation: Situation) -> int | None:
    """Files to read, or datasets to run; None where that is not known.

    tf.data runs a reader as itself and a flat_map, which nobody wrote.
    """
    readers = [written] if written is not None else []
    readers = readers or [each for each in situation.facts.input.written if each.is_reader]
    return readers[0].elements if len(readers) == 1 else None


def _read_at_a_time(
    kind: str | None, source: str, written: WrittenStage | None, *, alone: bool
) -> str:
    """Code of a reader of files, whose other arguments stay, or of a function that makes them."""
    calls, behind = ("tf.data.AUTOTUNE", "") if not alone else (str(CALLS), f"\n{own_pool(CALLS)}")
    if kind:
        reader = f"tf.data.{kind}Dataset({source}, ..., num_parallel_reads={calls})"
        return f"dataset = {reader}  # ...: its other arguments{behind}"
    cycle = f"cycle_length={CALLS}, " if alone else ""
    has_others = written is not None and written.kind == "interleave"
    arguments = "  # and its other arguments" if has_others else ""
    function = function_of(written, "your_reader")
    return (
        f"{lambdas_in(written)}dataset = {source}.interleave({function}, "
        f"{cycle}num_parallel_calls={calls}){arguments}{behind}"
    )


def _may_read_files(situation: Situation, written: WrittenStage | None) -> bool:
    """Also where nobody knows what is written there."""
    stages = situation.facts.input.written
    return written is None or any(each.reads_files or each.is_reader for each in stages)


OVERTAKEN = 0.75
"""Of what the order holds back so much is expected to be gained: 4 and 8 threads that waited for
exponential times gained 0.77 and 0.84 of it, where nothing but the input took time."""

IN_ORDER_LOSS = 0.7
"""If a pipeline's parallel stages could make a batch in less than this share of the time that it
takes, something but their work sets the pace."""


def _unseen(recorded: Sequence[Stage]) -> bool:
    """Of the work of one of these stages tf.data does not know all."""
    return any(stage.name.startswith((*UNSEEN_INSIDE, "Generator")) for stage in recorded)


@rule(
    NONDETERMINISTIC_ORDER,
    on="input",
    leaves="the work itself stays",
    tried_title="Let examples overtake each other",
    followed=lets_overtake,
)
def nondeterministic_order(situation: Situation) -> Recommendation | None:
    """Parallel stages wait for their slowest element, to keep the order."""
    model, summary = situation.model, situation.summary
    parallel, busy_pct = _in_order(situation), summary.sensors.get("host/cpu_pct")
    wait = summary.parts.get("input_wait", 0.0)
    if not parallel or situation.interpreter_ms:
        return None
    if busy_pct is None or (busy_pct > IDLE_PCT and model.waiting_share <= MOSTLY_WAITING):
        return None
    able_ms = situation.able_ms
    in_parallel_ms = sum(s.cost_ms / s.threads(model.pool) for s in parallel)
    if _unseen(situation.facts.input.stages) or in_parallel_ms < 0.5 * able_ms:
        # Something else sets the pace, whose work tf.data may not know.
        return None
    if not wait or able_ms > IN_ORDER_LOSS * summary.step_ms:
        return None
    # Where the pipeline keeps up on the whole, what it holds back shows as stalls.
    stalled_ms = stalled(summary, Cause.INPUT)
    if model.produce_ms <= able_ms and not stalled_ms:
        return None

    def change(model: StepModel, optimism: float) -> StepModel:
        return _overtaking(model, able_ms, stalled_ms, optimism)

    return predicted(
        model,
        change,
        title="Let elements overtake each other",
        reason=(
            f"The stages could deliver a batch every {in_ms(able_ms)} and have CPUs enough, yet "
            f"steps wait {in_ms(wait)}: elements of uneven cost are held back to keep their order."
        ),
        action=(
            "options = tf.data.Options()\n"
            "options.deterministic = False  # the order of examples then differs between runs\n"
            "dataset = dataset.with_options(options)"
        ),
        evidence={"able_ms": able_ms, "input_wait_ms": wait, "cpu_pct": busy_pct},
    )


def _in_order(situation: Situation) -> list[Stage]:
    """The parallel stages of the user's own pipeline, where it keeps the order of elements."""
    known = situation.facts.input
    kept = known.dataset is None or known.dataset.deterministic
    if not kept or not situation.own_dataset or _places_count(known.chains):
        return []
    return [stage for stage in known.stages if stage.parallelism > 1]


def _places_count(chains: tuple[Chain, ...]) -> bool:
    """Of what functions have made some is told by its place: a part, or one of a pair."""
    kinds = (stage.kind for chain in reversed(chains) for stage in chain)
    return not {*BY_PLACE}.isdisjoint(dropwhile(lambda kind: kind not in WORK, kinds))


def _overtaking(model: StepModel, able_ms: float, stalled_ms: float, optimism: float) -> StepModel:
    """No element is held back for one before it."""
    share = OVERTAKEN + optimism * (1 - OVERTAKEN if optimism > 0 else OVERTAKEN)
    gained = (model.produce_ms - able_ms) * share
    waits_ms = model.rest.get("get_next", 0.0)
    smoother = min(stalled_ms, waits_ms) / waits_ms * share if waits_ms else 0.0
    model = model.with_rest({"get_next": 1 - smoother})
    return model.hidden(1 - gained / model.produce_ms) if gained > 0 else model
