"""A process of its own: two logical CPUs must be made before TensorFlow starts."""

import keras
import numpy as np
import programs
import tensorflow as tf

import keras_perf as kp
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph
from keras_perf.trials.train_functions.restored import KeptState
from keras_perf.trials.training import running
from keras_perf.trials.training.precision import in_precision
from keras_perf.trials.training.running import RunningTraining, TrainFunctions
from keras_perf.trials.training.setup import Setup

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
strategy, data = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]), programs.dataset(8)


def model():
    """Compiled, and neither built nor fitted."""
    with strategy.scope():
        made = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(1)])
        made.compile(keras.optimizers.Adam(), "mse", jit_compile=False)
    return made


# A copy in another precision trains on the same replicas.
running.SLICE_S = 0.01
fitted = model()
fitted.fit(data, verbose=0, shuffle=False)
copy = in_precision(fitted, "mixed_bfloat16")
assert copy.distribute_strategy is strategy
assert {layer.dtype_policy.name for layer in copy.layers} == {"mixed_bfloat16"}
setup = Setup(copy, PipelineGraph.of(data), jit_compile=False, run_eagerly=False)
assert RunningTraining(setup, TrainFunctions(KeptState(fitted))).step_ms() > 0
# What builds a model builds it on its replicas.
batch = next(iter(data))
assert len(kp.benchmark_train_step(model(), batch, steps=2, repeats=1)) == 1
assert len(kp.sweep_steps_per_execution(model(), data, (1,), repeats=1, steps=2, plot=False)) == 1
assert kp.tune_input(data, model=model(), budget_s=0.1).before_ms > 0

# Of a model that runs eagerly each replica's own copies are put back, and not their sum.
with strategy.scope():
    eager = programs.model(run_eagerly=True, metrics=["mae"])
    on_read, added = tf.VariableSynchronization.ON_READ, tf.VariableAggregation.SUM
    seen = tf.Variable(0.0, synchronization=on_read, aggregation=added)
for number, copy in enumerate(strategy.experimental_local_results(seen)):
    copy.assign(3.0 + number)


def copies():
    metrics = [v.value for metric in eager.metrics for v in metric.variables]
    all_ = [*(v.value for v in eager.variables), *metrics, seen]
    return [c.numpy() for v in all_ for c in strategy.experimental_local_results(v)]


eager.fit(data, verbose=0, shuffle=False)
before = copies()
kp.benchmark_train_step(eager, batch, steps=2, repeats=1)
for mine, theirs in zip(copies(), before, strict=True):
    np.testing.assert_array_equal(mine, theirs)
print("equal")
