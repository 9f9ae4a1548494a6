"""Notes on start-up: when they speak, and when they are silent."""

from __future__ import annotations

from typing import Any

import pytest
from hand_built import diagnosed, stage, summary

from keras_perf.advise.notes.start_up import start_up_notes

QUICK = {"before_first_step_s": 0.1, "first_steps": 1, "first_execution_s": 1.0}
STEPS = 200


def notes(
    *, tracing_s: float = 0.0, batch_s: float = 0.0, computing_s: float = 0.0,
    before_s: float = 0.0, steps: int = STEPS, advised: tuple[str, ...] = (), **context: Any,
) -> list[str]:  # fmt: skip
    """Of steps of 10 ms."""
    first_s = tracing_s + batch_s + computing_s
    known = {
        "start_up": {
            "before_first_step_s": before_s,
            "first_steps": 1,
            "first_execution_s": first_s,
            "tracing_s": tracing_s,
            "computing_s": computing_s,
        },
        "outside": {"warmup_steps": 1, "first_execution_s": first_s, "warmup_s": first_s},
        "first_step": 0,
        "last_step": steps,
        **context,
    }
    run = summary(steps, compute=10.0, context=known)
    return list(start_up_notes(diagnosed(run, advised=advised)))


def test_nothing_is_said_of_a_short_start():
    assert notes(tracing_s=1.0, batch_s=1.0, computing_s=1.0, jit_compile=True) == []


def test_nothing_is_said_of_a_start_that_is_little_of_a_long_training():
    # 30 s of ten minutes.
    assert notes(tracing_s=30.0, steps=60_000) == []


def test_long_tracing_is_told_with_its_remedy():
    whole, remedy = notes(tracing_s=8.0)
    assert whole.startswith("Start-up took 8 s, 80% of this training: ")
    assert "once for each compile()" in remedy


def test_compiling_is_told_with_what_it_has_to_save():
    _, remedy = notes(computing_s=20.0, jit_compile=True)
    # 20 s less one step of 10 ms, over 200 steps.
    assert "over these 200 steps XLA must save 100 ms in each" in remedy
    assert "TF_XLA_FLAGS=--tf_xla_persistent_cache_directory=DIR" in remedy


def test_on_jax_compiling_is_told_with_the_cache_that_jax_has():
    _, remedy = notes(computing_s=20.0, jit_compile=True, versions={"jax": "0.10.2"})
    assert "JAX_COMPILATION_CACHE_DIR=DIR" in remedy
    assert "jit_compile" not in remedy
    assert "TensorFlow" not in remedy


def test_where_the_length_of_a_training_is_not_known_xla_must_save_what_it_took():
    _, remedy = notes(computing_s=20.0, jit_compile=True, last_step=None)
    assert "XLA must save as much to be worth that" in remedy


def test_without_xla_nothing_is_said_of_compiling():
    assert len(notes(computing_s=20.0, jit_compile=False)) == 1


def test_filling_the_shuffle_buffer_is_told_with_its_place():
    chain = [{"kind": "map"}, {"kind": "shuffle", "buffer": 4000}, {"kind": "batch"}]
    stages = [stage("Map", 30.0), stage("Shuffle", 0.0, elements_per_batch=10.0)]
    told = notes(batch_s=15.0, dataset={"chains": [chain]}, stages=stages, input_kind="tf.data")
    assert told[1].startswith("Before the first batch shuffle(4000) fills its buffer, for about 12")
    assert "or put it before the map" in told[1]
    assert "experimental_warm_start" in told[1]
    chain = [{"kind": "shuffle", "buffer": 4000}, {"kind": "map"}, {"kind": "batch"}]
    stages = [stage("TFRecord", 30.0), stage("Shuffle", 0.0, elements_per_batch=10.0)]
    told = notes(batch_s=15.0, dataset={"chains": [chain]}, stages=stages)
    assert "before the map" not in told[1]


def test_a_first_batch_that_is_waited_for_can_begin_early():
    _, remedy = notes(batch_s=15.0, input_kind="tf.data")
    assert "experimental_warm_start" in remedy
    assert "If next(iter(dataset)) takes as long" in remedy
    assert len(notes(batch_s=15.0, input_kind="generator")) == 1
    # TensorFlow traces nothing meanwhile.
    assert len(notes(batch_s=15.0, input_kind="tf.data", versions={"jax": "0.10.2"})) == 1


def test_hooks_before_the_first_step_are_named():
    assert "on_train_begin" in notes(before_s=9.0)[1]


@pytest.mark.parametrize(("advised", "said"), [((), True), (("stable-shapes",), False)])
def test_compiling_for_more_shapes_is_told_unless_it_is_advised(monkeypatch, advised, said):
    slow_begin(monkeypatch, "later_compiling")
    assert any("fewer shapes" in note for note in notes(tracing_s=6.0, advised=advised)) is said


@pytest.mark.parametrize(
    ("part", "said"),
    [("later_cache", "cache(filename)"), ("later_input", "autotune; which of them was not told")],
)
def test_first_steps_that_wait_are_told_with_what_may_be_why(monkeypatch, part, said):
    slow_begin(monkeypatch, part)
    assert said in notes(tracing_s=6.0)[-1]


def slow_begin(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    """As if the first steps had taken 7 s longer."""
    from keras_perf.advise.notes import start_up

    known = start_up.start_up_time

    def slow(found: Any) -> Any:
        spent = known(found)
        assert spent is not None
        return type(spent)({**spent.parts, part: 7.0}, 50, spent.training_s)

    monkeypatch.setattr(start_up, "start_up_time", slow)
