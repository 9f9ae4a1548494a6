"""What to paste into a custom loop."""

from __future__ import annotations

from typing import Any

import pytest
from hand_built import H200, between_epochs, stage, summary

from keras_perf.advise.rules.in_a_loop import in_template
from keras_perf.report.diagnosis import diagnosis_of

TRIAL = {
    "recommended": 16,
    "predicted_speedup": 1.5,
    "low": 1.4,
    "high": 1.6,
    "reason": "a step costs 1 ms.",
    "applied": False,
    "evidence": {},
}


def advised(id: str, context: dict[str, Any], **parts: Any):
    """The advice with this id on a loop."""
    made = summary(context={"driver": "loop", **context}, **parts)
    [found] = [each for each in diagnosis_of(made).recommendations if each.id == id]
    return found


def command_of(action: str, begins: str = "python train.py") -> str:
    """The template's options in an action, which names directories for a training of its own."""
    told, command, directories, other, *code = action.splitlines()
    assert told.startswith("# train.py of keras-perf template, with your other options")
    assert command.startswith(begins)
    assert command.endswith(" \\")
    own = directories.split()
    assert (own[0], own[2]) == ("--log-dir", "--checkpoint-dir")
    assert own[1].removeprefix("logs/") == own[3].removeprefix("checkpoints/")
    assert other == "# another loop"
    compiled = "\n".join(code)
    compile(compiled, "another loop", "exec")
    return command.removeprefix(f"{begins} ").removesuffix(" \\")


def test_steps_per_call_is_a_flag():
    context = {"steps_per_execution_trial": TRIAL, "steps_per_execution": 1}
    found = advised("raise-steps-per-execution", context, compute=2.0, dispatch=8.0)
    assert found.title == "Run 16 steps per call"
    assert command_of(found.action) == "--steps-per-call 16"
    assert found.action.endswith("\nmonitor.execution(iterator, 16, left=...)")


def test_host_work_is_done_less_often_in_the_loop():
    found = advised("amortize-callback", {}, compute=2.0, callbacks=8.0, owners={"print": 8.0})
    assert found.title == "Do the work of print every 20 steps"
    assert (
        found.action == 'if step % 20 < call.steps:\n    with monitor.host("print"):\n        ...'
    )


def test_evaluation_is_a_flag_in_steps():
    found = advised("rarer-validation", between_epochs(validation=10.0), compute=10.0)
    assert found.title == "Evaluate every 1000 steps, or on a part of the data"
    assert command_of(found.action) == "--evaluate-every 1000"
    assert "val_" not in found.reason


def test_a_checkpoint_is_written_less_often_in_the_loop():
    context = between_epochs(callbacks={"checkpoint": 10.0})
    found = advised("amortize-callback", context, compute=10.0)
    assert found.title == "Do the work of checkpoint 5 times less often"
    assert found.action == (
        'if step % 1000 < call.steps:\n    with monitor.outside("checkpoint"):\n        ...'
    )


@pytest.mark.parametrize(
    ("id", "context", "flag"),
    [
        ("enable-xla", {**H200, "jit_compile": False}, "--jit-compile"),
        ("mixed-precision", {**H200, "dtype_policy": "float32"}, "--policy mixed_bfloat16"),
    ],
)
def test_settings_are_flags(id, context, flag):
    assert command_of(advised(id, context, compute=10.0).action) == flag


def test_each_advice_has_directories_of_its_own():
    one, other = (
        in_template(summary(), options, elsewhere="")
        for options in ("--steps-per-call 16", "--batch-size 128 --accumulate 4")
    )
    assert "--log-dir logs/steps-per-call-16 --checkpoint-dir checkpoints/steps-per-c" in one
    assert "--log-dir logs/batch-size-128-accumulate-4 " in other


def test_several_workers_are_launched():
    context = {"steps_per_execution_trial": TRIAL, "steps_per_execution": 1, "workers": 3}
    found = advised("raise-steps-per-execution", context, compute=2.0, dispatch=8.0)
    launched = "keras-perf launch --workers 3 train.py"
    assert command_of(found.action, launched) == "--steps-per-call 16"


def test_functions_are_compiled_again():
    found = advised(
        "disable-run-eagerly", {"run_eagerly": True, "eager_functions": True}, compute=10.0
    )
    assert found.action == "tf.config.run_functions_eagerly(False)"


