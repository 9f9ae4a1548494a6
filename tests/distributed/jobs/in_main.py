"""The template's own main as it ships, on its own model and data; jobs of `Nursery`."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import socket
import time

import numpy as np
import tensorflow as tf
from jobs.in_loop import kept_trainers
from jobs.plain_keras import flat
from tensorflow.python.data.experimental.ops.testing import sleep

from keras_perf import loop
from keras_perf.cluster.peers import wait_for_peers
from keras_perf.cluster.tf_config import host_and_port, read_cluster
from keras_perf.loop import template


def train(rank, folder, directory, flags, slow_s=0.0, fails=None):
    """Its exit code; where it came to its end, its step and all of its variables are written.

    Arguments:
        directory: for events and checkpoints; `{folder}` and `{rank}` in it are this worker's.
        flags: of the template.
        slow_s: how long each batch takes, so that a signal comes in the midst of training.
        fails: (rank, how) for what goes wrong there, see `failing`.
    """
    made = kept_trainers()
    plain = template.batches

    def slow(args, split, first_step=0):
        batches = plain(args, split, first_step)
        return batches.apply(sleep(int(slow_s * 1e6))) if split == "train" else batches

    template.batches = slow if slow_s else plain
    if fails and fails[0] == rank:
        failing(fails[1])
    directory = directory.format(folder=folder, rank=rank)
    directories = ["--log-dir", f"{directory}/logs", "--checkpoint-dir", f"{directory}/saved"]
    code = loop.exit_code(lambda: template.main([*flags.split(), *directories]))
    if made:
        model, optimizer = made[-1].model, made[-1].optimizer
        np.savez(
            folder / f"end_{rank}.npz",
            step=made[-1].saved.step.numpy(),
            trained=flat([*model.trainable_variables, *optimizer.variables]),
            statistics=flat(model.non_trainable_variables),
        )
    return code


def train_with_evaluations(rank, folder, flags):
    """Twice: `quick`, and `long` with half a second more in each evaluation.

    Returns:
        How long each of the waits in the evaluations really was, in milliseconds.
    """
    plain, slept_ms = loop.results_of, []

    def slow(metrics):
        begin = time.perf_counter()
        time.sleep(0.25)
        slept_ms.append(1e3 * (time.perf_counter() - begin))
        return plain(metrics)

    for name, loop.results_of in (("quick", plain), ("long", slow)):
        train(rank, folder, str(folder / name), flags)
    return slept_ms


def stop_in_python(rank, folder):
    """Stops by SIGTERM while a Python function of the input pipeline is at work, and leaves."""
    taken = []

    def wait(label):
        taken.append(label)
        if len(taken) == 45:
            os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.05)
        return label

    def waited(x, y, *weights):
        late = tf.ensure_shape(tf.numpy_function(wait, [y], y.dtype), y.shape)
        return x, late, *weights

    def batches(args, split, first_step=0):
        dataset = plain(args, split, first_step)
        return dataset.map(waited) if split == "train" else dataset

    plain, template.batches = template.batches, batches
    directories = ["--log-dir", f"{folder}/logs", "--checkpoint-dir", f"{folder}/saved"]
    line = ["--steps", "90", "--evaluate-every", "30", "--steps-per-call", "5", *directories]
    atexit.register(print, "what was registered is done")
    loop.leave(loop.exit_code(lambda: template.main(line)))


def failing(how):
    """Makes this worker fail when it is about to write its first metrics, or read its data.

    `stop early`: it is asked to stop while it makes its model.
    """

    def write(self, run, step, values):
        if how == "exception":
            raise ValueError("on purpose")
        raise SystemExit(3)

    def examples(args, split):
        def check(number):
            if number == 500:
                raise ValueError("on purpose")
            return number

        def checked(number, example):
            with tf.control_dependencies([tf.numpy_function(check, [number], tf.int64)]):
                return tf.nest.map_structure(tf.identity, example)

        return plain(args, split).enumerate().map(checked)

    def make_model():
        os.kill(os.getpid(), signal.SIGTERM)
        return make()

    plain, make = template.examples, template.make_model
    if how == "data":
        template.examples = examples
    elif how == "stop early":
        template.make_model = make_model
    else:
        loop.ChiefLog.write = write


def meet(rank, folder, kind="multi-worker", deadline_s=60, used=False):
    """What `distribute` says, and how long that took; `used`: TensorFlow has run before."""
    begin = time.monotonic()
    try:
        if used:
            tf.constant(1) + 1  # used too early
        with loop.distribute(kind, deadline_s=deadline_s):
            said = "made"
    except Exception as error:  # noqa: BLE001  the test looks at what it was
        said = f"{type(error).__name__}: {error}"
    return {"said": said, "lasted_s": time.monotonic() - begin}


def until_tensorflow_listens(address):
    """Until its server, which a strategy starts and then waits for the others, speaks there.

    What watches the peers may listen there a moment longer, and says nothing.
    """
    heard = b""
    while not heard:
        time.sleep(0.05)
        with (
            contextlib.suppress(OSError),
            socket.create_connection(host_and_port(address)) as called,
        ):
            heard = called.recv(1)


def sum_of_ranks(rank, folder, late_s=0.0, dies=None):
    """What TensorFlow's strategy sums over the workers, each of which has its rank and 1.

    Arguments:
        late_s: how much later each worker makes its strategy than the one before.
        dies: the rank of a worker that is killed before it has one, while worker 0 makes its own.
    """
    cluster = read_cluster(os.environ)
    watch = wait_for_peers(cluster, deadline_s=60)
    time.sleep(late_s * rank)
    if dies == rank:
        until_tensorflow_listens(cluster.addresses[0])
        os.kill(os.getpid(), signal.SIGKILL)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()

    @tf.function
    def ranks():
        def summed():
            context = tf.distribute.get_replica_context()
            return context.all_reduce("SUM", tf.constant(rank + 1))

        return strategy.run(summed)

    found = int(ranks())
    watch.close()
    return {"sum": found}
