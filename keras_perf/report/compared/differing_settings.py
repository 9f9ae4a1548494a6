"""Settings, versions and machine in which two runs differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from keras_perf.records.figures import UNKNOWN, figure, in_mib
from keras_perf.records.run.input.pipeline import WrittenStage
from keras_perf.records.run.run_facts import RunFacts
from keras_perf.report.text.forms import Form

NOTHING_DIFFERS = "No setting that is recorded differs."


class Differing(NamedTuple):
    """What was set, and to what in each run; None is not set, or not known."""

    setting: str
    before: str | None
    after: str | None


SETTINGS: Mapping[str, str | Callable[[RunFacts], Any]] = {
    "examples per step": "length.examples_per_step",
    "steps per execution": "settings.steps_per_execution",
    "eager": "settings.run_eagerly",
    "XLA": "settings.jit_compile",
    "precision": "settings.dtype_policy",
    "TensorFloat-32": "machine.tensor_float_32",
    "optimizer": "settings.optimizer",
    "batches per update": "settings.batches_per_update",
    "parameters": "settings.parameters",
    "of them trained": "settings.trainable_parameters",
    "training": "settings.driver",
    "strategy": "settings.strategy",
    "workers": lambda facts: facts.settings.workers or None,
    "replicas": "settings.replicas",
    "batch hooks": lambda facts: ", ".join(facts.settings.batch_hooks),
    "validation steps": "settings.validation_steps",
    "steps per epoch": "length.epoch_steps",
    "epochs": "length.epochs",
    "garbage collector's threshold": "settings.collector_threshold",
    "input": "input.input_kind",
    "workers of the input": "input.input_workers",
    "workers are processes": "input.input_processes",
    "batches ahead of each worker": lambda facts: _of(facts.input.loader, "ahead"),
    "order of elements kept": lambda facts: _of(facts.input.dataset, "deterministic"),
    "threads of the dataset's own": lambda facts: (
        _of(facts.input.dataset, "threadpool_size") or None
    ),
    "GPU thread mode": "machine.gpu_thread_mode",
    "GPUs": lambda facts: ", ".join(_gpus(facts)),
    "logical CPUs": "machine.cpu_count",
    "threads of an operation": lambda facts: facts.machine.threads.get("intra_op") or None,
    "operations at a time": lambda facts: facts.machine.threads.get("inter_op") or None,
    "memory": lambda facts: _size(facts.machine.memory_total_mib),
    "CPUs of the container": lambda facts: facts.machine.container_cpus,
    "memory of the container": lambda facts: _size(facts.machine.container_memory_mib),
}
"""The name that a reader is shown, and where the value stands, or how it is made."""

VERSIONS = {"tensorflow": "TensorFlow", "keras": "Keras", "jax": "JAX", "python": "Python"}
"""Those whose names begin with a capital."""


def differing_settings(before: RunFacts, after: RunFacts) -> list[Differing]:
    """Each setting that one run has and the other has not, or has otherwise.

    What it cannot see: what was never recorded, such as learning rates, layers and data.
    """
    values = {
        name: (told(_value(before, where)), told(_value(after, where)))
        for name, where in SETTINGS.items()
    }
    values["input pipeline"] = _pipelines(before, after)
    for key in {**before.versions, **after.versions}:
        values[VERSIONS.get(key, key)] = (before.versions.get(key), after.versions.get(key))
    return [Differing(name, *pair) for name, pair in values.items() if len({*pair}) == 2]


def settings_table(found: list[Differing]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of what a reader is shown of them."""
    rows = [[each.setting, each.before or UNKNOWN, each.after or UNKNOWN] for each in found]
    return ["settings that differ", "before", "after"], rows


def tell_settings(form: Form, found: list[Differing]) -> None:
    """A table of them, or that there are none."""
    if found:
        form.table(*settings_table(found))
    else:
        form.paragraph(NOTHING_DIFFERS)


def told(value: Any) -> str | None:
    """A setting's value as a reader is shown it; None where there is none."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    return figure(value) if isinstance(value, int | float) else str(value)


def _value(facts: RunFacts, where: str | Callable[[RunFacts], Any]) -> Any:
    return asked(facts, where) if isinstance(where, str) else where(facts)


def asked(facts: RunFacts, path: str) -> Any:
    """A fact; None where its default stands for what could not be asked."""
    value, default = attrgetter(path)(facts), attrgetter(path)(RunFacts())
    return None if path.rpartition(".")[2] in facts.not_known and value == default else value


def _of(record: Any, name: str) -> Any:
    return None if record is None else getattr(record, name)


def _gpus(facts: RunFacts) -> list[str]:
    """As they were sampled, else as TensorFlow knows them."""
    if facts.gpu.gpus_unused:
        return []
    known = [each.name for each in facts.machine.training_gpus]
    return [*facts.gpu.gpus.values()] or known


def _size(mib: float | None) -> str | None:
    return None if mib is None else in_mib(mib)


def _pipelines(before: RunFacts, after: RunFacts) -> tuple[str | None, str | None]:
    """As written where both tell, else as tf.data ran them where both tell that."""
    runs = before, after
    written = [
        " + ".join(" → ".join(map(_stage, chain)) for chain in run.input.chains) for run in runs
    ]
    ran = [" → ".join(stage.name for stage in run.input.stages) for run in runs]
    first, second = next((both for both in (written, ran) if all(both)), (None, None))
    return first, second


def _stage(stage: WrittenStage) -> str:
    about = [stage.function, "parallel" * stage.parallel, figure(stage.buffer) * bool(stage.buffer)]
    said = ", ".join(filter(None, about))
    name = stage.kind.replace("_", " ")
    return f"{name} ({said})" if said else name
