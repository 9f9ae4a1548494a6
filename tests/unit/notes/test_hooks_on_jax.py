"""What is said of callbacks that make training on JAX wait, or hand its state back."""

from __future__ import annotations

from hand_built import diagnosed, summary

from keras_perf.advise.notes.hooks_on_jax import hook_notes


def said(**context):
    known = {"first_step": 0, "last_step": 400} | context
    return list(hook_notes(diagnosed(summary(compute=10.0, context=known))))


def test_hooks_that_training_waits_for_are_named_without_a_claim_of_gain():
    [note] = said(waiting_hooks=["A.on_train_batch_end", "B.on_train_batch_end"])
    assert "For A.on_train_batch_end and B.on_train_batch_end, training waits" in note
    assert "had async_safe = True, which none may have that reads or changes self.model" in note


def test_hooks_that_read_the_state_in_many_steps_are_named():
    [note] = said(state_reads={"A.on_train_batch_begin": 40, "B.on_train_batch_begin": 39})
    assert note.startswith("A.on_train_batch_begin read self.model while an epoch ran")
    assert "B.on" not in note


def test_how_long_a_handing_back_took_is_told_of_the_hooks_that_are_named():
    reads = {"A.on_a": 100, "B.on_b": 300, "C.on_c": 1}
    seconds = {"A.on_a": 0.1, "B.on_b": 0.7}
    [note] = said(state_reads=reads, state_reads_s=seconds | {"C.on_c": 9.0})
    assert "handed back to its variables, which took 2 ms of the hook, and collected" in note
    [note] = said(state_reads=reads)
    assert "handed back to its variables and collected" in note


def test_a_hook_that_takes_much_of_keras_s_threads_is_named():
    # 400 steps of 10 ms, of which it takes a twentieth.
    assert said(late_hooks_s={"A.on_train_batch_end": 0.19}) == []
    [note] = said(late_hooks_s={"A.on_train_batch_end": 0.21})
    assert note.startswith("A.on_train_batch_end took 0.21 s in all, in threads that Keras calls")


def test_nothing_is_said_of_others():
    assert said() == []
    assert said(state_reads={"A.on_train_batch_begin": 9}, last_step=20) == []
