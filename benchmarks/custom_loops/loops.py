"""Steps per second of the custom loop, beside `fit` and a tutorial's loop.

    python benchmarks/custom_loops/loops.py [--seconds 2] [--rounds 5]
        [--models tiny-mlp,...] [--calls 1,4,...]

What: training steps per second with one replica, for a tiny MLP, a small CNN and a small
transformer, at N = 1, 4, 16, 64 steps per call of a compiled function, by
`fit`: Keras, `steps_per_execution=N`;
`tutorial`: a `tf.function` over a `tf.data` iterator with a `GradientTape`, as TensorFlow's guide
to custom training writes it, N steps in a `tf.range`;
`template`: `keras-perf template`'s loop with its monitor on;
`compiled`: the same with --compiled;
`orbit`: Orbit's `StandardTrainer`, where the package tf-models-official is there.
All of them compute the same loss and accuracy with the same optimizer.

How: all in one process, in turn, in so many rounds of so many seconds; the median over rounds.
Building, tracing and compiling lie before. The template's monitor runs with its step-gap detector
and GPU sampler, without a profiler window and without trials of other N.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).parents[1]))

import keras
import numpy as np
import result
import tensorflow as tf

from keras_perf import loop
from keras_perf.loop import template

layers = keras.layers
BATCH_SIZE = 32
EXAMPLES = 2048
ENDLESS = 10**9
Run = Callable[[float], float]
"""Trains for about so many seconds; gives steps per second."""


def mlp() -> keras.Model:
    """Two dense layers on 32 features."""
    return keras.Sequential([layers.Input((32,)), layers.Dense(32, "relu"), layers.Dense(10)])


def cnn() -> keras.Model:
    """Two convolutions on 16 × 16 images."""
    return keras.Sequential(
        [
            layers.Input((16, 16, 3)),
            layers.Conv2D(8, 3, activation="relu"),
            layers.Conv2D(16, 3, strides=2, activation="relu"),
            layers.Flatten(),
            layers.Dense(10),
        ]
    )


def transformer() -> keras.Model:
    """One block of attention over sixteen vectors."""
    inputs = layers.Input((16, 32))
    x = inputs + layers.MultiHeadAttention(2, 16)(inputs, inputs)
    x = layers.LayerNormalization()(x)
    x = layers.LayerNormalization()(x + layers.Dense(32)(layers.Dense(64, "relu")(x)))
    return keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling1D()(x)))


MODELS = {"tiny-mlp": mlp, "small-cnn": cnn, "small-transformer": transformer}


def examples(model: keras.Model) -> tuple[np.ndarray, np.ndarray]:
    """Random inputs of the model's shape, and classes."""
    draw = np.random.default_rng(0)
    x = draw.random((EXAMPLES, *model.input_shape[1:]), dtype="float32")
    return x, draw.integers(0, 10, EXAMPLES).astype("int32")


def dataset(model: keras.Model) -> tf.data.Dataset:
    """Endless full batches."""
    unbatched = tf.data.Dataset.from_tensor_slices(examples(model)).shuffle(EXAMPLES, seed=1)
    return unbatched.batch(BATCH_SIZE, drop_remainder=True).repeat().prefetch(tf.data.AUTOTUNE)


def loss_and_accuracy() -> tuple[keras.losses.Loss, keras.metrics.Metric]:
    """New ones, the same for all."""
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return loss, keras.metrics.SparseCategoricalAccuracy()


def timed(call: Callable[[], None], steps: int) -> Run:
    """Calls again and again."""

    def run(seconds: float) -> float:
        done, begin = 0, time.perf_counter()
        while (spent := time.perf_counter() - begin) < seconds:
            call()
            done += steps
        return done / spent

    return run


def fit(build: Callable[[], keras.Model], calls: int) -> Run:
    """Keras's own loop, in one epoch; what lies before and after the epoch is left out."""
    model = build()
    loss, accuracy = loss_and_accuracy()
    model.compile("adam", loss, metrics=[accuracy], steps_per_execution=calls)
    times: list[float] = []
    watch = keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda *_: times.append(time.perf_counter()),
        on_epoch_end=lambda *_: times.append(time.perf_counter()),
    )
    data, rate = dataset(model), 100.0

    def run(seconds: float) -> float:
        nonlocal rate
        steps = max(1, round(rate * seconds / calls)) * calls
        model.fit(
            data, steps_per_epoch=steps, epochs=1, verbose=0, shuffle=False, callbacks=[watch]
        )
        rate = steps / (times[-1] - times[-2])
        return rate

    return run