def test_batches_of_a_generator_are_made_by_a_pool_of_processes():
    context = {"stages": [stage("Generator", 8.0)]}
    found = advised("parallel-input", context, input_wait=8.0, compute=2.0)
    assert "for part in range(5):" in found.action
    compile(found.action, "action", "exec")
    assert "PyDataset" not in found.action


def test_batches_that_are_waited_for_are_made_by_threads():
    context = {"stages": [stage("Generator", 8.0)]}
    found = advised("parallel-input", context, input_wait=8.0, compute=2.0, process_cpu_pct=30.0)
    assert "threading.Thread(**arguments).start()" in found.action
    assert "process" not in found.action
    compile(found.action, "action", "exec")


def test_no_advice_on_a_loop_speaks_of_fit():
    context = {
        **H200,
        **between_epochs(validation=10.0, callbacks={"checkpoint": 10.0}),
        "steps_per_execution_trial": TRIAL,
        "dtype_policy": "float32",
        "jit_compile": False,
        "run_eagerly": True,
        "driver": "loop",
    }
    owners = {"print": 2.0}
    parts = {"compute": 2.0, "dispatch": 4.0, "callbacks": 2.0, "compile": 1.0}
    found = diagnosis_of(summary(context=context, owners=owners, **parts)).recommendations
    assert len(found) >= len(("steps", "validation", "callback", "eager"))
    for advice in found:
        for text in (advice.title, advice.action):
            assert "model.fit" not in text
            assert "model.compile" not in text
            assert "Callback" not in text


def test_a_training_too_short_for_the_advice_is_not_given_it():
    short = {"first_step": 0, "last_step": 400}
    context = between_epochs(validation=10.0) | short
    context["outside"] |= {"validations": 2, "epoch_gaps": 2}
    found = advised("rarer-validation", context, compute=10.0)
    assert found.title == "Evaluate on a part of the data"
    assert "--evaluate-every" not in found.action
    context = between_epochs(callbacks={"checkpoint": 10.0}) | short
    context["outside"] |= {"epoch_gaps": 2}
    made = summary(context={"driver": "loop", **context}, compute=10.0)
    assert "amortize-callback" not in [r.id for r in diagnosis_of(made).recommendations]


def test_own_work_is_not_divided_among_the_steps_of_a_call():
    context = {"steps_per_execution_trial": TRIAL, "steps_per_execution": 1}
    parts = {"compute": 2.0, "dispatch": 1.0, "other_host": 7.0}
    found = advised("raise-steps-per-execution", context, **parts)
    assert found.predicted_speedup < 1.2
    in_fit = diagnosis_of(summary(context=context, **parts)).recommendations
    assert next(each for each in in_fit if each.id == found.id).predicted_speedup > 2


def test_a_step_that_is_in_no_function_is_put_into_one():
    found = advised("disable-run-eagerly", {"run_eagerly": True}, compute=10.0)
    assert found.action.startswith("@tf.function(reduce_retracing=True)\ndef train_step")


def test_work_that_training_may_use_is_left_as_it_is():
    found = advised("amortize-callback", {}, compute=2.0, callbacks=8.0, owners={"sample": 8.0})
    assert "If training uses what it does, leave it as it is." in found.reason


def test_a_checkpoint_has_a_rhythm_of_its_own_whatever_else_is_between_calls():
    context = between_epochs(callbacks={"checkpoint": 10.0})
    context["hooks"] = {"checkpoint": {"times": 2, "working": 2}}
    # Twice in a thousand steps: five times less often it has no place.
    found = diagnosis_of(summary(context={"driver": "loop", **context}, compute=10.0))
    assert "amortize-callback" not in [each.id for each in found.recommendations]


def test_what_is_done_seldom_already_is_not_advised_to_be_done_more_often():
    parts = {"compute": 2.0, "callbacks": 20.0, "owners": {"sample": 20.0}}
    often = advised(
        "amortize-callback", {"hooks": {"sample": {"times": 200, "working": 200}}}, **parts
    )
    assert often.evidence["present"] == 1
    seldom = {"driver": "loop", "hooks": {"sample": {"times": 2, "working": 2}}}
    seldom |= {"first_step": 0, "last_step": 200}
    found = diagnosis_of(summary(context=seldom, **parts))
    assert all(
        each.evidence["advised"] >= 2 * each.evidence["present"] >= 2 * 25
        for each in found.recommendations
        if each.id == "amortize-callback"
    )
