"""Advice names the user's own functions, with file and line, where they are known."""

from __future__ import annotations

from typing import Any

import pytest
from hand_built import FITS_IN_MEMORY, between_epochs, diagnosed, situation, stage, summary

from keras_perf.advise.notes.input.stage_order import order_notes
from keras_perf.advise.rules.between_epochs.epoch_hooks import amortize_epoch_callback
from keras_perf.advise.rules.host import amortize_callback
from keras_perf.advise.rules.input.caching import cache
from keras_perf.advise.rules.input.files_and_order import interleave
from keras_perf.advise.rules.input.python_input import parallel_input
from keras_perf.advise.rules.input.threads_and_buffers import parallel_map

RUNNING = [
    stage("TensorSlice", 1.0),
    stage("Map", 6.0, bytes_per_batch=2.0**20),
    stage("Batch", 1.0),
]


def written(**map_stage: Any) -> dict[str, Any]:
    return {"chains": [[{"kind": "tensor_slice"}, {"kind": "map", **map_stage}, {"kind": "batch"}]]}


LOAD = written(function="load", source={"file": "train.py", "line": 31, "name": "load"})
LAMBDA = written(source={"file": "cell In[3]", "line": 2})


def slow(dataset: dict[str, Any] | None, stages: Any = RUNNING, **context: Any) -> Any:
    return situation(
        input_wait=8.0,
        compute=2.0,
        stages=stages,
        context=FITS_IN_MEMORY | {"dataset": dataset} | context,
    )


def test_a_map_is_named_with_its_file_and_line():
    advice = parallel_map(slow(LOAD))
    assert advice.action == "dataset = dataset.map(load, num_parallel_calls=tf.data.AUTOTUNE)"
    assert advice.reason.endswith("share it. Its function load is in train.py, line 31.")


@pytest.mark.parametrize(
    ("drawn", "said"),
    [
        ({"random": True, "stateful": True}, "differs between runs"),
        ({"random": True, "stateful": False}, "AUTOTUNE)"),
        ({"random": False, "stateful": True}, "AUTOTUNE)"),
    ],
)
def test_of_a_map_whose_generator_has_a_state_it_is_said_that_runs_differ(drawn, said):
    advice = parallel_map(slow(written(function="flip", **drawn)))
    assert advice.action.endswith(said)


def test_a_lambda_is_told_by_its_line_where_its_name_would_stand():
    advice = parallel_map(slow(LAMBDA))
    assert advice.action == (
        "# your_lambda: the lambda in cell In[3], line 2\n"
        "dataset = dataset.map(your_lambda, num_parallel_calls=tf.data.AUTOTUNE)"
    )
    assert advice.reason.endswith("share it. Its function is in cell In[3], line 2.")
    kept = cache(slow(LAMBDA)).action
    assert kept.startswith("# your_lambda: the lambda in cell In[3], line 2\ndataset = ")
    assert ".map(your_lambda).cache()" in kept


def test_a_function_of_which_nothing_is_known_is_your_function():
    action = parallel_map(slow(written())).action
    assert action == "dataset = dataset.map(your_function, num_parallel_calls=tf.data.AUTOTUNE)"


def test_a_lambda_in_a_file_with_a_strange_name_stays_a_comment_of_one_line():
    strange = written(source={"file": "train.py\nimport os", "line": 2})
    comment, code = parallel_map(slow(strange)).action.splitlines()
    assert comment.startswith("# your_lambda: ")
    assert code.startswith("dataset = ")


def test_where_the_line_is_not_known_nothing_is_said_of_it():
    for dataset in (None, written(function="load"), {"chains": [[{"kind": "map"}] * 2]}):
        assert parallel_map(slow(dataset)).reason.endswith("are there to share it.")


def test_where_tf_data_runs_other_stages_than_were_written_no_function_is_named():
    twice = {"chains": [[*LOAD["chains"][0], LOAD["chains"][0][1]]]}
    advice = parallel_map(slow(twice))
    assert "your_function" in advice.action
    assert "train.py" not in advice.reason


def test_where_datasets_come_together_the_only_map_is_named():
    labels = [{"kind": "tensor_slice"}, {"kind": "zip"}]
    found = slow({"chains": [LOAD["chains"][0], labels]})
    assert "dataset.map(load, " in parallel_map(found).action
    two = slow({"chains": [LOAD["chains"][0], [*labels, {"kind": "map", "function": "other"}]]})
    assert "dataset.map(your_function, " in parallel_map(two).action


