"""A model whose `compile` takes what it needs and nothing else, as those of two networks have."""

import keras
import programs
import pytest

import keras_perf as kp


class Own(keras.Model):
    """Only an optimizer and a loss of its own."""

    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1)

    def call(self, x):
        return self.dense(x)

    def compile(self, own_optimizer, own_loss):
        super().compile(own_optimizer, own_loss)


class Some(Own):
    """One of the options."""

    def compile(self, own_optimizer, own_loss, jit_compile="auto"):
        super(Own, self).compile(own_optimizer, own_loss, jit_compile=jit_compile)


class Passes(Own):
    """What it does not know it passes on."""

    def compile(self, own_optimizer, **options):
        super(Own, self).compile(own_optimizer, "mse", **options)


@pytest.mark.parametrize(
    ("model", "arguments", "own"),
    [(Own, ("sgd", "mse"), True), (Some, ("sgd", "mse"), True), (Passes, ("sgd",), False)],
)
def test_whether_it_takes_what_keras_takes_is_known(model, arguments, own, tmp_path):
    network = model()
    network.compile(*arguments)
    gaps = kp.StepGapDetector(tmp_path, summary=False)
    network.fit(programs.dataset(40), verbose=0, shuffle=False, callbacks=[gaps])
    assert kp.diagnose(tmp_path).summary.facts.settings.own_compile is own


def test_what_is_set_before_fit_is_done():
    network, batches = Own(), []
    network.compile("sgd", "mse")
    network.steps_per_execution = 4
    network.jit_compile = True
    told = keras.callbacks.LambdaCallback(on_train_batch_end=lambda b, logs: batches.append(b))
    network.fit(programs.dataset(40), verbose=0, shuffle=False, callbacks=[told])
    assert len(batches) == 10
    assert network.jit_compile
