"""What a worker of the tests does with the template: each function is a job of `Nursery`."""

from __future__ import annotations

import time

import keras
import numpy as np
import tensorflow as tf
from jobs.cases import CASES, HALVED, STEPS, Case, growing, optimizers
from jobs.plain_keras import flat

from keras_perf import loop
from keras_perf.loop import template


def distribution(kind):
    """Made as the template makes it; `mirrored` has two logical CPUs."""
    if kind == "mirrored":
        cpu = tf.config.list_physical_devices("CPU")[0]
        two = [tf.config.LogicalDeviceConfiguration()] * 2
        tf.config.set_logical_device_configuration(cpu, two)
    return loop.distribute(kind, deadline_s=60)


def settings(folder, case, flags=""):
    """Of the template, whose model, optimizer and data become the case's."""

    def examples(args, split):
        images, labels = case.arrays()
        return tf.data.Dataset.from_tensor_slices((images, labels))

    template.make_model, template.make_optimizer = case.model, lambda args: case.optimizer()
    template.examples = examples
    line = f"--batch-size {case.batch_size} --steps {STEPS} --evaluate-every {STEPS}"
    directories = ["--log-dir", str(folder / "logs"), "--checkpoint-dir", str(folder / "saved")]
    return template.arguments([*f"{line} {case.flags} {flags}".split(), *directories])


def kept_trainers():
    """A list that every trainer of the template will be in."""
    made = []

    class Kept(template.Trainer):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            made.append(self)

    template.Trainer = Kept
    return made


def kept_log():
    """A list of all (run, values) that any worker hands to its log."""
    written = []
    write = loop.ChiefLog.write

    def keep(self, run, step, values):
        written.append((run, dict(values)))
        write(self, run, step, values)

    loop.ChiefLog.write = keep
    return written


# ---- Equality ------------------------------------------------------------------------------


def train_cases(rank, folder, kind, names):
    """The weights, the optimizer's state and the logged metrics of each case."""
    found, logged = {}, {}
    made, written = kept_trainers(), kept_log()
    with distribution(kind) as where:
        for number, name in enumerate(names):
            own = folder / str(number)
            template.train(settings(own, (CASES | HALVED)[name]), where)
            found[name] = flat(made[-1].model.weights)
            found[f"{name}, optimizer"] = flat(made[-1].optimizer.variables)
            logged[name], written[:] = list(written), []
    np.savez(folder / f"trained_{rank}.npz", **found)
    return logged


# ---- What is looked at in one group of workers ---------------------------------------------


def looks(rank, folder, kind, names):
    """Does what is named, one after the other, under one strategy: name → what it found."""
    with distribution(kind) as where:
        return {name: globals()[name](where, folder / name) for name in names}


def started(where, args):
    """A trainer of the template, ready for the next step."""
    trainer = template.Trainer(args, where)
    step = trainer.saved.restore()
    data = template.batches(args, "train", step)
    trainer.iterator = loop.iterate(where, data, args.batch_size)
    return trainer


def go_on(trainer, steps):
    """Some steps more."""
    trainer.train(tf.constant(steps), tf.constant(0.0))


def by_replica(where, variables):
    """The values of each replica here, as a list."""
    local = where.strategy.experimental_local_results
    copies = zip(*(local(v.value) for v in variables), strict=True)
    return [np.concatenate([np.ravel(c) for c in copy]).tolist() for copy in copies]


class Poisoned(template.Trainer):
    """Puts an infinity into the gradients of one replica, where `replica` names one."""

    def __init__(self, args, where):
        self.replica = tf.Variable(-1, trainable=False)
        super().__init__(args, where)

    def gradients(self, *batch):
        gradients, share = super().gradients(*batch)
        own = tf.distribute.get_replica_context().replica_id_in_sync_group
        added = tf.where(tf.equal(own, self.replica), np.inf, 0.0)
        return [gradients[0] + tf.cast(added, gradients[0].dtype), *gradients[1:]], share