def test_the_cache_stands_behind_the_function_that_is_named():
    advice = cache(slow(LOAD))
    assert advice.action.startswith("dataset = dataset.map(load).cache()  # before")
    assert " Its function load is in train.py, line 31. Computing, which" in advice.reason


def test_a_reader_of_the_users_is_named():
    reads = {"kind": "flat_map", "function": "open_one", "reads_files": True}
    reads["source"] = {"file": "lib/data.py", "line": 7, "name": "open_one"}
    stages = [stage("TensorSlice", 0.0), stage("FlatMap", 8.0)]
    advice = interleave(slow({"chains": [[{"kind": "tensor_slice"}, reads]]}, stages))
    assert "files.interleave(open_one, " in advice.action
    assert advice.reason.endswith("Its function open_one is in lib/data.py, line 7.")


PLACE = {"file": "train.py", "line": 12, "name": "on_train_batch_end"}


@pytest.mark.parametrize(
    ("sources", "named"),
    [
        ({"Mine.on_train_batch_end": PLACE}, "Mine.on_train_batch_end (train.py, line 12)"),
        ({}, "Mine.on_train_batch_end"),
    ],
)
def test_a_batch_hook_is_named_with_its_line(sources, named):
    owners, context = {"Mine.on_train_batch_end": 6.0}, {"hook_sources": sources}
    advice = amortize_callback(
        situation(callbacks=6.0, compute=4.0, owners=owners, context=context)
    )
    assert advice.reason.startswith(f"{named} takes 6 ms of every step")


def test_a_function_given_to_a_lambda_callback_is_named():
    owner = "LambdaCallback.on_train_batch_end"
    context = {"hook_sources": {owner: PLACE | {"name": "draw"}}}
    found = situation(callbacks=6.0, compute=4.0, owners={owner: 6.0}, context=context)
    assert "or draw(batch, logs))" in amortize_callback(found).action
    context = {"hook_sources": {owner: PLACE | {"name": ""}}}
    unnamed = situation(callbacks=6.0, compute=4.0, owners={owner: 6.0}, context=context)
    action = amortize_callback(unnamed).action
    assert action.startswith(
        "# your_lambda: the lambda in train.py, line 12\nimport itertools\n\ncalls = "
    )
    assert "or your_lambda(batch, logs))" in action


def test_an_epoch_hook_is_named_with_its_line():
    owner = "Mine.on_epoch_end"
    context = between_epochs(callbacks={owner: 4.0}) | {"hook_sources": {owner: PLACE}}
    advice = amortize_epoch_callback(situation(compute=10.0, context=context))
    assert advice.reason.startswith("Mine.on_epoch_end (train.py, line 12) takes 4 ms for every")


def test_a_generator_and_a_pydataset_are_named_with_their_lines():
    source = {"file": "train.py", "line": 40, "name": "Photos"}
    context = {"input_kind": "generator", "input_source": source}
    advice = parallel_input(situation(input_wait=9.5, compute=0.5, context=context))
    assert "for a generator (train.py, line 40) that one thread" in advice.reason
    context["input_kind"] = "PyDataset"
    advice = parallel_input(situation(input_wait=9.5, compute=0.5, context=context))
    assert advice.action.startswith("model.fit(Photos(..., workers=8, use_multiprocessing=True)")


def test_a_map_of_python_code_is_named_with_its_line():
    python = written(function="load", python=True, source=LOAD["chains"][0][1]["source"])
    found = situation(
        input_wait=0.5,
        compute=9.5,
        stages=[stage("Map", 9.5), stage("Prefetch", 0.0)],
        context={"dataset": python},
        sensors={"host/interpreter_wait_ms": 4.0},
        process_cpu_pct=100.0,
    )
    advice = parallel_input(found)
    assert advice.reason.startswith("The map of Python code (train.py, line 31) holds Python's")


def test_a_note_on_the_order_names_the_line_once():
    augment = {"kind": "map", "function": "augment", "random": True}
    augment["source"] = {"file": "train.py", "line": 9, "name": "augment"}
    chain = [{"kind": "tensor_slice"}, augment, {"kind": "cache"}]
    found = summary(context={"epochs": 2, "dataset": {"chains": [chain]}}, compute=10.0)
    [note] = order_notes(diagnosed(found, "input-bound"))
    assert note.startswith("map(augment) (train.py, line 9) draws random numbers before cache()")
    assert note.count("train.py") == 1
