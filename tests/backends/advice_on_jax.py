"""Advice tried on Keras's JAX backend; prints as JSON what was found: for a Python of its own.

Arguments: a folder for runs.
"""

import json
import os
import signal
import sys
import time

import keras
import tensorflow as tf
from trials_on_jax import ROWS, all_ways, arrays, dataset, left_by, model, trained

import keras_perf as kp
from keras_perf.trials.backends.jax_training import shares_executions
from keras_perf.trials.measuring import side_by_side
from keras_perf.trials.training import budget, running

for module in (side_by_side, running):
    module.SLICE_S = 0.01
running.SETTLING_S, budget.PAIR_S = 0.05, (0.02, 0.05)

BUDGET_S = 120.0
WAIT_S = 0.02
LATE = 5
"""In which execution of a training something happens: the ones before it were trained."""

AS_IT_IS, OF_A_CHANGE = 1, 3
"""The second training that runs finds its batch ready."""

EXECUTION = running.RunningTraining._execution


def tried(made, data=None, **how):
    return kp.try_advice(made, data or dataset(), **{"budget_s": BUDGET_S} | how)


def told(found):
    return {
        "measured": sorted({each.id for each in found.trials.measured}),
        "codes": {each.id: each.code for each in found.trials.measured},
        "left": {each.id: each.why for each in found.trials.not_tried},
        "pair": [found.trials.step_ms, found.trials.ready_ms, found.trials.batch_ms],
        "stopped": found.trials.stopped,
        "text": str(found),
    }


def waiting():
    def wait(x):
        time.sleep(WAIT_S)
        return x

    def slow(x, y):
        return tf.ensure_shape(tf.numpy_function(wait, [x], x.dtype), x.shape), y

    return dataset().map(slow)


def in_a_step(number, does):
    """Happens once the training of this number has trained for some steps."""
    trainings, executions = [], []

    def execution(self, *arguments):
        if self not in trainings:
            trainings.append(self)
        if self in trainings[number - 1 : number]:
            executions.append(self)
            if len(executions) == LATE:
                does()
        return EXECUTION(self, *arguments)

    running.RunningTraining._execution = execution


def press():
    os.kill(os.getpid(), signal.SIGINT)


def fail():
    raise RuntimeError("of a change")


def disturbed(number, does):
    """What is left of two trainings with a trial between them, in which something happens."""
    without, _ = trained(model)
    found, errors = [], []

    def trial(made):
        in_a_step(number, does)
        try:
            found.append(told(tried(made)))
        except RuntimeError as error:
            errors.append(str(error))
        finally:
            running.RunningTraining._execution = EXECUTION

    after, _ = trained(model, trial)
    return {"same": without == after, "found": found, "errors": errors}


class Reads(keras.callbacks.Callback):
    """Keras hands the model's weights back for it, within an epoch."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def on_train_batch_begin(self, batch, logs=None):
        self.seen.add(self.model.get_weights()[0].tobytes())


class Threaded(keras.callbacks.Callback):
    async_safe = True
    calls = 0

    def on_train_batch_end(self, batch, logs=None):
        self.calls += 1


class Sleeps(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.01)


def called():
    """Callbacks on trial."""
    reads, threaded = Reads(), Threaded()
    found = tried(model(), callbacks=[reads, threaded])
    return {"seen": len(reads.seen), "calls": threaded.calls, **told(found)}


def in_fit(folder):
    """At the end of a `fit`, with and without; another `fit` follows."""

    def weights(callbacks):
        made = model()
        made.fit(dataset(), epochs=3, verbose=0, callbacks=[Sleeps(), *callbacks])
        made.fit(*arrays(), batch_size=ROWS, verbose=0)
        return left_by(made)

    ours = {"profiler": False, "gpu": False, "summary": False}
    callbacks = kp.perf_callbacks(folder, try_advice={"budget_s": BUDGET_S}, **ours)
    same = weights(callbacks) == weights([])
    found = kp.diagnose(folder)
    trials = found.summary.facts.advice_trials
    return {
        "same": same,
        "measured": sorted({each.id for each in trials.measured}),
        "where": sorted({each.where for each in trials.measured}),
        "notes": list(found.notes),
        "owners": sorted(found.summary.facts.settings.state_reads),
    }


def refused():
    ragged = tf.data.Dataset.from_tensors((tf.ragged.constant([[1.0], [2.0, 3.0]]), [1.0, 2.0]))
    return [refusal(model(), data) for data in (arrays(), ragged)]


def refusal(made, data):
    """What is said, or "" where it is tried."""
    try:
        tried(made, data)
    except (TypeError, ValueError) as error:
        return str(error)
    return ""


def main(folder):
    slow = told(tried(model(), waiting()))
    eager = told(tried(model(run_eagerly=True)))
    plain = told(tried(model(jit_compile=False), environment_s=1.0))
    several = refusal(model(steps_per_execution=4), dataset()) if shares_executions() else ""
    counts = []

    def counted(made):
        counts.append(0)
        counts[-1] = len(tried(made).trials.measured)

    ways = all_ways(counted, but="four at once" if several else "")
    print(
        json.dumps(
            {
                "slow": slow,
                "eager": eager,
                "plain": plain,
                "ways": ways,
                "measured of each way": dict(zip(ways, counts, strict=True)),
                "pressed": disturbed(OF_A_CHANGE, press),
                "pressed at once": disturbed(AS_IT_IS, press),
                "failed": disturbed(OF_A_CHANGE, fail),
                "failed as it is": disturbed(AS_IT_IS, fail),
                "called": called(),
                "in fit": in_fit(folder),
                "refused": refused(),
                "four at once": several,
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1])
