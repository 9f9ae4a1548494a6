"""Advice on tensor cores: half precision, and sizes that fill their tiles."""

from __future__ import annotations

from keras_perf.advise.as_written import in_batches_of
from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.followed import computes_in_half
from keras_perf.advise.rules.in_a_loop import scaled_loss, with_policy
from keras_perf.advise.rules.on_a_gpu.training_gpu import on_kernels, was_slower
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.records.advice_ids import FULL_PRECISION, MIXED_PRECISION, MULTIPLES_OF_8
from keras_perf.records.run.library import library_of
from keras_perf.records.run.machine import BFLOAT16
from keras_perf.records.run.run_facts import RunFacts

MOST_CLASSES = 2000
"""Outputs of more than these are a vocabulary's."""


@rule(
    MIXED_PRECISION,
    tried_title="Compute in half precision",
    followed=computes_in_half,
    in_a_loop=with_policy,
)
def mixed_precision(situation: Situation) -> Recommendation | None:
    """Tensor cores are there and the model computes in float32."""
    settings = situation.facts.settings
    gpu = situation.facts.training_gpu
    in_float32 = settings.dtype_policy == "float32" and not _mostly_in_half(situation.facts)
    slower = was_slower(situation, FULL_PRECISION)
    if gpu is None or not gpu.has_tensor_cores or not in_float32 or slower:
        return None
    policy = "mixed_bfloat16" if gpu.compute_capability >= BFLOAT16 else "mixed_float16"
    seen_in_all = library_of(situation.facts).replicas_run_as_one
    if policy == "mixed_float16" and settings.several_in_fit and not seen_in_all:
        return None  # Keras looks for an overflow in the first replica's gradients only.
    return predicted(
        situation.model,
        on_kernels(situation, 1.0, 0.7, 0.35),
        title=f"Compute in {policy.removeprefix('mixed_')}",
        reason=(
            "The GPU has tensor cores and half the bytes take half the bandwidth. What that buys "
            "was not measured here: a range seen on others' models (NVIDIA's guide to mixed "
            "precision). Activations are rounded to fewer digits: compare the loss."
        ),
        action=(
            f'keras.mixed_precision.set_global_policy("{policy}")  # before building the model\n'
            "# which a loaded model is not: it keeps the policy it was saved with\n"
            '# the last layer with dtype="float32", so that what the loss is of keeps its digits'
            f"{scaled_loss(policy, settings)}"
        ),
        evidence={
            "dtype_policy": "float32",
            "advised_policy": policy,
            "compute_capability": list(gpu.compute_capability),
        },
    )


def _mostly_in_half(facts: RunFacts) -> bool:
    """Whatever the policy of the model, by that of its layers, as of one that was loaded."""
    flops = {} if facts.step_work is None else facts.step_work.flops
    in_half = sum(flops.get(each, 0.0) for each in ("float16", "bfloat16"))
    return in_half > sum(flops.values()) / 2


def _fits_tiles(facts: RunFacts, advice: Recommendation) -> bool | None:
    """Those sizes are gone; not known of an older log or a loop without a model."""
    widths, batch = _odd_sizes(facts)
    known = facts.settings.layer_widths
    return {*widths, *batch}.isdisjoint(advice.evidence["sizes"]) if known else None


def _odd_sizes(facts: RunFacts) -> tuple[list[int], list[int]]:
    """Widths of layers, and the batch, that leave a part of a tile empty."""
    settings = facts.settings
    # As many as there are classes; a vocabulary can be padded.
    classes = {width for width in settings.output_widths if width < MOST_CLASSES}
    inner = set(settings.layer_widths) - classes
    batch = (facts.length.examples_per_step or 0.0) / settings.replicas
    batch /= max(1.0, settings.fetches_per_step)
    is_odd = batch >= 8 and batch % 8 == int(batch % 8) != 0
    widths = sorted(width for width in inner if width >= 8 and width % 8)
    return widths, [int(batch)] if is_odd else []


@rule(MULTIPLES_OF_8, followed=_fits_tiles)
def multiples_of_8(situation: Situation) -> Recommendation | None:
    """Tensor cores work on tiles of eight, and layers or batches do not fit."""
    gpu, settings = situation.facts.training_gpu, situation.facts.settings
    policy = settings.dtype_policy or ""
    if gpu is None or not gpu.has_tensor_cores or not policy.startswith("mixed_"):
        return None
    widths, batch = _odd_sizes(situation.facts)
    if not (widths or batch):
        return None
    code = ["units = -(-units // 8) * 8"] if widths else []
    if batch:
        rows = -(-batch[0] // 8) * 8 * settings.replicas
        code.append(in_batches_of(rows, situation.facts))
    return predicted(
        situation.model,
        on_kernels(situation, 1.0, 0.92, 0.7),
        title="Make widths and batch multiples of 8",
        reason=(
            f"Not divisible by 8: {', '.join(map(str, widths + batch))}. Tensor cores work on "
            "tiles of eight. What that buys was not measured here."
        ),
        action="\n".join(code),
        evidence={"sizes": widths + batch},
    )
