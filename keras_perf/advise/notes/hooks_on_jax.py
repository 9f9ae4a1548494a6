"""What callbacks make training on JAX do beside their own work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keras_perf.advise.as_written import at
from keras_perf.advise.notes.diagnosed import Diagnosed, listed
from keras_perf.advise.rules.model_in_hooks import OF_A_STEP, often_read_by
from keras_perf.records.advice_ids import ASYNC_CALLBACK, MODEL_AT_EPOCH_END
from keras_perf.records.figures import in_ms, in_s
from keras_perf.records.run.settings import Settings

NOTICED = 0.05
"""Of a training's time, however many threads it is spent in."""


def hook_notes(run: Diagnosed) -> Iterator[str]:
    """A sentence or two on hooks that training waits for, and on those that read the state."""
    settings = run.facts.settings
    hooks = settings.waiting_hooks
    if hooks and ASYNC_CALLBACK not in run.advised:
        yield (
            f"For {listed(hooks)}, training waits for the result of each step before it "
            f"prepares the next one. {_late(settings)}"
        )
    for hook, spent_s in settings.late_hooks_s.items():
        training_s = run.situation.model.training_ms * run.facts.length.steps / 1e3
        if spent_s > NOTICED * training_s > 0:
            yield (
                f"{hook}{at(run.facts.hook_sources.get(hook))} took {in_s(spent_s)} in all, in "
                "threads that Keras calls it in. No step waits for it, but each epoch ends when "
                "all of its calls are over, which counts as Keras's own work between epochs."
            )
    reads = often_read_by(run.facts)
    if MODEL_AT_EPOCH_END in run.advised:
        reads = [hook for hook in reads if not hook.endswith(OF_A_STEP)]
    if reads:
        yield (
            f"{listed(reads)} read self.model while an epoch ran: each time, the whole state of "
            f"model and optimizer is handed back to its variables{_took(settings, reads)} and "
            "collected again for the next step. At an epoch's end it is there without that."
        )


def _took(settings: Settings, hooks: Sequence[str]) -> str:
    """How long a handing back took; "" in logs of before it was measured."""
    spent_s = sum(settings.state_reads_s.get(hook, 0.0) for hook in hooks)
    if not spent_s:
        return ""
    times = sum(settings.state_reads[hook] for hook in hooks)
    return f", which took {in_ms(1e3 * spent_s / times)} of the hook,"


def _late(settings: Settings) -> str:
    if set(settings.waiting_hooks) <= set(settings.late_hooks):
        return (
            "As far as their code shows they may be called later, from another thread: "
            "async_safe = True on their callbacks lets training go on. What that gains was not "
            "measured: train again and compare."
        )
    return (
        "It would go on if each of their callbacks could be called later, from another thread, and "
        "had async_safe = True, which none may have that reads or changes self.model."
    )
