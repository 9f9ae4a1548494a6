"""What start-up took, where that is much of a training, and what makes it shorter."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.analyse.start_up_shares import StartUpTime, start_up_time
from keras_perf.records.advice_ids import STABLE_SHAPES
from keras_perf.records.figures import in_ms, in_percent, in_s
from keras_perf.records.run.input.pipeline import Chain
from keras_perf.records.run.library import JAX, TENSORFLOW, library_of
from keras_perf.records.run.run_facts import RunFacts

MUCH = 0.1
"""Share of the training that a part of its start-up is worth a sentence from."""

LONG_S = 5.0
"""Nobody minds less."""

KEPT_COMPILED = {
    TENSORFLOW: (
        "TF_XLA_FLAGS=--tf_xla_persistent_cache_directory=DIR",
        '; a line "Error parsing text-format" then is harmless',
    ),
    JAX: ("JAX_COMPILATION_CACHE_DIR=DIR", ""),
}
"""By which variable, and what else there is to know of that."""

FOR_MORE_SHAPES = ("warmup_compiling", "later_compiling")
"""Parts in which shapes after the first are traced and compiled for."""


def start_up_notes(run: Diagnosed) -> Iterator[str]:
    """The whole, and a sentence for each part that is long."""
    spent = start_up_time(run.summary)
    if spent is None or spent.total_s < LONG_S or spent.total_s < MUCH * spent.training_s:
        return
    facts = run.facts
    yield (
        f"Start-up took {in_s(spent.total_s)}, {in_percent(spent.total_s / spent.training_s)} of "
        "this training: the start-up table shows on what, until steps were steady."
    )
    if _is_long(spent, "before_first_step"):
        hooks = "the hooks on_train_begin and on_epoch_begin, and "
        if facts.settings.in_a_loop:
            hooks = "all that the loop does from `with LoopMonitor(...)` on, as "
        yield (
            f"Before the first step lie {hooks}what makes the iterator: files listed, arrays "
            "copied."
        )
    if _is_long(spent, "tracing"):
        once = (
            "for each compile(): more epochs in one fit add nothing to it, a model that is "
            "compiled again for another fit does."
        )
        if facts.settings.in_a_loop:
            once = "for each tf.function: more steps add nothing to it, another function does."
        yield (
            f"Tracing the train function took {in_s(spent.parts['tracing'])}. "
            f"{library_of(facts).name} does it once {once}"
        )
    if _is_long(spent, "first_computing") and facts.settings.jit_compile:
        yield _compiling(spent, facts)
    if _is_long(spent, "first_batch"):
        yield from _first_batch(spent, facts)
    yield from _later_input(spent)
    if _is_long(spent, *FOR_MORE_SHAPES) and STABLE_SHAPES not in run.advised:
        yield (
            f"Tracing and compiling for more shapes took {in_s(spent.seconds(*FOR_MORE_SHAPES))} "
            "of the first steps: fewer shapes of batches (drop_remainder=True, padding to few "
            "lengths) mean fewer compilations."
        )


def _is_long(spent: StartUpTime, *parts: str) -> bool:
    seconds = spent.seconds(*parts)
    return seconds >= max(LONG_S, MUCH * spent.training_s)


def _compiling(spent: StartUpTime, facts: RunFacts) -> str:
    seconds, steps = spent.parts["first_computing"], facts.length.steps
    to_save = "XLA must save as much"
    if steps:
        to_save = f"over these {steps:,} steps XLA must save {in_ms(1e3 * seconds / steps)} in each"
    library, without = library_of(facts), ""
    if library.graphs_without_xla:
        without = f"jit_compile=False compiles nothing: {to_save} to be worth that. "
    kept, beside = KEPT_COMPILED[library]
    return (
        f"XLA compiled, and the first step computed, in {in_s(seconds)}. {without}{kept}, set "
        f"before {library.name} is imported, keeps what was compiled for the next run of the same "
        f"program, which still traces{beside}."
    )


def _first_batch(spent: StartUpTime, facts: RunFacts) -> Iterator[str]:
    begins = "options.experimental_warm_start = True begins with it while TensorFlow traces"
    by_tf_function = library_of(facts).by_tf_function
    early = f" tf.data.Options: {begins}." if by_tf_function else ""
    if (spent.fill_s or 0.0) >= LONG_S:
        chain = next(c for c in facts.input.chains if any(s.kind == "shuffle" for s in c))
        place = next(n for n, stage in enumerate(chain) if stage.kind == "shuffle")
        held = f"shuffle({chain[place].buffer or ''})"
        before = "" if not _maps_before(chain, place) else ", or put it before the map"
        yield (
            f"Before the first batch {held} fills its buffer, for about {in_s(spent.fill_s)}: a "
            f"smaller one fills faster and mixes less{before}.{early}"
        )
    elif facts.input.input_kind == "tf.data" and by_tf_function:
        yield (
            f"Training waits {in_s(spent.parts['first_batch'])} for the first batch and for the "
            "graphs of input and step to be prepared; which of them takes it is not told apart. If "
            f"next(iter(dataset)) takes as long: {begins}."
        )


def _maps_before(chain: Chain, place: int) -> bool:
    return place > 0 and chain[place - 1].kind == "map"


def _later_input(spent: StartUpTime) -> Iterator[str]:
    if _is_long(spent, "later_cache"):
        yield (
            f"Filling the cache() in the first pass takes {in_s(spent.parts['later_cache'])} more "
            "than reading it: cache(filename) keeps it for later runs too, until its files are "
            "deleted."
        )
    if _is_long(spent, "later_input"):
        yield (
            f"The first steps waited {in_s(spent.parts['later_input'])} longer for input than "
            "later ones: buffers that fill, files that the system does not hold in memory yet, "
            "tf.data's autotune; which of them was not told apart."
        )
