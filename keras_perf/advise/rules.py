"""The rules: each from a measured situation to a recommendation, or None."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.step_model import Situation, StepModel

WORTH_SAYING = 1.02
"""Below this predicted speed-up a recommendation is left out."""

AMORTIZED_OVER = 20


def prefetch(situation: Situation) -> Recommendation | None:
    """The pipeline and training take turns."""
    model, wait = situation.model, situation.summary.parts.get("input_wait", 0.0)
    if model.prefetched or not wait or not situation.own_dataset:
        return None

    def change(model: StepModel, optimism: float) -> StepModel:
        hidden = min(model.produce_ms, model.rest_ms) * (0.9 + 0.1 * optimism)
        return model.hidden(1 - hidden / model.produce_ms if model.produce_ms else 1.0)

    return predicted(
        model,
        change,
        id="prefetch",
        title="Prepare the next batch while the current one trains",
        reason=(
            f"Each step waits {wait:.3g} ms for input and then works {model.rest_ms:.3g} ms; "
            "with prefetching the shorter of the two disappears behind the longer."
        ),
        action="dataset = dataset.prefetch(tf.data.AUTOTUNE)  # last in the pipeline",
        evidence={"input_wait_ms": wait, "rest_ms": model.rest_ms},
    )


def parallel_map(situation: Situation) -> Recommendation | None:
    """A sequential map sets the pipeline's pace."""
    model = situation.model
    candidates = {
        name: ms
        for name, ms in model.stages.items()
        if name.startswith("Map") and model.threads.get(name, 1) == 1
    }
    if not candidates or model.cores < 2 or not situation.own_dataset:
        return None
    stage = max(candidates, key=lambda name: candidates[name])

    def change(model: StepModel, optimism: float) -> StepModel:
        usable = max(1.0, model.cores * (0.8 + 0.2 * optimism))
        return model.with_threads(stage, usable)

    share = candidates[stage] / model.produce_ms if model.produce_ms else 0.0
    return predicted(
        model,
        change,
        id="parallel-map",
        title=f"Run the map in parallel: stage {stage}",
        reason=(
            f"The sequential stage {stage} takes {candidates[stage]:.3g} ms of the "
            f"{model.produce_ms:.3g} ms that a batch needs ({share:.0%}); {model.cores} logical "
            "CPUs are there to share it."
        ),
        action="dataset = dataset.map(your_function, num_parallel_calls=tf.data.AUTOTUNE)",
        evidence={"stage": stage, "stage_ms": candidates[stage], "cores": model.cores},
    )


def cache(situation: Situation) -> Recommendation | None:
    """Every epoch does the same preparation again."""
    context, model = situation.summary.context, situation.model
    recorded = context.get("stages") or []
    epochs = int(context.get("epochs") or 0)
    cached = any("Cache" in stage["name"] for stage in recorded)
    if cached or epochs < 2 or not situation.own_dataset:
        return None
    maps = [name for name in model.stages if "Map" in name and not name.startswith("FlatMap")]
    if not maps:
        return None
    order = list(model.stages)
    saved = order[: order.index(maps[-1]) + 1]
    size_mib = (
        recorded[order.index(maps[-1])]["bytes_per_batch"]
        * float(context.get("epoch_steps") or 0)
        / 2**20
    )
    epoch_steps = int(context.get("epoch_steps") or 0)
    left_out = epochs * epoch_steps - situation.summary.steps
    first_epoch = max(0, epoch_steps - left_out) / situation.summary.steps
    available = float(context.get("memory_available_mib") or 0.0)
    if not size_mib or size_mib > available / 2:
        return None

    def change(model: StepModel, optimism: float) -> StepModel:
        # What a report counts of the first epoch still pays; reading back costs a few percent.
        left = min(1.0, first_epoch + 0.02 * (1 - optimism))
        return model.with_less_work(dict.fromkeys(saved, left), optimism)

    saved_ms = sum(model.stages[name] for name in saved)
    return predicted(
        model,
        change,
        id="cache",
        title="Keep prepared examples in memory after the first epoch",
        reason=(
            f"Stages up to {maps[-1]} take {saved_ms:.3g} ms a batch in each of {epochs} epochs; "
            f"their result is about {size_mib:.3g} MiB and fits into memory."
        ),
        action=(
            "dataset = dataset.map(your_function).cache()  "
            "# before shuffle and batch; random augmentation goes after it"
        ),
        evidence={"saved_ms": saved_ms, "epochs": epochs, "size_mib": size_mib},
    )


