"""The stages of a dataset as the user wrote them, before tf.data optimises them."""

from __future__ import annotations

import re
from inspect import getclosurevars
from typing import Any

import tensorflow as tf

from keras_perf.observation.facts.input.file_systems import file_systems
from keras_perf.observation.facts.input.python_draws import draws_in_python
from keras_perf.observation.facts.source_lines import made_by_keras, source_of
from keras_perf.observers.asking import unwarned
from keras_perf.records.run.input.pipeline import (
    RECORD_READERS,
    Chain,
    WrittenPipeline,
    WrittenStage,
)
from keras_perf.trials.train_functions.repeated_function import PYTHON

MOST_STAGES = 100
"""A dataset of more stages is made by a program; its order is not looked at."""

ONE_AT_A_TIME = (
    "DecodeAndCropJpeg",
    "DecodeBmp",
    "DecodeGif",
    "DecodeImage",
    "DecodeJpeg",
    "DecodePng",
    "DecodeWav",
    "DecodeWebP",
    "ExtractJpegShape",
    "ParseTensor",
    "ReadFile",
)
"""Operations that take a scalar: a function with one of them cannot be given a batch."""

DRAWS = (
    *("Random", "TruncatedNormal", "Multinomial", "SampleDistorted", "CandidateSampler"),
    "Shuffle",
)
"""In names of operations that draw at random, those that are given their seed too."""

CALLS = {"If", "StatelessIf", "PartitionedCall", "StatefulPartitionedCall", "While", "Case"}
"""Operations that call functions."""

_FUNCTION = re.compile(
    r"__inference_(?:Dataset_(?:flat_map|map|interleave|filter)"
    r"|tf_data_experimental_parallel_interleave)_(?P<name>.+)_\d+$"
)
_NAMELESS = ("lambda", "class")


def dataset_behind(iterator: Any) -> Any:
    """The dataset that a `tf.data.Iterator` runs over; None where it does not tell.

    It is the private `_dataset`. Without it a loop's diagnosis does not know the stages as they
    were written: no notes on their order, and Python code in a map is not told from a slow model.
    """
    return getattr(iterator, "_dataset", None) if isinstance(iterator, tf.data.Iterator) else None


def kind_of(iterator: Any) -> str:
    """As in `InputFacts.input_kind`."""
    known = isinstance(iterator, tf.data.Iterator | tf.distribute.DistributedIterator)
    return "tf.data" if known else "generator"


def dataset_graph(dataset: Any) -> WrittenPipeline | None:
    """What a `tf.data.Dataset` is made of; None where that cannot be seen.

    The public `DatasetToGraphV2` would copy all data that the dataset holds in memory, twice
    its size, so this asks the private `_inputs` and `_functions`. Where they are missing, the
    diagnosis has no notes on the order of the stages; the measured advice needs none of it.
    Without a shuffle's private `_buffer_size` there is no advice on filling its buffer, and without
    `from_generator`'s private `_generator` what a generator draws is not known.

    What it cannot see: a map's own argument `deterministic`; what tf.data makes of the stages (it
    fuses some, and runs stateless maps in parallel); operations inside a `tf.function` that a
    stage's function calls, and Python, but for the names in its code.
    """
    if not isinstance(dataset, tf.data.Dataset):
        return None
    try:
        return unwarned(_graph, dataset)
    except Exception:  # noqa: BLE001  what is read is not public, and only notes depend on it
        return None


def _graph(dataset: Any) -> WrittenPipeline | None:
    chains: list[Chain] = []
    pending: list[Any] = [dataset]
    seen: list[Any] = []
    while pending:
        node, chain = pending.pop(0), []
        while node is not None:
            inputs = node._inputs()
            chain.append(_stage(node, inputs))
            seen.append(node)
            if len(seen) > MOST_STAGES:
                return None
            node = inputs[0] if len(inputs) == 1 else None
        pending.extend(inputs)
        chains.append(tuple(chain[::-1]))
    options = dataset.options()
    injects = options.experimental_optimization.inject_prefetch is not False
    autotuned = options.autotune.enabled is not False
    return WrittenPipeline(
        chains=tuple(chains),
        deterministic=options.deterministic is not False,
        threadpool_size=int(options.threading.private_threadpool_size or 0),
        prefetch_added=injects and autotuned,
        autotuned=autotuned,
        file_systems=_file_systems(seen, chains),
    )