def an_infinity_in_each_replica_in_turn(where, folder):
    """For each replica: weights and scale before and after its infinity, and a step later."""
    case = Case(lambda: growing(optimizers.Adam(1e-2, global_clipnorm=0.5)), penalty=1e-3)
    template.Trainer, whole = Poisoned, template.Trainer
    trainer = started(where, settings(folder, case))
    template.Trainer = whole
    found = []

    def look():
        weights = by_replica(where, trainer.model.trainable_variables)
        return {"weights": weights, "scale": float(trainer.optimizer.dynamic_scale.numpy())}

    for replica in range(where.replicas):
        go_on(trainer, 1)
        seen = [look()]
        for poisoned in (replica, -1):
            trainer.replica.assign(poisoned)
            go_on(trainer, 1)
            seen.append(look())
        found.append(seen)
    return found


def dropout_masks(where, folder):
    """Of each replica here: after a save, and again in a training that goes on from it."""
    case = Case(lambda: optimizers.Adam(1e-2), dropout=0.5)
    args = settings(folder, case)
    found = []
    for seed in (1, 2):
        keras.utils.set_random_seed(seed)
        trainer = started(where, args)
        if not found:
            go_on(trainer, 5)
            trainer.saved.save()
        dropout = trainer.model.layers[-2]

        @tf.function
        def masks(dropout=dropout):
            def mask():
                return dropout(tf.ones([96]), training=True)

            return where.strategy.experimental_local_results(where.strategy.run(mask))

        found.append([[m.numpy().tolist() for m in masks()] for _ in range(3)])
    return found


def moving_statistics(where, folder):
    """Of each replica here: before a save, after it, and in a training that goes on from it."""
    args = settings(folder, Case(lambda: optimizers.SGD(0.1), normalized="own"))
    trainer = started(where, args)

    def look():
        return by_replica(where, trainer.model.non_trainable_variables[:2])

    go_on(trainer, 5)
    before = look()
    trainer.saved.save()
    after = look()
    trainer = started(where, args)
    return {"before": before, "after": after, "resumed": look()}


def one_example_left(where, folder):
    """Whether all is finite after batches of which one replica alone had an example."""
    case = Case(
        lambda: optimizers.Adam(1e-2),
        "--exact --steps-per-call 5",
        examples=577,
        normalized="own",
        penalty=1e-3,
    )
    made = kept_trainers()
    template.train(settings(folder, case), where)
    return [np.isfinite(copy).all().item() for copy in by_replica(where, made[-1].model.weights)]


SAVES_S = 2.0


def a_chief_that_saves(where, folder):
    """Four calls of five steps; before two of them the chief alone does something else."""
    trainer, slept_s = started(where, settings(folder, Case(optimizers.SGD))), 0.0
    for call in range(4):
        if where.rank == 0 and call in (1, 3):
            trainer.update.exchange.pause()
            time.sleep(SAVES_S)
            slept_s += SAVES_S
        go_on(trainer, 5)
    return {**trainer.update.exchange.totals()._asdict(), "slept_s": slept_s}


def collectives(where, folder):
    """Flags → how often each collective is in the graph of the train function."""
    found = {}
    case = Case(lambda: optimizers.Adam(1e-2, global_clipnorm=1.0), normalized="own", dropout=0.3)
    for flags in ("", "--exact", "--accumulate 4", "--reduce-dtype bfloat16", "--jit-compile"):
        trainer = started(where, settings(folder / flags, case, flags))
        traced = trainer.train.get_concrete_function(tf.constant(5), tf.constant(0.0))
        graph = traced.graph.as_graph_def()
        nodes = [*graph.node, *(n for f in graph.library.function for n in f.node_def)]
        ops = [n.op for n in nodes if n.op.startswith("Collective")]
        found[flags] = {op: ops.count(op) for op in ops}
    return found


