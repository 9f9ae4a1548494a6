"""A stage that runs, as the user wrote it."""

from __future__ import annotations

from keras_perf.advise.code_names import identifier
from keras_perf.analyse.stage_paces import StagePace, stage_paces
from keras_perf.records.figures import counted
from keras_perf.records.run.input.pipeline import Chain, WrittenStage
from keras_perf.records.run.library import library_of
from keras_perf.records.run.run_facts import RunFacts
from keras_perf.records.run.source_line import SourceLine

WORK = {"map": "Map", "flat_map": "FlatMap", "interleave": "Interleave", "filter": "Filter"}
"""Kinds of stages that call functions, and what the running ones have in their names."""


def runs_as(kind: str, name: str) -> bool:
    """Whether a stage of this kind runs under this name."""
    if kind == "map":
        return "Map" in name and "FlatMap" not in name
    return WORK[kind] in name


def running(written: WrittenStage, chain: Chain, paces: tuple[StagePace, ...]) -> StagePace | None:
    """The stage that runs what was written; None where tf.data has changed their number."""
    of_kind = [stage for stage in chain if stage.kind == written.kind]
    found = [pace for pace in paces if runs_as(written.kind, pace.stage.name)]
    if len(of_kind) != len(found):
        return None
    place = next(place for place, stage in enumerate(of_kind) if stage is written)
    return found[place]


def written_as(name: str, facts: RunFacts) -> WrittenStage | None:
    """What runs under this name, such as `Map (2)`; None where that is not certain."""
    return written_in(facts.input.chains, stage_paces(facts), name)


def written_in(
    chains: tuple[Chain, ...], paces: tuple[StagePace, ...], name: str
) -> WrittenStage | None:
    """The same of any pipeline, as it is written and as it runs."""
    for stage in chains[0] if len(chains) == 1 else ():
        if stage.kind in WORK:
            pace = running(stage, chains[0], paces)
            if pace is not None and pace.name == name:
                return stage
    return _only_one(chains, paces, name) if len(chains) > 1 else None


def _only_one(
    chains: tuple[Chain, ...], paces: tuple[StagePace, ...], name: str
) -> WrittenStage | None:
    """Where datasets come together, their order is not known: of one map it does not matter."""
    stages = [stage for chain in chains for stage in chain if stage.kind in WORK]
    found = [stage for stage in stages if runs_as(stage.kind, name)]
    alike = [pace for pace in paces if found and runs_as(found[0].kind, pace.stage.name)]
    return found[0] if len(found) == len(alike) == 1 else None


LAMBDA = "your_lambda"
"""What a function without a name is called in code to paste."""


def function_of(stage: WrittenStage | None, otherwise: str) -> str:
    """The name of the stage's function, for code to paste."""
    if stage is None:
        return otherwise
    unnamed = lambda_at(stage.source) if not stage.function else ""
    return LAMBDA if unnamed else identifier(stage.function, otherwise)


def lambdas_in(*stages: WrittenStage | None) -> str:
    """A line of comment, above code to paste, for each of their functions that has no name."""
    unnamed = (stage.source for stage in stages if stage is not None and not stage.function)
    return "".join(map(lambda_at, unnamed))


def lambda_at(source: SourceLine | None) -> str:
    """A line of comment that tells where a lambda is; "" where that is not known."""
    if source is None or source.name:
        return ""
    return f"# {LAMBDA}: the lambda in {source}\n"


def where(stage: WrittenStage | None) -> str:
    """A sentence with the line of the stage's function; "" where that is not known."""
    if stage is None or stage.source is None:
        return ""
    return f" Its function{_named(stage.function)} is in {stage.source}."


def at(source: SourceLine | None) -> str:
    """The line in brackets; "" where it is not known."""
    return "" if source is None else f" ({source})"


def _named(function: str) -> str:
    return f" {function}" if function else ""


_BATCHES = {
    "arrays": "model.fit(..., batch_size={})",
    "DataLoader": "loader = torch.utils.data.DataLoader(..., batch_size={})",
    "PyDataset": "self.batch_size = {}  # of your PyDataset, or what it cuts batches by",
    "generator": "batch_size = {}  # where your generator makes batches",
}
_BY_GRAIN = "grain.transforms.Batch({}{})  # the last of operations in grain.DataLoader(...)"


def in_batches_of(rows: int | str, facts: RunFacts, *, whole: bool = False) -> str:
    """Code for batches of so many rows, by the kind of input; of a dataset `whole` ones alone."""
    method = "padded_batch" if "padded_batch" in facts.input.kinds else "batch"
    whole = whole or (library_of(facts).tells_rows_ahead and not facts.input.rows_differ)
    padding = ", ..." if method == "padded_batch" else ""
    dataset = f"dataset = dataset.{method}({{}}{padding}{', drop_remainder=True' if whole else ''})"
    if isinstance(rows, int) and facts.given_to_each_replica:
        rows, dataset = rows // facts.settings.replicas, f"{dataset}  # of each replica"
    loader = facts.input.loader
    if facts.input.input_kind == "Grain" and loader is not None and loader.kind == "DataLoader":
        return _BY_GRAIN.format(rows, ", drop_remainder=True" if whole else "")
    return _BATCHES.get(facts.input.input_kind or "", dataset).format(rows)


def in_larger_batches(rows: int | str, times: int, facts: RunFacts, *, whole: bool = False) -> str:
    """The same where they are so many times as large."""
    return f"{in_batches_of(rows, facts, whole=whole)}\n{as_many_examples(times, facts)}"


def as_many_examples(times: int, facts: RunFacts) -> str:
    """A comment for code whose batches are so many times as large."""
    steps = "steps_per_epoch, if set,"
    if facts.settings.in_a_loop:
        steps = "steps in all, and those between evaluations,"
    gathered = facts.settings.batches_per_update
    same = (
        "" if gathered % times else "\n# gradient_accumulation_steps too: updates stay as they are"
    )
    return f"# and {steps} divided by {times}{same}"


def whole_executions(facts: RunFacts, steps: int | None, at_once: int | None = None) -> str:
    """A sentence, where epochs of so many steps are longer on data without an end; "" elsewhere.

    Arguments:
        facts: of the run.
        steps: of an epoch; none where that is not known.
        at_once: steps of an execution; as they are by default.
    """
    more = -(steps or 0) % (at_once or facts.settings.steps_per_execution)
    if not more or facts.settings.in_a_loop:
        return ""
    return f" Keras then runs whole executions: each epoch gets {counted(more, 'step')} more."


def batch_size(facts: RunFacts) -> int | None:
    """Of a batch that all replicas share, where that alone gives the epoch's examples; else None.

    The last batch may be smaller: of several sizes that give the same number of batches, the one
    that the input tells is meant, else one that leaves no such batch, or the multiple of 8.
    """
    mean, steps = facts.length.examples_per_step, facts.length.epoch_steps
    if not mean or not steps:
        return None
    rows = round(mean * steps)
    least = -(-rows // steps)
    most = least if steps == 1 else (rows - 1) // (steps - 1)
    possible = range(least, most + 1)
    if facts.length.batch_rows in possible:
        return facts.length.batch_rows
    if mean == round(mean):
        return least
    round_ones = [size for size in possible if size % 8 == 0]
    found = list(possible) if len(possible) == 1 else round_ones
    return found[0] if len(found) == 1 else None
