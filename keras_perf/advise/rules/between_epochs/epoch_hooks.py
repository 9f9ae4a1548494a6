"""Advice on callbacks that work between epochs. Its speed-ups are of the whole training."""

from __future__ import annotations

from keras_perf.advise.as_written import at
from keras_perf.advise.code_names import identifier
from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.between_epochs.epochs import RARER, WORTH
from keras_perf.advise.rules.between_epochs.longer_epochs import fewer_epochs
from keras_perf.advise.rules.host import SETS_THE_RATE, amortize_callback
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import StepModel
from keras_perf.records.figures import in_ms, in_percent

BEST_ONLY = " With save_best_only=True the best epoch may be one that is then passed over."

FEEDS = " If training uses what it makes, as examples that it collects, leave it as it is."
"""Of a hook of the user's."""

KERAS_OWN = ("BackupAndRestore", "ModelCheckpoint", "TensorBoard", "CSVLogger")
"""Callbacks of Keras's that work between epochs; a subclass can let some epochs pass."""

HISTOGRAMS = (
    "keras.callbacks.TensorBoard(..., histogram_freq={})  # or 0, for none\n"
    "# curves keep all their points: histograms are what takes long in it"
)

EVERY_EPOCH = ("EarlyStopping", "SwapEMAWeights", *SETS_THE_RATE)
"""Callbacks of Keras's that count epochs, or undo after each what they do before it."""


@amortize_callback.also
def amortize_epoch_callback(situation: Situation) -> Recommendation | None:
    """A callback's epoch hook takes a noticeable part of training."""
    recorded, model = situation.facts.outside, situation.model
    all_s = recorded.epoch_callbacks_s if recorded is not None else {}
    steering = situation.facts.settings.steering_hooks
    owners = {
        name: spent
        for name, spent in all_s.items()
        if name not in steering and name.partition(".")[0] not in EVERY_EPOCH
    }
    if recorded is None or not sum(owners.values()) or not model.outside:
        return None
    owner = max(owners, key=lambda name: owners[name])
    share = owners[owner] / sum(all_s.values())
    spent, (name, _, hook) = share * model.outside["epoch_callbacks"], owner.partition(".")
    calls = situation.facts.hooks.get(owner)
    present = round(calls.period) if calls is not None else 1
    histograms = name == "TensorBoard" and 0 < situation.facts.settings.histogram_freq <= present
    advised = RARER * present
    epochs = fewer_epochs(situation) or situation.facts.length.epochs_in_all or advised
    if advised > epochs or spent < WORTH * model.whole_ms:
        return None

    def change(model: StepModel, optimism: float) -> StepModel:
        left = 1 / RARER * (1 - 0.2 * optimism)
        return model.with_outside({"epoch_callbacks": 1 - share * (1 - left)})

    return predicted(
        model,
        change,
        title=f"{_work(name, hook, histograms)} every {advised} epochs",
        reason=(
            f"{owner}{at(situation.facts.hook_sources.get(owner))} takes {in_ms(spent)} for every "
            f"step of {in_ms(model.step_ms)}, {in_percent(spent / model.training_ms)} of the "
            f"training.{_besides(name, histograms)}"
        ),
        action=_code(name, hook, advised, present, histograms),
        evidence={"owner": owner, "callback_ms": spent, "present": present, "advised": advised}
        | {"each_ms": 1e3 * owners[owner] / max(1, recorded.epoch_gaps)},
        of="whole",
    )


def _work(callback: str, hook: str, histograms: bool) -> str:
    """What is to be done more rarely."""
    return "Write TensorBoard's histograms" if histograms else f"Do the work of {callback}.{hook}"


def _besides(callback: str, histograms: bool) -> str:
    """What is to be thought of before it works more rarely."""
    if callback == "ModelCheckpoint":
        return BEST_ONLY
    if callback == "TensorBoard" and not histograms:
        return " Its curves then lack the other epochs."
    return "" if callback in KERAS_OWN else FEEDS


def _code(callback: str, hook: str, epochs: int, present: int, histograms: bool) -> str:
    """Of a callback that works every so many epochs, and now in one of `present`."""
    if histograms:
        return HISTOGRAMS.format(epochs)
    method = identifier(hook, "on_epoch_end")
    if callback in KERAS_OWN:
        return (
            f"class Rarer{callback}(keras.callbacks.{callback}):\n"
            f"    def {method}(self, epoch, logs=None):\n"
            f"        if (epoch + 1) % {epochs} == 0 or epoch + 1 == self.params['epochs']:\n"
            f"            super().{method}(epoch, logs)"
        )
    own = f", without its own condition for one of {present} epochs" if present > 1 else ""
    return (
        f"class {identifier(callback, 'YourCallback')}(keras.callbacks.Callback):\n"
        f"    def {method}(self, epoch, logs=None):\n"
        f"        if (epoch + 1) % {epochs}:\n"
        "            return\n"
        f"        ...  # as before{own}"
    )
