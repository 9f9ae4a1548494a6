"""A training loop to copy and own: one device, several, or several workers.

    python train.py                                       # one device; all of several GPUs
    python train.py --strategy one-device                 # one device, however many there are
    keras-perf launch --workers 2 train.py                # two workers on this machine
    python train.py                                       # where a launcher has set TF_CONFIG

A step is the same arithmetic on all of them. It stops at SIGTERM with all saved (exit code 42),
goes on where it stopped, and shows in TensorBoard and with `keras-perf report logs/train` where
each step's time goes. Places to change are marked with EDIT.
"""

import argparse
from importlib.resources import files

import keras
import numpy as np
import tensorflow as tf

from keras_perf import loop


# ---- Configuration -------------------------------------------------------------------------
def arguments(argv=None):
    """The settings; EDIT: your own."""
    parser = argparse.ArgumentParser(description="Trains a classifier of handwritten digits.")
    count = loop.positive
    parser.add_argument("--strategy", choices=loop.KINDS, default="auto", help=loop.KINDS_HELP)
    parser.add_argument("--log-dir", default="logs/train")
    parser.add_argument("--checkpoint-dir", default="checkpoints/train")
    parser.add_argument("--steps", type=count, default=400, help="optimizer steps in all")
    parser.add_argument("--batch-size", type=count, default=32, help="of all replicas together")
    parser.add_argument("--steps-per-call", type=count, default=10)
    parser.add_argument("--evaluate-every", type=count, default=200, help="steps; saves too")
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--exact", action="store_true", help="train on the ragged last batch too")
    parser.add_argument("--accumulate", type=count, default=1, help="parts of a batch, in turn")
    parser.add_argument("--policy", default="float32", help="or mixed_bfloat16, mixed_float16")
    parser.add_argument("--loss-scale", type=float, help="to begin with, and never to grow")
    parser.add_argument("--reduce-dtype", choices=("float16", "bfloat16"))
    parser.add_argument("--jit-compile", action="store_true", help="XLA for each step")
    parser.add_argument("--compiled", action="store_true", help="XLA for whole calls; one replica")
    return parser.parse_args(argv)


# ---- Data ----------------------------------------------------------------------------------
def examples(args, split):
    """Unbatched (image, label); EDIT: your data, training shuffled with the seed."""
    with (files("keras_perf") / "cli" / "data" / "digits.npz").open("rb") as stream:
        digits = np.load(stream)
        images, labels = digits["images"][..., None], digits["labels"].astype("int32")
    if split == "test":
        return tf.data.Dataset.from_tensor_slices((images[1440:], labels[1440:]))
    dataset = tf.data.Dataset.from_tensor_slices((images[:1440], labels[:1440]))
    return dataset.shuffle(1440, seed=args.seed)


def preprocess(images, labels, *weights):
    """A whole batch at once; EDIT: yours. Weights, with --exact, stay as they are."""
    return tf.cast(images, tf.float32) / 16.0, labels, *weights


def batches(args, split, first_step=0):
    """Endless, of one shape; from the batch of `first_step` on."""
    exact = args.exact or split == "test"
    dataset = loop.batched(examples(args, split), args.batch_size, exact=exact)
    dataset = dataset.repeat().skip(first_step)  # before the costly part, so that it is cheap
    dataset = dataset.map(preprocess, num_parallel_calls=tf.data.AUTOTUNE)
    if args.compiled and split == "train":
        dataset = dataset.batch(args.steps_per_call, drop_remainder=True)
    return dataset.prefetch(tf.data.AUTOTUNE)


# ---- Model ---------------------------------------------------------------------------------
def make_model():
    """EDIT: your model, built: with an Input. It gives logits, in float32 whatever the policy."""
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Conv2D(16, 3, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.Flatten(),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dropout(0.2),
            keras.layers.Dense(10, dtype="float32"),
        ]
    )


def make_optimizer(args):
    """EDIT: your optimizer; clipping (`global_clipnorm`) is of the summed gradients."""
    optimizer = keras.optimizers.Adam(args.learning_rate, global_clipnorm=1.0)
    return loop.scaled(optimizer, args.policy, args.reduce_dtype, scale=args.loss_scale)


