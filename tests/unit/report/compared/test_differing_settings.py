"""In what two runs differ, of what was set and of where they ran."""

from __future__ import annotations

import pytest
from hand_built import facts_of, stage, summary

from keras_perf.report.compared.comparison import comparison_of
from keras_perf.report.compared.differing_settings import (
    NOTHING_DIFFERS,
    differing_settings,
    settings_table,
)
from keras_perf.report.diagnosis import diagnosis_of

PLAIN = dict.fromkeys(("parallel", "stateful", "random", "reads_files"), False)


def written(*stages, **options):
    return {"chains": [[{"function": "", **PLAIN, **each} for each in stages]], **options}


SLICES, BATCH = {"kind": "tensor_slice"}, {"kind": "batch"}
MAP = {"kind": "map", "function": "decode"}
SHUFFLE = {"kind": "shuffle", "buffer": 1000}

BEFORE = {
    "dtype_policy": "float32",
    "jit_compile": False,
    "examples_per_step": 32.0,
    "batch_hooks": ["Log.on_train_batch_end"],
    "versions": {"tensorflow": "2.20.0", "keras": "3.15.1"},
    "memory_total_mib": 24105.0,
    "dataset": written(SLICES, MAP, SHUFFLE, BATCH),
}
AFTER = BEFORE | {
    "dtype_policy": "mixed_float16",
    "jit_compile": True,
    "examples_per_step": 64.0,
    "batch_hooks": [],
    "versions": {"tensorflow": "2.21.0", "keras": "3.15.1"},
    "dataset": written(SLICES, {**MAP, "parallel": True}, SHUFFLE, BATCH, deterministic=False),
}


def differing(before, after):
    found = differing_settings(facts_of(before), facts_of(after))
    return {each.setting: (each.before, each.after) for each in found}


def test_what_was_set_otherwise_is_told_and_nothing_else():
    assert differing(BEFORE, AFTER) == {
        "examples per step": ("32", "64"),
        "XLA": ("no", "yes"),
        "precision": ("float32", "mixed_float16"),
        "batch hooks": ("Log.on_train_batch_end", None),
        "order of elements kept": ("yes", "no"),
        "input pipeline": (
            "tensor slice → map (decode) → shuffle (1,000) → batch",
            "tensor slice → map (decode, parallel) → shuffle (1,000) → batch",
        ),
        "TensorFlow": ("2.20.0", "2.21.0"),
    }


def test_where_a_run_trained_is_told_without_a_sampler_too():
    one = {"training_gpus": [{"compute_capability": [8, 0], "name": "A100"}]}
    other = {"training_gpus": [{"compute_capability": [9, 0], "name": "H100"}]}
    assert differing(one, other) == {"GPUs": ("A100", "H100")}
    assert differing(one | {"gpus": {"0": "H200"}}, other) == {"GPUs": ("H200", "H100")}
    assert differing({"threads": {"intra_op": 1, "inter_op": 0}}, {}) == {
        "threads of an operation": ("1", None)
    }
    assert differing({}, {"container_memory_mib": 2048.0}) == {
        "memory of the container": (None, "2 GiB")
    }


def test_of_equal_runs_nothing_differs():
    assert differing(BEFORE, BEFORE) == {}


def test_what_only_one_run_knows_differs_from_nothing():
    assert differing(BEFORE, BEFORE | {"jit_compile": None})["XLA"] == ("no", None)
    header, [row] = settings_table(
        differing_settings(facts_of({"epochs": 2}), facts_of({"epochs": None}))
    )
    assert header == ["settings that differ", "before", "after"]
    assert row == ["epochs", "2", "–"]


@pytest.mark.parametrize(
    ("stages", "told"),
    [
        ([stage("Map", 1.0)], ("Map", "ParallelMapV2")),
        ([], None),
    ],
)
def test_pipelines_are_compared_as_they_ran_where_one_is_not_known_as_written(stages, told):
    ran = {"stages": [stage("ParallelMapV2", 1.0)]}
    found = differing({"stages": stages, "dataset": BEFORE["dataset"]}, ran)
    assert found.get("input pipeline") == told


def test_a_comparison_has_them_as_text_and_as_a_frame():
    runs = [
        diagnosis_of(summary(context=each, input_wait=2.0, compute=2.0)) for each in (BEFORE, AFTER)
    ]
    compared = comparison_of(*runs)
    frame = compared.settings_frame().set_index("setting")
    assert frame.loc["precision"].tolist() == ["float32", "mixed_float16"]
    assert frame.loc["batch hooks", "after"] is None
    for text in (str(compared), compared.to_markdown(), compared._repr_html_()):
        assert "settings that differ" in text
        assert "mixed_float16" in text
    assert NOTHING_DIFFERS in str(comparison_of(runs[0], runs[0]))
    assert comparison_of(runs[0], runs[0]).settings_frame().empty
