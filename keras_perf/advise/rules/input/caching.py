"""Advice on work that the input pipeline does again for the same examples."""

from __future__ import annotations

from dataclasses import dataclass, replace

from keras_perf.advise.as_written import WORK, function_of, running, runs_as, where
from keras_perf.advise.python_threads import about_quickest
from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.followed import is_cached
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import StepModel
from keras_perf.advise.step.step_parts import UNSEEN_INSIDE
from keras_perf.analyse.stage_paces import StagePace, stage_paces
from keras_perf.records.figures import in_mib, in_ms
from keras_perf.records.run.input.pipeline import Chain, WrittenStage
from keras_perf.records.run.run_facts import RunFacts

FIRST_BATCH_MS = 3.0
"""What an epoch's first batch is waited for, even where all of them lie in memory: 0.10 to 0.14 ms
a step in epochs of 30 steps."""

WORTH_KEEPING = 0.03
"""Work of a smaller share of a step is not worth the memory: what its wait is said to be may be
something else."""

MIXES = ("shuffle", "repeat")
"""Stages before which a map can be put that stands after them: each example comes out the same."""

LETS_THROUGH = ("map", "prefetch", "options")
"""What may stand between such a stage and the map."""

GENERATOR = "flat_map_fn"
"""The function of TensorFlow's own that `from_generator` flattens with; nobody has written it."""


@dataclass(frozen=True)
class Place:
    """Where a cache belongs.

    Attributes:
        written: the last stage whose elements are the same in every pass; None if not known.
        after: the same stage, running.
        saved: names of the running stages whose work is saved.
        passes: how often the training goes through the data.
        steps: of one pass.
    """

    written: WrittenStage | None
    after: StagePace
    saved: tuple[str, ...]
    passes: float
    steps: float

    @property
    def call(self) -> str:
        """The stage as it is written."""
        kind = "map" if self.written is None else self.written.kind
        if kind == "flat_map" and self.written is not None and self.written.function == GENERATOR:
            return "tf.data.Dataset.from_generator(...)"
        arguments = function_of(self.written, "your_function")
        if kind == "map" and self.written is not None and self.written.parallel:
            arguments += ", num_parallel_calls=tf.data.AUTOTUNE"
        return f"dataset.{kind}({arguments})"


@rule("cache", followed=is_cached)
def cache(situation: Situation) -> Recommendation | None:
    """Every pass through the data does the same preparation again."""
    facts, model = situation.facts, situation.model
    place = best_place(facts)
    if place is None or place.passes < 2 or not situation.own_dataset:
        return None
    if _work_ms(situation, place) < WORTH_KEEPING * model.step_ms:
        return None
    size_mib = place.after.stage.bytes_per_batch * place.steps / 2**20
    if not size_mib or size_mib > (facts.machine.memory_available_mib or 0.0) / 2:
        return None
    warmup = facts.outside.warmup_steps if facts.outside is not None else 0
    # Trials and captures leave out steps, mostly of the first pass.
    measured = max(situation.summary.steps, facts.length.steps - warmup)
    first_pass = max(0.0, place.steps - warmup) / measured
    epoch_steps = facts.length.epoch_steps or place.steps

    def change(model: StepModel, optimism: float) -> StepModel:
        # Reading back costs a few percent; what a report counts of the first pass still pays.
        left = dict.fromkeys(place.saved, 0.02 * (1 - optimism))
        later = model.with_less_work(left, optimism)
        later = later.awake(model.input_wait_ms - later.input_wait_ms, optimism, waited=True)
        # Of stalls of the pipeline half are expected to go with its work, at worst none.
        gone = 1 - later.produce_ms / model.produce_ms if model.produce_ms else 0.0
        stalls_ms = later.rest.get("get_next", 0.0) * (1 - max(0.0, gone) * (1 + optimism) / 2)
        fetch_ms = max(later.rest.get("fetch", 0.0), FIRST_BATCH_MS / max(1.0, epoch_steps))
        later = replace(later, rest={**later.rest, "fetch": fetch_ms, "get_next": stalls_ms})
        first_ms = min(1.0, first_pass) * max(0.0, model.step_ms - later.step_ms)
        return replace(later, rest={**later.rest, "first_epoch": first_ms})

    saved_ms = sum(situation.paces[name] for name in place.saved)
    python = ""
    if situation.runs_python:
        python = f" Python code in it must give the same each time.{about_quickest(situation)}"
    elif not facts.input.chains:
        python = " What a map draws at random would be the same in every pass."
    return predicted(
        model,
        change,
        title="Keep prepared examples in memory after the first pass",
        reason=(
            f"Stages up to {place.after.name} take {in_ms(saved_ms)} a batch in each of "
            f"{place.passes:.0f} passes through the data; their result is about {in_mib(size_mib)} "
            f"and fits into memory.{python}{where(place.written)}"
        ),
        action=(
            f"dataset = {place.call}.cache()  "
            "# before shuffle, repeat and all that draws random numbers"
        ),
        evidence={"saved_ms": saved_ms, "epochs": place.passes, "size_mib": size_mib},
    )