def files_of_its_own(where, folder):
    """Trained variables after 12 steps on files, in one go and in two: equal bits?"""
    made, ends = kept_trainers(), []
    files = [str(number) for number in range(2 * where.workers)]
    case = Case(lambda: optimizers.Adam(1e-2), "--steps-per-call 4", dropout=0.3)
    whole, batches, iterate = case.arrays(), template.batches, loop.iterate
    taken, begun_at = [], []

    def own(args, split, first_step=0):
        if split == "test":
            return batches(args, split)
        begun_at.append(first_step)
        rows = np.concatenate([np.arange(int(f), 640, len(files)) for f in mine])
        dataset = tf.data.Dataset.from_tensor_slices((whole[0][rows], whole[1][rows]))
        dataset = dataset.shuffle(len(rows), seed=args.seed)
        dataset = loop.batched(dataset, args.batch_size // where.workers).repeat().skip(first_step)
        return dataset.map(template.preprocess)

    def shared(distribution, dataset, batch_size):
        train = not taken or len(taken) % 2 == 0
        taken.append(dataset)
        return iterate(distribution, dataset, batch_size, sharding="file" if train else "data")

    mine = loop.own_files(where, files)
    template.batches, loop.iterate = own, shared
    for name, ends_at in (("one go", (12,)), ("two", (4, 12))):
        for steps in ends_at:
            keras.utils.set_random_seed(1)
            args = settings(folder / name, case, f"--steps {steps} --evaluate-every 4")
            template.train(args, where)
        ends.append(flat([*made[-1].model.trainable_variables, *made[-1].optimizer.variables]))
    template.batches, loop.iterate = batches, iterate
    equal = bool((ends[0] == ends[1]).all())
    return {"equal": equal, "end": ends[0].tolist(), "begun_at": begun_at}


def frozen_weights(rank, folder):
    """With three replicas: frozen weights after many averages, and moving statistics."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    three = [tf.config.LogicalDeviceConfiguration()] * 3
    tf.config.set_logical_device_configuration(cpu, three)
    with loop.distribute("mirrored") as where:
        with where.strategy.scope():
            frozen = keras.layers.Dense(64)
            layers = [keras.Input((8,)), frozen, keras.layers.BatchNormalization()]
            model = keras.Sequential(layers)
            frozen.trainable = False
        before = by_replica(where, frozen.variables)
        statistics = loop.MovingStatistics(model, where)
        moving = model.layers[-1].moving_mean
        for number, copy in enumerate(where.strategy.experimental_local_results(moving.value)):
            copy.assign(tf.fill([64], float(number)))
        for _ in range(20):
            statistics.average()
        means = by_replica(where, [moving])
        return {"before": before, "after": by_replica(where, frozen.variables), "means": means}


def disagreement(where, folder):
    """What a worker is told whose step is not that of the others."""
    try:
        where.agreed(30 if where.is_chief else 0, "step in their newest checkpoint")
    except RuntimeError as error:
        return str(error)
    return None


def other_settings(where, folder):
    """What a worker is told that was not started like the others."""
    case = Case(lambda: optimizers.SGD(0.1))
    try:
        started(where, settings(folder, case, f"--seed {where.rank}"))
    except RuntimeError as error:
        return str(error)
    return None


def other_types(where, folder):
    """As the template ships: flags → whether all is finite, and what was logged."""
    made, written = kept_trainers(), kept_log()
    found = {}
    for number, flags in enumerate(("mixed_bfloat16", "mixed_float16")):
        own = folder / str(number)
        line = f"--steps 20 --evaluate-every 20 --policy {flags}"
        directories = ["--log-dir", str(own / "logs"), "--checkpoint-dir", str(own / "saved")]
        args = template.arguments([*line.split(), *directories])
        keras.config.set_dtype_policy(args.policy)
        template.train(args, where)
        keras.config.set_dtype_policy("float32")
        finite = bool(np.isfinite(flat(made[-1].model.variables)).all())
        found[flags] = {"finite": finite, "logged": list(written)}
        written[:] = []
    return found
