"""A batch hook that may be called late, on JAX: what is advised and what that gains, as JSON.

Arguments: a folder for the run.
"""

import json
import statistics
import sys
import time

import keras
import numpy as np

import keras_perf as kp

BATCH, STEPS, TURNS = 128, 40, 5


class Looks(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        self.loss = logs["loss"]


class Touches(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        self.loss, self.seen = logs["loss"], self.model


class Reads(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        self.weights = self.model.get_weights()


class Sleeps(keras.callbacks.Callback):
    async_safe = True

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.05)


class Stops(keras.callbacks.Callback):
    """Reads the model where something is wrong, which it never is."""

    def on_train_batch_end(self, batch, logs=None):
        if not np.isfinite(logs["loss"]):
            self.stop()

    def stop(self):
        self.model.stop_training = True


class Predicts(keras.callbacks.Callback):
    """Between epochs, where it costs no step anything."""

    def on_epoch_end(self, epoch, logs=None):
        for _ in range(40):
            self.model.predict(np.ones((1, 256), "float32"), verbose=0)


class Epochs(keras.callbacks.Callback):
    """Seconds of each epoch but the first."""

    def __init__(self):
        super().__init__()
        self.seconds = []

    def on_epoch_begin(self, epoch, logs=None):
        self.begin = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        if epoch:
            self.seconds.append(time.perf_counter() - self.begin)


class Batches(keras.utils.PyDataset):
    """Sleeps for each of them."""

    def __init__(self, seconds):
        super().__init__()
        random = np.random.default_rng(0)
        self.x = random.normal(size=(BATCH, 256)).astype("float32")
        self.seconds = seconds

    def __len__(self):
        return STEPS

    def __getitem__(self, number):
        time.sleep(self.seconds)
        return self.x, self.x[:, :1]


def model(width=384):
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(1)
    dense = [keras.layers.Dense(width, activation="relu") for _ in range(4)]
    made = keras.Sequential([keras.Input((256,)), *dense, keras.layers.Dense(1)])
    made.compile("adam", "mse")
    return made


def deep():
    """Of many variables, and quick steps."""
    keras.utils.clear_session(free_memory=False)
    layers = [keras.layers.Dense(16) for _ in range(30)]
    made = keras.Sequential([keras.Input((256,)), *layers, keras.layers.Dense(1)])
    made.compile("adam", "mse")
    return made


def gain(made, seconds, before, after, watched=tuple):
    """How many times as fast an epoch is, of one beside the other in turns.

    `watched` gives other callbacks of both: of a quick step ours are a part.
    """

    def took_s(hook):
        return epoch_s(made, seconds, hook, *watched())

    took_s(before)
    turns = [(took_s(before), took_s(after)) for _ in range(TURNS)]
    return statistics.median(slow / quick for slow, quick in turns)


def epoch_s(made, seconds, *hooks):
    watch = Epochs()
    made.fit(Batches(seconds), epochs=3, verbose=0, shuffle=False, callbacks=[watch, *hooks])
    return statistics.median(watch.seconds)


def ours(name="watched"):
    return kp.perf_callbacks(f"{sys.argv[1]}/{name}", profiler=False, gpu=False, summary=False)


def advised(made, name, seconds, *hooks, as_list=True, epochs=2):
    folder = f"{sys.argv[1]}/{name}"
    given = [*hooks, *ours(name)]
    # Of what is no list Keras does not ask whether it may be called late: it is.
    callbacks = given if as_list else {"all": given}
    made.fit(Batches(seconds), epochs=epochs, verbose=0, shuffle=False, callbacks=callbacks)
    found = kp.diagnose(folder)
    advice = {
        each.id: [each.low, each.predicted_speedup, each.high, each.action]
        for each in found.recommendations
    }
    parts = {**found.breakdown, **found.summary.outside}
    return {"advice": advice, "text": str(found), "parts": parts}


def main():
    made = model()
    step_s = epoch_s(made, 0.0, Looks()) / STEPS
    late = Looks()
    late.async_safe = True
    many = deep()
    saves = keras.callbacks.ModelCheckpoint(f"{sys.argv[1]}/saved.keras")
    found = {
        "gain": gain(made, step_s, Looks(), late),
        "gain without": gain(many, 0.0, Touches(), Looks(), ours),
        "touches": advised(many, "touches", 0.0, Touches(), epochs=4),
        "waits": advised(made, "waits", step_s, Looks(), epochs=4),
        "late": advised(made, "late", step_s, late),
        "no list": advised(made, "no_list", step_s, Looks(), as_list=False),
        "predicts": advised(model(width=8), "predicts", 0.0, Looks(), Predicts()),
        "reads": advised(made, "reads", step_s, Looks(), Reads()),
        "stops": advised(made, "stops", step_s, Stops()),
        "keras's own": advised(made, "own", step_s, keras.callbacks.TerminateOnNaN()),
        "sleeps": advised(model(width=8), "sleeps", 0.0, Sleeps()),
        "saves": advised(made, "saves", step_s, saves),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
