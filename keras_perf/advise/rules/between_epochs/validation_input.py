"""Advice on a validation whose batches take long to make. Its speed-up is of the whole training."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import dropwhile

from keras_perf.advise.as_written import WORK, function_of, lambdas_in, running, where, written_in
from keras_perf.advise.cache_place import same_in_every_pass
from keras_perf.advise.python_threads import HOLDS_IT, useful_for_python
from keras_perf.advise.recommendation import Change, Recommendation, predicted
from keras_perf.advise.rules.between_epochs.epochs import WORTH
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import StepModel
from keras_perf.analyse.stage_paces import StagePace, paces_of
from keras_perf.records.advice_ids import CACHE, FASTER_VALIDATION, PARALLEL_MAP
from keras_perf.records.figures import in_ms, in_percent
from keras_perf.records.run.inference import VALIDATION, Inference
from keras_perf.records.run.input.pipeline import GENERATOR, Chain, WrittenStage
from keras_perf.records.run.run_facts import RunFacts

READERS = {
    "t_f_record": "tf.data.TFRecordDataset(...)",
    "text_line": "tf.data.TextLineDataset(...)",
    "fixed_length_record": "tf.data.FixedLengthRecordDataset(...)",
    "csv": "tf.data.experimental.CsvDataset(...)",
    "load": "tf.data.Dataset.load(...)",
}
"""Kind of a stage that reads files → how it is written."""

WAITS = 0.3
"""A validation that waits for its input for a smaller share of its time is left alone."""

ENOUGH_BATCHES = 10
"""Fewer say too little."""

NOTICEABLE = 0.1
"""A map that takes less of the pipeline's time is left as it is."""

UNSURE = 0.2
"""So much more or less of what is saved may be seen."""


@dataclass(frozen=True)
class _Remedy:
    """One change of the validation's dataset.

    Attributes:
        name: as `evidence["changes"]` has it.
        stage: as it is written.
        change: of the model of one of its batches.
        passes: share of the validations that gain by it.
    """

    name: str
    stage: WrittenStage
    change: Change
    passes: float = 1.0


def _followed(facts: RunFacts, advice: Recommendation) -> bool | None:
    """One of the changes is made; not known where nothing is known of a validation's dataset."""
    found = facts.inference.get(VALIDATION)
    if found is None or found.dataset is None:
        return None
    made = {
        PARALLEL_MAP: _sequential_maps(found.dataset.stages) < advice.evidence["sequential_maps"],
        CACHE: any(stage.kind == "cache" for stage in found.dataset.stages),
    }
    return any(made[name] for name in advice.evidence["changes"])


def _sequential_maps(stages: Iterable[WrittenStage]) -> int:
    return sum(stage.kind == "map" and not stage.parallel for stage in stages)


@rule(FASTER_VALIDATION, on="validation", followed=_followed)
def faster_validation(situation: Situation) -> Recommendation | None:
    """Validation waits for batches that could be made faster, with the same result."""
    model, facts = situation.model, situation.facts
    found, spent = facts.inference.get(VALIDATION), model.outside.get("validation", 0.0)
    if found is None or found.dataset is None or spent < WORTH * model.whole_ms:
        return None
    paces = paces_of(found.stages, facts.pool)
    batch = _a_batch(found, paces, model)
    if batch is None or len(found.dataset.chains) != 1:
        return None
    (chain,) = found.dataset.chains
    in_threads = _threads(chain, paces) if model.cores > 1 else None
    remedies = [each for each in (in_threads, _cache(chain, paces, found, facts)) if each]
    if not remedies:
        return None

    def change(model: StepModel, optimism: float) -> StepModel:
        left = _left(batch, remedies, optimism)
        left -= UNSURE * optimism * (1 - left)
        return model.with_outside({"validation": min(1.0, max(0.0, left))})

    names = tuple(each.name for each in remedies)
    return predicted(
        model,
        change,
        title=_title(names),
        reason=_reason(found, paces, chain, remedies, spent / model.training_ms),
        action=_action(chain, remedies),
        evidence={
            "validation_ms": spent,
            "share": spent / model.training_ms,
            "changes": names,
            "sequential_maps": _sequential_maps(chain),
        },
        of="whole",
    )


def _a_batch(found: Inference, paces: tuple[StagePace, ...], model: StepModel) -> StepModel | None:
    """A model of one, without what was traced; None where little of it is waited for."""
    wait_ms, work_ms = found.per_step_ms("input_wait"), sum(pace.ms for pace in paces)
    compile_ms = found.per_step_ms("compile") or 0.0
    if wait_ms is None or not work_ms or found.steps < ENOUGH_BATCHES:
        return None
    rest_ms = max(0.0, found.step_ms - wait_ms - compile_ms)
    if wait_ms < WAITS * (wait_ms + rest_ms):
        return None
    prefetched = any(pace.stage.name.startswith("Prefetch") for pace in paces)
    produce_ms = wait_ms + rest_ms if prefetched else wait_ms
    stages = {pace.name: pace.ms * produce_ms / work_ms for pace in paces}
    return StepModel(stages, prefetched, {"rest": rest_ms}, cores=model.cores, pool=model.pool)


