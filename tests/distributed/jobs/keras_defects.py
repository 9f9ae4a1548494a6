"""What Keras 3 does by itself under a strategy; jobs of `Nursery`, without any of ours."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
from jobs.cases import Case
from jobs.plain_keras import flat

optimizers = keras.optimizers


def under_mirrored(rank, folder):
    """Name → what was found, with two logical CPUs."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    mirrored = tf.distribute.MirroredStrategy(
        ["CPU:0", "CPU:1"], cross_device_ops=tf.distribute.ReductionToOneDevice()
    )
    clipped = Case(lambda: optimizers.SGD(0.1, global_clipnorm=0.1))
    uneven = Case(lambda: optimizers.SGD(0.1), "--exact", examples=577)
    accumulated = Case(lambda: optimizers.SGD(0.1, gradient_accumulation_steps=2))
    return {
        "clipping": off_from_one_device(clipped, mirrored),
        "uneven": off_from_one_device(uneven, mirrored),
        "accumulation": error_of_fit(accumulated, mirrored),
        "overflow": finite_after_an_overflow(mirrored),
        "masks": dropout_masks(mirrored),
        "statistics": moving_means(mirrored),
        "seeds": seed_states(folder),
    }


def under_several_workers(rank, folder):
    """The error of `fit`, or None."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    return {"error": error_of_fit(Case(lambda: optimizers.SGD(0.1)), strategy)}


def fitted(case, strategy):
    """The weights after one epoch."""
    with strategy.scope():
        model = case.model()
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(case.optimizer(), loss, jit_compile=False)
    images, labels = case.arrays()
    data = tf.data.Dataset.from_tensor_slices((images.astype("float32") / 16.0, labels))
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    batches = data.batch(case.batch_size, drop_remainder=not case.exact).with_options(options)
    model.fit(batches, verbose=0, shuffle=False)
    return flat(model.weights)


def off_from_one_device(case, strategy):
    """The largest difference of a weight."""
    alone = fitted(case, tf.distribute.OneDeviceStrategy("CPU:0"))
    return float(np.abs(fitted(case, strategy) - alone).max())


def error_of_fit(case, strategy):
    """Its type and first line; None if there was none."""
    try:
        fitted(case, strategy)
    except Exception as error:  # noqa: BLE001  the test looks at what it was
        return f"{type(error).__name__}: {str(error)[:200]}"
    return None


def finite_after_an_overflow(strategy):
    """Whether the weights are, when the second replica's gradient is infinite."""
    with strategy.scope():
        weight = keras.Variable(np.ones(3, "float32"))
        optimizer = keras.mixed_precision.LossScaleOptimizer(optimizers.SGD(0.1))
        optimizer.build([weight])

    @tf.function
    def step():
        def update():
            replica = tf.distribute.get_replica_context().replica_id_in_sync_group
            gradient = tf.fill([3], np.inf if replica == 1 else 1.0)
            optimizer.apply([gradient], [weight])

        strategy.run(update)

    step()
    return bool(np.isfinite(weight.numpy()).all())


def dropout_masks(strategy):
    """Of both replicas."""
    with strategy.scope():
        dropout = keras.layers.Dropout(0.5)

    @tf.function
    def masks():
        run = strategy.run(lambda: dropout(tf.ones([96]), training=True))
        return strategy.experimental_local_results(run)

    return [mask.numpy().tolist() for mask in masks()]


def moving_means(strategy):
    """Of both replicas after a step in which they saw different examples."""
    with strategy.scope():
        layer = keras.layers.BatchNormalization()
        layer.build([None, 3])

    @tf.function
    def step():
        def normalize():
            replica = tf.distribute.get_replica_context().replica_id_in_sync_group
            layer(tf.fill([8, 3], float(replica)), training=True)

        strategy.run(normalize)

    step()
    copies = strategy.experimental_local_results(layer.moving_mean.value)
    return [copy.numpy().tolist() for copy in copies]


def seed_states(folder):
    """Of a model whose seed generator has drawn, and of another one that its checkpoint is in."""
    states = []
    for restores in (False, True):
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dropout(0.5, seed=7)])
        checkpoint = tf.train.Checkpoint(model=model)
        if restores:
            checkpoint.restore(str(folder / "seeds"))
        else:
            model(np.ones((2, 4)), training=True)
            checkpoint.write(str(folder / "seeds"))
        states.append(model.layers[-1].seed_generator.state.numpy().tolist())
    return states
