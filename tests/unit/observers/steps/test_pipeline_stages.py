"""The stages of a pipeline, from a hand-built copy of tf.data's model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from keras_perf.observers.steps.input.pipeline_stages import (
    ASYNC_INTERLEAVE,
    INTERLEAVE,
    Stage,
    buffer_fill,
    stages_from_model,
)


def node(name: str, *inputs: int, made: int, ms: float = 0.0, ratio: float = 1.0, **more: Any):
    """A node; `ms` is the processing time of all that it made."""
    parameters, tuned = more.pop("parameters", {}), more.pop("tuned", {})
    rest = {"buffered_elements": 0, "bytes_produced": 0, "node_class": 0, **more}
    return SimpleNamespace(
        name=name,
        inputs=list(inputs),
        num_elements=made,
        processing_time=ms * 1e6,
        ratio=ratio,
        parameters=[
            SimpleNamespace(name=n, value=v, state_value=tuned.get(n, 0), tunable=n in tuned)
            for n, v in parameters.items()
        ],
        **rest,
    )


def model(output: int, **nodes: Any) -> SimpleNamespace:
    return SimpleNamespace(
        output=output, nodes={int(key.removeprefix("n")): value for key, value in nodes.items()}
    )


def test_stages_run_from_the_source_to_the_last_with_times_per_batch():
    pipeline = model(
        1,
        n1=node("Root", 2, made=10, ratio=1.0),
        n2=node("Prefetch", 3, made=12, parameters={"buffer_size": 4.0}, buffered_elements=2),
        n3=node("Batch", 4, made=12, ms=24.0, ratio=32.0, bytes_produced=12 * 4096),
        n4=node(
            "ParallelMap",
            5,
            made=400,
            ms=800.0,
            parameters={"parallelism": 8.0},
            bytes_produced=400 * 128,
        ),
        n5=node("TensorSlice", made=512, ms=5.12, ratio=0.0),
    )
    assert stages_from_model(pipeline) == (
        Stage("TensorSlice", pytest.approx(0.32), 1, 0.0, 32.0, 0.0, 0, 0, 0),
        Stage("ParallelMap", 64.0, 8, 4096.0, 32.0, 1.0, 0, 0, 1),
        Stage("Batch", 2.0, 1, 4096.0, 1.0, 32.0, 0, 0, 1),
        Stage("Prefetch", 0.0, 1, 0.0, 1.0, 1.0, 4, 2, 1),
    )


def test_a_ratio_that_tf_data_does_not_know_is_taken_from_what_was_produced():
    pipeline = model(
        1,
        n1=node("Root", 2, made=10),
        n2=node("Batch", 3, made=10, ratio=4.0),
        n3=node("FlatMap", 4, made=40, ratio=0.0),
        n4=node("Map", 5, made=20, ms=100.0),
        n5=node("TensorSlice", made=20, ratio=0.0),
    )
    stages = {stage.name: stage for stage in stages_from_model(pipeline)}
    assert stages["Map"].elements_per_batch == 2.0
    assert stages["Map"].cost_ms == 10.0


def test_every_branch_of_a_zip_is_told():
    pipeline = model(
        1,
        n1=node("Zip", 2, 3, made=10),
        n2=node("TensorSlice", made=10, ratio=0.0),
        n3=node("Range", made=10, ratio=0.0),
    )
    assert [stage.name for stage in stages_from_model(pipeline)][-1] == "Zip"
    told = [(stage.name, stage.inputs) for stage in stages_from_model(pipeline)]
    assert told == [("Range", 0), ("TensorSlice", 0), ("Zip", 2)]


def test_a_pipeline_that_has_let_go_of_its_first_stages_has_none():
    pipeline = model(1, n1=node("Root", 2, made=10), n2=node("Batch", made=10, ratio=4.0))
    assert stages_from_model(pipeline) == ()


def test_what_is_tuned_has_the_value_that_is_in_use():
    fused = {"parameters": {"parallelism": 1.0}, "tuned": {"parallelism": 2.0}}
    pipeline = model(
        1,
        n1=node("MapAndBatch", 2, made=10, ratio=8.0, **fused),
        n2=node("TensorSlice", made=80, ratio=0.0),
    )
    assert [stage.parallelism for stage in stages_from_model(pipeline)] == [1, 2]


def test_a_shuffle_that_holds_the_rest_of_the_data_is_a_source():
    pipeline = model(1, n1=node("Batch", 2, made=10, ratio=4.0), n2=node("ShuffleV3", made=40))
    assert [stage.name for stage in stages_from_model(pipeline)] == ["ShuffleV3", "Batch"]


def test_a_filled_cache_is_a_source():
    pipeline = model(
        1, n1=node("Batch", 2, made=10, ratio=4.0), n2=node("MemoryCache", made=40, ratio=1.0)
    )
    assert [stage.name for stage in stages_from_model(pipeline)] == ["MemoryCache", "Batch"]


def test_a_model_without_its_output_has_no_stages():
    assert stages_from_model(model(7)) == ()


# -- a pipeline for each element ---------------------------------------------------------


def of_files(interleave: Any) -> SimpleNamespace:
    """Files interleaved by the given node; the second of them has run longest."""
    return model(
        1,
        n1=node("Batch", 2, made=10, ratio=32.0),
        n2=interleave,
        n3=node("TensorSlice", made=5, ratio=0.0),
        n4=node("TFRecord", made=40, ms=4.0, ratio=0.0),
        n5=node("TFRecord", made=160, ms=32.0, ratio=0.0),
    )


def test_of_the_pipelines_of_a_flat_map_the_longest_stands_for_all():
    pipeline = of_files(node("FlatMap", 3, 4, 5, made=320, ratio=0.0, node_class=INTERLEAVE))
    source, reader, flat_map, batch = stages_from_model(pipeline)
    assert [s.name for s in (source, flat_map, batch)] == ["TensorSlice", "FlatMap", "Batch"]
    # Each of the 32 elements of a batch costs 0.2 ms; of the files there are five for ten batches.
    assert (reader.name, reader.elements_per_batch, reader.parallelism) == ("TFRecord", 32.0, 1)
    assert reader.cost_ms == pytest.approx(6.4)
    assert source.elements_per_batch == 0.5
    assert [each.inputs for each in (source, reader, flat_map, batch)] == [0, 0, 2, 1]


@pytest.mark.parametrize(
    "parameters", [{"parallelism": 4.0, "cycle_length": 8.0}, {"cycle_length": 4.0}]
)
def test_pipelines_that_run_several_at_a_time_have_a_thread_each(parameters):
    interleave = node(
        "ParallelInterleaveV4",
        3,
        4,
        5,
        made=320,
        ratio=0.0,
        node_class=ASYNC_INTERLEAVE,
        parameters=parameters,
    )
    stages = stages_from_model(of_files(interleave))
    assert [(stage.name, stage.parallelism) for stage in stages] == [
        ("TensorSlice", 1),
        ("TFRecord", 4),
        ("ParallelInterleaveV4", 4),
        ("Batch", 1),
    ]


def test_an_interleave_whose_pipelines_made_nothing_yet_shows_its_source():
    pipeline = model(
        1,
        n1=node("Interleave", 2, 3, made=10, ratio=0.0, node_class=INTERLEAVE),
        n2=node("TensorSlice", made=5, ratio=0.0),
        n3=node("TFRecord", made=0, ratio=0.0),
    )
    assert [stage.name for stage in stages_from_model(pipeline)] == ["TensorSlice", "Interleave"]


def test_a_flat_map_that_has_let_go_of_its_files_has_no_stages():
    # files.flat_map(read_in_batches).prefetch(n), once the last file is read.
    pipeline = model(
        1,
        n1=node("Prefetch", 2, made=10),
        n2=node("FlatMap", made=10, ratio=0.0, node_class=INTERLEAVE),
    )
    assert stages_from_model(pipeline) == ()


# -- the last prefetch buffer ------------------------------------------------------------


def prefetch(buffered: int, size: float = 4.0) -> Any:
    return node(
        "Prefetch", 3, made=10, parameters={"buffer_size": size}, buffered_elements=buffered
    )


@pytest.mark.parametrize(("buffered", "fill"), [(0, 0.0), (1, 0.25), (4, 1.0), (5, 1.0)])
def test_a_prefetch_buffer_tells_how_full_it_is(buffered, fill):
    pipeline = model(1, n1=node("Root", 2, made=10), n2=prefetch(buffered))
    assert buffer_fill(pipeline) == (fill,)


@pytest.mark.parametrize(
    "pipeline",
    [
        model(7),
        model(1, n1=node("Root", made=10)),
        model(1, n1=node("Batch", 2, made=10), n2=prefetch(1)),
        model(1, n1=prefetch(0, size=0.0)),
    ],
)
def test_without_a_prefetch_at_the_end_there_is_no_buffer_to_tell_of(pipeline):
    assert buffer_fill(pipeline) == ()
