"""Why a validation, an `evaluate` or a `predict` takes its time."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from keras_perf.advise.as_written import at, function_of, written_in
from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.advise.notes.input.stage_order import made_and_left_out
from keras_perf.advise.rules.followed import sequential_maps
from keras_perf.advise.step.step_parts import FETCHED_MS
from keras_perf.analyse.stage_paces import StagePace, paces_of
from keras_perf.analyse.summary import Summary
from keras_perf.records.advice_ids import FASTER_VALIDATION, LARGER_VALIDATION_BATCHES
from keras_perf.records.figures import figure, in_ms, in_percent
from keras_perf.records.run.inference import EVALUATE, FIT, PREDICT, VALIDATION, Inference
from keras_perf.records.run.input.pipeline import WrittenPipeline, are_handed_over
from keras_perf.records.run.run_facts import RunFacts

NOTICED = 0.05
"""Of a training: a shorter validation is left alone."""

MUCH = 0.3
"""Share of a call's time that a cause is named from."""

EXPLAINS = 0.1
"""Of the wait for a batch: a stage that takes less is not what it waits for."""

MOSTLY = 0.5
"""Of tiny predictions, what lies beside the model's own work."""

A_LOOP = 10
"""So many calls are a loop."""

MANY = 10
"""Batches from which a mean tells something."""


def inference_notes(run: Diagnosed) -> Iterator[str]:
    """What there is to say of the calls beside a training."""
    yield from notes_on_calls(run.summary, run.advised)


def notes_on_calls(summary: Summary, advised: Collection[str] = ()) -> Iterator[str]:
    """A sentence or several for each kind of call that has a cause worth naming.

    Arguments:
        summary: of a run.
        advised: ids of the recommendations, which say with figures what a note would repeat.
    """
    for kind, found in summary.facts.inference.items():
        outside = summary.outside.get("validation", 0.0)
        if kind == VALIDATION and outside < NOTICED * summary.whole_ms:
            continue
        who = "Validation" if kind == VALIDATION else f"`{kind}`"
        yield from _loop(kind, found)
        if kind == FIT:
            yield from _tracing(who, found)
            continue
        if kind != VALIDATION or FASTER_VALIDATION not in advised:
            yield from _input(kind, who, found, summary.facts.pool)
        yield from _tracing(who, found)
        if kind != VALIDATION or LARGER_VALIDATION_BATCHES not in advised:
            yield from _overhead(who, found, summary.facts)


def _loop(kind: str, found: Inference) -> Iterator[str]:
    """Calls of one batch each, which cost far more than the batch."""
    spent_s = found.spent_s - found.parts_s.get("compile", 0.0)
    beside_s = sum(found.parts_s.get(part, 0.0) for part in _making_a_pipeline(found))
    traced_again = kind == FIT and found.traces > MOSTLY * found.calls
    if not _is_a_loop(kind, found) or beside_s <= MOSTLY * spent_s or traced_again:
        return
    each = found.examples / found.calls if found.examples else None
    rows = f", with {figure(each)} example{'' if each == 1 else 's'} a call" if each else ""
    several = " for each batch of each epoch" if found.steps > found.calls else ""
    yield (
        f"`{kind}` was called {found.calls} times{rows}. Of at least "
        f"{in_ms(1e3 * spent_s / found.calls)} a call, {in_ms(1e3 * beside_s / found.calls)} go "
        f"into making and ending an input pipeline: {_WITHOUT[kind].format(several)}."
    )


_WITHOUT = {
    FIT: "call model.train_on_batch(x, y){}, whose metrics go on from call to call until "
    "model.reset_metrics(), or gather the data and call fit less often",
    PREDICT: "call the model itself, model(x, training=False), or model.predict_on_batch(x); or "
    "gather the inputs and call predict once",
    EVALUATE: "call model.reset_metrics() and model.test_on_batch(x, y), or evaluate more data at "
    "once",
}


def _is_a_loop(kind: str, found: Inference) -> bool:
    """The user calls it again and again; a validation is called by `fit`."""
    called = kind != VALIDATION and found.calls >= A_LOOP
    return called and (kind == FIT or found.executions <= 2 * found.calls)


def _making_a_pipeline(found: Inference) -> tuple[str, ...]:
    """The only batch of a call is waited for until its pipeline runs, if it is of arrays."""
    return ("starting", "other_host", *(("input_wait",) if found.input_kind == "arrays" else ()))


