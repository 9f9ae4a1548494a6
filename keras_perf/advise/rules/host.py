"""Advice on what the host does around the steps."""

from __future__ import annotations

from keras_perf.advise.as_written import at
from keras_perf.advise.code_names import identifier
from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.followed import collects_rarely
from keras_perf.advise.rules.in_a_loop import rarer_work
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step_model import StepModel
from keras_perf.analyse.summary import Summary
from keras_perf.records.figures import in_ms
from keras_perf.records.owners import COLLECTOR
from keras_perf.records.run.source_line import SourceLine

AMORTIZED_OVER = 20
"""Callbacks are advised to do their work so many times less often, at most once an epoch."""

WORTH_AMORTIZING = 0.05
"""A callback that takes less than this share of a step, without its input, is left alone."""

TENSORBOARDS_OWN = 0.45
"""What is left of Keras's TensorBoard, which took 0.35 ms a step writing every batch, where it
writes once an epoch."""

FREQUENCY_ARGUMENTS = {
    "BackupAndRestore": "save_freq",
    "ModelCheckpoint": "save_freq",
}
"""Keras's own callbacks that can be told how often."""


@rule("amortize-callback", in_a_loop=rarer_work)
def amortize_callback(situation: Situation) -> Recommendation | None:
    """A callback's batch hook takes a noticeable part of every step."""
    owners = {name: ms for name, ms in situation.summary.owners.items() if name != COLLECTOR}
    for owner in sorted(owners, key=lambda name: -owners[name]):
        if owners[owner] < WORTH_AMORTIZING * situation.model.rest_ms:
            return None
        if (advice := _done_less_often(situation, owner, owners[owner])) is not None:
            return advice
    return None


def _done_less_often(situation: Situation, owner: str, spent: float) -> Recommendation | None:
    """None where it is done about once an epoch as it is."""
    model, (name, _, hook) = situation.model, owner.partition(".")
    callbacks_ms = model.rest.get("callbacks", 0.0)
    steps_at_once = situation.facts.settings.steps_per_execution
    calls, steps = situation.facts.hooks.get(owner), situation.facts.length
    present = steps_at_once * (round(calls.period) if calls is not None else 1)
    longest = steps.epoch_steps or steps.steps // 2 or AMORTIZED_OVER * present
    every = min(AMORTIZED_OVER * present, longest)
    if not callbacks_ms or every < 2 * present:
        return None
    left_of_it, often = present / every, f"every {every} steps"
    title = f"Do the work of {name}.{hook} {often}"
    if name == "TensorBoard":
        # It calls its summary writer for every batch, whatever `update_freq` is.
        left_of_it, often = TENSORBOARDS_OWN, "once an epoch"
        title = "Let TensorBoard write once an epoch"
    share = min(1.0, spent / callbacks_ms)
    source = situation.facts.hook_sources.get(owner)

    def change(model: StepModel, optimism: float) -> StepModel:
        left = (1 - optimism) * left_of_it
        gone = share * (1 - left)
        awake = model.awake(gone * model.rest.get("callbacks", 0.0), optimism)
        return awake.with_rest({"callbacks": 1 - gone})

    return predicted(
        model,
        change,
        title=title,
        reason=(
            f"{owner}{at(source)} takes {in_ms(spent)} of every step of "
            f"{in_ms(situation.summary.step_ms)}; {often} it leaves {in_ms(spent * left_of_it)}."
        ),
        # Hooks are called once per execution, with the index of its last batch.
        action=_with_fewer_calls(name, hook, every, max(1, every // steps_at_once), source),
        evidence={"owner": owner, "callback_ms": spent, "present": present, "advised": every},
    )


def _with_fewer_calls(
    name: str, hook: str, steps: int, calls: int, source: SourceLine | None
) -> str:
    """Code with which a callback works every so many steps, which are so many calls."""
    method = identifier(hook, "on_train_batch_end")
    if name == "ProgbarLogger":
        return "model.fit(..., verbose=2)  # a line per epoch in place of the progress bar"
    if name == "TensorBoard":
        return 'keras.callbacks.TensorBoard(..., update_freq="epoch")  # Keras\'s default'
    if name in FREQUENCY_ARGUMENTS:
        return f"keras.callbacks.{name}(..., {FREQUENCY_ARGUMENTS[name]}={steps})"
    if name == "LambdaCallback":
        function = identifier(source.name if source else "", "your_function")
        return (
            f"calls = itertools.count(1)\n"
            f"keras.callbacks.LambdaCallback({method}=lambda batch, logs: "
            f"next(calls) % {calls} or {function}(batch, logs))"
        )
    return (
        f"class {identifier(name, 'YourCallback')}(keras.callbacks.Callback):\n"
        "    calls = 0\n\n"
        f"    def {method}(self, batch, logs=None):\n"
        "        self.calls += 1\n"
        f"        if self.calls % {calls}:\n"
        "            return\n"
        "        ...  # as before"
    )


AFTER_SEARCHES = 0.2
"""A callback that makes 10,000 to 30,000 lists a step does so in 0.6 to 0.9 of its time once the
collector, which took nine tenths of the step, no longer searches them."""


ADVISED_THRESHOLD = 100_000
"""New objects that the collector is advised to wait for."""

SEVERAL = 3
"""So many long pauses are a habit."""


def _few_pauses(summary: Summary) -> bool:
    """Most of the collector's time lies in a pause or two, which tells nothing of the next ones."""
    totals = summary.facts.outliers.event_totals
    long = [total for total in totals if total.cause == "garbage-collection"]
    count = sum(total.count for total in long)
    long_ms = sum(total.total_ms for total in long)
    return 0 < count < SEVERAL and long_ms > 0.5 * summary.garbage_ms * summary.steps


@rule("tune-gc", followed=collects_rarely)
def tune_gc(situation: Situation) -> Recommendation | None:
    """Python's garbage collector interrupts training."""
    spent, rest_ms = situation.summary.garbage_ms, situation.model.rest_ms
    if not spent or not rest_ms or _few_pauses(situation.summary):
        return None
    threshold = situation.facts.settings.collector_threshold
    if threshold is not None and threshold >= ADVISED_THRESHOLD:
        return None
    share = min(1.0, spent / rest_ms)

    def change(model: StepModel, optimism: float) -> StepModel:
        # Searches of all objects come 7000 times more rarely; those of new objects only find the
        # same number of them at a time, which is little work, but not known apart.
        left = 0.01 * (1 - optimism) if optimism >= 0 else 0.01 + 0.09 * -optimism
        # Wherever in the rest the pauses lie, they shrink with it.
        gone = share * (1 - left)
        awake = model.awake(gone * model.rest_ms, optimism)
        # Searching all objects empties the caches of whoever makes them.
        faster = 1 - AFTER_SEARCHES * gone * (1 + optimism / 2)
        host = dict.fromkeys(("callbacks", "other_host"), faster)
        return awake.with_rest(dict.fromkeys(model.rest, 1 - gone)).with_rest(host)

    return predicted(
        situation.model,
        change,
        title="Let Python's garbage collector run less often",
        reason=(
            f"Its pauses take {in_ms(spent)} of every step of {in_ms(situation.summary.step_ms)}: "
            "it searches all living objects again and again."
        ),
        action=(
            "import gc\n"
            "gc.collect()\n"
            "gc.freeze()  # before fit: what lives now is not searched again\n"
            "gc.set_threshold(100_000, 50, 100)  # Python's own: 700, 10, 10"
        ),
        evidence={"garbage_collection_ms": spent},
    )
