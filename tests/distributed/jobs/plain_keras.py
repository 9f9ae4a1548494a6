"""What one device makes of the same cases: `compile` and `train_on_batch`, no loop of ours."""

from __future__ import annotations

import itertools

import keras
import numpy as np
from jobs.cases import CASES, STEPS


def reference(rank, folder, names):
    """Writes the weights and the optimizer's state after training, for each of these cases."""
    found = {}
    for name in names:
        case = CASES[name]
        model, optimizer = case.model(), case.optimizer()
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(optimizer, loss, jit_compile=False)
        for images, labels in itertools.islice(batches(case), STEPS):
            model.train_on_batch(images, labels)
        found[name] = flat(model.weights)
        found[f"{name}, optimizer"] = flat(optimizer.variables)
    np.savez(folder / "trained_0.npz", **found)


def batches(case):
    """In the data set's order, over and over; the last one of a pass may be smaller."""
    images, labels = case.arrays()
    images = images.astype("float32") / 16.0
    while True:
        for first in range(0, case.examples, case.batch_size):
            last = first + case.batch_size
            if last <= case.examples or case.exact:
                yield images[first:last], labels[first:last]


def flat(variables):
    """All floating-point values in one array."""
    floats = [np.ravel(v) for v in variables if v.dtype.startswith("float")]
    return np.concatenate(floats)