def _file_systems(nodes: list[Any], chains: list[Chain]) -> tuple[str, ...]:
    """Texts in a dataset that reads no files are no names of files."""
    stages = [stage for chain in chains for stage in chain]
    if not any(stage.reads_files or stage.is_reader for stage in stages):
        return ()
    try:
        return file_systems(nodes)
    except Exception:  # noqa: BLE001  only a note depends on it
        return ()


def _stage(node: Any, inputs: Any) -> WrittenStage:
    name = type(node).__name__.strip("_").removesuffix("V2").removesuffix("Dataset")
    kind = name.removeprefix("Parallel")
    wrappers = node._functions()
    functions = [wrapper.function for wrapper in wrappers]
    operations = [op for function in functions for op in function.graph.get_operations()]
    types = {operation.type for operation in operations}
    seeds = [_seeds(operation) for operation in operations]
    if any(each.endswith("Dataset") or each in CALLS for each in types):
        # What it does is done in functions further in: in those of a dataset that it runs for
        # each element, or of a branch.
        further = [node for function in functions for node in _further_in(function)]
        types |= {node.op for node in further}
        seeds += [(node.attr["seed"].i, node.attr["seed2"].i) for node in further]
    python = bool(types & PYTHON)
    # Without the private `_func` advice names no line of the user's program, and what Python code
    # draws at random is not known.
    written = getattr(wrappers[0], "_func", None) if wrappers else None
    drawing = _generator_in(written) or written
    elements = int(inputs[0].cardinality()) if len(inputs) == 1 else tf.data.UNKNOWN_CARDINALITY
    return WrittenStage(
        kind=re.sub(r"(?<!^)(?=[A-Z])", "_", kind).lower(),
        function=_name(functions[0]) if functions else "",
        parallel=name.startswith("Parallel"),
        stateful=any(operation.op_def.is_stateful for operation in operations),
        random=any(each in name for name in types for each in DRAWS)
        or (python and draws_in_python(drawing)),
        python=python,
        one_at_a_time=any(each.startswith(ONE_AT_A_TIME) for each in types),
        reads_files="ReadFile" in types or any(each.startswith(RECORD_READERS) for each in types),
        elements=elements if elements >= 0 else None,
        source=source_of(written) if wrappers else None,
        buffer=_buffer(node, elements) if kind == "Shuffle" else None,
        made_by=made_by_keras(written) if wrappers else "",
        draws_alike=_draw_alike(seeds),
        variables=_variables(types),
    )


def _generator_in(written: Any) -> Any:
    """The user's generator in the function that `from_generator` flattens with; None in others."""
    try:
        fetches = getclosurevars(written).nonlocals["generator_next_fn"]
        return getclosurevars(fetches).nonlocals["generator_state"]._generator
    except Exception:  # noqa: BLE001  all of it is private, and only what it draws depends on it
        return None


def _buffer(shuffle: Any, elements: int) -> int | None:
    """Elements that a shuffle holds at most; None where it does not tell."""
    try:
        size = int(shuffle._buffer_size)
    except Exception:  # noqa: BLE001  it is private, and may be a tensor of a graph
        return None
    if elements < 0:
        return size if size > 0 else None
    return min(size, elements) if size > 0 else elements


def _name(function: Any) -> str:
    """The user's name of a stage's function; "" of a lambda."""
    name = function.name
    found = _FUNCTION.match(name.decode() if isinstance(name, bytes) else str(name))
    return "" if found is None or found["name"].startswith(_NAMELESS) else found["name"]


def _further_in(function: Any) -> list[Any]:
    library = function.graph.as_graph_def().library
    return [node for each in library.function for node in each.node_def]


def _seeds(operation: Any) -> tuple[int, int]:
    """Two zeros where it has none. What else it has is not asked for: a table may be large."""
    if all(each.name != "seed2" for each in operation.op_def.attr):
        return 0, 0
    return int(operation.get_attr("seed")), int(operation.get_attr("seed2"))


def _draw_alike(seeds: list[tuple[int, int]]) -> bool:
    """Two operations draw by the same seed, and so the same numbers."""
    given = [each for each in seeds if each != (0, 0)]
    return len({*given}) < len(given)


def _variables(types: set[str]) -> str:
    if any(each.startswith("Assign") for each in types):
        return "written"
    return "read" if "ReadVariableOp" in types else ""
