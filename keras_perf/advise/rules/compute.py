"""Advice on how the train function computes."""

from __future__ import annotations

from dataclasses import replace

from keras_perf.advise.as_written import batch_size
from keras_perf.advise.gains.eager import compiled, cores_used, share_of_operations
from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.followed import computes_in_full, runs_in_a_graph
from keras_perf.advise.rules.in_a_loop import not_eagerly, with_policy
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import StepModel
from keras_perf.records.advice_ids import DISABLE_RUN_EAGERLY, FULL_PRECISION
from keras_perf.records.figures import in_percent
from keras_perf.records.run.library import library_of
from keras_perf.records.run.run_facts import RunFacts
from keras_perf.records.text.compiled_with import compiled_with

FLOPS_OF_A_CORE = 1e10
"""Multiplications and additions a second in float32, as far as small models reach them."""

USUAL_STEP_MS = 3.0
"""What the operations of a small model take in float32 for anything but multiplying."""

FULL_PRECISION_GAINS = 1.25
"""Expected of steps that multiply about as quickly as in float32: such gained 1.1 to 1.5 times."""

SLOW_ON_A_CPU = {
    "float16": ("TensorFlow has few quick operations on a CPU for", "1.2 to 220"),
    "bfloat16": ("This processor has no instructions for", "1.0 to 12"),
}
"""What is so of them, and how much longer steps took (TensorFlow 2.21, two cores of a Xeon)."""

WITHOUT_A_LAYER = (
    "Take what cannot be compiled out of the model",
    "run_eagerly=True, or a layer that XLA cannot compile, as Keras's random rotations, zooms and "
    "crops,",
    "# where it is a layer: those of which supports_jit is False, also in models inside\n"
    "print([each.name for each in model.layers if not each.supports_jit])\n"
    "def first(x, y, *weights, training=True):\n"
    "    for layer in taken_out:  # of the model, which then does without them\n"
    "        x = layer(x, training=training)\n"
    "    return x, y, *weights\n",
)
"""Title, what runs operations from Python, and code, where `jit_compile=True` changes nothing."""

OF_ARRAYS = "dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x)).batch({rows})\n"
IN_A_MAP = "dataset = dataset.map(first, num_parallel_calls=tf.data.AUTOTUNE)"
FIT = "\nmodel.fit(dataset, ...)  # without batch_size and validation_split"
IN_VALIDATION = (
    "\n# and in what is validated and predicted, with training=False: a crop crops there, too"
)
"""Where that function is called."""

TRACED_ONCE = (
    "# Python in train_step then runs once, when it is traced: what it draws or decides, as by\n"
    "# np.random, stays so; keras.random with a SeedGenerator of the model's draws in each step"
)

LEFT_UNKNOWN = 0.25
"""What is left of steps whose multiplications nobody counted."""

TIMES_OFF = 6.0
"""Measured gains were up to so many times as large or as small as what is expected."""


@rule(
    DISABLE_RUN_EAGERLY,
    tried_title="Compile the train step",
    followed=runs_in_a_graph,
    in_a_loop=not_eagerly,
)
def disable_run_eagerly(situation: Situation) -> Recommendation | None:
    """Every operation is run from Python."""
    settings = situation.facts.settings
    if not settings.run_eagerly:
        return None
    own, title = settings.own_compile, "Compile the train step"
    setting, action = "run_eagerly=True", compiled_with(own, run_eagerly=False)
    from_python = not library_of(situation.facts).graphs_without_xla
    if settings.in_a_loop and not settings.eager_functions:
        setting = "a train step outside of tf.function"
        action = (
            "@tf.function(reduce_retracing=True)\n"
            "def train_step(x, y):  # what a step computes; print() and .numpy() stay outside"
        )
    elif settings.eager_functions:
        setting = "tf.config.run_functions_eagerly(True)"
        action = "tf.config.run_functions_eagerly(False)  # and compile without run_eagerly=True"
    elif from_python and not settings.supports_jit:
        title, setting, function = WITHOUT_A_LAYER
        action = f"{function}{_calling_it(situation.facts)}{IN_VALIDATION}"
    elif from_python:
        setting = "run_eagerly=True, or jit_compile=False,"
        action = compiled_with(own, run_eagerly=False, jit_compile=True)
    if settings.own_train_step:
        action += f"\n{TRACED_ONCE}"
    reason = f"{setting} runs every operation from Python, which is meant for debugging."
    evidence = {"compute_ms": situation.summary.parts.get("compute")}
    operating = share_of_operations(situation)
    if operating is not None:
        evidence["operations_share"] = operating
        reason += f" Operations themselves take {in_percent(operating)} of what it computes."
    else:
        evidence["cores_used"] = cores_used(situation)
        reason += " No trace tells how much of that is Python, so the gain is a guess."
    return predicted(
        situation.model,
        compiled(situation),
        title=title,
        reason=reason,
        action=action,
        evidence=evidence,
    )


