"""The input pipeline of a training: as it was written, and as tf.data runs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from keras_perf.records.run.input.loader import Loader
from keras_perf.records.run.source_line import SourceLine
from keras_perf.records.shapes import (
    count,
    each,
    fact,
    flag,
    named,
    needed,
    number,
    record,
    text,
)

RECORD_READERS = ("TFRecord", "TextLine", "FixedLengthRecord")
"""Stages that read the records of files."""


GENERATOR = "flat_map_fn"
"""The function of TensorFlow's own that `from_generator` flattens with; nobody has written it."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One node of the optimised pipeline.

    A batch is what a step takes of the last node, which may be several of its elements, or a part
    of one. `elements_per_batch` is how many of this node's elements make one,
    `cost_ms` the processing time of the node itself per batch, over all its threads, on average of
    all batches, and `works_for` (0 to 1) the share of them for which it works, below 1 before a
    cache that was filled. `ratio` is how
    many elements of the node before make one of this one, `inputs` how many nodes of those before
    it in the list feed it (the last ones that feed no other); None in records of older versions,
    in which each is fed by the one before.
    """

    name: str = needed(text)
    cost_ms: float = needed(number(most=1e12))
    parallelism: int = needed(count(-1, 1e6))
    bytes_per_batch: float = needed(number())
    elements_per_batch: float = fact(number(), 1.0)
    ratio: float = fact(number(), 1.0)
    buffer_size: int = fact(count(-1), 0)
    buffered: int = fact(count(), 0)
    inputs: int | None = fact(count())
    works_for: float = fact(number(0.0, 1.0), 1.0)

    @property
    def runs_in_pool(self) -> bool:
        """It calls a function, in threads of TensorFlow's pool or of the dataset's own."""
        return runs_in_pool(self.name)

    def threads(self, pool: int) -> int:
        """How many of its calls run at a time, with so many threads in that pool."""
        wanted = max(1, self.parallelism)
        return min(wanted, pool) if self.runs_in_pool else wanted


def runs_in_pool(name: str) -> bool:
    """A stage of this name calls a function in threads of a pool."""
    return "Map" in name and not name.startswith("FlatMap")


@dataclass(frozen=True, slots=True)
class WrittenStage:
    """One stage of a dataset as the user wrote it.

    `kind` is `shuffle`, `batch`, `map`, …; `function` the name of the user's function; of it is
    known whether it is `stateful`, `random` (also in Python), `reads_files`, runs `python` and
    works on `one_at_a_time`, as decoding does. `elements` is how many the stage is given, `buffer`
    how many a shuffle holds; None if unknown. `source` is where the function stands, `made_by` the
    function of Keras's that has made the stage, such as `keras.utils.text_dataset_from_directory`.
    With `draws_alike` several draws in it get the same numbers, as for an image and its mask;
    `variables` are `written` in it, `read` or, with "", neither.
    """

    kind: str = needed(text)
    function: str = needed(text)
    parallel: bool = needed(flag)
    stateful: bool = needed(flag)
    random: bool = needed(flag)
    reads_files: bool = needed(flag)
    python: bool = fact(flag, default=False)
    one_at_a_time: bool = fact(flag, default=False)
    elements: int | None = fact(count())
    source: SourceLine | None = fact(record(SourceLine))
    buffer: int | None = fact(count())
    made_by: str = fact(text, "")
    draws_alike: bool = fact(flag, default=False)
    variables: str = fact(text, "")

    @property
    def differs(self) -> bool:
        """What it makes of an element is another thing in each pass."""
        return self.random or self.variables == "written"

    @property
    def is_reader(self) -> bool:
        """It reads files and calls no function."""
        return self.kind in READER_KINDS


READER_KINDS = ("t_f_record", "text_line", "fixed_length_record", "csv", "load")
"""`TFRecordDataset` and its like, as `WrittenStage.kind`."""

OF_A_PART = ("take", "skip", "shard")
"""Stages behind which there are some of the elements: which, their order tells."""

BY_PLACE = (*OF_A_PART, "zip", "window", "scan")
"""Stages that work with where an element stands: of another order training and validation would
share examples, or images have other images' labels."""

Chain = tuple[WrittenStage, ...]
"""From a source to where it ends, or meets others."""


@dataclass(frozen=True, slots=True)
class WrittenPipeline:
    """What a dataset is made of.

    `chains` begin with the dataset's end; where several datasets come together (zip) each begins
    a chain of its own. `deterministic`: the options do not give up the order of elements.
    `threadpool_size`: threads of a pool of its own; 0 where it has none. `prefetch_added`: tf.data
    adds a prefetch at the end where there is none; `autotuned`: a thread tunes it as it runs.
    `file_systems` are those of the files that it reads: `gs://` and the like, or the type of the
    mount (`ext4`, `nfs4`).
    """

    chains: tuple[Chain, ...] = needed(each(each(record(WrittenStage)), least=1))
    deterministic: bool = fact(flag, default=True)
    threadpool_size: int = fact(count(0, 1e6), 0)
    prefetch_added: bool = fact(flag, default=True)
    autotuned: bool = fact(flag, default=True)
    file_systems: tuple[str, ...] = fact(each(text), ())

    @property
    def stages(self) -> Chain:
        """Those of all chains."""
        return tuple(stage for chain in self.chains for stage in chain)


