"""What is known of a run beside its figures: one record, from whoever observes to whoever reads.

A field says what its value looks like and by which key it is written (its own name, mostly).
Groups are for readers only: in JSON their facts stand side by side, as they always did.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from keras_perf.records.reasons.reason import worded
from keras_perf.records.reasons.why_not_known import WhyNotKnown
from keras_perf.records.run.capture import Capture
from keras_perf.records.run.devices.device_memory import DeviceMemory
from keras_perf.records.run.devices.gpu_use import GpuUse
from keras_perf.records.run.ending import Ending
from keras_perf.records.run.inference import FIT, VALIDATION, EvaluateCalls, Inference, PredictCalls
from keras_perf.records.run.input.pipeline import InputFacts
from keras_perf.records.run.json_form import keys_of, written
from keras_perf.records.run.length import Length
from keras_perf.records.run.machine import Machine, TrainingGpu
from keras_perf.records.run.settings import DEFAULT_STRATEGY, Settings
from keras_perf.records.run.source_line import SourceLine
from keras_perf.records.run.step_work import StepWork
from keras_perf.records.run.times.exchange import ExchangeFacts
from keras_perf.records.run.times.hook_calls import HookCalls
from keras_perf.records.run.times.outlier import Outliers
from keras_perf.records.run.times.outside_steps import OutsideSteps
from keras_perf.records.run.times.start_up import StartUp
from keras_perf.records.run.trace_agreement import Agreement
from keras_perf.records.run.tried.advice_trials import AdviceTrials
from keras_perf.records.run.tried.batch_sizes import BatchSizes
from keras_perf.records.run.tried.input_changes import InputChanges
from keras_perf.records.run.tried.learning_rates import LearningRates
from keras_perf.records.run.tried.steps_trial import StepsTrial, as_written_before
from keras_perf.records.shapes import (
    any_of,
    each,
    fact,
    facts_in,
    flag,
    named,
    number,
    record,
    text,
)

FORMAT = 2
"""Of what is written: 1 had sentences where 2 has words and figures; versions before wrote none."""

TRIAL = "steps_per_execution_trial"


@dataclass(frozen=True)
class GpuFacts:
    """What the driver tells, by the beginning of a GPU's tags, and TensorFlow's allocators.

    With `gpus_unused` they are the machine's, and the training uses none of them. `earlier_peaks`
    are the peaks of `device_memory` when it began, in MiB by the device's name.
    """

    gpus: Mapping[str, str] = fact(named(text), {})
    gpus_unused: bool = fact(flag, default=False)
    gpu_memory_total_mib: float | None = fact(number(1e-9))
    gpu_memory_peak_mib: float | None = fact(number())
    gpu_persistence: Mapping[str, bool] = fact(named(flag), {})
    device_memory: tuple[DeviceMemory, ...] = fact(each(record(DeviceMemory)), ())
    earlier_peaks: Mapping[str, float] = fact(named(number()), {})

    def has_own_peak(self, device: DeviceMemory) -> bool:
        """It needed more than what ran before in the process; else it may have needed less."""
        return device.peak_mib > self.earlier_peaks.get(device.name, 0.0)

    @property
    def memory_free(self) -> float | None:
        """Share of the memory that was never used, of the fullest GPU; None where nobody tells."""
        if self.device_memory and all(each.limit_mib for each in self.device_memory):
            return min(1 - d.peak_mib / d.limit_mib for d in self.device_memory if d.limit_mib)
        total, peak = self.gpu_memory_total_mib, self.gpu_memory_peak_mib
        return 1 - peak / total if total and peak else None


@dataclass(frozen=True)
class RunFacts:
    """All of it.

    `undisturbed_ms` is what the quickest steps take inside the train function; `hooks` how often
    each `Class.hook` did its work, `hook_sources` where it is written; `inference` what
    `validation`, `evaluate` and `predict` took, `predicts` and `evaluates` the calls of these in
    each `Class.hook`; `trace_agreement` what a trace and the split tell of each part;
    `operations_on_cpu` type → milliseconds per traced step, beside a GPU, the longest first;
    `ending` how training ended; `not_known` name → reason of what would be here, but could not be
    asked. `advice_trials` were made on this training, `tried_before` on one before it, in the same
    directory: by now the program may be another.
    """

    versions: Mapping[str, str] = fact(named(text), {})
    machine: Machine = field(default_factory=Machine)
    settings: Settings = field(default_factory=Settings)
    length: Length = field(default_factory=Length)
    input: InputFacts = field(default_factory=InputFacts)
    gpu: GpuFacts = field(default_factory=GpuFacts)
    gpu_use: GpuUse = field(default_factory=GpuUse)
    outliers: Outliers = field(default_factory=Outliers)
    outside: OutsideSteps | None = fact(record(OutsideSteps))
    start_up: StartUp | None = fact(record(StartUp))
    undisturbed_ms: float | None = fact(number(most=1e12))
    step_work: StepWork | None = fact(record(StepWork))
    hooks: Mapping[str, HookCalls] = fact(named(record(HookCalls)), {})
    hook_sources: Mapping[str, SourceLine] = fact(named(record(SourceLine)), {})
    inference: Mapping[str, Inference] = fact(named(record(Inference)), {})
    predicts: Mapping[str, PredictCalls] = fact(named(record(PredictCalls)), {})
    evaluates: Mapping[str, EvaluateCalls] = fact(named(record(EvaluateCalls)), {})
    exchange: ExchangeFacts | None = fact(record(ExchangeFacts))
    trial: StepsTrial | None = fact(record(StepsTrial), key=TRIAL)
    advice_trials: AdviceTrials | None = fact(record(AdviceTrials))
    tried_before: AdviceTrials | None = fact(record(AdviceTrials))
    input_changes: InputChanges | None = fact(record(InputChanges))
    batch_sizes: BatchSizes | None = fact(record(BatchSizes))
    learning_rates: LearningRates | None = fact(record(LearningRates))
    captures: tuple[Capture, ...] = fact(any_of(record(Capture)), ())
    trace_agreement: tuple[Agreement, ...] = fact(any_of(record(Agreement)), ())
    operations_on_cpu: Mapping[str, float] = fact(named(number()), {})
    ending: Ending | None = fact(record(Ending))
    not_known: Mapping[str, str] = fact(named(worded(WhyNotKnown)), {})

    @property
    def calls_only(self) -> bool:
        """Nothing was trained: somebody called `evaluate` or `predict`."""
        return bool(self.inference) and not {VALIDATION, FIT} & set(self.inference)

    @property
    def steps_before_gaps(self) -> int:
        """Steps that an epoch's end follows, which share what lies between epochs; else all."""
        length, newest = self.length, self.outside.newest_gap_step if self.outside else None
        if newest is None or length.first_step is None or not length.epoch_steps:
            return length.steps
        before = newest - length.first_step
        return before if 0 < before < length.steps else length.steps

    @property
    def given_to_each_replica(self) -> bool:
        """A function of the user's makes the batches of each replica; none is divided."""
        alone = self.input.distribution_options.get("auto_shard_policy") == "NONE"
        return alone and self.settings.several_in_fit

    @property
    def xla_may_help(self) -> bool:
        """It could compile the steps, does not, and would not for each of many shapes."""
        return self.settings.may_use_xla and not self.input.many_shapes

    @property
    def tried_alone(self) -> dict[str, Any]:
        """Field → what a trial found that was no part of a training."""
        names = ("advice_trials", "input_changes", "batch_sizes", "learning_rates")
        found = {name: getattr(self, name) for name in names}
        return {name: each for name, each in found.items() if each is not None}

    @property
    def on_gpus(self) -> bool:
        """Steps are computed on GPUs, which are not only there."""
        use, by_default = self.gpu_use, self.settings.strategy in (None, DEFAULT_STRATEGY)
        begun, kept = use.operations_on, use.variables_on
        # A strategy runs the operations of each replica on that replica's own device.
        where = [begun] if begun is not None and by_default else list(kept)
        on_gpu = not where or any(each.startswith("GPU") for each in where)
        return bool(self.machine.training_gpus) and on_gpu

    @property
    def training_gpu(self) -> TrainingGpu | None:
        """The one that trains, the first of several; None where steps are computed elsewhere."""
        found = self.machine.training_gpus if self.on_gpus else ()
        used = next((number for number in self.used_gpus if number < len(found)), 0)
        return found[used] if found else None

    @property
    def used_gpus(self) -> tuple[int, ...]:
        """Numbers of those that hold the model, where one replica trains; none where not known."""
        if self.settings.replicas > max(1, self.settings.workers):
            return ()
        numbers = (each.removeprefix("GPU:") for each in self.gpu_use.variables_on)
        return tuple(int(number) for number in numbers if number.isdecimal())

    @property
    def pool(self) -> int:
        """Threads of the pool in which stages of the input call functions."""
        return self.input.pool(self.machine.threads, self.machine.cpu_count or 1)

    def told(self, values: Mapping[str, Any]) -> tuple[RunFacts, list[str]]:
        """The record with these values, by their keys, and the keys of those that are wrong.

        Arguments:
            values: what JSON or another library gave. What is None is passed over.

        Raises:
            KeyError: a key is that of no fact.
        """
        if unknown := values.keys() - KEYS:
            raise KeyError(f"no fact is called {', '.join(sorted(unknown))}")
        changed, wrong = facts_in(RunFacts, values)
        for each_field in fields(self):
            group = getattr(self, each_field.name)
            if "shape" not in each_field.metadata:
                found, wrong_in_group = facts_in(type(group), values)
                changed[each_field.name] = replace(group, **found)
                wrong += wrong_in_group
        return replace(self, **changed), wrong

    def to_json(self) -> dict[str, Any]:
        """Key → value, for `json.dumps`; what is not known is left out."""
        known, defaults = written(self), written(RunFacts())
        told = {k: v for k, v in known.items() if k not in self.not_known or v != defaults.get(k)}
        if not self.not_known:
            del told["not_known"]
        return {"format": FORMAT, **told}


KEYS = frozenset(keys_of(RunFacts()))
"""By which all facts are written."""


def from_json(content: Any) -> tuple[RunFacts, list[str]]:
    """The record, and the keys of what could not be read; a wrong value costs itself.

    Arguments:
        content: decoded JSON, of which nothing is known. Unknown keys are passed over.
    """
    if not isinstance(content, Mapping):
        return RunFacts(), ["all of it"]
    known = {key: value for key, value in content.items() if key in KEYS}
    known[TRIAL] = as_written_before(known.get(TRIAL))
    facts, wrong = RunFacts().told(known)
    first, last = facts.length.first_step, facts.length.last_step
    if first is not None and last is not None and first > last:
        wrong += ["first_step", "last_step"]
        facts = replace(facts, length=replace(facts.length, first_step=None, last_step=None))
    return facts, wrong
