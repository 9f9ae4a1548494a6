"""Advice on what the host does around the steps."""

from __future__ import annotations

import math
from typing import NamedTuple

from keras_perf.advise.as_written import LAMBDA, at, lambda_at
from keras_perf.advise.code_names import identifier
from keras_perf.advise.gains.meanwhile import done_beside_computing, not_held_up_by_hooks
from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.followed import works_less
from keras_perf.advise.rules.in_a_loop import rarer_work
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import StepModel
from keras_perf.records.advice_ids import AMORTIZE_CALLBACK
from keras_perf.records.figures import in_ms
from keras_perf.records.owners import COLLECTOR
from keras_perf.records.run.run_facts import RunFacts
from keras_perf.records.run.settings import LEARNING_RATE, LOGS
from keras_perf.records.run.source_line import SourceLine

AMORTIZED_OVER = 20
"""Callbacks are advised to do their work so many times less often, at most once an epoch."""

WORTH_AMORTIZING = 0.05
"""A callback that takes less than this share of a step, without its input, is left alone."""

ENDS = 1.5
"""A callback's later calls may take so many times as long, and still less than is advised."""

TENSORBOARDS_OWN = 0.45
"""What is left of Keras's TensorBoard, which took 0.35 ms a step writing every batch, where it
writes once an epoch."""

BEFORE_A_STEP = "on_train_batch_begin"
PROGRESS_BAR = "ProgbarLogger"

MAKES = " If training uses what it makes, as an average of weights, leave it as it is."
"""Of a hook of the user's."""

STEERS = " If it steers training, as a schedule of the learning rate does, leave it as it is."
"""Of a hook that may set what the next step uses."""

OPTIMIZERS = frozenset(
    ("SGD", "RMSprop", "Adam", "AdamW", "Adadelta", "Adagrad", "Adamax", "Adafactor", "Nadam")
) | {"Ftrl", "Lion", "Lamb", "Muon"}
"""Keras's own; one around another for a loss scale takes no learning rate."""

SETS_THE_RATE = ("LearningRateScheduler", "ReduceLROnPlateau")
"""Keras's own callbacks that do so: none can where the optimizer has a schedule."""

FREQUENCY_ARGUMENTS = {
    "BackupAndRestore": "save_freq",
    "ModelCheckpoint": "save_freq",
}
"""Keras's own callbacks that can be told how often."""

COUNTED_BY_KERAS = frozenset((PROGRESS_BAR, "TensorBoard", *FREQUENCY_ARGUMENTS))
"""Which need no code of their own to work more rarely."""


@rule(
    AMORTIZE_CALLBACK,
    on="callbacks",
    leaves="other callbacks, and what it does less often, stay",
    in_a_loop=rarer_work,
    takes_less=works_less,
)
def amortize_callback(situation: Situation) -> Recommendation | None:
    """A callback's batch hook takes a noticeable part of every step."""
    settings = situation.facts.settings
    # A schedule computes the rate as well, and nobody stops or saves by the logs of a batch.
    by_others = {LOGS} if _several_set_the_rate(situation.facts) else {LEARNING_RATE, LOGS}
    steering = {name for name, what in settings.steering_hooks.items() if what not in by_others}
    beyond_it = {COLLECTOR, *settings.once_an_epoch, *steering}
    owners = {name: ms for name, ms in situation.hooks_ms.items() if name not in beyond_it}
    for owner in sorted(owners, key=lambda name: -owners[name]):
        if owners[owner] < WORTH_AMORTIZING * situation.model.rest_ms:
            return None
        if (advice := _done_less_often(situation, owner, owners[owner])) is not None:
            return advice
    return None


def _several_set_the_rate(facts: RunFacts) -> bool:
    """So that a schedule in place of one hook would make another raise."""
    between = facts.outside.epoch_callbacks_s if facts.outside is not None else {}
    by_keras = {owner.partition(".")[0] for owner in (*facts.hooks, *between)}
    own = [*facts.settings.steering_hooks.values()].count(LEARNING_RATE)
    return own > 1 or not by_keras.isdisjoint(SETS_THE_RATE)


def _done_less_often(situation: Situation, owner: str, spent: float) -> Recommendation | None:
    """None where it is done about once an epoch as it is."""
    model = situation.model
    callbacks_ms = model.rest.get("callbacks", 0.0)
    settings = situation.facts.settings
    steps_at_once = settings.steps_per_execution
    calls, steps = situation.facts.hooks.get(owner), situation.facts.length
    present = steps_at_once
    if calls is not None:
        # A loop may do it once in many calls, and tells of these only.
        of = min(situation.summary.steps, steps.steps) if settings.in_a_loop else 0
        present = calls.every * max(steps_at_once, round(of / calls.times))
    longest = steps.epoch_steps or steps.steps // 2 or AMORTIZED_OVER * present
    every = min(_often_enough(model, spent) * present, longest)
    if not callbacks_ms or every < 2 * present:
        return None
    rarer = _rarer(situation, owner, every, present)
    left_of_it = present / every if rarer.left is None else rarer.left
    share = min(1.0, spent / callbacks_ms)
    source = situation.facts.hook_sources.get(owner)

    def change(model: StepModel, optimism: float) -> StepModel:
        gone = share * (1 - (1 - optimism) * left_of_it)
        gone_ms = gone * model.rest.get("callbacks", 0.0)
        awake = model.awake(gone_ms, optimism, every=present)
        alone = not_held_up_by_hooks(situation, awake, gone_ms, optimism)
        beside = done_beside_computing(situation, alone, gone_ms, optimism)
        return beside.with_rest({"callbacks": 1 - gone})

    return predicted(
        model,
        change,
        title=rarer.title,
        reason=(
            f"{owner}{at(source)} takes {in_ms(spent)} of every step of "
            f"{in_ms(situation.summary.step_ms)}; {rarer.then} {in_ms(spent * left_of_it)}."
            f"{rarer.besides}"
        ),
        action=rarer.action,
        evidence={"owner": owner, "callback_ms": spent, "present": present, "advised": every}
        | {"each_ms": spent * (1 if settings.in_a_loop else steps_at_once), **rarer.counted},
    )


