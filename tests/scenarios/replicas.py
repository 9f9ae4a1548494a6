"""Two replicas on logical CPUs, which must be made before TensorFlow starts: a program of its own.

    python replicas.py FOLDER

Prints the notes on a training whose batches leave a replica little, and on its healthy twin.
"""

import json
import sys

import keras
import tensorflow as tf
from bottlenecks import batches, layers

import keras_perf as kp

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
found = {}
for name, rows in (("complaint", 16), ("twin", 64)):
    with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
        model = keras.Sequential([layers.Input((8,)), layers.Dense(1)])
        model.compile("sgd", "mse", jit_compile=False)
    log_dir = f"{sys.argv[1]}/{name}"
    gaps = kp.StepGapDetector(log_dir, summary=False)
    model.fit(batches(30, rows=rows), verbose=0, shuffle=False, callbacks=[gaps])
    found[name] = kp.diagnose(log_dir).notes
print(json.dumps(found))
