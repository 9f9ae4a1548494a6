"""The sentences that say why no verdict is given, or why a part was not measured."""

from __future__ import annotations

from keras_perf.advise.situation import Situation
from keras_perf.advise.step.hooks_without_a_core import may_have_waited_ms
from keras_perf.advise.told_of_trial import told_of_trial
from keras_perf.analyse.cpu_share import held_back, is_throttled, shared_by_workers, used_by_others
from keras_perf.analyse.hardware.gpu_busy import own_share
from keras_perf.analyse.summary import Summary
from keras_perf.records.figures import counted, in_ms, in_percent

SHORT_EPOCH = 4
"""An epoch of fewer executions leaves none between whose begins the wait could be read."""

ONE_THAT_STANDS_OUT = "WindowedProfiler; its on_slow_step=1.5 waits for one that stands out"
"""Where most steps vary one is taken by itself, if none came before; a single step is over by then,
and is waited for only where that is asked."""


def may_be_eager(situation: Situation) -> str:
    """Python runs the operations, and takes more of the step or less."""
    computing = in_ms(situation.model.inside_ms)
    tells = "GPUUtilizationSampler" if situation.model.on_gpu else "a trace (WindowedProfiler)"
    return (
        f"steps run eagerly, and nothing tells how much of their {computing} of computing is "
        f"Python: {tells} does. Or train with compiled steps, and compare."
    )


def who_slows(situation: Situation) -> str:
    """What may make some steps so much longer than the quickest ones."""
    if held_back(situation.summary):
        return _by_others(situation, "which may be what slows the others")
    return (
        "something unrecognised slows the others; it is unlikely to be the model. A trace of such "
        f"steps ({ONE_THAT_STANDS_OUT}) may show it."
    )


def waits_for_others(situation: Situation) -> str:
    """That the wait for batches is not what their making takes."""
    wait_ms, making_ms = situation.summary.parts.get("input_wait", 0.0), situation.able_ms
    of_others = _by_others(situation, "and threads that hand it over may have waited for a core")
    return f"a step waits {in_ms(wait_ms)} for its batch, made in {in_ms(making_ms)}: {of_others}"


def _by_others(situation: Situation, what: str) -> str:
    if is_throttled(situation.summary):
        return f"the container used up its quota of CPU time meanwhile, {what}."
    summary = situation.summary
    taken = in_percent(used_by_others(summary))
    if shared_by_workers(summary):
        used = f"the other workers on this machine used {taken} of the CPUs meanwhile"
        return f"{used}, {what}. Train again with fewer of them there."
    return f"other processes used {taken} of the CPUs meanwhile, {what}. Train again without them."


def why_no_wait(summary: Summary) -> str:
    """Why the input wait is missing."""
    if summary.facts.settings.in_a_loop and (why := _in_a_loop(summary)):
        return why
    length = summary.facts.length
    epoch_steps = length.epoch_steps or 0
    if 0 < epoch_steps < SHORT_EPOCH * summary.facts.settings.steps_per_execution:
        longer = "fewer, longer ones tell it"
        if length.ends_by_steps:
            longer = "a larger steps_per_epoch makes fewer, longer ones"
        elif summary.facts.input.input_kind == "tf.data":
            longer = "dataset.repeat() with steps_per_epoch makes fewer, longer ones"
        return f"epochs of {counted(epoch_steps, 'step')} are too short for it; {longer}"
    if not summary.facts.settings.tries_steps:
        return "whether the device waited for a batch is known only with steps_per_execution=1"
    if summary.facts.input.input_kind == "PyDataset":
        settings = summary.facts.settings
        if settings.steps_per_execution > 1 and settings.replicas == 1:
            return "batches of a PyDataset's workers are timed with steps_per_execution=1 only"
        return "with PyDataset workers, Keras turns off what measures it"
    if summary.facts.settings.replicas > 1:
        return "tf.data kept no model of what feeds the replicas, as may be where these are GPUs"
    return (
        "tf.data kept no model of this pipeline; leave options.autotune.enabled at its default, "
        "and use TensorFlow 2.18 or newer"
    )