class _Rarer(NamedTuple):
    """In place of a hook's work in every batch.

    Attributes:
        then: the beginning of what it takes afterwards.
        left: of its time; None for as much as there are fewer calls.
        besides: what else is to be said.
        calls: in one of so many it works then; None where its code counts none.
    """

    title: str
    then: str
    action: str
    left: float | None = None
    besides: str = ""
    calls: int | None = None

    @property
    def counted(self) -> dict[str, int]:
        """As evidence has it."""
        return {} if self.calls is None else {"calls": self.calls}


def _rarer(situation: Situation, owner: str, steps: int, present: int) -> _Rarer:
    """What to do for it to work every so many steps in place of every `present` ones, or never."""
    name, _, hook = owner.partition(".")
    settings, source = situation.facts.settings, situation.facts.hook_sources.get(owner)
    # Hooks are called once per execution, with the index of its last batch.
    at_once = settings.steps_per_execution
    calls = max(1, steps // at_once)
    action = _with_fewer_calls(name, hook, steps, calls, source)
    if name == "TensorBoard":
        # It calls its summary writer for every batch, whatever `update_freq` is.
        title, then = "Let TensorBoard write once an epoch", "done once an epoch, it takes"
        return _Rarer(title, then, action, TENSORBOARDS_OWN)
    if settings.steering_hooks.get(owner) == LEARNING_RATE:
        title = f"Let the optimizer compute the learning rate, not {name}.{hook}"
        then = "computed within the train function, the rate takes less than"
        return _Rarer(title, then, _with_a_schedule(name, hook, settings.optimizer))
    title, then = f"Do the work of {name}.{hook} every {steps} steps", f"done every {steps} steps"
    by_keras = name in COUNTED_BY_KERAS
    besides = "" if by_keras else MAKES
    if hook == BEFORE_A_STEP:
        besides = STEERS
    if not by_keras:
        action += _own_interval(present // at_once)
    counted = None if by_keras or settings.in_a_loop else calls
    return _Rarer(title, f"{then}, it takes", action, besides=besides, calls=counted)


def _with_a_schedule(name: str, hook: str, optimizer: str | None) -> str:
    """Code with which the train function computes the learning rate of a step."""
    kind = f"keras.optimizers.{optimizer}" if optimizer in OPTIMIZERS else "YourOptimizer"
    return (
        "class Schedule(keras.optimizers.schedules.LearningRateSchedule):\n"
        "    def __call__(self, step):\n"
        f"        ...  # what {name}.{hook} sets, of the tensor `step`, with keras.ops\n\n"
        "    def get_config(self):\n"
        "        return {}\n\n"
        f"optimizer = {kind}(learning_rate=Schedule())  # with its other arguments, to compile\n"
        "# and without that hook"
    )


def _often_enough(model: StepModel, spent: float) -> int:
    """So many times less often: twenty, or in tens what leaves too little to be advised again."""
    beside_ms = WORTH_AMORTIZING * max(1e-9, model.rest_ms - spent)
    return max(AMORTIZED_OVER, 10 * math.ceil(ENDS * spent / beside_ms / 10))


def _own_interval(calls: int) -> str:
    """A line, where the hook itself works in one of so many calls: both would seldom meet."""
    if calls < 2:
        return ""
    return f"\n# and without the hook's own condition, by which it works in one of {calls} calls"


def _with_fewer_calls(
    name: str, hook: str, steps: int, calls: int, source: SourceLine | None
) -> str:
    """Code with which a callback works every so many steps, which are so many calls."""
    method = identifier(hook, "on_train_batch_end")
    if name == PROGRESS_BAR:
        return "model.fit(..., verbose=2)  # a line per epoch in place of the progress bar"
    if name == "TensorBoard":
        return 'keras.callbacks.TensorBoard(..., update_freq="epoch")  # Keras\'s default'
    if name in FREQUENCY_ARGUMENTS:
        return f"keras.callbacks.{name}(..., {FREQUENCY_ARGUMENTS[name]}={steps})"
    if name == "LambdaCallback":
        unnamed = lambda_at(source)
        function = identifier(source.name if source else "", "your_function")
        return (
            f"{unnamed}import itertools\n\ncalls = itertools.count(1)\n"
            f"keras.callbacks.LambdaCallback({method}=lambda batch, logs: "
            f"next(calls) % {calls} or {LAMBDA if unnamed else function}(batch, logs))"
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