def tutorial(build: Callable[[], keras.Model], calls: int) -> Run:
    """As TensorFlow's guide to custom training loops writes it."""
    model, optimizer = build(), keras.optimizers.Adam()
    loss, accuracy = loss_and_accuracy()
    mean, iterator = keras.metrics.Mean(), iter(dataset(model))

    @tf.function
    def train(steps: tf.Tensor) -> None:
        for _ in tf.range(steps):
            x, y = next(iterator)
            with tf.GradientTape() as tape:
                logits = model(x, training=True)
                value = loss(y, logits)
            gradients = tape.gradient(value, model.trainable_weights)
            optimizer.apply(gradients, model.trainable_weights)
            mean.update_state(value)
            accuracy.update_state(y, logits)

    return timed(lambda: train(tf.constant(calls)), calls)


def ours(
    build: Callable[[], keras.Model], calls: int, left: contextlib.ExitStack, *flags: str
) -> Run:
    """The template's loop and monitor, which ends with `left`."""
    log_dir = left.enter_context(tempfile.TemporaryDirectory())
    args = template.arguments(
        [
            *("--strategy", "none", "--steps", str(ENDLESS - ENDLESS % calls)),
            *("--evaluate-every", str(ENDLESS - ENDLESS % calls)),
            *("--steps-per-call", str(calls), "--batch-size", str(BATCH_SIZE)),
            *("--log-dir", log_dir, "--checkpoint-dir", f"{log_dir}/checkpoints", *flags),
        ]
    )
    template.make_model = build
    template.make_optimizer = lambda args: keras.optimizers.Adam(args.learning_rate)
    distribution = loop.distribute("none")
    trainer = template.Trainer(args, distribution)
    batches = dataset(trainer.model)
    if args.compiled:
        batches = batches.batch(calls, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
    trainer.iterator = loop.iterate(distribution, batches, BATCH_SIZE)
    monitor = loop.LoopMonitor(
        log_dir,
        model=trainer.model,
        function=trainer.train,
        examples_per_step=BATCH_SIZE,
        fetches_per_step=1 / calls if args.compiled else 1,
        profiler=False,
        steps_per_execution=False,
    )
    left.enter_context(monitor)

    def call() -> None:
        with monitor.execution(trainer.iterator, calls) as execution:
            asked, _ = execution.returned(trainer.run(execution.steps, False))
            asked.numpy()

    return timed(call, calls)


def orbit_loop(build: Callable[[], keras.Model], calls: int) -> Run:
    """Orbit's trainer, which runs N steps in a `tf.while_loop`."""
    import orbit

    model, optimizer = build(), keras.optimizers.Adam()
    loss, accuracy = loss_and_accuracy()
    mean = keras.metrics.Mean()

    class Trainer(orbit.StandardTrainer):
        def __init__(self) -> None:
            super().__init__(dataset(model))

        def train_step(self, iterator: object) -> None:
            x, y = next(iterator)
            with tf.GradientTape() as tape:
                logits = model(x, training=True)
                value = loss(y, logits)
            gradients = tape.gradient(value, model.trainable_weights)
            optimizer.apply(gradients, model.trainable_weights)
            mean.update_state(value)
            accuracy.update_state(y, logits)

    trainer = Trainer()
    return timed(lambda: trainer.train(tf.constant(calls)), calls)


def loops(
    left: contextlib.ExitStack,
) -> dict[str, Callable[[Callable[[], keras.Model], int], Run]]:
    """By name; Orbit only where it is installed. What they hold is given back with `left`."""
    found = {
        "fit": fit,
        "tutorial": tutorial,
        "template": lambda build, calls: ours(build, calls, left),
        "compiled": lambda build, calls: ours(build, calls, left, "--compiled"),
    }
    try:
        import orbit  # noqa: F401
    except ImportError:
        return found
    return found | {"orbit": orbit_loop}


def measure(build: Callable[[], keras.Model], calls: int, rounds: int, seconds: float) -> dict:
    """Steps per second by loop, and what ours have over the others."""
    keras.utils.set_random_seed(1)
    with contextlib.ExitStack() as left:
        runs = {name: make(build, calls) for name, make in loops(left).items()}
        for run in runs.values():
            run(0.5)
            run(0.5)
        found: dict[str, list[float]] = {name: [] for name in runs}
        for turn in range(rounds):
            names = list(runs)
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                found[name].append(runs[name](seconds))
    row = {name: median(rates) for name, rates in found.items()}
    for name in ("template", "compiled"):
        pairs = zip(found[name], found["fit"], strict=True)
        row[f"{name}/fit"] = median(ours / of_fit for ours, of_fit in pairs)
    return row


def main() -> None:
    """Prints a row for each model and N."""
    parser = result.parser(__doc__)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--calls", default="1,4,16,64")
    args = parser.parse_args()
    result.begin()
    rows = result.Table()
    for model in args.models.split(","):
        for calls in (int(n) for n in args.calls.split(",")):
            figures = measure(MODELS[model], calls, args.rounds, args.seconds)
            rows.add(model=model, N=calls, **figures)
    result.keep(args.json, steps_per_sec=rows)


if __name__ == "__main__":
    main()
