"""Which of a training's time the figures are of, and what took the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.analyse.from_traces.traced_compiling import TracedCompiling
from keras_perf.analyse.summary import Summary
from keras_perf.analyse.whole_training import training_ms
from keras_perf.records.figures import counted, in_ms, in_percent, in_s
from keras_perf.records.run.library import is_tuned, library_of
from keras_perf.records.run.run_facts import RunFacts
from keras_perf.records.run.times.outlier import Cause

MUCH = 0.2
"""Share of the training that Keras's own work between epochs is worth a sentence from."""


NOTICED = 0.05
"""Of new iterators that were not made alike, a smaller share is not worth one."""

SHOWN = 0.005
"""A smaller share would read 0%."""


def time_notes(run: Diagnosed) -> Iterator[str]:
    """What the means are of, what lies beside the steps, and how compiling was recognised."""
    summary, in_loop = run.summary, run.facts.settings.in_a_loop
    yield (
        f"Means over {summary.steps} steps after warm-up; profiled and trial steps, validation "
        "and epoch boundaries are left out."
    )
    if outside := summary.outside:
        share = {name: ms / training_ms(summary) for name, ms in outside.items()}
        yield from _beside_the_steps(share, in_loop=in_loop)
        if share["epoch_rest"] > MUCH and not in_loop:
            yield from _compiling_between(summary.facts)
            yield from _ends_between(summary)
        if run.situation.own_dataset and not in_loop:
            yield from _uneven_ends(summary)
    by_trace = summary.compiling
    if by_trace is not None and not by_trace.by_xla:
        yield f"TensorFlow traces a function again and again. {_as_traced(by_trace)}"
    elif summary.facts.input.shapes_differ or by_trace is not None:
        yield "XLA compiles for each new shape of a batch. " + _how_compiling_is_told(summary)


def _compiling_between(facts: RunFacts) -> Iterator[str]:
    """What much of Keras's own work between epochs is, where JAX compiled meanwhile."""
    known = facts.outside
    if known is None or known.epoch_compiling_s <= known.epoch_rest_s / 2:
        return
    once = "" if known.rest_comes_back else ", once for all epochs"
    yield (
        f"For {in_s(known.epoch_compiling_s)} of Keras's own work between epochs JAX traced "
        f"and compiled{once}: what metrics compute at an epoch's end, for example."
    )


def _ends_between(summary: Summary) -> Iterator[str]:
    """What much of it is, where tf.data's tuning was waited for."""
    known = summary.facts.outside
    if known is None or not is_tuned(summary.facts, summary.facts.input):
        return
    ends_s = (known.usual_iterator_end_s or 0.0) * (known.epoch_gaps - 1)
    if ends_s > summary.outside["epoch_rest"] * summary.facts.steps_before_gaps / 2e3:
        yield (
            f"For {in_s(ends_s)} of Keras's own work between epochs training waited for the end of "
            "an epoch's iterator, which comes when the thread that tunes tf.data's pipeline wakes."
        )


def _uneven_ends(summary: Summary) -> Iterator[str]:
    """What some epochs waited for, and others did not, where tf.data's tuning may be the reason."""
    facts, known = summary.facts, summary.facts.outside
    if known is None or known.rest_comes_back or not is_tuned(facts, facts.input):
        return
    times, waited_ms = facts.outliers.of(Cause.ITERATOR)
    # The same time holds the ends of validations' iterators, which are told by themselves.
    waited_ms -= summary.outside.get("validation_ends", 0.0) * facts.steps_before_gaps
    training = training_ms(summary) * facts.length.steps
    if waited_ms < NOTICED * training:
        return
    yield (
        f"{counted(times, 'new iterator')} took {in_s(waited_ms / 1e3)} in all, "
        f"{in_percent(waited_ms / training)} of the training, as a rule for the end of the one "
        "before: that comes when the thread that tunes tf.data's pipeline wakes, after up to as "
        "long as the iterator has lived, so that any epoch may wait or none. "
        "dataset.repeat() with steps_per_epoch makes one iterator for all; with "
        "options.autotune.enabled = False no end is waited for, but the input wait is unknown."
    )


def _beside_the_steps(share: Mapping[str, float], *, in_loop: bool) -> Iterator[str]:
    """What took time, largest first; nothing where nothing did."""
    where, work, rest = "Between epochs", "callbacks", "Keras's own work"
    if in_loop:
        where, work, rest = "Outside of its steps", "checkpoints and the like", "the rest"
    names = {
        "validation": "validation",
        "validation_tracing": "what validations take beyond the usual (tracing, compiling)",
        "validation_ends": "waiting for the ends of validation's iterators",
        "epoch_callbacks": work,
        "epoch_rest": rest,
    }
    took = sorted(((share[name], name) for name in names), reverse=True)
    told = [(names[name], in_percent(part)) for part, name in took if part >= SHOWN]
    if told:
        (first, part), *others = told
        more = "".join(f", {what} {of_it}" for what, of_it in others)
        yield f"{where} the training spends: {first} {part} of its time{more}."


def _how_compiling_is_told(summary: Summary) -> str:
    library = library_of(summary.facts)
    if library.tells_compiling:
        return f"{library.name} tells when it does."
    compiling = summary.compiling
    if compiling is not None:
        return _as_traced(compiling)
    by_length = "Shapes can differ here, so compilations are inferred from their length"
    if summary.trace:
        return f"{by_length}; traces show no steps that nearly all compile."
    return f"{by_length}, which fails if nearly every step compiles; a trace would tell."


def _as_traced(found: TracedCompiling) -> str:
    return (
        f"A trace shows that it did in {in_percent(found.share)} of the traced steps, "
        f"whose remaining time was {in_ms(found.computing_ms)} at most: compute time "
        "beyond that counts as compiling."
    )
