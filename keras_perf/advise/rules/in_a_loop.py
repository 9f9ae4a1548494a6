"""The same advice for a custom loop, where nobody calls Keras's `fit` and `compile`."""

from __future__ import annotations

from dataclasses import replace

from keras_perf.advise.code_names import quoted
from keras_perf.advise.recommendation import Recommendation
from keras_perf.analyse.summary import Summary
from keras_perf.records.figures import in_ms, in_percent
from keras_perf.records.run.settings import Settings
from keras_perf.records.run.times.outside_steps import OutsideSteps


def in_template(summary: Summary, options: str, *, elsewhere: str) -> str:
    """The command for the loop that `keras-perf template train.py` writes, and another loop's code.

    Nothing that is recorded tells which of the two trained. Directories of its own let the
    template train anew: in those of the run it goes on, from the last step, with the same options.

    Arguments:
        summary: of the run.
        options: what is given to the template.
        elsewhere: what does the same in another loop.
    """
    workers = summary.facts.settings.workers
    start, where = "python", ""
    if workers > 1:
        start, where = f"keras-perf launch --workers {workers}", "; on a cluster by its launcher"
    own = options.removeprefix("--").replace(" --", "-").replace(" ", "-")
    return (
        f"# train.py of keras-perf template, with your other options{where}\n"
        f"{start} train.py {options} \\\n"
        f"    --log-dir logs/{own} --checkpoint-dir checkpoints/{own}\n"
        f"# another loop\n{elsewhere}"
    )


def steps_per_call(advice: Recommendation, summary: Summary) -> Recommendation:
    """More steps for each call of the train function."""
    steps = advice.evidence["advised"]
    elsewhere = f"monitor.execution(iterator, {steps}, left=...)"
    action = in_template(summary, f"--steps-per-call {steps}", elsewhere=elsewhere)
    return replace(advice, title=f"Run {steps} steps per call", action=action)


def rarer_work(advice: Recommendation, summary: Summary) -> Recommendation | None:
    """The loop's own work less often.

    None where it would be done so rarely that a training as long as this one has no place for it.
    """
    owner, every = advice.evidence["owner"], advice.evidence["advised"]
    lines = f"    with monitor.outside({quoted(owner)}):\n        ..."
    title = f"Do the work of {owner} {_rarer(advice)} times less often"
    if advice.of == "step":
        lines = f"    with monitor.host({quoted(owner)}):\n        ..."
        title = f"Do the work of {owner} every {every} steps"
        reason = f"{advice.reason} If training uses what it does, leave it as it is."
        action = f"if step % {every} < call.steps:\n{lines}"
        return replace(advice, title=title, reason=reason, action=action)
    known = summary.facts.hooks.get(owner)
    times = known.times if known is not None else _outside(summary).epoch_gaps
    steps = _steps_between(summary, times) * every
    if steps > summary.facts.length.steps:
        return None
    return replace(advice, title=title, action=f"if step % {steps} < call.steps:\n{lines}")


def rarer_evaluation(advice: Recommendation, summary: Summary) -> Recommendation:
    """Evaluating less often, or on a part of the data."""
    spent, share = advice.evidence["validation_ms"], advice.evidence["share"]
    present = _steps_between(summary, _outside(summary).validations)
    every = _rarer(advice) * present
    title, action = "Evaluate on a part of the data", "test_dataset = test_dataset.take(...)"
    if every <= summary.facts.length.steps:
        title = f"Evaluate every {every} steps, or on a part of the data"
        elsewhere = (
            f'if step % {every} < call.steps:\n    with monitor.outside("evaluation"):\n        ...'
        )
        action = in_template(summary, f"--evaluate-every {every}", elsewhere=elsewhere)
    return replace(
        advice,
        title=title,
        reason=(
            f"Evaluation takes {in_ms(spent)} for every step of {in_ms(summary.step_ms)}, "
            f"{in_percent(share)} of the training."
        ),
        action=action,
        evidence={**advice.evidence, "present": present, "advised": every},
    )


def _rarer(advice: Recommendation) -> int:
    return int(advice.evidence["advised"] // max(1, advice.evidence["present"]))


def _steps_between(summary: Summary, times: int) -> int:
    """Steps between two of so many times in the training."""
    return max(1, round(summary.facts.length.steps / max(1, times)))


def _outside(summary: Summary) -> OutsideSteps:
    """What such advice rests on."""
    assert summary.facts.outside is not None
    return summary.facts.outside


def one_iterator(advice: Recommendation, summary: Summary) -> Recommendation:
    """A dataset that is repeated has one iterator for all epochs."""
    if advice.evidence["moved"]:
        return advice
    action = (
        f"dataset = dataset.shuffle({advice.evidence['buffer']}).repeat()  # right behind it; then "
        "map, batch, … as before\n"
        "iterator = iter(dataset)  # one for all epochs; a pass ends after as many steps as before"
    )
    return replace(advice, action=action)


def with_jit_compile(advice: Recommendation, summary: Summary) -> Recommendation:
    """XLA for each step."""
    elsewhere = "step = tf.function(step, jit_compile=True)"
    if summary.facts.settings.replicas > 1:
        elsewhere = (
            "gradients_of = tf.function(gradients_of, jit_compile=True)  # without the exchange, "
            "which XLA does not compile"
        )
    return replace(advice, action=in_template(summary, "--jit-compile", elsewhere=elsewhere))


def with_policy(advice: Recommendation, summary: Summary) -> Recommendation:
    """Another policy."""
    policy = advice.evidence["advised_policy"]
    elsewhere = f'keras.config.set_dtype_policy("{policy}")  # before the model is made'
    elsewhere += scaled_loss(policy, summary.facts.settings)
    return replace(advice, action=in_template(summary, f"--policy {policy}", elsewhere=elsewhere))


def scaled_loss(policy: str, settings: Settings) -> str:
    """Code that the steps need where they are not Keras's own; its optimizer only divides."""
    if policy != "mixed_float16" or not (settings.own_train_step or settings.in_a_loop):
        return ""
    return (
        "\n# and in the train step, for in float16 small gradients vanish; not where\n"
        "# super().train_step trains, which does it:\n"
        "# optimizer = keras.optimizers.LossScaleOptimizer(optimizer), which compile makes of its\n"
        "loss = optimizer.scale_loss(loss)  # before gradients are taken"
    )


def not_eagerly(advice: Recommendation, summary: Summary) -> Recommendation:
    """Functions are compiled again; a step that is in none is put into one."""
    if not summary.facts.settings.eager_functions:
        return advice
    return replace(advice, action="tf.config.run_functions_eagerly(False)")


def own_workers(advice: Recommendation, summary: Summary) -> Recommendation:
    """Batches from processes of the loop's own, or from threads where one waits for them."""
    queue, worker, when = "queue.Queue", "threading.Thread", ""
    if advice.evidence["in_processes"]:
        queue, worker = "multiprocessing.Queue", "multiprocessing.Process"
        when = "  # before TensorFlow is used"
    return replace(
        advice,
        action=(
            f"batches = {queue}(8)\n"
            f"for part in range({advice.evidence['advised']}):{when}\n"
            "    arguments = {'target': your_function, 'args': (part, batches), 'daemon': True}\n"
            "    # it puts its part of the batches, in each pass again\n"
            f"    {worker}(**arguments).start()\n"
            "dataset = tf.data.Dataset.from_generator(\n"
            "    lambda: (batches.get() for _ in range(count)), output_signature=...)"
        ),
    )
