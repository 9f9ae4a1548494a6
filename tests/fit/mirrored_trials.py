"""A process of its own: two logical CPUs must be made before TensorFlow starts."""

import sys
from pathlib import Path

import keras
import numpy as np
import programs
import pytest
import tensorflow as tf

import keras_perf as kp

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)


def train(devices, log_dir, *, watched, steps_per_execution=1):
    with tf.distribute.MirroredStrategy(devices).scope():
        network = programs.model(steps_per_execution=steps_per_execution)
    recommender = kp.StepsPerExecutionRecommender(log_dir, apply=True)
    callbacks = [recommender, kp.StepGapDetector(log_dir)] if watched else []
    network.fit(programs.dataset(60), epochs=3, verbose=0, shuffle=False, callbacks=callbacks)
    return [w.numpy() for w in network.weights], recommender.recommendation


for devices in (["CPU:0"], ["CPU:0", "CPU:1"]):
    log_dir = Path(sys.argv[1]) / str(len(devices))
    plain, _ = train(devices, log_dir, watched=False)
    weights, record = train(devices, log_dir, watched=True)
    for mine, theirs in zip(weights, plain, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    summary = kp.diagnose(log_dir).summary
    assert "input_wait" in summary.parts or not hasattr(tf.data.experimental, "get_model_proto")
    assert summary.examples_per_step == 8
    if len(devices) == 1:
        assert record.evidence["trial_executions"] > 3, record.reason
    else:
        assert "2 replicas" in record.reason

# Canary: when this no longer fails, the recommender can try with several replicas too. Keras before
# 3.7 writes the steps out one by one, and does not fail.
if tuple(map(int, keras.__version__.split(".")[:2])) >= (3, 7):
    placeholder = "You must feed a value for placeholder"
    with pytest.raises(tf.errors.InvalidArgumentError, match=placeholder):
        train(devices, log_dir, watched=False, steps_per_execution=8)
print("equal")