def amortize_callback(situation: Situation) -> Recommendation | None:
    """A callback's batch hook takes a noticeable part of every step."""
    owners, model = situation.summary.owners, situation.model
    if not owners:
        return None
    owner = max(owners, key=lambda name: owners[name])
    spent, (name, _, hook) = owners[owner], owner.partition(".")
    callbacks_ms = model.rest.get("callbacks", 0.0)
    if not callbacks_ms:
        return None
    share = min(1.0, spent / callbacks_ms)

    def change(model: StepModel, optimism: float) -> StepModel:
        left = (1 - optimism) / AMORTIZED_OVER
        return model.with_rest({"callbacks": 1 - share * (1 - left)})

    if name == "ProgbarLogger":
        action = "model.fit(..., verbose=2)  # a line per epoch in place of the progress bar"
    else:
        action = (
            f"class {name}(keras.callbacks.Callback):\n"
            f"    def {hook}(self, batch, logs=None):\n"
            f"        if batch % {AMORTIZED_OVER}:\n"
            "            return\n"
            "        ...  # as before"
        )
    return predicted(
        model,
        change,
        id="amortize-callback",
        title=f"Do the work of {name}.{hook} every {AMORTIZED_OVER} steps",
        reason=(
            f"{owner} takes {spent:.3g} ms of every step of {situation.summary.step_ms:.3g} ms; "
            f"every {AMORTIZED_OVER} steps it leaves {spent / AMORTIZED_OVER:.2g} ms."
        ),
        action=action,
        evidence={"owner": owner, "callback_ms": spent, "every": AMORTIZED_OVER},
    )


def raise_steps_per_execution(situation: Situation) -> Recommendation | None:
    """What each execution costs is worth sharing among more steps."""
    model, context = situation.model, situation.summary.context
    trial = context.get("steps_per_execution_trial") or {}
    current = int(context.get("steps_per_execution") or 1)
    recommended = int(trial.get("recommended") or current)
    if recommended <= current or trial.get("applied"):
        return None
    spread = max(0.0, trial["high"] / trial["low"] - 1) / 2 if trial["low"] else 0.0

    def change(model: StepModel, optimism: float) -> StepModel:
        left = current / recommended * (1 - optimism * spread)
        floor = (1 - optimism) * 0.05
        factor = min(1.0, max(0.0, left) + floor)
        return model.with_rest(dict.fromkeys(("dispatch", "callbacks", "other_host"), factor))

    return predicted(
        model,
        change,
        id="raise-steps-per-execution",
        title=f"Run {recommended} steps per execution",
        reason=f"Measured during training: {trial['reason']}",
        action=f"model.compile(..., steps_per_execution={recommended})",
        evidence=dict(trial.get("evidence") or {}) | {"recommended": recommended},
    )


def stable_shapes(situation: Situation) -> Recommendation | None:
    """The train function is traced again and again."""
    spent = situation.model.rest.get("compile", 0.0)
    if not spent:
        return None

    def change(model: StepModel, optimism: float) -> StepModel:
        return model.with_rest({"compile": 0.05 * (1 - optimism)})

    return predicted(
        situation.model,
        change,
        id="stable-shapes",
        title="Give the train function batches of one shape",
        reason=(
            f"Tracing and compiling after warm-up takes {spent:.3g} ms per step on average: "
            "input shapes or Python arguments change."
        ),
        action="dataset = dataset.batch(batch_size, drop_remainder=True)  # and pad other axes",
        evidence={"compile_ms": spent},
    )


def disable_run_eagerly(situation: Situation) -> Recommendation | None:
    """Every operation is run from Python."""
    if not situation.summary.context.get("run_eagerly"):
        return None

    def change(model: StepModel, optimism: float) -> StepModel:
        # How much of an eager step is Python depends on the size of its operations; small ones
        # were measured at a tenth, large ones barely change.
        return model.with_rest({"compute": 0.5 - 0.4 * optimism})

    return predicted(
        situation.model,
        change,
        id="disable-run-eagerly",
        title="Compile the train step",
        reason="run_eagerly=True runs every operation from Python; it is meant for debugging.",
        action="model.compile(..., run_eagerly=False)",
        evidence={"compute_ms": situation.summary.parts.get("compute")},
    )


RULES: tuple[Callable[[Situation], Recommendation | None], ...] = (
    prefetch,
    parallel_map,
    cache,
    amortize_callback,
    raise_steps_per_execution,
    stable_shapes,
    disable_run_eagerly,
)


def recommendations(situation: Situation) -> tuple[Recommendation, ...]:
    """All that is worth saying, best first.

    What buys nothing alone may buy much once another change is made: behind a slow input
    pipeline a slow callback costs nothing, until the pipeline is mended. So what is left is
    tried again with the others done, each time the best first.
    """
    found = [advice for rule in RULES if (advice := rule(situation)) is not None]
    chosen = sorted(
        (advice for advice in found if advice.predicted_speedup >= WORTH_SAYING),
        key=lambda advice: -advice.predicted_speedup,
    )
    left = [advice for advice in found if advice not in chosen]
    model = situation.model
    for advice in chosen:
        model = advice.change(model, 0.0)
    while left:
        best = min(left, key=lambda advice: advice.change(model, 0.0).step_ms)
        left.remove(best)
        changed = best.change(model, 0.0)
        gain = model.step_ms / max(1e-9, changed.step_ms)
        if gain < WORTH_SAYING:
            break
        model = changed
        chosen.append(replace(best, speedup_after_others=gain))
    return tuple(chosen)


def combined_speedup(
    model: StepModel, advice: tuple[Recommendation, ...]
) -> tuple[float, float, float]:
    """What all of it buys together: expected, low, high. Not the product of the single ones."""
    results = []
    for optimism in (0.0, -1.0, 1.0):
        changed = model
        for recommendation in advice:
            changed = recommendation.change(changed, optimism)
        results.append(max(1.0, model.step_ms / max(1e-9, changed.step_ms)))
    expected, *bounds = results
    return expected, min(expected, *bounds), max(expected, *bounds)
