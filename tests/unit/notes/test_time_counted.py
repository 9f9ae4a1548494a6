"""What is said of the time beside the steps."""

from __future__ import annotations

import pytest
from hand_built import between_epochs, diagnosed, summary

from keras_perf.advise.notes.reliability.time_counted import time_notes


@pytest.mark.parametrize(("usual_s", "told"), [(0.01, "compiled, once for"), (2.0, "compiled: ")])
def test_of_that_jax_tells_what_compiles(usual_s, told):
    context = between_epochs(rest=5.0, steps=200)
    context["outside"] |= {"usual_epoch_rest_s": usual_s, "epoch_compiling_s": 4.0}
    found = " ".join(time_notes(diagnosed(summary(compute=10.0, context=context))))
    assert "For 4 s of Keras's own work between epochs JAX traced and " + told in found


def test_a_validation_s_first_time_is_told_beside_the_others():
    context = between_epochs(validation=0.01)
    context["outside"]["validation_s"] += 2.0
    found = " ".join(time_notes(diagnosed(summary(compute=10.0, context=context))))
    assert "training spends: what validations take beyond the usual " in found


def test_of_other_work_between_epochs_nothing_of_compiling_is_said():
    run = summary(compute=10.0, context=between_epochs(rest=5.0))
    found = " ".join(time_notes(diagnosed(run)))
    assert "compiled" not in found


@pytest.mark.parametrize(
    ("ends_s", "tuned", "told"), [(0.15, True, True), (0.1, True, False), (0.15, False, False)]
)
def test_of_waits_for_ends_of_iterators_it_is_told_that_they_are_not_keras_s(ends_s, tuned, told):
    context = between_epochs(rest=5.0, steps=200)
    context["outside"] |= {"usual_iterator_end_s": ends_s}
    context["dataset"] = {"chains": [[{"kind": "batch"}]], "autotuned": tuned}
    found = " ".join(time_notes(diagnosed(summary(compute=10.0, context=context))))
    said = f"For {4 * ends_s:.1f} s of Keras's own work between epochs training waited for the end"
    assert (said in found) is told


ENDS = {"validations": 5, "usual_validation_end_s": 0.07}
VALIDATED = {"calls": 5, "executions": 5, "steps": 5, "spent_s": 1.0, "parts_s": {}}
VALIDATED |= {"input_kind": "tf.data"}


@pytest.mark.parametrize(
    ("waited_ms", "changed", "told"),
    [
        (400.0, {}, True),
        (40.0, {}, False),
        (400.0, {"dataset": {"chains": [[{"kind": "batch"}]], "autotuned": False}}, False),
        (400.0, {"outside": {"usual_epoch_rest_s": 0.2}}, False),
        (400.0, {"outside": ENDS, "inference": {"validation": VALIDATED}}, False),
        (400.0, {"outside": ENDS}, True),
        (400.0, {"input_kind": "PyDataset", "dataset": None}, False),
        (400.0, {"driver": "loop"}, False),
    ],
)
def test_epochs_of_which_some_waited_for_a_new_iterator_are_told(waited_ms, changed, told):
    context = between_epochs(rest=2.0, steps=200) | {"input_kind": "tf.data"}
    context["dataset"] = {"chains": [[{"kind": "batch"}]]}
    outside = context["outside"] | {"usual_epoch_rest_s": 0.001} | changed.get("outside", {})
    context |= changed | {"outside": outside}
    context["event_totals"] = [
        {"cause": "new-iterator", "owner": "", "count": 1, "total_ms": waited_ms}
    ]
    found = " ".join(time_notes(diagnosed(summary(compute=10.0, context=context))))
    assert ("1 new iterator took 0.4 s in all, 17% of the training" in found) is told
    assert ("options.autotune.enabled = False" in found) is told