def _left(batch: StepModel, remedies: list[_Remedy], optimism: float) -> float:
    """Of the validations' time, 0 to 1."""
    later, left = batch, 1.0
    for each in remedies:
        changed = each.change(later, optimism)
        left *= 1 - each.passes * (1 - changed.step_ms / max(1e-9, later.step_ms))
        later = changed
    return left


def _threads(chain: Chain, paces: tuple[StagePace, ...]) -> _Remedy | None:
    """The slowest map that one thread runs."""
    whole = sum(pace.ms for pace in paces)
    slow = [
        (pace.ms, pace.name, stage)
        for stage in chain
        if stage.kind == "map" and not stage.parallel
        if (pace := running(stage, chain, paces)) is not None
        if pace.threads == 1 and pace.ms > NOTICEABLE * whole
    ]
    if not slow:
        return None
    _, name, stage = max(slow, key=lambda each: each[:2])

    def change(model: StepModel, optimism: float) -> StepModel:
        threads = model.usable_threads(optimism)
        if stage.python:
            threads = useful_for_python(threads, optimism)
        return model.with_threads(name, threads)

    return _Remedy(PARALLEL_MAP, stage, change)


def _cache(
    chain: Chain, paces: tuple[StagePace, ...], found: Inference, facts: RunFacts
) -> _Remedy | None:
    """What is the same in each validation, where it is read whole and fits into memory."""
    same = same_in_every_pass(chain)
    after = running(same[-1], chain, paces) if same else None
    cached = any(stage.kind == "cache" for stage in chain)
    if after is None or cached or found.calls < 2:
        return None
    behind = dropwhile(lambda stage: stage is not same[-1], chain)
    if facts.settings.validation_steps or "take" in [stage.kind for stage in behind]:
        # What is not read to its end stays empty.
        return None
    size_mib = after.stage.bytes_per_batch * found.steps / found.calls / 2**20
    if not 0 < size_mib <= (facts.machine.memory_available_mib or 0.0) / 2:
        return None
    names = [pace.name for pace in paces]
    kept = names[: names.index(after.name) + 1]

    def change(model: StepModel, optimism: float) -> StepModel:
        left = dict.fromkeys(kept, 0.02 * (1 - optimism))
        stages = {name: ms * left.get(name, 1.0) for name, ms in model.stages.items()}
        return replace(model, stages=stages)

    # The first validation fills it.
    return _Remedy(CACHE, same[-1], change, 1 - 1 / found.calls)


def _title(names: tuple[str, ...]) -> str:
    work = {PARALLEL_MAP: "map in parallel", CACHE: "keep what the first one prepared"}
    return f"Make validation's batches faster: {' and '.join(work[name] for name in names)}"


def _reason(
    found: Inference,
    paces: tuple[StagePace, ...],
    chain: Chain,
    remedies: list[_Remedy],
    share: float,
) -> str:
    slowest = max(paces, key=lambda pace: pace.ms)
    written = written_in((chain,), paces, slowest.name)
    what = f"the stage {slowest.name}"
    if written is not None:
        what = f"{written.kind}({function_of(written, 'your_function')})"
    python = any(each.stage.python for each in remedies)
    held = HOLDS_IT if python and remedies[0].name == PARALLEL_MAP else ""
    kept = ""
    if remedies[-1].name == CACHE:
        kept = " A cache is filled by the first validation, and read by the later ones."
        kept += " Python code in it must give the same result each time." if python else ""
    return (
        f"Validation takes {in_percent(share)} of the training, and waits for its own input for "
        f"{in_ms(found.per_step_ms('input_wait'))} of the {in_ms(found.step_ms)} of each of its "
        f"batches; {what} takes {in_ms(slowest.ms)} a batch.{where(written)}{held}{kept} "
        "Its results stay the same."
    )


def _source(stage: WrittenStage) -> str:
    """How a dataset is written that begins with this stage."""
    generator = "tf.data.Dataset.from_generator(...)"
    return generator if stage.function == GENERATOR else READERS.get(stage.kind, "source")


def _action(chain: Chain, remedies: list[_Remedy]) -> str:
    """The dataset until where the last change is made."""
    made_of = [(stage, [r.name for r in remedies if r.stage is stage]) for stage in chain]
    until = max(place for place, (_, names) in enumerate(made_of) if names)
    source, calls = _source(chain[0]), ""
    for stage, names in made_of[1 : until + 1]:
        called = bool(stage.function) or stage.kind in WORK
        arguments = function_of(stage, "your_function") if called else "..."
        if PARALLEL_MAP in names or (stage.kind in WORK and stage.parallel):
            arguments += ", num_parallel_calls=tf.data.AUTOTUNE"
        if stage.function == GENERATOR or stage.is_reader:
            source, calls = _source(stage), ""
        elif stage.kind != "options":
            calls += f".{stage.kind}({arguments})"
        if CACHE in names:
            calls += ".cache()"
    return (
        f"{lambdas_in(*chain[1 : until + 1])}validation_data = {source}{calls}  # then as before\n"
        "model.fit(..., validation_data=validation_data)"
    )
