"""The stages of a pipeline, from a hand-built copy of tf.data's model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from keras_perf.observers.input_pipeline import Stage, stages_from_model


def node(name: str, *inputs: int, made: int, ms: float = 0.0, ratio: float = 1.0, **more: Any):
    """A node; `ms` is the processing time of all that it made."""
    parameters = more.pop("parameters", {})
    rest = {"buffered_elements": 0, "bytes_produced": 0, **more}
    return SimpleNamespace(
        name=name,
        inputs=list(inputs),
        num_elements=made,
        processing_time=ms * 1e6,
        ratio=ratio,
        parameters=[SimpleNamespace(name=n, value=v) for n, v in parameters.items()],
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
        Stage("TensorSlice", pytest.approx(0.32), 32.0, 1, 0, 0, 0.0, 0.0),
        Stage("ParallelMap", 64.0, 32.0, 8, 0, 0, 1.0, 4096.0),
        Stage("Batch", 2.0, 1.0, 1, 0, 0, 32.0, 4096.0),
        Stage("Prefetch", 0.0, 1.0, 1, 4, 2, 1.0, 0.0),
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
    assert {stage.name for stage in stages_from_model(pipeline)} == {"Zip", "TensorSlice", "Range"}


def test_a_pipeline_that_has_let_go_of_its_first_stages_has_none():
    pipeline = model(1, n1=node("Root", 2, made=10), n2=node("Batch", made=10, ratio=4.0))
    assert stages_from_model(pipeline) == ()


def test_a_filled_cache_is_a_source():
    pipeline = model(
        1, n1=node("Batch", 2, made=10, ratio=4.0), n2=node("MemoryCache", made=40, ratio=1.0)
    )
    assert [stage.name for stage in stages_from_model(pipeline)] == ["MemoryCache", "Batch"]


def test_a_model_without_its_output_has_no_stages():
    assert stages_from_model(model(7)) == ()
