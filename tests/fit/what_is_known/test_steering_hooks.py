"""What a batch hook sets of the training is read from its code."""

import functools

import keras
import programs
import pytest

import keras_perf as kp
from keras_perf.observation.facts.hooks.steering import BY_LOGS, steered_by

RATE = keras.Variable(1.0)


def half(model):
    model.optimizer.learning_rate = 0.5


class Mine(keras.callbacks.Callback):
    """Hooks by what they do."""

    seen = 0

    def rate(self, batch, logs=None):
        self.model.optimizer.learning_rate = 0.1 / (1 + batch)

    def rate_by_a_name(self, batch, logs=None):
        optimizer = self.model.optimizer
        optimizer.learning_rate = 0.1

    def rate_assigned(self, batch, logs=None):
        self.model.optimizer.learning_rate.assign(0.1)

    def rate_of_old(self, batch, logs=None):
        keras.backend.set_value(self.model.optimizer.lr, 0.1)

    def rate_elsewhere(self, batch, logs=None):
        self.rate(batch)

    def rate_in_a_function(self, batch, logs=None):
        half(self.model)

    def rate_with_logs(self, batch, logs=None):
        self.model.optimizer.learning_rate.assign(0.1 * logs["loss"])

    def updates_logs(self, epoch, logs=None):
        logs.update({"val_f1": 1.0})

    def adds_to_logs(self, epoch, logs=None):
        logs["val_f1"] = self.model.evaluate([[1.0]])

    def adds_under_a_name_of_its_own(self, epoch, logs=None):
        logs[self.name] = 0.5

    def adds_under_a_name_put_together(self, epoch, logs=None):
        logs = logs or {}
        logs[f"val_{self.name}"] = self.model.evaluate([[1.0]])

    def adds_where_there_are_none(self, epoch, logs=None):
        if logs is None:
            logs = {}
        logs["val_f1"] = 1.0

    def adds_up(self, epoch, logs=None):
        logs["loss"] += self.model.evaluate([[1.0]])

    def adds_up_under_a_name(self, epoch, logs=None):
        logs[self.name] += 1.0

    def deletes(self, epoch, logs=None):
        del logs[str(epoch)]

    def keeps_them_under_a_key(self, epoch, logs=None):
        self.kept[str(epoch)] = logs
        self.kept[epoch] = logs["loss"]

    def adds_to_a_copy(self, epoch, logs=None):
        logs = dict(logs or {}, epoch=epoch)
        logs["lr"] = 1.0

    def adds_to_another_copy(self, epoch, logs=None):
        logs = {**logs}
        logs.update(lr=1.0)

    def adds_to_its_copy(self, epoch, logs=None):
        logs = logs.copy()
        logs["lr"] = 1.0

    def adds_after_a_copy_in_a_branch(self, epoch, logs=None):
        if epoch % 5:
            logs = dict(logs)
            logs["lr"] = 1.0
            return
        logs["val_f1"] = 1.0

    def adds_in_a_function_inside(self, epoch, logs=None):
        def put(name, value):
            logs[name] = value

        put("val_f1", 1.0)

    def adds_in_place(self, epoch, logs=None):
        logs |= {"val_f1": 1.0}

    def adds_to_what_another_gives_back(self, epoch, logs=None):
        logs = self.with_more(logs, epoch + 1)
        logs["val_f1"] = 1.0

    def adds_to_a_joined_one(self, epoch, logs=None):
        logs = logs | {"lr": 1.0}
        logs["val_f1"] = 1.0

    def decays(self, batch, logs=None):
        lr = self.model.optimizer.learning_rate
        for weight in self.model.trainable_variables:
            weight.assign(weight * (1 - 0.01 * lr))

    def momentum_too(self, batch, logs=None):
        self.model.optimizer.momentum = 0.1
        self.model.optimizer.learning_rate = 0.1

    def own_of_that_name(self, batch, logs=None):
        self.lr = float(self.model.optimizer.learning_rate)

    def by_a_function(self, batch, logs=None):
        setattr(self.model.optimizer, "learning" + "_rate", 0.1)

    def dropout(self, batch, logs=None):
        self.model.layers[0].rate = 0.1

    def layer(self, batch, logs=None):
        self.model.layers[0].trainable = False

    def weights(self, batch, logs=None):
        self.model.set_weights([])

    def variable(self, batch, logs=None):
        RATE.assign(0.5)

    def counts(self, batch, logs=None):
        self.seen += 1
        self.written = self.model.optimizer.learning_rate

    def ends(self, batch, logs=None):
        self.model.stop_training = self.seen > 3

    def prints(self, batch, logs=None):
        print(self.model.optimizer.learning_rate, logs)


@pytest.mark.parametrize(
    ("hook", "sets"),
    [
        ("rate", "learning_rate"),
        ("rate_by_a_name", "learning_rate"),
        ("rate_assigned", "learning_rate"),
        ("rate_of_old", "learning_rate"),
        ("rate_elsewhere", "learning_rate"),
        ("rate_in_a_function", "learning_rate"),
        ("rate_with_logs", BY_LOGS),
        ("decays", "weight"),
        ("momentum_too", "momentum"),
        ("own_of_that_name", None),
        ("by_a_function", "setattr"),
        ("dropout", "rate"),
        ("layer", "trainable"),
        ("weights", "model"),
        ("variable", "RATE"),
        ("counts", None),
        ("ends", None),
        ("prints", None),
        ("adds_to_logs", "logs"),
        ("updates_logs", "logs"),
        ("adds_under_a_name_of_its_own", "logs"),
        ("adds_under_a_name_put_together", "logs"),
        ("adds_where_there_are_none", "logs"),
        ("adds_up", "logs"),
        ("adds_up_under_a_name", "logs"),
        ("deletes", "logs"),
        ("keeps_them_under_a_key", None),
        ("adds_to_a_copy", None),
        ("adds_to_another_copy", None),
        ("adds_to_its_copy", None),
        ("adds_after_a_copy_in_a_branch", "logs"),
        ("adds_in_a_function_inside", "logs"),
        ("adds_in_place", "logs"),
        ("adds_to_what_another_gives_back", "logs"),
        ("adds_to_a_joined_one", None),
    ],
)
def test_what_later_steps_depend_on(hook, sets):
    assert steered_by(getattr(Mine(), hook)) == sets


@pytest.mark.parametrize("hook", [None, print, 3, functools.partial(print), [].append])
def test_of_what_has_no_code_of_the_users_nothing_is_known(hook):
    assert steered_by(hook) is None


def test_a_fit_knows_its_hooks_that_steer(tmp_path):
    class Schedule(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            self.model.optimizer.learning_rate = 0.1 / (1 + batch)

    class Old(keras.callbacks.Callback):
        def on_batch_end(self, batch, logs=None):
            self.model.optimizer.learning_rate.assign(0.1)

    class Freezes(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            self.model.layers[0].trainable = epoch > 3

    callbacks = [kp.StepGapDetector(tmp_path, summary=False), Schedule(), Old(), Mine(), Freezes()]
    data = programs.dataset(40)
    programs.model().fit(data, verbose=0, shuffle=False, callbacks=callbacks)
    assert kp.diagnose(tmp_path).summary.facts.settings.steering_hooks == {
        "Schedule.on_train_batch_begin": "learning_rate",
        "Old.on_train_batch_end": "learning_rate",
        "Freezes.on_epoch_begin": "trainable",
    }