def _work_ms(situation: Situation, place: Place) -> float:
    """Of all threads for a batch: as tf.data counts it, and what it cannot see where it cannot."""
    counted = {pace.name: pace.stage.cost_ms for pace in stage_paces(situation.facts)}
    stages = situation.model.stages
    return sum(
        max(counted[name], stages[name]) if name.startswith(UNSEEN_INSIDE) else counted[name]
        for name in place.saved
    )


def best_place(facts: RunFacts) -> Place | None:
    """Behind the last stage that can stand before shuffles, repeats and all that is random.

    None where there is none, a cache is there already, or what runs cannot be told from what is
    written.
    """
    paces, chains = stage_paces(facts), facts.input.chains
    cached = any("Cache" in pace.name for pace in paces)
    if cached or any(stage.kind == "cache" for chain in chains for stage in chain):
        return None
    found = _in_chain(chains[0], paces) if len(chains) == 1 else _behind_all_maps(chains, paces)
    length = facts.length
    if found is None or not length.epoch_steps:
        return None
    written, after = found
    names = [pace.name for pace in paces]
    saved = [name for name in names[: names.index(after.name) + 1] if not _mixes(name)]
    steps, of_pass = float(length.epoch_steps), _repeated_steps(chains, paces)
    if of_pass is not None:
        steps = of_pass
    elif any("Repeat" in name for name in names):
        # An endless stream would be kept without end.
        return None
    passes = (length.epochs or 0) * length.epoch_steps / steps
    return Place(written, after, tuple(saved), passes, steps)


def _in_chain(chain: Chain, paces: tuple[StagePace, ...]) -> tuple[WrittenStage, StagePace] | None:
    same = same_in_every_pass(chain)
    after = running(same[-1], chain, paces) if same else None
    return None if after is None else (same[-1], after)


def _behind_all_maps(
    chains: tuple[Chain, ...], paces: tuple[StagePace, ...]
) -> tuple[None, StagePace] | None:
    """Where several datasets come together, or nothing is known of how they are written."""
    maps = [pace for pace in paces if runs_as("map", pace.name)]
    if not maps or any(stage.random for chain in chains for stage in chain):
        return None
    return None, maps[-1]


def _repeated_steps(chains: tuple[Chain, ...], paces: tuple[StagePace, ...]) -> float | None:
    """Steps of one pass through what a repeat is given; None where there is none, or unknown."""
    written = [stage for chain in chains for stage in chain if stage.kind == "repeat"]
    running = [pace.stage for pace in paces if "Repeat" in pace.name]
    if len(written) != 1 or len(running) != 1 or not written[0].elements:
        return None
    return written[0].elements / max(1e-9, running[0].elements_per_batch)


def same_in_every_pass(chain: Chain) -> list[WrittenStage]:
    """Stages that do work, from the source on, whose elements do not depend on chance or order."""
    found: list[WrittenStage] = []
    mixed = False
    for stage in chain:
        if stage.kind in MIXES:
            mixed = True
        elif stage.random or stage.kind == "random" or (mixed and stage.kind not in LETS_THROUGH):
            break
        elif stage.kind in WORK:
            found.append(stage)
    return found


def _mixes(name: str) -> bool:
    return "Shuffle" in name or "Repeat" in name
