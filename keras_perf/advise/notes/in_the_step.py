"""What a train step does beside training, as its graph and its settings show."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.records.run.settings import PYTHON_OPERATIONS

PRINTING = {"Print", "PrintV2"}
CHECKING = {
    "Assert": "tf.debugging.assert_...",
    "CheckNumerics": "tf.debugging.check_numerics",
    "CheckNumericsV2": "tf.debugging.enable_check_numerics",
}

MOST = 0.5
"""Of all parameters, and of a step: what is computed with so many of them, for so long, is worth
a sentence."""

NOT_MEASURED = "Its cost was not measured: train once without it, and compare."


def step_notes(run: Diagnosed) -> Iterator[str]:
    """A sentence or two on printing, on checks, on Python and on steps that are written out."""
    settings = run.facts.settings
    found = set(settings.operations_in_step)
    if found & PRINTING:
        yield f"The train step prints (tf.print), in every step. {NOT_MEASURED}"
    # XLA leaves them out of what it compiles.
    if not settings.jit_compile and (checks := _named(found, CHECKING)):
        yield f"The train step checks values ({checks}), in every step. {NOT_MEASURED}"
    if calls := _named(found, PYTHON_OPERATIONS):
        yield (
            f"The train step calls Python ({calls}), which waits for the interpreter and keeps the "
            f"step on the host meanwhile. {NOT_MEASURED}"
        )
    unrolled = settings.unrolled_steps_per_execution
    at_once = settings.steps_per_execution
    if unrolled > 1 and at_once == 1:
        yield (
            f"unrolled_steps_per_execution is {unrolled}, which does nothing with one step per "
            "execution: it unrolls the loop over an execution's steps."
        )
    elif unrolled > 1:
        yield (
            f"unrolled_steps_per_execution writes {min(unrolled, at_once)} of the {at_once} steps "
            "of an execution out one by one: the graph to trace and compile grows by that factor, "
            "and the loop over steps shrinks by it. Whether that pays was not measured."
        )


def frozen_notes(run: Diagnosed) -> Iterator[str]:
    """A sentence on layers that compute the same in each epoch, where that can be computed once.

    What it cannot see: how much of a step that is; and whether somebody means to train them later.
    """
    settings, known = run.facts.settings, run.facts.input
    epochs = run.facts.length.epochs_in_all or 0
    frozen, all_of_them = settings.frozen_in_front, settings.parameters or 0
    drawn = any(stage.random or stage.python for chain in known.chains for stage in chain)
    alike = known.input_kind == "arrays" or (known.chains and not drawn)
    passes = 0 if run.facts.length.ends_by_steps else epochs
    computes = run.summary.parts.get("compute", 0.0) > MOST * run.summary.step_ms
    if computes and passes > 1 and alike and frozen > MOST * all_of_them:
        yield (
            f"{frozen:,} of {all_of_them:,} parameters are in layers before the first that is "
            f"trained or random: each of {epochs} epochs computes the same there of the same "
            "examples. Compute it once, by predict() of a model of these layers, and train those "
            "behind on that, if it fits into memory, and unless you mean to augment examples, or "
            "to train those layers later. How much of a step it is was not measured."
        )


def _named(found: set[str], names: dict[str, str]) -> str:
    return ", ".join(dict.fromkeys(name for type_, name in names.items() if type_ in found))


_SHARDING = {
    "OFF": "each worker trains on all of the data unless the pipeline itself takes a part",
    "DATA": "each worker reads all of the data and keeps its part of the examples",
    "FILE": "each worker reads files of its own, so there must be as many files as workers",
}
_NONE = (
    "TensorFlow shards nothing of what distribute_datasets_from_function gives: each worker trains "
    "on all of the data unless the function picks a part. If it does not, shard the dataset with "
    "its input_context before it is shuffled and batched: "
    "dataset.shard(context.num_input_pipelines, context.input_pipeline_id)."
)


def distribution_notes(run: Diagnosed) -> Iterator[str]:
    """A sentence for each option on how the dataset is shared, where several devices train."""
    settings, options = run.facts.settings, run.facts.input.distribution_options
    if settings.workers > 1 and options.get("auto_shard_policy") == "NONE":
        yield _NONE
    if settings.workers > 1 and (does := _SHARDING.get(options.get("auto_shard_policy", ""))):
        yield f"The dataset's auto_shard_policy is {options['auto_shard_policy']}: {does}."
    if options.get("fetch_to_device") == "False":
        yield (
            "experimental_fetch_to_device is False: batches stay in the host's memory until a step "
            "uses them."
        )
    if settings.replicas > 1 and options.get("replication_mode") == "PER_REPLICA":
        yield (
            "experimental_replication_mode is PER_REPLICA: the input pipeline runs once for each "
            f"of the {settings.replicas} replicas, on the same CPUs."
        )
    if options.get("place_dataset_on_device") == "True":
        yield (
            "experimental_place_dataset_on_device is True: the pipeline's operations run on the "
            "devices that train."
        )
    if buffered := options.get("per_replica_buffer_size"):
        yield (
            f"experimental_per_replica_buffer_size is {buffered}: each device keeps that many "
            "batches in its memory."
        )
