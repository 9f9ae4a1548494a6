"""A process of its own: two logical CPUs must be made before TensorFlow starts."""

import os
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
import watched_loops

import keras_perf as kp
from keras_perf.observers.steps_trial import steps_to_try as trial_lengths

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
# On a busy machine the first trace takes seconds.
trial_lengths.SMALL_COST_S = 200.0

STEPS = 400


def train(log_dir, *, tries):
    """Weights, and what came of the trials."""
    strategy = tf.distribute.MirroredStrategy(
        ["CPU:0", "CPU:1"], cross_device_ops=tf.distribute.ReductionToOneDevice()
    )
    with strategy.scope():
        loop = watched_loops.Loop()
        weights = loop.model.trainable_variables

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((loop.model(x, training=True) - y) ** 2) / 8
        gradients = tape.gradient(loss, weights)
        context = tf.distribute.get_replica_context()
        for weight, gradient in zip(
            weights, context.all_reduce(tf.distribute.ReduceOp.SUM, gradients), strict=True
        ):
            weight.assign_sub(0.01 * gradient)

    @tf.function
    def steps_of(iterator, count):
        for _ in tf.range(count):
            strategy.run(step, next(iterator))

    data = strategy.experimental_distribute_dataset(watched_loops.dataset())
    iterator, done = iter(data), 0
    arguments = {"strategy": strategy, "function": steps_of, "steps_per_execution": tries}
    monitor = loop.monitor(log_dir, STEPS, **arguments)
    with monitor:
        while done < STEPS:
            left = 200 - done % 200
            with monitor.execution(iterator, 1, left=left) as call:
                call.returned(steps_of(iterator, tf.constant(call.steps)))
            done += call.steps
            if done % 200 == 0:
                with monitor.outside("evaluation"):
                    pass
    assert steps_of.experimental_get_tracing_count() == 1
    return [w.numpy() for w in loop.model.weights], monitor.recommendation


log_dir = Path(sys.argv[1])
plain, _ = train(log_dir / "plain", tries=False)
weights, record = train(log_dir / "tried", tries=True)
for mine, theirs in zip(weights, plain, strict=True):
    np.testing.assert_array_equal(mine, theirs)
assert record.evidence["trial_executions"] > 3, record.reason
summary = kp.diagnose(log_dir / "tried").summary
assert summary.facts.to_json()["strategy"] == "MirroredStrategy"
assert summary.facts.to_json()["replicas"] == 2
assert "input_wait" in summary.parts or not hasattr(tf.data.experimental, "get_model_proto")
print("equal", flush=True)
os._exit(0)
