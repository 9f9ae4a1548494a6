"""Advice on the input pipeline."""

from __future__ import annotations

from keras_perf.advise.as_written import function_of, lambdas_in, where, written_as
from keras_perf.advise.python_threads import about_python, may_wait, useful_threads
from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.followed import (
    maps_in_parallel,
    prefetches,
    sequential_maps,
)
from keras_perf.advise.rules.input.on_one_core import (
    CALLS,
    has_to_wait,
    of_use,
    own_pool,
)
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import (
    Situation,
)
from keras_perf.advise.step.step_model import StepModel, between
from keras_perf.records.advice_ids import PARALLEL_MAP, PREFETCH
from keras_perf.records.figures import in_ms, in_percent
from keras_perf.records.run.input.pipeline import WrittenStage

DRAWS = "  # which example gets which of its random numbers differs between runs"

SHARED = "\n# several threads call its Python code at a time: each call opens its own files"
PREFETCHED = "dataset = dataset.prefetch(tf.data.AUTOTUNE)  # last in the pipeline"


@rule(
    PREFETCH,
    on="input",
    leaves="it only hides the shorter of input and computing behind the longer",
    tried_title="Make batches ahead of training",
    followed=prefetches,
)
def prefetch(situation: Situation) -> Recommendation | None:
    """The pipeline and training take turns."""
    model, wait = situation.model, situation.summary.parts.get("input_wait", 0.0)
    known = situation.facts.input.stages
    if not known or not wait or not situation.own_dataset:
        return None
    if situation.asks_ahead:
        return _ahead_of_executions(situation, wait)
    if model.prefetched:
        return None

    def change(model: StepModel, optimism: float) -> StepModel:
        if model.prefetched:
            return model
        hidden = min(model.produce_ms, model.rest_ms) * (0.9 + 0.1 * optimism)
        return model.hidden(1 - hidden / model.produce_ms if model.produce_ms else 1.0)

    return predicted(
        model,
        change,
        title="Prepare the next batch while the current one trains",
        reason=(
            f"Each step waits {in_ms(wait)} for input and then works {in_ms(model.rest_ms)}; "
            "with prefetching the shorter of the two disappears behind the longer."
        ),
        action=PREFETCHED,
        evidence={"input_wait_ms": wait, "rest_ms": model.rest_ms},
    )


def _ahead_of_executions(situation: Situation, wait: float) -> Recommendation:
    """Keras asks for the next batch while a step computes, but not beyond an execution's end.

    What the first one is waited for beyond the stages' work is a new iterator, or a thread that has
    to wake: at best that goes, too. (Two programs with many steps of 0.2 ms in an execution, each
    of which waited 0.07 ms, became 0.90 to 1.10 times as fast, in four pairs of trainings.)
    """
    at_once = situation.facts.settings.steps_per_execution
    work_ms = situation.able_ms / at_once

    def change(model: StepModel, optimism: float) -> StepModel:
        waited_ms, hidden = model.rest.get("get_next", 0.0), 0.9 + 0.1 * optimism
        made = min(1.0, work_ms / waited_ms) if waited_ms else 1.0
        fetched = model.with_rest({"get_next": 1 - hidden * between(made, made, 1.0, optimism)})
        # A pipeline that is late anyway makes as many batches in the time of one fewer.
        return fetched.hidden(1 - hidden / (at_once + 1))

    return predicted(
        situation.model,
        change,
        title="Prepare an execution's first batch while the one before it trains",
        reason=(
            f"An execution of {at_once} steps waits for its first batch, and asks for the others "
            f"while a step computes: in all, {in_ms(wait)} of each step go into waiting."
        ),
        action=PREFETCHED,
        evidence={"input_wait_ms": wait, "rest_ms": situation.model.rest_ms},
    )


@rule(
    PARALLEL_MAP,
    on="input",
    leaves="the map's work stays, shared by threads",
    tried_title="Call the map's function in several threads",
    followed=maps_in_parallel,
)
def parallel_map(situation: Situation) -> Recommendation | None:
    """A sequential map sets the pipeline's pace."""
    model = situation.model
    candidates = {
        name: ms
        for name, ms in model.stages.items()
        if name.startswith("Map") and model.threads.get(name, 1) == 1
    }
    alone = has_to_wait(situation)
    if not candidates or not (model.cores > 1 or alone) or not situation.own_dataset:
        return None
    stage = max(candidates, key=lambda name: candidates[name])
    written = written_as(stage, situation.facts)
    # However many threads there are, one at a time runs Python code.
    if situation.interpreter_ms or _in_turn(written, situation) or not may_wait(situation, stage):
        return None

    def change(model: StepModel, optimism: float) -> StepModel:
        threads = of_use(CALLS, optimism) if alone else model.usable_threads(optimism)
        return model.with_threads(stage, useful_threads(situation, stage, threads, optimism))

    stage_ms, all_ms = situation.paces[stage], situation.able_ms
    function = function_of(written, "your_function")
    share = stage_ms / all_ms if all_ms else 0.0
    return predicted(
        model,
        change,
        title=f"Run the map in parallel: stage {stage}",
        reason=(
            f"The sequential stage {stage} takes {in_ms(stage_ms)} of the "
            f"{in_ms(all_ms)} that a batch needs ({in_percent(share)}); "
            f"{_who_shares_it(situation)}.{where(written)}{about_python(situation, stage)}"
        ),
        action=(
            f"{lambdas_in(written)}"
            f"dataset = dataset.map({function}, num_parallel_calls=tf.data.AUTOTUNE)"
            f"{_to_know(written)}{_in_own_pool(situation)}"
        ),
        evidence={"stage": stage, "stage_ms": stage_ms, "cores": model.cores}
        | {"sequential_maps": sequential_maps(situation.facts.input.stages)},
    )


def _in_turn(written: WrittenStage | None, situation: Situation) -> bool:
    """Its calls must not overlap: they draw the same numbers in turn, or write a variable.

    Of images and masks that are mapped apart, and then zipped, nobody knows whether they do.
    """
    if written is None:
        apart = (stage for chain in situation.facts.input.chains[1:] for stage in chain)
        return sum(each.kind == "map" and each.random and each.stateful for each in apart) > 1
    if written.random:
        return written.draws_alike
    return written.variables == "written"


def _to_know(written: WrittenStage | None) -> str:
    """What is otherwise where several calls run at a time."""
    if written is None:
        return ""
    draws = written.random and written.stateful
    return f"{DRAWS if draws else ''}{SHARED if written.python else ''}"


def _who_shares_it(situation: Situation) -> str:
    if has_to_wait(situation):
        return f"it mostly waits, and in a pool of its own {CALLS} calls can wait at a time"
    return f"{situation.model.cores} logical CPUs are there to share it"


def _in_own_pool(situation: Situation) -> str:
    return f"\n{own_pool(CALLS)}" if has_to_wait(situation) else ""