def _input(kind: str, who: str, found: Inference, pool: int) -> Iterator[str]:
    """The input pipeline of the call is the slower part."""
    wait_ms = found.per_step_ms("input_wait")
    # `predict` fetches its batches from Python, which costs something though they are ready.
    least_ms = FETCHED_MS if kind == PREDICT else 0.0
    if wait_ms is None or wait_ms < least_ms or found.steps < MANY:
        return
    if found.share("input_wait") < MUCH:
        return
    # Of arrays that is all: there is no work to spare before they are fetched.
    if found.input_kind == "arrays" and (kind == PREDICT or _is_a_loop(kind, found)):
        return
    told = [f"{who} waits for its input: {in_ms(wait_ms)} of {in_ms(found.step_ms)} a batch."]
    if kind == VALIDATION:
        told.append(
            "It has an input pipeline of its own, which advice on the training's does not change."
        )
    written = found.dataset.stages if found.dataset is not None else ()
    paces = paces_of(found.stages, pool)
    if paces and not are_handed_over(found.stages, written):
        slowest = max(paces, key=lambda pace: pace.ms)
        if slowest.ms >= EXPLAINS * wait_ms:
            named = _as_the_user_calls_it(slowest, found, paces)
            told.append(f"Its slowest stage is {named}, {in_ms(slowest.ms)} a batch.")
    if found.batch_size is None:
        told.append(_remedy(found))
    for chain in found.dataset.chains if found.dataset is not None else ():
        told.extend(made_and_left_out(chain))
    yield " ".join(told)


def _as_the_user_calls_it(
    slowest: StagePace, found: Inference, paces: tuple[StagePace, ...]
) -> str:
    """What is written, with its line; the stage that runs where that is not certain."""
    chains = found.dataset.chains if found.dataset is not None else ()
    written = written_in(chains, paces, slowest.name)
    if written is None:
        return slowest.stage.name
    return f"{written.kind}({function_of(written, 'your_function')}){at(written.source)}"


def _remedy(found: Inference) -> str:
    if found.dataset is not None:
        # One whose function keeps no state tf.data may run in parallel by itself.
        sequential = not found.stages or sequential_maps(found.stages) > 0
        changes = "; ".join(_changes(found.dataset, found.calls, sequential=sequential))
        return f"Change its dataset: {changes}." if changes else _LESS_WORK
    if found.input_kind == "PyDataset":
        return "Give its PyDataset workers=… and max_queue_size=…."
    return _LESS_WORK


_LESS_WORK = "Less work for each example, or examples prepared once and stored, would help."


def _changes(dataset: WrittenPipeline, calls: int, *, sequential: bool) -> Iterator[str]:
    for stage in dataset.stages:
        if sequential and stage.kind == "map" and not (stage.parallel or stage.made_by):
            name = function_of(stage, "your_function")
            place = "" if stage.function else at(stage.source)
            yield f"map({name}, num_parallel_calls=tf.data.AUTOTUNE){place}"
    kinds = {stage.kind for stage in dataset.stages}
    kept = kinds.isdisjoint(("cache", "take")) and "map" in kinds
    if calls > 1 and kept and not any(stage.random for stage in dataset.stages):
        yield "cache() after its last map, if memory suffices, computes it once"
    ends = {chain[-1].kind for chain in dataset.chains}
    if "prefetch" not in ends and not dataset.prefetch_added:
        yield "prefetch(tf.data.AUTOTUNE) at its end"


def _tracing(who: str, found: Inference) -> Iterator[str]:
    """TensorFlow traced the function more often than once."""
    # The first trace, which nothing saves, is in the time as well.
    again = found.share("compile") * found.traces / (found.traces + 1)
    if again < MUCH:
        return
    if found.traces == 1:
        yield (
            f"{who} was traced once more after its first batch, which took about "
            f"{in_percent(again)} of its time: a batch had another shape or dtype. It costs that "
            "once for each, and nothing in later calls."
        )
        return
    yield (
        f"{who} was traced again after its first batch (count: {found.traces}). Tracing took "
        f"{in_percent(found.share('compile'))} of its time: give all batches one shape and dtype, "
        "and neither compile the model again nor make a new one between two calls."
    )


def _overhead(who: str, found: Inference, facts: RunFacts) -> Iterator[str]:
    """Entering and leaving the function is the slower part."""
    cost_ms = found.execution_cost_ms(facts.trial)
    if cost_ms is None or found.steps < MANY or cost_ms < MUCH * found.step_ms:
        return
    shares, do = (
        "compile(steps_per_execution=…) shares it among several batches, and ",
        "do the same",
    )
    if facts.settings.several_in_fit:
        shares, do = "", "share it"
    sizes = "validation_batch_size=…, batch_size=…" if found.input_kind == "arrays" else "batch(…)"
    larger = f"larger batches ({sizes}) {do}"
    if found.batch_size is not None:
        larger = f"batches are of {found.batch_size} examples; {larger}"
    yield (
        f"{who} takes {in_ms(found.step_ms)} a batch, of which "
        f"{in_ms(cost_ms)} are the measured cost of an execution: {shares}"
        f"{larger}, for no gradients take up memory."
    )
