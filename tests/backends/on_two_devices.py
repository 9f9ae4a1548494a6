"""Trains on one device, and on two that share each batch; prints as JSON what was found."""

import json
import sys

import jax
import keras
import numpy as np

import keras_perf as kp
from keras_perf.backends.jax_facts import devices_of_mesh, distribution_facts

STEPS, ROWS = 20, 16


def model():
    keras.utils.set_random_seed(1)
    made = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16), keras.layers.Dense(1)])
    made.compile("adam", "mse")
    return made


def trained(callbacks=()):
    x = np.random.default_rng(0).normal(size=(STEPS * ROWS, 8)).astype("float32")
    made = model()
    made.fit(x, x[:, :1], batch_size=ROWS, verbose=0, callbacks=callbacks)
    return [np.asarray(each) for each in (*made.variables, *made.optimizer.variables)]


def run(name):
    folder = f"{sys.argv[1]}/{name}"
    without = trained()
    ours = trained(kp.perf_callbacks(folder, profiler=False, summary=False))
    return {
        "same": all(map(np.array_equal, without, ours)),
        "facts": kp.diagnose(folder).summary.facts.to_json(),
    }


def main():
    distribution, devices = keras.distribution, jax.devices()
    found = {"devices": len(devices), "alone": run("alone")}
    distribution.set_distribution(distribution.DataParallel(devices=devices))
    found["shared"] = run("shared")
    mesh = distribution.DeviceMesh((1, 2), ("batch", "model"), devices)
    layout = distribution.LayoutMap(mesh)
    layout["dense/kernel"] = (None, "model")
    parts = distribution.ModelParallel(layout_map=layout, batch_dim_name="batch")
    distribution.set_distribution(parts)
    found["devices_of_parts"] = devices_of_mesh()
    found["in_parts"] = {name: asked() for name, asked in distribution_facts().items()}
    print(json.dumps(found))


main()
