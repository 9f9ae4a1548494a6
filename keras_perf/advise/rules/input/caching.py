"""Advice on work that the input pipeline does again for the same examples."""

from __future__ import annotations

from dataclasses import replace

from keras_perf.advise.as_written import batch_size, lambdas_in, where
from keras_perf.advise.cache_behind_cache import place_behind_a_cache
from keras_perf.advise.cache_place import FEWEST_PASSES, WORTH_KEEPING, Place, best_place
from keras_perf.advise.python_threads import about_quickest
from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.followed import is_cached
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.computing import UNSEEN_INSIDE
from keras_perf.advise.step.step_model import StepModel
from keras_perf.analyse.stage_paces import stage_paces
from keras_perf.records.advice_ids import CACHE
from keras_perf.records.figures import in_mib, in_ms
from keras_perf.records.run.input.pipeline import WrittenStage
from keras_perf.records.run.run_facts import RunFacts

FIRST_BATCH_MS = 3.0
"""What an epoch's first batch is waited for, even where all of them lie in memory: 0.10 to 0.14 ms
a step in epochs of 30 steps."""


@rule(
    CACHE,
    on="input",
    leaves="the first pass and what comes behind the cache stay",
    keeps=True,
    tried_title="Keep what is the same in every pass",
    followed=is_cached,
    else_gone=True,
)
def cache(situation: Situation) -> Recommendation | None:
    """Every pass through the data does the same preparation again."""
    facts, model = situation.facts, situation.model
    place = best_place(facts) or place_behind_a_cache(facts)
    if place is None or not situation.own_dataset:
        return None
    if place.passes is None or place.passes < FEWEST_PASSES:
        return None
    if _work_ms(situation, place) < WORTH_KEEPING * model.step_ms:
        return None
    size_mib = place.after.stage.bytes_per_batch * place.steps / 2**20
    if not size_mib or size_mib > (facts.machine.memory_available_mib or 0.0) / 2:
        return None
    warmup = facts.outside.warmup_steps if facts.outside is not None else 0
    # Trials and captures leave out steps, mostly of the first pass.
    first_pass = max(0.0, place.steps - warmup) / max(1, situation.summary.after_warmup)
    epoch_steps = facts.length.pass_steps or place.steps

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
        if later.step_ms >= model.step_ms:
            # Behind other advice: nothing is left to keep, and nobody adds a cache for that.
            return model
        first_ms = min(1.0, first_pass) * (model.step_ms - later.step_ms)
        return replace(later, first_epoch_ms=first_ms)

    # What a shuffle and batches take is little, and a reader looks for the sum of the table.
    saved_ms = sum(situation.paces[name] for name in place.saved)
    behind = "behind the cache() " if place.again else ""
    named = f"Stages {behind}up to {place.after.name}" if not place.whole else "All stages"
    told_ms = situation.able_ms if place.whole else saved_ms
    python = ""
    if situation.runs_python and not place.made_by:
        python = (
            f" Python code in it must give the same result each time.{about_quickest(situation)}"
        )
    elif not facts.input.chains:
        python = " What a map draws at random would be the same in every pass."
    if any(stage.variables for stage in _kept(place, facts)):
        python += " A variable in it would stay as it is in the first pass."
    return predicted(
        model,
        change,
        title="Keep prepared examples in memory after the first pass",
        reason=(
            f"{named} take {in_ms(told_ms)} a batch in each of {place.passes:.0f} passes "
            f"through the data; their result is about {in_mib(size_mib)} and fits into memory."
            f"{python}{where(place.written)}"
        ),
        action=_action(place, facts),
        evidence={"saved_ms": saved_ms, "epochs": place.passes, "size_mib": size_mib}
        | {"stages": list(place.saved)}
        | ({"again": True} if place.again else {}),
    )


def _kept(place: Place, facts: RunFacts) -> tuple[WrittenStage, ...]:
    """Stages whose work is saved, as they are written; all where it is not known which."""
    written = facts.input.written
    return written[: written.index(place.written) + 1] if place.written in written else written


def _action(place: Place, facts: RunFacts) -> str:
    """Code that keeps it."""
    if place.made_by:
        batch = "padded_batch" if "padded_batch" in facts.input.kinds else "batch"
        return (
            "# Keras's function makes no batches any more; one order of its shuffle is kept, with\n"
            "# the same part for validation, and shuffled for each pass\n"
            '# with subset="both" it returns two: cache() the first, make batches of the second;\n'
            "# class_names, if you need them, are read before cache()\n"
            f"dataset = {place.call}.cache()\n"
            "dataset = dataset.shuffle(dataset.cardinality())"
            f".{batch}({batch_size(facts) or 'batch_size'}).prefetch(tf.data.AUTOTUNE)"
            "  # then what stood behind it"
        )
    about = "before shuffle, repeat and all that draws random numbers"
    if place.whole:
        given = "the loop reads" if facts.settings.in_a_loop else "fit is given"
        about = f"as {given} it: nothing in it is shuffled or drawn at random"
    if place.again:
        about += ", in place of a cache() of yours in front of it"
    return f"{lambdas_in(place.written)}dataset = {place.call}.cache()  # {about}"


def _work_ms(situation: Situation, place: Place) -> float:
    """Of all threads for a batch: as tf.data counts it, and what it cannot see where it cannot."""
    counted = {pace.name: pace.stage.cost_ms for pace in stage_paces(situation.facts)}
    stages = situation.model.stages
    return sum(
        max(counted[name], stages[name]) if name.startswith(UNSEEN_INSIDE) else counted[name]
        for name in place.saved
    )