def _in_a_loop(summary: Summary) -> str:
    """What its calls do that hides the wait; "" if nothing is known that does."""
    settings = summary.facts.settings
    if settings.fetches_outside:
        return (
            "batches are fetched outside of `with monitor.execution(...)`; inside of it, as by "
            "`train_step(*next(iterator))`, it is measured"
        )
    if settings.fetches_rarely:
        return (
            "not each call fetches a batch, and tf.data's times between two fetches are of all the "
            "calls that share one"
        )
    if summary.facts.input.input_kind == "generator":
        return (
            "nothing tells it of an iterator of Python's, and what is fetched outside of `with "
            "monitor.execution(...)` counts as the loop's own work; iter(dataset) of a "
            "tf.data.Dataset, fetched from inside of it, tells it"
        )
    if _few_calls_between(summary):
        return (
            "`monitor.outside(...)` interrupts the calls too often for it: less often, or "
            "`monitor.host(...)` for what belongs to a step, tells it"
        )
    return ""


def _few_calls_between(summary: Summary) -> bool:
    outside, settings = summary.facts.outside, summary.facts.settings
    if outside is None or not (outside.validations or outside.epoch_callbacks_s):
        # A new iterator interrupts them, too.
        return False
    calls = summary.facts.length.steps / settings.steps_per_execution
    return calls < SHORT_EPOCH * outside.epoch_gaps


def may_be_held_up(situation: Situation) -> str:
    """That what may have compiled may also have waited for a core."""
    known = situation.facts.input
    number = known.guessed_compilations or 0
    return (
        f"{number} of {situation.summary.steps} steps took as long as XLA compiles, "
        f"{in_ms(known.guessed_compile_ms)} beyond the usual; something else may have held "
        f"{'it' if number == 1 else 'them'} up. Train longer, or capture a trace of such steps "
        f"({ONE_THAT_STANDS_OUT})."
    )


def may_be_no_hook(situation: Situation) -> str:
    """That what a hook takes may be waiting for a core."""
    waited = may_have_waited_ms(situation.summary)
    owner = max(waited, key=lambda name: waited[name])
    begins = (
        f"callbacks take {in_ms(situation.summary.parts.get('callbacks'))} of each step, "
        f"{in_ms(sum(waited.values()))} of them in a few short calls, as of {owner}"
    )
    return f"{begins}: {_by_others(situation, 'and they may have waited for a core then')}"


def may_be_dispatch(summary: Summary) -> str:
    """That dispatch may be what matters, and what measures it."""
    begins = f"a step of {in_ms(summary.step_ms)}"
    busy, may_be = own_share(summary), "may be mostly call overhead"
    if busy is not None:
        may_be = (
            f"runs kernels on the GPU for {in_percent(busy)} of its time, and much of the rest "
            "may be call overhead"
        )
    settings, trial = summary.facts.settings, summary.facts.trial
    if settings.call_ms is not None:
        wait_ms = summary.parts.get("input_wait", 0.0)
        return (
            f"{begins} {may_be}: it waits {in_ms(wait_ms)} for its batch, and entering and leaving "
            f"the train function takes at most {in_ms(settings.call_ms)}; how much, cannot be "
            "measured with this backend of Keras. A larger batch_size takes fewer steps."
        )
    add = "StepsPerExecutionRecommender (perf_callbacks has it)"
    if settings.in_a_loop:
        add = "steps_per_execution=True to LoopMonitor"
    why = f". To measure it, add {add} and train again."
    if not settings.tries_steps:
        why = ", and cannot be with this backend of Keras. A larger batch_size takes fewer steps."
    elif trial is not None:
        why = f" ({told_of_trial(trial, summary).rstrip('.')})."
        if not trial.not_tried:
            why += " A longer training leaves more time to measure it."
    return (
        f"{begins} {may_be}: what it costs to enter and leave the train function was not "
        f"measured{why}"
    )
