"""Advice on a map that is called for each example."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from keras_perf.advise.as_written import function_of, lambdas_in, where, written_as
from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.followed import maps_batches
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.computing import UNSEEN_INSIDE
from keras_perf.advise.step.step_model import StepModel, between
from keras_perf.records.advice_ids import BATCH_BEFORE_MAP
from keras_perf.records.figures import in_us
from keras_perf.records.run.input.pipeline import Stage, runs_in_pool

CALL_MS = 0.012
"""What a map's function costs per call beyond its work, as tf.data counts it: a map that doubles
two numbers, 2048 times per batch, took 9 to 15 µs on one core of a shared server CPU."""

OF_MANY_LENGTHS = {"padded_batch", "group_by_window", "dense_to_ragged"}
"""Kinds of stages that make batches of examples which have no shape in common."""

BATCHES = ("Batch", "ParallelBatch", "PaddedBatch")
"""Beginnings of names of stages that make batches."""

LETS_BATCHES_THROUGH = ("Shuffle", "Repeat", "Prefetch", "Options", "Model", "AssertCardinality")
"""The same of those that do with batches what they do with examples, but for a shuffle: it is to
stand before them."""

MOSTLY_CALLS = 4.0
"""A map that takes more than so many times the cost of a call is mostly work. One that takes less
may be nothing but calls: they took 35 to 50 µs on a core half as fast, and 50 to 70 where a line of
CSV became 12 or 24 tensors."""


def _calls(stage: Stage) -> float:
    """Calls of a map's function per batch."""
    return stage.elements_per_batch * (stage.ratio if "AndBatch" in stage.name else 1.0)


def _takes_batches(name: str, situation: Situation) -> bool:
    """Nothing that the function of this map does is for one example only, as far as is known.

    And somebody wrote it: those inside a function of Keras's that makes a dataset, as
    `keras.utils.timeseries_dataset_from_array` does, have neither a name nor a line.
    """
    known = situation.facts.input
    written = [stage for stage in known.written if stage.kind == "map"]
    running = [stage for stage in situation.model.stages if runs_in_pool(stage)]
    if len(known.chains) == 1 and len(written) == len(running):
        written = [written[running.index(name)]]
    if written and not any(stage.function or stage.source for stage in written):
        return False
    return not any(stage.one_at_a_time for stage in written)


def _right_before_a_batch(stage: Stage, behind: Sequence[Stage]) -> bool:
    """Batches go through all that stands between, as single examples do now.

    A filter or a part of the data works with examples; of another map the order would change.
    """
    names = (each.name for each in behind)
    between = takewhile(lambda name: not name.startswith(BATCHES), names)
    return "AndBatch" in stage.name or all(map(_lets_batches_through, between))


def _lets_batches_through(name: str) -> bool:
    return name.startswith(LETS_BATCHES_THROUGH)


class ExampleMap(NamedTuple):
    """A map that is called for each example, and may take batches.

    Attributes:
        name: of its stage.
        calls: for a batch.
        call_ms: of one.
    """

    name: str
    calls: float
    call_ms: float


def example_map(situation: Situation) -> ExampleMap | None:
    """The dearest one; None where there is none of one's own, or examples have many lengths."""
    model, recorded = situation.model, situation.facts.input.stages
    found = [
        (name, stage)
        for place, (name, stage) in enumerate(zip(model.stages, recorded, strict=False))
        if stage.name.startswith(("Map", "ParallelMap"))
        and _calls(stage) > 1.5
        and _takes_batches(name, situation)
        and _right_before_a_batch(stage, recorded[place + 1 :])
    ]
    # Examples of many lengths cannot be batched before they are cut, padded or put in buckets.
    of_many_lengths = situation.facts.input.kinds & OF_MANY_LENGTHS
    if not found or not situation.own_dataset or of_many_lengths:
        return None
    name, stage = max(found, key=lambda item: model.stages[item[0]])
    calls = _calls(stage)
    call_ms = stage.cost_ms / max(1e-9, stage.works_for) / calls
    return ExampleMap(name, calls, call_ms) if call_ms else None


@rule(
    BATCH_BEFORE_MAP,
    on="input",
    leaves="the work itself stays",
    followed=maps_batches,
    tried_title="Call the map's function for whole batches",
)
def batch_before_map(situation: Situation) -> Recommendation | None:
    """A cheap map runs once per example, where once per batch would do."""
    model, found = situation.model, example_map(situation)
    calling_ms = CALL_MS / situation.share_of_cores
    if found is None or found.call_ms > MOSTLY_CALLS * calling_ms:
        return None
    name, calls, call_ms = found
    fewer = 1 - 1 / calls
    overhead = min(1.0, calling_ms / call_ms) * fewer
    # tf.data does not count the handing of elements to threads: what the stages' work does not
    # explain of the pace is part of the calls.
    explained = 1.0
    if model.produce_ms and not any(n.startswith(UNSEEN_INSIDE) for n in model.stages):
        explained = min(1.0, situation.able_ms / model.produce_ms)

    def change(model: StepModel, optimism: float) -> StepModel:
        left = 1 - between(0.75 * overhead, 0.95 * overhead, fewer, optimism)
        # Other stages are interrupted for each call too: of what tf.data counts as theirs the
        # explained share is their own; at worst that of the pace, and half of what is left.
        expected, at_worst = explained**2, (1 + explained) / 2
        others = between(at_worst, expected, expected * at_worst, optimism)
        factors = {**dict.fromkeys(model.stages, others), name: left * others}
        # A prefetch only hands batches on: its time is that of threads which kept it waiting.
        factors |= {n: left * others for n in model.stages if n.startswith("Prefetch")}
        return model.with_less_work(factors, optimism)

    written = written_as(name, situation.facts)
    function = function_of(written, "your_function")
    return predicted(
        model,
        change,
        title=f"Batch first, then map whole batches: stage {name}",
        reason=(
            f"Stage {name} is called {calls:.0f} times per batch, {in_us(call_ms)} each, "
            f"of which calling alone takes about {in_us(min(calling_ms, call_ms))}."
            f"{where(written)}"
        ),
        action=(
            f"{lambdas_in(written)}dataset = dataset.batch(batch_size).map({function}, "
            "num_parallel_calls=tf.data.AUTOTUNE)\n"
            "# in place of both, behind a shuffle and a repeat; the function gets whole batches,\n"
            "# with an axis of examples first (tf.stack(..., axis=-1); tf.io.parse_example in\n"
            "# place of parse_single_example), and draws and sums for each of them"
        ),
        evidence={"stage": name, "calls_per_batch": calls, "call_ms": call_ms},
    )
