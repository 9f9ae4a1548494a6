"""Programs drawn at random, and all that is left of a training once it has ended."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import h5py
import keras
import numpy as np
import programs
import tensorflow as tf
from hypothesis import strategies as st

import keras_perf as kp
from keras_perf.read.event_files import events

BATCH = 8

ON_JAX = keras.config.backend() == "jax"


class Annealed(keras.Model):
    """Its train step reads what Python holds when it is traced: a weight, a counter, a layer.

    On JAX its loss does, as a train step is written otherwise there.
    """

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.weight, self.counter = 1.0, 0

    if ON_JAX:

        def compute_loss(self, *arguments, **named):
            self.counter += 1
            return super().compute_loss(*arguments, **named) * (self.weight + 0.1 * self.counter)

    else:

        def train_step(self, data):
            self.counter += 1
            x, y = data
            with tf.GradientTape() as tape:
                predicted = self(x, training=True)
                loss = self.compute_loss(x, y, predicted) * (self.weight + 0.1 * self.counter)
            variables = self.trainable_variables
            self.optimizer.apply(tape.gradient(loss, variables), variables)
            return self.compute_metrics(x, y, predicted)


class Noisy(keras.Model):
    """Draws from TensorFlow's own generator, whose state no second function continues.

    On JAX from one whose state Keras keeps.
    """

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.noise = keras.random.SeedGenerator(7)

    if ON_JAX:

        def call(self, inputs, training=None, mask=None):
            if training:
                shape = keras.ops.shape(inputs)
                inputs = inputs + 0.1 * keras.random.normal(shape, seed=self.noise)
            return super().call(inputs, training=training, mask=mask)

    else:

        def train_step(self, data):
            x, y = data
            return super().train_step((x + 0.1 * tf.random.normal(tf.shape(x), seed=7), y))


class ChangesPython(keras.callbacks.Callback):
    """Changes what a trace would read: in plain Keras none is made, and it has no effect."""

    def on_epoch_begin(self, epoch, logs=None):
        if epoch:
            self.model.weight = 1.0 + epoch
            if not ON_JAX:
                # There Keras itself fails where a layer is frozen meanwhile.
                self.model.get_layer("first").trainable = epoch % 2 == 0
            for layer in self.model.layers:
                if isinstance(layer, keras.layers.Dropout):
                    layer.rate = 0.1


class StopsAtBatch(keras.callbacks.Callback):
    """Stops in the middle of the second epoch."""

    def on_train_begin(self, logs=None):
        self.seen = 0

    def on_train_batch_end(self, batch, logs=None):
        self.seen += 1
        self.model.stop_training = self.seen == 97


class Notes(keras.callbacks.Callback):
    """Writes down, in a file, all that it is shown; declares that it only looks."""

    async_safe = True

    def __init__(self, path):
        super().__init__()
        self.path, self.lines = path, []

    def on_train_batch_begin(self, batch, logs=None):
        self.lines.append(f"begin {batch} {logs}")

    def on_train_batch_end(self, batch, logs=None):
        self.lines.append(f"end {batch} {logs}")

    def on_epoch_end(self, epoch, logs=None):
        self.lines.append(f"epoch {epoch} {logs}")
        # Keras calls these hooks in threads on JAX, where one may pass another.
        self.path.write_text("\n".join(sorted(self.lines) if ON_JAX else self.lines))


class Predicts(keras.callbacks.Callback):
    """Calls the model between epochs, which observing watches."""

    def on_epoch_end(self, epoch, logs=None):
        x, _ = programs.arrays(5, BATCH)
        logs["predicted"] = float(np.mean(keras.tree.flatten(self.model.predict(x, 4, 0))[0]))


CALLBACKS = {
    "predicts": lambda out: Predicts(),
    "changes Python": lambda out: ChangesPython(),
    "schedule": lambda out: keras.callbacks.LearningRateScheduler(lambda e, rate: rate * 0.7),
    "plateau": lambda out: keras.callbacks.ReduceLROnPlateau("loss", patience=1, min_delta=1.0),
    "early stopping": lambda out: keras.callbacks.EarlyStopping("loss", min_delta=0.5),
    "stops at a batch": lambda out: StopsAtBatch(),
    "checkpoint": lambda out: keras.callbacks.ModelCheckpoint(
        out / "{epoch}.weights.h5", save_weights_only=True
    ),
    "checkpoint in the epoch": lambda out: keras.callbacks.ModelCheckpoint(
        out / "{epoch}-{batch}.weights.h5", save_weights_only=True, save_freq=16
    ),
    "csv": lambda out: keras.callbacks.CSVLogger(out / "log.csv"),
    "notes": lambda out: Notes(out / "notes.txt"),
    "TensorBoard": lambda out: keras.callbacks.TensorBoard(out / "tb", update_freq=10),
}
BY_BATCH = {"notes", "TensorBoard"}
"""Called less often where another number of steps per execution is applied, as was asked for."""


@dataclass(frozen=True)
class Program:
    """What is drawn."""

    model: str
    optimizer: str
    policy: str
    jit_compile: bool
    steps_per_execution: int
    data: str
    steps: int
    epochs: int
    validates: bool
    callbacks: frozenset[str]
    apply: bool
    ours_first: bool


OPTIMIZERS = {
    "sgd": lambda program: keras.optimizers.SGD(0.01, momentum=0.9),
    "adam": lambda program: keras.optimizers.Adam(0.01),
    # Keras itself fails on averaged weights where a layer was frozen meanwhile.
    "clipped": lambda program: keras.optimizers.AdamW(
        0.01, clipnorm=0.5, use_ema="changes Python" not in program.callbacks
    ),
    "gathering": lambda program: keras.optimizers.Adam(0.01, gradient_accumulation_steps=2),
}
PROGRAMS = st.builds(
    Program,
    model=st.sampled_from(["dense", "dropout", "norm", "frozen", "two", "annealed", "noisy"]),
    optimizer=st.sampled_from(sorted(OPTIMIZERS)),
    policy=st.sampled_from(["float32", "float32", "mixed_bfloat16", "mixed_float16"]),
    jit_compile=st.sampled_from([False, False, False, True]),
    steps_per_execution=st.sampled_from([1, 1, 1, 2]),
    data=st.sampled_from(["arrays", "tf.data", "ragged end", "endless", "generator", "PyDataset"]),
    steps=st.integers(70, 130),
    epochs=st.integers(2, 4),
    validates=st.booleans(),
    callbacks=st.frozensets(st.sampled_from(sorted(CALLBACKS)), max_size=4),
    apply=st.booleans(),
    ours_first=st.booleans(),
)


def model_of(program):
    """A compiled model from a fixed seed."""
    layers = keras.layers
    inputs = keras.Input((8,))
    first = layers.Dense(12, activation="relu", name="first")
    first.trainable = program.model != "frozen"
    hidden = first(inputs)
    if program.model in ("dropout", "annealed", "two"):
        hidden = layers.Dropout(0.4)(hidden)
    if program.model == "norm":
        hidden = layers.BatchNormalization()(hidden)
    outputs = layers.Dense(1, name="out", dtype="float32")(hidden)
    if program.model == "two":
        outputs = {"out": outputs, "other": layers.Dense(1, name="other", dtype="float32")(hidden)}
    kind = {"annealed": Annealed, "noisy": Noisy}.get(program.model, keras.Model)
    network = kind(inputs, outputs)
    network.compile(
        OPTIMIZERS[program.optimizer](program),
        "mse",
        metrics=["mae"] if program.model == "dense" else None,
        # XLA seeds TensorFlow's own generator anew in each training: two plain ones differ.
        jit_compile=ON_JAX or (program.jit_compile and program.model != "noisy"),
        steps_per_execution=program.steps_per_execution,
    )
    return network


def arrays_of(program):
    """Inputs and targets."""
    x, y = programs.arrays(program.steps, BATCH)
    if program.data == "ragged end":
        x, y = x[:-3], y[:-3]
    return x, {"out": y, "other": y[::-1].copy()} if program.model == "two" else y


def data_of(program):
    """Keyword arguments of `fit`."""
    x, target = arrays_of(program)
    whole = {"steps_per_epoch": program.steps}
    if program.data == "arrays":
        return {"x": x, "y": target, "batch_size": BATCH}
    if program.data == "PyDataset":
        return {"x": Batches(x, target)}
    if program.data == "generator":
        return {"x": endless(x, target), **whole}
    data = tf.data.Dataset.from_tensor_slices((x, target)).shuffle(64, seed=3).batch(BATCH)
    return {"x": data.repeat(), **whole} if program.data == "endless" else {"x": data}


class Batches(keras.utils.PyDataset):
    """The arrays in batches."""

    def __init__(self, x, y):
        super().__init__()
        self.x, self.y = x, y

    def __len__(self):
        return len(self.x) // BATCH

    def __getitem__(self, index):
        rows = slice(index * BATCH, (index + 1) * BATCH)
        return self.x[rows], keras.tree.map_structure(lambda y: y[rows], self.y)


def endless(x, y):
    """The same as a generator, over and over."""
    while True:
        for begin in range(0, len(x) - BATCH + 1, BATCH):
            rows = slice(begin, begin + BATCH)
            yield x[rows], keras.tree.map_structure(lambda each, rows=rows: each[rows], y)


def trained(program, out: Path, log_dir: Path | None):
    """Everything that is left of the training; observed if `log_dir` is given.

    Returns:
        What must be equal, by name, and the recommender, or None.
    """
    programs.set_random_seed(5)
    keras.config.set_dtype_policy(program.policy)
    try:
        network = model_of(program)
        theirs = [CALLBACKS[name](out) for name in sorted(program.callbacks)]
        ours = observers(program, log_dir) if log_dir is not None else []
        history = network.fit(
            **data_of(program),
            validation_data=arrays_of(program) if program.validates else None,
            epochs=program.epochs,
            shuffle=program.data == "arrays",
            verbose=0,
            callbacks=[*ours, *theirs] if program.ours_first else [*theirs, *ours],
        )
    finally:
        keras.config.set_dtype_policy("float32")
    metrics = [v for metric in network.metrics for v in metric.variables]
    left = {
        "variables": values(network.variables),
        "optimizer": values(network.optimizer.variables),
        "metrics": values(metrics),
        "history": history.history,
        "keras.random": np.asarray(keras.random.uniform((4,))),
        "tf.random": tf.random.uniform((4,)).numpy(),
        "NumPy": np.random.random(4),
        "Python": random.random(),
        "attributes": (getattr(network, "counter", 0), network.stop_training),
        "train function": type(network.train_function),
        "files": files(out),
    }
    return left, ours[-1] if ours else None


def observers(program, log_dir):
    """All four of ours, the recommender last."""
    return kp.perf_callbacks(
        log_dir,
        profiler={"warmup_steps": 12, "active_steps": 6},
        gpu={"interval_s": 0.05},
        steps_per_execution={"apply": program.apply and not program.callbacks & BY_BATCH},
    )


def values(variables):
    return [np.asarray(v) for v in variables]


def files(out: Path):
    """What was written, by name, without what tells the time."""
    return {
        path.relative_to(out).as_posix().split("tfevents")[0]: content(path)
        for path in sorted(out.rglob("*"))
        if path.is_file()
    }


def content(path: Path):
    if path.suffix == ".h5":
        found = {}
        with h5py.File(path) as file:
            file.visititems(
                lambda name, each: (
                    found.update({name: each[()].tolist()})
                    if isinstance(each, h5py.Dataset)
                    else None
                )
            )
        return found
    if "tfevents" in path.name:
        return [
            (event.step, value.tag, value.tensor.tensor_content)
            for event in events(path)
            for value in event.summary.value
            if value.tag != "keras"
        ]
    return path.read_bytes()
