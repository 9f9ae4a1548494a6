"""Which of Keras's backends are observed."""

from __future__ import annotations

OBSERVED = ("tensorflow", "jax")

NOT_WATCHED = {
    ("jax", "predict"): "on JAX nothing tells when the outputs of predict are computed",
}
"""A backend and a method of a model → why its calls are not watched."""

NO_TRIALS = (
    "this trial runs Keras's TensorFlow backend; elsewhere make the change, train again, compare"
)

NOT_TRIED_THERE = "this trial runs Keras's TensorFlow and JAX backends"

DATASETS_ALONE = (
    "on JAX advice is tried on a tf.data.Dataset only; of arrays, "
    "tf.data.Dataset.from_tensor_slices((x, y)).batch(batch_size) makes one"
)

NO_LOOPS = "LoopMonitor watches tf.functions, and so needs KERAS_BACKEND=tensorflow"

_NEEDED = {
    "torch": "when its GPU is done with a step, and when torch.compile compiles",
}


def refusal(name: str) -> str:
    """Why Keras on this backend is not observed, and what would be needed."""
    needed = _NEEDED.get(name, "when it fetches a batch, and when it is done with a step")
    return (
        f"Keras runs on {name}, and keras_perf observes it on TensorFlow and JAX only: on {name} "
        f"nothing tells it yet {needed}. Set KERAS_BACKEND=tensorflow or jax, or leave "
        "keras_perf's callbacks out."
    )
