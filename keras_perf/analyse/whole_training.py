"""The whole training: one definition, for what is predicted of it and for what is compared."""

from __future__ import annotations

from keras_perf.analyse.filled_cache import filled_cache
from keras_perf.analyse.start_up_shares import start_up_ms
from keras_perf.analyse.summary import Summary

ONCE = "validation_tracing"
"""What lies between epochs once, however many there are."""


def training_ms(summary: Summary, steps: float | None = None) -> float:
    """A step, in milliseconds, with its share of all that a training takes.

    Each step takes what the measured ones take, also those of trials and captures, and has its
    share of validations and of what else lies between epochs. Once, however long the training is,
    come the start-up, tracing of validation, what a first pass takes longer that fills a cache
    and, where XLA compiles for shapes, its compiling.

    Arguments:
        summary: of the training; what is not known of it, as the start-up of older logs, is 0.
        steps: of a training of another length, to compare it with one of that length.

    What it cannot see: what `fit` does before `on_train_begin`, and hooks `on_train_end`.
    """
    length = summary.facts.length.steps
    if not length:
        return summary.step_ms
    outside = summary.outside
    once_ms = (start_up_ms(summary) or 0.0) + outside.get(ONCE, 0.0)
    each_ms = summary.whole_ms - outside.get(ONCE, 0.0)
    if compiles_once(summary):
        compile_ms = summary.parts.get("compile", 0.0)
        once_ms += compile_ms * measured_share(summary)
        each_ms -= compile_ms
    if (filled := filled_cache(summary)) is not None:
        each_ms -= 1e3 * filled.longer_s / summary.steps
        once_ms += 1e3 * filled.longer_s / length
    return each_ms + once_ms * length / (steps or length)


def compiles_once(summary: Summary) -> bool:
    """Each shape of a batch compiles when it first comes, and no more."""
    known, settings = summary.facts.input, summary.facts.settings
    differ = known.shapes_differ or known.rows_differ
    return bool(differ and settings.jit_compile and not settings.function_replacements)


def measured_share(summary: Summary) -> float:
    """Steps that means are of, of all that the training had (0 to 1)."""
    return min(1.0, summary.steps / max(1, summary.facts.length.steps))
