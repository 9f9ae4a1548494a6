"""Advice on how a GPU's kernels are made and launched."""

from __future__ import annotations

from keras_perf.advise.recommendation import Recommendation, on_compute, predicted
from keras_perf.advise.rules.followed import has_kernel_threads, is_compiled
from keras_perf.advise.rules.in_a_loop import with_jit_compile
from keras_perf.advise.rules.on_a_gpu.training_gpu import was_slower
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.analyse.cpu_share import used_pct
from keras_perf.records.advice_ids import DISABLE_XLA, ENABLE_XLA, GPU_THREAD_MODE
from keras_perf.records.figures import in_percent
from keras_perf.records.run.library import library_of
from keras_perf.records.run.settings import PYTHON_OPERATIONS
from keras_perf.records.text.compiled_with import compiled_with

BUSY_PCT = 80.0


@rule(
    ENABLE_XLA,
    tried_title="Compile the train function with XLA",
    followed=is_compiled,
    in_a_loop=with_jit_compile,
)
def enable_xla(situation: Situation) -> Recommendation | None:
    """The train function is not compiled by XLA, on a GPU, where Keras can have it compiled."""
    settings = situation.facts.settings
    wanted = settings.jit_compile is False and situation.facts.xla_may_help
    if situation.facts.training_gpu is None or not wanted or was_slower(situation, DISABLE_XLA):
        return None
    if not PYTHON_OPERATIONS.keys().isdisjoint(settings.operations_in_step):
        return None
    return predicted(
        situation.model,
        on_compute(1.0, 0.87, 0.6),
        title="Compile the train function with XLA",
        reason=(
            "XLA fuses operations into fewer kernels. What that buys was not measured here: "
            "a range seen on others' models (tensorflow.org/xla). It compiles anew for each shape: "
            "batches of many lengths would cost more than it buys. Where it was turned off because "
            "it failed, leave it."
        ),
        action=compiled_with(settings.own_compile, jit_compile=True),
        evidence={"jit_compile": False},
    )


@rule(
    GPU_THREAD_MODE,
    tried_title="Give the GPU's kernels threads of their own",
    followed=has_kernel_threads,
)
def gpu_thread_mode(situation: Situation) -> Recommendation | None:
    """The input pipeline's threads keep those that launch kernels waiting."""
    summary = situation.summary
    busy = used_pct(summary) / summary.facts.machine.cores
    facts = situation.facts
    possible = library_of(facts).has_thread_settings and not facts.machine.gpu_thread_mode
    if facts.training_gpu is None or not possible or busy < BUSY_PCT:
        return None
    return predicted(
        situation.model,
        on_compute(1.0, 0.95, 0.85),
        title="Give the GPU's kernels threads of their own",
        reason=(
            f"The training keeps the CPUs {in_percent(busy / 100)} busy: the threads that launch "
            "kernels share them with the input pipeline. What that buys was not measured here."
        ),
        action='os.environ["TF_GPU_THREAD_MODE"] = "gpu_private"  # before importing TensorFlow',
        evidence={"cpu_pct": busy},
    )
