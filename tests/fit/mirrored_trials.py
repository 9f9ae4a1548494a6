"""A process of its own: two logical CPUs must be made before TensorFlow starts."""

import sys
from pathlib import Path

import numpy as np
import programs
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.observation.of_fit import trials_of_fit
from keras_perf.observers.steps_trial import steps_to_try
from keras_perf.trials.backends import tensorflow_training
from keras_perf.trials.measuring import side_by_side
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph
from keras_perf.trials.train_functions import on_replicas
from keras_perf.trials.train_functions.on_replicas import differs_on_replicas
from keras_perf.trials.train_functions.repeated_function import RepeatedFunction
from keras_perf.trials.train_functions.restored import KeptState
from keras_perf.trials.training import budget, running
from keras_perf.trials.training.running import RunningTraining, TrainFunctions
from keras_perf.trials.training.setup import Setup
from keras_perf.trials.trying import tried_advice

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
# On a busy machine a trace may take seconds.
steps_to_try.SMALL_COST_S = 100.0


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
    assert record.evidence["trial_executions"] > 3, record.reason

# Another comparison than equality ends the trials before the first one.
trials_of_fit.differs_on_replicas = lambda *_: "they differ"
_, record = train(devices, log_dir, watched=True)
assert record.reason.endswith("they differ."), record.reason

# One step fewer in the longer execution is found, and everything is put back.
strategy = tf.distribute.MirroredStrategy(devices)
with strategy.scope():
    network = programs.model()
network.make_train_function()
iterator = iter(strategy.experimental_distribute_dataset(programs.dataset(60)))
network.train_function(iterator)
repeated = RepeatedFunction(network.train_function)
repeated.prepare(iterator)
before = [w.numpy() for w in network.variables + network.optimizer.variables]
assert differs_on_replicas(strategy, repeated, iterator) is None
run, repeated.run = repeated.run, lambda own, calls: run(own, calls - 1)
assert "train differently" in differs_on_replicas(strategy, repeated, iterator)
repeated.run = run
digest, on_replicas._digest = on_replicas._digest, lambda value: object()
assert "do not repeat" in differs_on_replicas(strategy, repeated, iterator)
on_replicas._digest = digest
after = [w.numpy() for w in network.variables + network.optimizer.variables]
for mine, theirs in zip(after, before, strict=True):
    np.testing.assert_array_equal(mine, theirs)

# What a trial could not put back, or would show of batches of zeros, is not tried at all.
table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, 0.0)


def counting(y, predicted):
    table.insert(tf.constant(1, tf.int64), tf.reduce_mean(y))
    return tf.reduce_mean(tf.square(y - predicted), -1)


def checking(y, predicted):
    return tf.reduce_mean(tf.debugging.check_numerics(tf.square(y - predicted), "loss"), -1)


def refusal(loss):
    with strategy.scope():
        own = programs.model()
        own.compile(own.optimizer, loss, jit_compile=False)
    own.make_train_function()
    repeated = RepeatedFunction(own.train_function)
    repeated.prepare(iterator)
    return differs_on_replicas(strategy, repeated, iterator)


assert "changes a table" in refusal(counting)
assert "checks values" in refusal(checking)
assert table.size() == 0

# Advice is tried on all replicas, whose own copies of metrics too are put back.
running.SLICE_S = side_by_side.SLICE_S = 0.01
budget.PAIR_S = (0.02, 0.05)


def copies():
    metrics = [v for metric in network.metrics for v in metric.variables]
    all_ = [*network.variables, *network.optimizer.variables, *metrics]
    return [c.numpy() for v in all_ for c in strategy.experimental_local_results(v.value)]


data = programs.dataset(60)
before = copies()
of_input = ["prefetch", "private-threadpool", "parallel-map", "batch-before-map", "cache"]
without = ["enable-xla", "larger-batch", *of_input]
tried = tried_advice(network, data, budget_s=120.0, without=without).trials
assert "tune-gc" in {each.id for each in tried.changes}, tried
(why,) = (each.why for each in tried.not_tried if each.id == "raise-steps-per-execution")
assert "You must feed a value for placeholder" in why, why
assert len(before) > len(network.variables + network.optimizer.variables)
for mine, theirs in zip(copies(), before, strict=True):
    np.testing.assert_array_equal(mine, theirs)

python = data.map(lambda x, y: (tf.numpy_function(lambda v: v, [x], tf.float32), y))
with pytest.raises(ValueError, match="must not run Python code to be tried on several replicas"):
    tried_advice(network, python, budget_s=1.0)

# One that would run several steps, and other ones, is not tried.
tensorflow_training.differs_on_replicas = lambda *_: "they differ"
tensorflow_training.function_on_trial = lambda *_, **__: network.train_function
setup = Setup(network, PipelineGraph.of(data), jit_compile=False, run_eagerly=False, calls=4)
with pytest.raises(ValueError, match="they differ"):
    RunningTraining(setup, TrainFunctions(KeptState(network)))

# Larger variables are not copied to the host.
on_replicas.MOST_MIB = 0.001
assert "more than" in differs_on_replicas(strategy, repeated, iterator)

# Canary: when this no longer fails, what is said of it in `advise/rules/host.py` can go.
with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value for placeholder"):
    train(devices, log_dir, watched=False, steps_per_execution=8)
print("equal")