def are_handed_over(stages: Sequence[Stage], written: Chain) -> bool:
    """A generator is among these stages that nobody wrote: it hands batches to devices."""
    shows_one = any(stage.name.startswith("Generator") for stage in stages)
    return shows_one and bool(written) and not any(map(_may_hold_a_generator, written))


def _may_hold_a_generator(stage: WrittenStage) -> bool:
    """It is one of Python's, or makes a dataset of Python code for each element."""
    makes_datasets = stage.kind in ("flat_map", "interleave")
    return stage.function == GENERATOR or (makes_datasets and stage.python)


@dataclass(frozen=True)
class InputFacts:
    """What is known of the input.

    `input_kind` is `tf.data`, `arrays`, `PyDataset`, `generator`, `Grain`, `DataLoader` (torch's),
    or None if unknown; `loader` are the settings of the last two. `input_workers` make the
    batches of those and of a PyDataset, in processes if `input_processes`. `input_source` is where
    the generator, or the class of the PyDataset or of the DataLoader's dataset, is written.
    `many_shapes`: batches may differ in more than their number of rows; `shapes_differ`: they do,
    and XLA compiles the steps; `rows_differ`: they may differ in that number. With `feeds_devices`
    the stages are not the pipeline's but of what hands its batches to several devices.
    `guessed_compilations` counts executions that are taken to have compiled for a shape because
    they took as long, `guessed_compile_ms` for how long all of them did; None where nobody counted.
    `prefetch_fill` is how full the last prefetch buffer was on average, 0 to 1. `fetch_cpu_ms` is
    the CPU time that the thread that trains takes to fetch a batch, on JAX; where no other thread
    makes it, that of its making; `fetch_compiling_s` is for how long JAX compiled within all
    fetches after the warm-up; `fetched_mib` is the size of a batch there.
    `distribution_options` say how it is shared among workers and replicas, as far as somebody has
    set them.
    """

    input_kind: str | None = fact(text)
    input_workers: int | None = fact(count(0, 1e6))
    input_processes: bool = fact(flag, default=False)
    loader: Loader | None = fact(record(Loader))
    input_source: SourceLine | None = fact(record(SourceLine))
    many_shapes: bool = fact(flag, default=False)
    feeds_devices: bool = fact(flag, default=False)
    shapes_differ: bool = fact(flag, default=False)
    rows_differ: bool = fact(flag, default=True)
    guessed_compilations: int | None = fact(count())
    guessed_compile_ms: float = fact(number(), 0.0)
    dataset: WrittenPipeline | None = fact(record(WrittenPipeline))
    stages: tuple[Stage, ...] = fact(each(record(Stage)), ())
    prefetch_fill: float | None = fact(number(0.0, 1.0))
    fetch_cpu_ms: float | None = fact(number(most=1e12))
    fetch_compiling_s: float = fact(number(most=1e9), 0.0)
    fetched_mib: float | None = fact(number(most=1e12))
    distribution_options: Mapping[str, str] = fact(named(text), {})

    @property
    def mib_per_batch(self) -> float | None:
        """The size of a batch as training gets it; None where nobody told."""
        return self.stages[-1].bytes_per_batch / 2**20 if self.stages else self.fetched_mib

    @property
    def chains(self) -> tuple[Chain, ...]:
        """As written; () where that is not known."""
        return self.dataset.chains if self.dataset is not None else ()

    @property
    def written(self) -> Chain:
        """Stages of all chains; () where they are not known."""
        return self.dataset.stages if self.dataset is not None else ()

    @property
    def hidden(self) -> bool:
        """tf.data shows only what hands batches to devices: a generator that nobody wrote."""
        if self.feeds_devices:
            return bool(self.stages)
        return are_handed_over(self.stages, self.written)

    @property
    def kinds(self) -> set[str]:
        """Of these."""
        return {stage.kind for stage in self.written}

    @property
    def shuffles_within_a_batch(self) -> bool:
        """Its shuffle holds fewer elements than a batch has: filling it is no wait of its own."""
        held = [stage.buffer for stage in self.written if stage.kind == "shuffle"]
        taken = [stage.elements_per_batch for stage in self.stages if "Shuffle" in stage.name]
        if len(held) != 1 or len(taken) != 1 or held[0] is None:
            return False
        return held[0] < taken[0]

    def pool(self, threads: Mapping[str, int], cores: int) -> int:
        """Threads of the pool that calls functions: one a core where nobody has set it."""
        own = self.dataset.threadpool_size if self.dataset is not None else 0
        return own or threads.get("inter_op", 0) or cores