@rule(
    FULL_PRECISION,
    tried_title="Compute in float32",
    followed=computes_in_full,
    in_a_loop=with_policy,
    gives_up="half precision",
)
def full_precision(situation: Situation) -> Recommendation | None:
    """A CPU computes in half precision, for which TensorFlow has no quick operations there."""
    facts, compute_ms = situation.facts, situation.model.rest.get("compute", 0.0)
    policy = facts.settings.dtype_policy or ""
    half = policy.removeprefix("mixed_")
    if not compute_ms or half not in SLOW_ON_A_CPU or not _on_a_cpu_without(half, facts):
        return None
    slow, seen = SLOW_ON_A_CPU[half]
    expected = _left_in_float32(facts, compute_ms)

    def change(model: StepModel, optimism: float) -> StepModel:
        left = min(1.0, expected / TIMES_OFF**optimism)
        # On whichever cores they compute; what makes batches stays.
        computing_ms = max(0.0, model.cpu_ms - model.work_ms(model.stages))
        cpu_ms = model.cpu_ms - (1 - left) * computing_ms
        return replace(model.with_rest({"compute": left}), cpu_ms=cpu_ms)

    return predicted(
        situation.model,
        change,
        title="Compute in float32 as long as no GPU trains",
        reason=(
            f"{slow} {half}: eight small models took {seen} times as long in it as in float32. "
            "What it takes here was reckoned from what a step multiplies, not measured."
        ),
        action='keras.config.set_dtype_policy("float32")  # before the model is built',
        evidence={"dtype_policy": policy, "advised_policy": "float32"},
    )


def _calling_it(facts: RunFacts) -> str:
    """What was a layer is called where batches are made."""
    kind = facts.input.input_kind
    if kind not in (None, "tf.data", "arrays"):
        return f"x, y = first(x, y)  # where your {kind} makes a batch, in the process that trains"
    if kind != "arrays":
        return IN_A_MAP
    return OF_ARRAYS.format(rows=batch_size(facts) or "batch_size") + IN_A_MAP + FIT


def _on_a_cpu_without(half: str, facts: RunFacts) -> bool:
    """TensorFlow trains on a CPU alone, in graphs without XLA, and has nothing quick for these."""
    settings = facts.settings
    in_graphs = library_of(facts).graphs_without_xla
    on_cpu = facts.gpu_use.gpus_visible == 0 and "TPU" not in (settings.strategy or "")
    perhaps_by_xla = settings.jit_compile or (settings.in_a_loop and settings.jit_compile is None)
    plain = on_cpu and in_graphs and not (perhaps_by_xla or settings.run_eagerly)
    return plain and (half != "bfloat16" or facts.machine.cpu_bfloat16 is False)


def _left_in_float32(facts: RunFacts, compute_ms: float) -> float:
    """Share of the compute part, by what a step multiplies and what float32 takes for that."""
    work = facts.step_work
    if work is None or not work.flops:
        return LEFT_UNKNOWN
    flops = sum(work.flops.values()) * facts.settings.replicas / max(1, facts.settings.workers)
    float32_ms = USUAL_STEP_MS + 1e3 * flops / (FLOPS_OF_A_CORE * facts.machine.cores)
    return min(1 / FULL_PRECISION_GAINS, float32_ms / compute_ms)