# ---- Steps ---------------------------------------------------------------------------------
class Trainer:
    """Model, optimizer and metrics, and the functions that work on them."""

    def __init__(self, args, distribution):
        if args.compiled and distribution.replicas > 1:
            raise ValueError("--compiled is for one replica: XLA does not compile collectives.")
        self.full, self.parts = args.batch_size, distribution.replicas * args.accumulate
        if self.full % self.parts:
            raise ValueError(f"--batch-size must be a multiple of {self.parts}, got {self.full}.")
        self.args, self.strategy = args, distribution.strategy
        with self.strategy.scope():
            self.model, self.optimizer = make_model(), make_optimizer(args)
            self.metrics = {
                "loss": keras.metrics.Mean(),
                "accuracy": keras.metrics.SparseCategoricalAccuracy(),
            }
        # The sum is divided by the size of the full batch; Keras would divide by the replicas.
        self.loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")
        self.variables = [v.value for v in self.model.trainable_variables]
        self.update = loop.GradientUpdate(
            distribution, self.optimizer, self.model, exact=args.exact, dtype=args.reduce_dtype
        )
        same = {n: vars(args)[n] for n in ("batch_size", "seed", "exact", "learning_rate")}
        self.saved = loop.Checkpoints(  # a restart with other ones is refused
            args.checkpoint_dir, distribution, self.model, self.optimizer, same=same
        )
        self.gradients_of, self.step = self.gradients, self.train_step
        if args.jit_compile and distribution.replicas == 1:
            self.step = tf.function(self.train_step, jit_compile=True)
        elif args.jit_compile:  # XLA does not compile the exchange between replicas
            self.gradients_of = tf.function(self.gradients, jit_compile=True)
        self.compiled = tf.function(self.compiled_steps, jit_compile=True)
        self.train = tf.function(self.stacked_steps if args.compiled else self.train_steps)
        self.test = tf.function(self.test_steps)

    def gradients(self, x, y, weights=None):
        """Of the part of the loss that these examples have; and their share of the batch."""
        share = 1 / self.parts
        if weights is not None:
            share = tf.reduce_sum(weights) / self.full
        with tf.GradientTape() as tape:
            logits = self.model(x, training=True)
            losses = self.loss(y, logits, weights)
            loss = data_loss = tf.reduce_sum(losses) / self.full
            added = [tf.reduce_sum(tf.cast(each, loss.dtype)) for each in self.model.losses]
            loss += share * sum(added)  # regularization: each replica has its share of it
            scaled = self.optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, self.variables, unconnected_gradients="zero")
        self.metrics["loss"].update_state(tf.math.divide_no_nan(data_loss, share), share)
        self.metrics["accuracy"].update_state(y, logits, weights)
        return gradients, share

    def train_step(self, stop, *batch):
        """One optimizer step of one replica; EDIT: with care, what happens in it."""
        gradients, share = loop.accumulate(self.gradients_of, batch, self.args.accumulate)
        return self.update(gradients, share, stop)

    def train_steps(self, steps, stop):
        """So many optimizer steps of all replicas."""
        self.update.begin()
        stopping = stop
        for _ in loop.counted(steps):
            asked = self.strategy.run(self.step, (stop, *next(self.iterator)))
            stopping = self.strategy.experimental_local_results(asked)[0]
            self.saved.step.assign_add(1)
        return stopping, self.saved.step.read_value()

    def stacked_steps(self, steps, stop):
        """The same for batches that are stacked, in one program of XLA."""
        batches = next(self.iterator)
        self.compiled(*batches)
        return stop, self.saved.step.assign_add(tf.shape(batches[1], tf.int64)[0])

    def compiled_steps(self, *batches):
        for step in tf.range(self.args.steps_per_call):
            self.train_step(0.0, *loop.part_of(batches, step))

    def run(self, steps, stop):
        """Runs the steps: (above 0 if any worker asks for a stop, step)."""
        steps = loop.as_count(steps, usual=self.args.steps_per_call)
        return self.train(steps, tf.constant(float(stop)))

    def test_step(self, x, y, weights):
        logits = self.model(x, training=False)
        self.metrics["loss"].update_state(self.loss(y, logits), weights)
        self.metrics["accuracy"].update_state(y, logits, weights)

    def test_steps(self):
        for _ in tf.range(self.test_batches):
            self.strategy.run(self.test_step, next(self.test_iterator))


# ---- Loop ----------------------------------------------------------------------------------
def train(args, distribution):
    """Trains until the last step, or until a stop is asked for; says which."""
    trainer = Trainer(args, distribution)
    step = trainer.saved.restore()
    if step >= args.steps:
        print(f"Nothing is left to do: {step} of {args.steps} steps are done.")
        return False
    ends = step, args.steps, args.evaluate_every
    if args.compiled and any(end % args.steps_per_call for end in ends):
        raise ValueError(f"--compiled needs whole --steps-per-call, got calls that end at {ends}.")
    # EDIT: sharding="file" for loop.own_files(distribution, files), in batches of a worker's part.
    trainer.iterator = loop.iterate(distribution, batches(args, "train", step), args.batch_size)
    trainer.test_iterator = loop.iterate(distribution, batches(args, "test"), args.batch_size)
    trainer.test_batches = loop.count_batches(examples(args, "test"), args.batch_size)
    log = loop.ChiefLog(args.log_dir, distribution)
    with loop.LoopMonitor(
        args.log_dir,
        model=trainer.model,
        strategy=trainer.strategy,
        steps=args.steps,
        first_step=step,
        exchange=trainer.update.exchange,
        function=trainer.train,
        examples_per_step=args.batch_size,
        fetches_per_step=1 / args.steps_per_call if args.compiled else 1,
        jit_compile=args.compiled or args.jit_compile,
        steps_per_execution=not args.compiled,
    ) as monitor:
        stopping = False
        while step < args.steps and not stopping:
            left = min(args.evaluate_every - step % args.evaluate_every, args.steps - step)
            steps = min(args.steps_per_call, left)
            with monitor.execution(trainer.iterator, steps, left=left) as call:
                asked, done = call.returned(trainer.run(call.steps, distribution.stop.asked))
                stopping, step = asked.numpy() > 0, step + call.steps
            if step != done.numpy():
                raise RuntimeError(f"{done.numpy()} steps were done, not {step}.")
            due = step % args.evaluate_every == 0 or step == args.steps
            if due or stopping:
                with monitor.outside("checkpoint"):
                    trainer.saved.save()
            if due:
                with monitor.outside("evaluation"):
                    log.write("train", step, loop.results_of(trainer.metrics))
                    trainer.test()
                    log.write("validation", step, loop.results_of(trainer.metrics))
    return stopping and step < args.steps


def main(argv=None):
    args = arguments(argv)
    with loop.distribute(args.strategy) as distribution:
        keras.utils.set_random_seed(args.seed)
        keras.config.set_dtype_policy(args.policy)
        stopped = train(args, distribution)
    return loop.EXIT_SAVED if stopped else 0


if __name__ == "__main__":
    loop.leave(loop.exit_code(main))
