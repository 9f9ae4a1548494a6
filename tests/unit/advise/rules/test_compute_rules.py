"""Rules on the train function: when each speaks, what it predicts, when it is silent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from hand_built import H200, assert_predicts, between_epochs, situation, summary

from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.rules.best_first import recommendations
from keras_perf.advise.rules.compiling.stable_shapes import stable_shapes
from keras_perf.advise.rules.compute import disable_run_eagerly, full_precision
from keras_perf.advise.rules.on_a_gpu.kernels import enable_xla, gpu_thread_mode
from keras_perf.advise.rules.on_a_gpu.larger_batch import larger_batch
from keras_perf.advise.rules.on_a_gpu.tensor_cores import mixed_precision, multiples_of_8
from keras_perf.advise.rules.tried.measured_advice import as_tried
from keras_perf.advise.situation import Situation, situation_of
from keras_perf.advise.verdict.verdict import verdict_of

Rule = Callable[[Situation], Recommendation | None]


def on_a_gpu(rule: Rule, *, sensors: dict[str, float] | None = None, **context: Any):
    """Ten milliseconds of compute on a GPU."""
    return rule(situation(compute=10.0, sensors=sensors, context=H200 | context))


@pytest.mark.parametrize(
    "use",
    [{"operations_on": "CPU:0"}, {"variables_on": {"CPU:0": 4}, "strategy": "OneDeviceStrategy"}],
)
def test_a_gpu_that_does_not_compute_the_steps_is_advised_nothing(use):
    settings = {"dtype_policy": "float32", "jit_compile": False, "training_gpus": gpu(9, 0)}
    assert on_a_gpu(mixed_precision, **settings) is not None
    for rule in (mixed_precision, enable_xla):
        assert on_a_gpu(rule, **settings, **use) is None


def test_of_unlike_gpus_the_one_that_holds_the_model_counts():
    gpus = [*gpu(6, 1), *gpu(9, 0)]
    context = {"dtype_policy": "float32", "training_gpus": gpus}
    assert on_a_gpu(mixed_precision, **context) is None
    on_second = {"variables_on": {"GPU:1": 4}, "operations_on": "GPU:1"}
    assert on_a_gpu(mixed_precision, **context, **on_second).evidence["compute_capability"] == [
        9,
        0,
    ]


@pytest.mark.parametrize(
    ("name", "has_them"),
    [
        ("Tesla T4", True),
        ("NVIDIA GeForce RTX 2060", True),
        ("NVIDIA GeForce GTX 1660 Ti", False),
        ("NVIDIA GeForce MX450", False),
        ("NVIDIA T400 4GB", False),
        ("Quadro T2000 with Max-Q Design", False),
    ],
)
def test_what_has_no_tensor_cores_is_known_by_its_name(name, has_them):
    gpus = [{"name": name, "compute_capability": [7, 5]}]
    for rule, policy in ((mixed_precision, "float32"), (multiples_of_8, "mixed_float16")):
        context = {"dtype_policy": policy, "layer_widths": [100], "training_gpus": gpus}
        assert (on_a_gpu(rule, **context) is not None) == has_them


def gpu(*compute_capability: int) -> list[dict[str, Any]]:
    return [{"name": "a GPU", "compute_capability": list(compute_capability)}]


# -- stable-shapes, disable-run-eagerly --------------------------------------------------


def test_retracing_is_told_to_stop():
    advice = stable_shapes(situation(compute=6.0, compile=4.0))
    # A tenth of the 4 ms is left at worst.
    assert_predicts(advice, 6.4, 6.0, 6.0)
    assert advice.evidence["compile_ms"] == 4.0
    assert "drop_remainder" in advice.action


def test_a_callback_that_makes_the_train_function_anew_is_named_as_the_cause():
    advice = stable_shapes(
        situation(compute=6.0, compile=4.0, context={"function_replacements": 5})
    )
    assert_predicts(advice, 6.4, 6.0, 6.0)
    assert "rebuilt the train function 5 times" in advice.reason
    assert "make_train_function" in advice.action


def test_an_axis_that_varies_is_told_from_a_partial_batch():
    def told(**context: Any) -> Recommendation:
        return stable_shapes(situation(compute=6.0, compile=4.0, context=context))

    varying = told(shapes_differ=True, rows_differ=False)
    assert "bucket_by_sequence_length" in varying.action
    assert "jit_compile=False" in varying.action
    assert "an axis other than the rows differs" in varying.reason
    # Padded to fewer lengths they compute up to three tenths more.
    assert_predicts(varying, 6 * 1.3 + 0.4, 6.0, 6.0)
    partial = told(rows_differ=True, input_kind="tf.data")
    assert partial.action == "dataset = dataset.batch(batch_size, drop_remainder=True)"
    loader = told(rows_differ=True, input_kind="DataLoader")
    assert loader.action.endswith("drop_last=True)")
    arrays = told(rows_differ=True, input_kind="arrays")
    assert "len(y) // batch_size" in arrays.action
    # These rows are left out before Keras shuffles.
    shuffled = [" unless the data are shuffled" in each.reason for each in (partial, arrays)]
    assert shuffled == [True, False]
    grain = {"input_kind": "Grain", "rows_differ": True}
    of_dataset = told(**grain, loader={"kind": "MapDataset"})
    assert of_dataset.action == "dataset = dataset.batch(batch_size, drop_remainder=True)"
    of_loader = told(**grain, loader={"kind": "DataLoader"})
    assert of_loader.action.startswith(
        "grain.transforms.Batch(batch_size, drop_remainder=True)  # the last"
    )


def test_a_loop_s_function_that_is_traced_for_each_length_is_told_to_generalise():
    def told(**context: Any) -> Recommendation:
        return stable_shapes(situation(compute=6.0, compile=4.0, context=context))

    lengths = {"driver": "loop", "many_shapes": True}
    for rows_differ in (True, False):
        advice = told(**lengths, rows_differ=rows_differ)
        assert "reduce_retracing=True" in advice.action
        assert "an axis other than the rows" in advice.reason
        assert not advice.evidence["rows_differ"]
    # Keras's own train function does so.
    assert "reduce_retracing" not in told(many_shapes=True, rows_differ=True).action


def test_a_loop_of_which_most_calls_are_traced_is_not_told_of_its_last_batch():
    def told(traces: int, **context: Any) -> Recommendation:
        known = {"rows_differ": True, "first_step": 0, "last_step": 100, "function_traces": traces}
        return stable_shapes(situation(compute=6.0, compile=4.0, context=known | context))

    assert "Python arguments" in told(99, driver="loop").reason
    assert "fewer rows than the others" in told(2, driver="loop").reason
    assert "fewer rows than the others" in told(99).reason


def test_what_fit_was_told_of_a_last_batch_is_followed_where_lengths_differ_too():
    found = situation(compute=6.0, compile=4.0, context={"rows_differ": True, "many_shapes": True})
    assert stable_shapes(found).evidence["rows_differ"]


def test_on_jax_nobody_is_told_of_tf_function():
    context = {"rows_differ": False, "versions": {"jax": "0.10.2"}}
    advice = stable_shapes(situation(compute=6.0, compile=4.0, context=context))
    assert "JAX_LOG_COMPILES=1" in advice.action
    assert "tf." not in advice.action + advice.reason


def test_for_each_length_that_is_left_xla_compiles_once():
    # 40 compilations of 200 ms in 200 steps: four of them are 4 ms a step, and eight 8 ms.
    totals = [{"cause": "xla-recompile", "count": 40, "total_ms": 8000.0}]
    context = {"shapes_differ": True, "event_totals": totals}
    with_xla = context | {"jit_compile": False}
    advice = stable_shapes(situation(compute=2.0, compile=40.0, context=with_xla))
    assert_predicts(advice, 2 * 1.3 + 8, 2 + 4, 2 + 1, before=42.0)
    assert advice.reason.endswith("With few lengths, 4 are predicted to compile, 8 at worst.")
    assert "the train function is traced for each of its lengths, 200 ms each." in advice.reason
    assert "jit_compile" not in advice.action
    one_shape = stable_shapes(
        situation(compute=2.0, compile=40.0, context=context | {"shapes_differ": False})
    )
    assert_predicts(one_shape, 2 + 4, 2, 2, before=42.0)


def test_where_rows_are_dropped_already_that_is_not_told():
    advice = stable_shapes(situation(compute=6.0, compile=4.0, context={"rows_differ": False}))
    assert "drop_remainder" not in advice.action
    assert "every batch has the same shape" in advice.reason


def test_what_was_not_recognised_as_compiling_is_predicted_to_go_with_it():
    # Of six milliseconds of compute 48 are one interval's, and 3 each other one's.
    intervals = pd.DataFrame(
        {"steps": [10.0] * 15, "compute": [48.0, *[3.0] * 14], "compile": [4.0] * 15}
    )
    measured = replace(summary(150, compute=6.0, compile=4.0), intervals=intervals)
    advice = stable_shapes(situation_of(measured))
    assert_predicts(advice, 6.4, 3.0, 3.0)
    assert "Compute takes 6 ms on average but 3 ms in a usual step" in advice.reason


def test_no_more_is_expected_to_go_than_compiling_and_the_quickest_steps_are_the_best_case():
    measured = summary(compute=6.0, compile=4.0, context={"undisturbed_ms": 4.5})
    assert_predicts(stable_shapes(situation_of(measured)), 6.4, 6.0, 4.5)


def test_what_compiling_costs_is_told_of_the_training_whose_start_up_stays():
    # 200 steps of 120 ms take 24 s, and 12 s are start-up: 60 ms for each step.
    start_up = {"before_first_step_s": 2.0, "first_steps": 1, "first_execution_s": 10.12}
    context = between_epochs(steps=200) | {"start_up": start_up}
    context["outside"] |= {"warmup_s": 10.12, "warmup_steps": 1}
    found = situation(compute=1.0, compile=119.0, context=context)
    advice = stable_shapes(found)
    assert advice.of == "whole"
    assert advice.predicted_speedup == pytest.approx(180 / 61)
    verdict, why = verdict_of(found)
    assert verdict == "compile-bound"
    assert str(why).endswith("the whole training, start-up included, would be 2.95× as fast.")
    # Of a step alone it would be 120 times.
    assert advice.high < 4


def varying(trials: dict[str, Any] | None = None) -> Situation:
    """Of 400 steps of 2 ms 100 were measured, and compiled for 2 s; the warm-up did for 6 s more.

    Its ten lengths take 0.4 s each, and before the first step comes a second.
    """
    start_up = {"before_first_step_s": 1.0, "first_steps": 1, "first_execution_s": 0.002}
    totals = [{"cause": "xla-recompile", "count": 5, "total_ms": 2000.0}]
    known = {"start_up": start_up, "jit_compile": True, "shapes_differ": True}
    known["advice_trials"] = trials
    context = between_epochs(steps=400) | known | {"event_totals": totals}
    context["outside"] |= {"warmup_s": 6.2, "warmup_steps": 10}
    return situation(100, compute=2.0, compile=20.0, context=context)


def test_what_compiles_in_the_warm_up_goes_with_what_compiles_later():
    found = varying()
    # 400 steps of 2 ms, 2 s of the measured and 6 s of the warm-up's compiling, and a second.
    assert found.model.training_ms * 400 == pytest.approx(800 + 2000 + 6000 + 1000)
    # Nothing of it is left without XLA, whose steps compute for longer.
    advice = stable_shapes(found)
    assert advice.title == "Train without XLA, which compiles for each length"
    assert_predicts(advice, 1200 + 1000, 960 + 1000, 800 + 1000, before=9800)
    assert advice.action.startswith("model.compile(..., jit_compile=False)")
    # Of few lengths four would compile, for 1.6 s.
    assert "\n# or, predicted 2.88×:\n" in advice.action
    assert advice.action.index("2.88×") < advice.action.index("bucket_by_sequence_length")
    assert advice.reason.endswith("With few lengths, 4 are predicted to compile, 8 at worst.")


def test_batches_that_python_makes_are_padded_where_they_are_made():
    context = {"shapes_differ": True, "jit_compile": True, "input_kind": "generator"}
    advice = stable_shapes(situation(compute=2.0, compile=40.0, context=context))
    assert "np.pad(batch" in advice.action
    assert "dataset" not in advice.action


@pytest.mark.parametrize(
    ("jit_compile", "said"),
    [(True, "@tf.function(jit_compile=False, reduce_"), (None, ""), (False, "")],
)
def test_in_a_loop_xla_is_spoken_of_only_where_it_is_there(jit_compile, said):
    context = {"shapes_differ": True, "driver": "loop", "jit_compile": jit_compile}
    advice = stable_shapes(situation(compute=2.0, compile=40.0, context=context))
    assert said in advice.action
    assert ("jit_compile" in advice.action) is bool(said)


def test_on_jax_nobody_is_sent_away_from_xla_without_which_steps_run_from_python():
    context = {"shapes_differ": True, "jit_compile": True, "versions": {"jax": "0.10.2"}}
    advice = stable_shapes(situation(compute=2.0, compile=40.0, context=context))
    assert advice.title.startswith("Give the train")
    assert "jit_compile" not in advice.action


def tried(id: str, before_ms: float, after_ms: float) -> dict[str, Any]:
    gain = before_ms / after_ms
    return {
        "id": id,
        "gain": gain,
        "low": gain / 1.1,
        "high": gain * 1.1,
        "before_ms": before_ms,
        "after_ms": after_ms,
    }


@pytest.mark.parametrize(
    ("without_xla_ms", "padded_ms", "first", "expected"),
    [(2.5, 2.2, "Train without XLA", 9800 / 2000), (9.5, 2.2, "Give the train", 9800 / 3480)],
)
def test_of_lengths_that_vary_the_way_that_was_faster_on_trial_stands_first(
    without_xla_ms, padded_ms, first, expected
):
    # 400 steps, and a second before them; padded, four lengths compile for 1.6 s.
    changes = [tried("disable-xla", 2.0, without_xla_ms), tried("stable-shapes", 2.0, padded_ms)]
    found = varying(trials={"step_ms": 2.0, "one_shape": False, "changes": changes})
    advice = stable_shapes(found)
    assert advice.title.startswith(first)
    assert advice.predicted_speedup == pytest.approx(expected)
    assert "tried on this training, a step took" in advice.reason
    assert "Padded to few lengths a step took 2.2 ms on trial" in advice.reason
    # A trial, in which all lengths were compiled already, does not speak against it.
    assert [each.id for each in as_tried(found, [advice])] == ["stable-shapes"]


def test_where_training_without_xla_was_put_together_it_is_advised_once():
    change = tried("disable-xla", 2.0, 1.0)
    together = {"step_ms": 2.0, "one_shape": False, "changes": [change], "together": [change]}
    assert stable_shapes(varying(trials=together)) is None


def test_how_long_xla_compiled_narrows_what_is_predicted():
    # Twenty lengths in 400 batches, as a run on two cores had them: 7.93 came of jit_compile=False
    # in another one, for which 1.49 (1.00–17.5) was predicted from the lengths that may be left.
    start_up = {"before_first_step_s": 0.02, "first_steps": 1, "first_execution_s": 1.04}
    start_up |= {"tracing_s": 0.16, "computing_s": 0.83, "warmup_wait_s": 0.01}
    totals = [{"cause": "xla-recompile", "count": 5, "total_ms": 4388.0}]
    context = between_epochs(steps=400) | {"start_up": start_up, "event_totals": totals}
    context |= {"jit_compile": True, "shapes_differ": True}
    context["outside"] |= {"warmup_s": 2.4, "warmup_steps": 10}
    context |= {"undisturbed_ms": 1.2, "cpu_count": 2}
    found = situation(170, compute=1.7, compile=25.7, process_cpu_pct=52.0, context=context)
    advice = stable_shapes(found)
    assert 4 < advice.low < advice.predicted_speedup < 7.93 < advice.high < 10


def test_the_verdict_promises_no_less_than_the_advice():
    found = varying()
    advice, (verdict, why) = stable_shapes(found), verdict_of(found)
    assert verdict == "compile-bound"
    assert f"would be {9800 / 1800:.2f}× as fast" in str(why)
    assert advice.predicted_speedup < 9800 / 1800


def test_longer_steps_speak_not_against_a_start_up_that_is_saved():
    """Steps compute for longer without XLA than they do with the compiling that was measured."""
    start_up = {"before_first_step_s": 1.0, "first_steps": 1, "first_execution_s": 0.02}
    totals = [{"cause": "xla-recompile", "count": 1, "total_ms": 900.0}]
    known = {"start_up": start_up, "jit_compile": True, "shapes_differ": True}
    context = between_epochs(steps=400) | known | {"event_totals": totals}
    context["outside"] |= {"warmup_s": 10.2, "warmup_steps": 10}
    found = situation(300, compute=20.0, compile=3.0, context=context)
    advice = stable_shapes(found)
    changed = advice.change(found.model, 0.0)
    assert changed.step_ms > found.model.step_ms
    assert changed.training_ms < found.model.training_ms
    assert [each.id for each in recommendations(found)] == ["stable-shapes"]


def test_a_partial_batch_compiles_nothing_in_the_warm_up():
    context = {"jit_compile": True, "rows_differ": True, "shapes_differ": False}
    start_up = {"before_first_step_s": 1.0, "first_steps": 1, "first_execution_s": 4.0}
    context |= between_epochs(steps=400) | {"start_up": start_up | {"computing_s": 4.0}}
    found = situation(100, compute=2.0, compile=20.0, context=context)
    assert stable_shapes(found).predicted_speedup == pytest.approx(
        found.model.training_ms / (found.model.training_ms - 100 * 20.0 / 400)
    )


def test_the_usual_step_counts_steps_and_not_intervals():
    intervals = pd.DataFrame(
        {
            "steps": [100.0, 10.0, 10.0, 10.0],
            "compute": [6.0, 1.0, 1.0, 1.0],
            "dispatch": [0.0, float("nan"), float("nan"), 1.0],
            "compile": [4.0] * 4,
        }
    )
    measured = replace(summary(130, compute=6.0, compile=4.0), intervals=intervals)
    # The median step computes for 6 ms, longer than the mean one: nothing goes.
    assert_predicts(stable_shapes(situation_of(measured)), 6.4, 6.0, 6.0)


@pytest.mark.parametrize("spent", [{}, {"compile": 0.0}, {"compile": 0.1}])
def test_without_retracing_shapes_are_left_alone(spent):
    assert stable_shapes(situation(compute=6.0, **spent)) is None


@pytest.mark.parametrize(
    ("cpu_pct", "left"),
    [
        (129.0, (5.0, 1.3, 0.5)),  # one thread: Python, or small operations
        (131.0, (9.5, 6.0, 3.0)),  # several: operations that are large
        (0.0, (9.5, 6.0, 3.0)),  # not sampled
    ],
)
def test_an_eager_train_step_is_told_to_be_compiled(cpu_pct, left):
    context = {"run_eagerly": True}
    advice = disable_run_eagerly(situation(compute=10.0, process_cpu_pct=cpu_pct, context=context))
    assert_predicts(advice, *left)
    assert advice.id == "disable-run-eagerly"
    assert advice.action == "model.compile(..., run_eagerly=False)"


def test_on_jax_a_step_is_eager_without_xla_too_and_gains_more():
    context = {"run_eagerly": True, "versions": {"jax": "0.10.2"}}
    advice = disable_run_eagerly(situation(compute=10.0, process_cpu_pct=100.0, context=context))
    assert_predicts(advice, 5.0, 1.3, 0.1)
    assert advice.action == "model.compile(..., run_eagerly=False, jit_compile=True)"
    assert advice.reason.startswith("run_eagerly=True, or jit_compile=False, runs every operation")


def test_a_layer_that_jax_cannot_compile_goes_into_the_input():
    context = {"run_eagerly": True, "supports_jit": False, "versions": {"jax": "0.10.2"}}
    advice = disable_run_eagerly(situation(compute=10.0, context=context))
    assert advice.title == "Take what cannot be compiled out of the model"
    assert "jit_compile" not in advice.action
    assert "dataset.map(first, num_parallel_calls=" in advice.action
    assert advice.action.endswith("with training=False: a crop crops there, too")
    compile(advice.action, "action", "exec")


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        (
            "arrays",
            "from_tensor_slices((x, y)).shuffle(len(x)).batch(32)\ndataset = dataset.map(first",
        ),
        ("PyDataset", "\nx, y = first(x, y)  # where your PyDataset makes a batch"),
    ],
)
def test_it_is_called_where_batches_are_made(kind, line):
    jax = {"run_eagerly": True, "supports_jit": False, "versions": {"jax": "0.10.2"}}
    context = jax | {"input_kind": kind, "examples_per_step": 32.0, "epoch_steps": 10}
    action = disable_run_eagerly(situation(compute=10.0, context=context)).action
    assert line in action
    compile(action, "action", "exec")


def test_where_every_function_runs_eagerly_the_setting_of_all_is_named():
    context = {"run_eagerly": True, "eager_functions": True}
    advice = disable_run_eagerly(situation(compute=10.0, context=context))
    assert advice.action.startswith("tf.config.run_functions_eagerly(False)")
    assert advice.reason.startswith("tf.config.run_functions_eagerly(True) runs every operation")


def test_a_trace_tells_an_eager_steps_operations_from_its_python():
    measured = summary(compute=10.0, context={"run_eagerly": True})
    # Traced steps are longer, and of them seven tenths are Python.
    traced = replace(measured, trace={"execution_ms": 3.6, "python_ms": 8.4, "gap_ms": 1.0})
    advice = disable_run_eagerly(situation_of(traced))
    # A tenth of what Python takes is the runtime's, and of 3 ms of operations 2.3 are their own.
    assert_predicts(advice, 2 * 0.7 + 2.3, 0.7 + 0.6 * 2.3, 0.7 * 0.7 + 0.4 * 2.3)
    assert "Operations themselves take 30%" in advice.reason
    assert advice.evidence == {"compute_ms": 10.0, "operations_share": pytest.approx(0.3)}


def test_a_trace_without_an_execution_tells_nothing_of_an_eager_step():
    measured = summary(compute=10.0, context={"run_eagerly": True, "versions": {"jax": "0.10.2"}})
    traced = replace(measured, trace={"execution_ms": 0.0, "python_ms": 8.4, "gap_ms": 1.0})
    advice = disable_run_eagerly(situation_of(traced))
    assert "operations_share" not in advice.evidence
    assert "No trace tells how much of that is Python" in advice.reason


def test_a_gpus_utilization_tells_what_its_operations_take_of_an_eager_step():
    sensors = {"gpu/0/utilization_pct": 40.0}
    advice = on_a_gpu(disable_run_eagerly, sensors=sensors, run_eagerly=True)
    assert advice.evidence["operations_share"] == pytest.approx(0.4)
    assert "operations_share" not in on_a_gpu(disable_run_eagerly, run_eagerly=True).evidence
    # Of 10 ms half is waited for input: in the others kernels run for 4 ms.
    context = H200 | {"run_eagerly": True}
    half = situation(compute=5.0, input_wait=5.0, sensors=sensors, context=context)
    waits = disable_run_eagerly(half)
    assert waits.evidence["operations_share"] == pytest.approx(0.8)


def test_a_gpu_that_others_compute_on_tells_nothing_of_an_eager_step():
    sensors = {"gpu/0/utilization_pct": 98.0, "gpu/0/other_processes": 1.0}
    advice = on_a_gpu(disable_run_eagerly, sensors=sensors, run_eagerly=True)
    assert "operations_share" not in advice.evidence


@pytest.mark.parametrize("context", [{}, {"run_eagerly": False}])
def test_a_compiled_train_step_is_left_alone(context):
    assert disable_run_eagerly(situation(compute=10.0, context=context)) is None


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("tf.data", "dataset = dataset.batch(64)"),
        ("arrays", "model.fit(..., batch_size=64)"),
        ("DataLoader", "loader = torch.utils.data.DataLoader(..., batch_size=64)"),
        ("PyDataset", "self.batch_size = 64  # of your PyDataset"),
        ("generator", "batch_size = 64  # where your generator makes batches"),
    ],
)
def test_larger_batches_are_made_where_batches_are_made(kind, code):
    context = IDLE | {"examples_per_step": 32.0, "input_kind": kind}
    advice = on_a_gpu(larger_batch, sensors={"gpu/0/sm_active_pct": 20.0}, **context)
    assert advice.action.startswith(code)


# -- enable-xla --------------------------------------------------------------------------


def test_a_train_function_on_a_gpu_is_told_of_xla():
    advice = on_a_gpu(enable_xla, jit_compile=False)
    assert_predicts(advice, 10.0, 8.7, 6.0)
    assert (advice.id, advice.evidence) == ("enable-xla", {"jit_compile": False})
    assert "was not measured here" in advice.reason
    assert advice.action == "model.compile(..., jit_compile=True)"


def test_a_compile_that_does_not_take_it_is_not_told_to():
    advice = on_a_gpu(enable_xla, jit_compile=False, own_compile=True)
    assert advice.action.startswith("model.jit_compile = True  # after compile")


@pytest.mark.parametrize("context", [{"jit_compile": True}, {}])
def test_what_xla_compiles_or_may_compile_is_not_told_of_xla(context):
    assert on_a_gpu(enable_xla, **context) is None


BATCHED = {
    "kind": "padded_batch",
    "function": "",
    "parallel": False,
    "stateful": False,
    "random": False,
    "reads_files": False,
}


def before(id: str) -> dict[str, Any]:
    """A trial before this training, which found it quicker with a change of this name."""
    changed = {"id": id, "before_ms": 5.0, "after_ms": 4.0, "gain": 1.25, "low": 1.2, "high": 1.3}
    return {"tried_before": {"step_ms": 5.0, "changes": [changed]}}


@pytest.mark.parametrize(
    "context",
    [
        {"training_gpus": []},
        {"supports_jit": False},  # Keras does not ask for it
        {"replicas": 2},
        {"run_eagerly": True},  # comes first, and XLA by itself with it
        {"many_shapes": True},  # it would compile for each
        before("disable-xla"),
    ],
)
def test_xla_is_not_recommended_where_it_is_not_to_be_had_or_was_slower(context):
    assert on_a_gpu(enable_xla, **({"jit_compile": False} | context)) is None


def test_for_batches_of_one_shape_xla_is_recommended():
    known = {"dataset": {"chains": [[BATCHED]]}}
    assert on_a_gpu(enable_xla, jit_compile=False, **known) is not None


def test_what_a_trial_found_of_something_else_says_nothing_of_xla():
    assert on_a_gpu(enable_xla, jit_compile=False, **before("full-precision")) is not None


# -- mixed-precision ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("capability", "own", "scales"),
    [((7, 5), True, True), ((7, 5), False, False), ((8, 0), True, False)],
)
def test_a_train_step_of_one_s_own_is_told_to_scale_its_loss_in_float16(capability, own, scales):
    """Keras's own does; `apply` divides gradients by a scale that nobody has multiplied with."""
    context = {"training_gpus": gpu(*capability), "dtype_policy": "float32", "own_train_step": own}
    assert ("scale_loss" in on_a_gpu(mixed_precision, **context).action) is scales


@pytest.mark.parametrize(
    ("capability", "policy"),
    [
        ((9, 0), "mixed_bfloat16"),
        ((8, 0), "mixed_bfloat16"),
        ((7, 5), "mixed_float16"),
        ((7, 0), "mixed_float16"),
    ],
)
def test_tensor_cores_are_told_of_the_precision_that_they_have(capability, policy):
    gpus = gpu(*capability)
    advice = on_a_gpu(mixed_precision, training_gpus=gpus, dtype_policy="float32")
    assert_predicts(advice, 10.0, 7.0, 3.5)
    assert advice.id == "mixed-precision"
    assert advice.title == f"Compute in {policy.removeprefix('mixed_')}"
    assert f'set_global_policy("{policy}")' in advice.action
    assert advice.evidence == {
        "dtype_policy": "float32",
        "advised_policy": policy,
        "compute_capability": list(capability),
    }


@pytest.mark.parametrize(
    "context",
    [
        {"training_gpus": []},
        {"training_gpus": gpu(6, 1)},
        {"dtype_policy": "mixed_float16"},
        {"dtype_policy": None},
        before("full-precision"),
        {"step_work": {"flops": {"bfloat16": 3e9, "float32": 1e9}}},
    ],
)
def test_without_tensor_cores_or_float32_the_precision_is_left_alone(context):
    assert on_a_gpu(mixed_precision, **({"dtype_policy": "float32"} | context)) is None


# -- full-precision ----------------------------------------------------------------------


IN_HALF = {
    "dtype_policy": "mixed_float16",
    "gpus_visible": 0,
    "cpu_count": 4,
    "step_work": {"flops": {"float16": 1e8}, "product_bytes": 1e6},
}
"""Steps of 100 MFLOP on four cores, which would take 2.5 ms and 3 ms for all else."""


def in_half(compute: float = 200.0, **context: Any) -> Recommendation | None:
    return full_precision(situation(compute=compute, context=IN_HALF | context))


@pytest.mark.parametrize("policy", ["mixed_float16", "float16"])
def test_on_a_cpu_float16_is_reckoned_by_what_a_step_multiplies(policy):
    advice = in_half(dtype_policy=policy)
    assert_predicts(advice, 6 * 5.5, 5.5, 5.5 / 6, before=200.0)
    assert advice.id == "full-precision"
    assert "few quick operations on a CPU for float16: eight" in advice.reason
    assert "1.2 to 220 times as long" in advice.reason
    assert advice.evidence == {"dtype_policy": policy, "advised_policy": "float32"}
    assert 'set_dtype_policy("float32")' in advice.action


def test_steps_that_multiply_as_quickly_as_in_float32_gain_little():
    assert_predicts(in_half(6.0), 6.0, 4.8, 0.8, before=6.0)


def test_where_nobody_counted_what_a_step_multiplies_a_quarter_is_expected():
    work = {"not_counted": "loop", "flops": {}}
    assert_predicts(in_half(step_work=work), 200.0, 50.0, 50 / 6, before=200.0)


def test_bfloat16_is_slow_where_the_processor_has_none():
    advice = in_half(dtype_policy="mixed_bfloat16", cpu_bfloat16=False)
    assert "This processor has no instructions for bfloat16: eight" in advice.reason
    assert "1.0 to 12 times as long" in advice.reason


def test_computing_takes_less_of_all_cores_that_it_uses():
    sampled = {"host/process_cpu_pct": 300.0}
    advice = full_precision(situation(compute=200.0, sensors=sampled, context=IN_HALF))
    assert_predicts(advice, 6 * 5.5, 5.5, 5.5 / 6, before=200.0)


def test_replicas_of_several_workers_have_cores_of_their_own():
    assert_predicts(in_half(replicas=4, workers=2), 6 * 8.0, 8.0, 8.0 / 6, before=200.0)


def test_two_replicas_of_a_cpu_share_its_cores():
    assert_predicts(in_half(replicas=2), 6 * 8.0, 8.0, 8.0 / 6, before=200.0)


@pytest.mark.parametrize(
    "context",
    [
        {"dtype_policy": "float32"},
        {"dtype_policy": None},
        {"gpus_visible": 1},
        {"gpus_visible": None},  # nobody could ask
        {"strategy": "TPUStrategyV2"},
        {"versions": {"jax": "0.10.2"}},
        {"jit_compile": True},
        {"driver": "loop", "jit_compile": None},  # its user has not said
        {"run_eagerly": True},  # what that takes is mostly Python
        {"dtype_policy": "mixed_bfloat16", "cpu_bfloat16": True},
        {"dtype_policy": "mixed_bfloat16"},  # the system does not tell
    ],
)
def test_half_precision_is_left_alone_where_it_may_be_quick(context):
    assert in_half(**context) is None


def test_a_loop_is_told_to_set_the_policy():
    advice = in_half(driver="loop", jit_compile=False)
    assert "set_dtype_policy" in advice.action or "--policy float32" in advice.action


# -- multiples-of-8 ----------------------------------------------------------------------


MIXED = {"dtype_policy": "mixed_bfloat16"}


def test_widths_that_do_not_fit_tensor_cores_are_named():
    advice = on_a_gpu(multiples_of_8, **MIXED, layer_widths=[10, 64, 100], examples_per_step=30.0)
    assert_predicts(advice, 10.0, 9.2, 7.0)
    assert (advice.id, advice.evidence) == ("multiples-of-8", {"sizes": [10, 100, 30]})
    assert advice.reason.startswith("Not divisible by 8: 10, 100, 30. Tensor cores work on")


def test_of_several_replicas_each_one_s_share_is_looked_at():
    shared = {**MIXED, "layer_widths": [64], "replicas": 4}
    assert on_a_gpu(multiples_of_8, **shared, examples_per_step=100.0).evidence == {"sizes": [25]}
    assert on_a_gpu(multiples_of_8, **shared, examples_per_step=104.0).evidence == {"sizes": [26]}
    assert on_a_gpu(multiples_of_8, **shared, examples_per_step=128.0) is None


@pytest.mark.parametrize("replicas", [1, 4])
def test_float16_is_not_advised_where_keras_looks_for_an_overflow_on_one_replica(replicas):
    context = {"training_gpus": gpu(7, 0), "dtype_policy": "float32", "replicas": replicas}
    assert (on_a_gpu(mixed_precision, **context) is None) is (replicas > 1)
    assert on_a_gpu(mixed_precision, **context, driver="loop") is not None
    context["training_gpus"] = gpu(8, 0)
    assert on_a_gpu(mixed_precision, **context) is not None


def test_a_vocabulary_can_be_padded():
    advice = on_a_gpu(multiples_of_8, **MIXED, layer_widths=[64, 50257], output_widths=[50257])
    assert advice.evidence == {"sizes": [50257]}


@pytest.mark.parametrize(
    "context",
    [
        {"layer_widths": [8, 64], "examples_per_step": 32.0},
        {"layer_widths": [1, 7], "examples_per_step": 4.0},  # too small for a tile
        {"layer_widths": [], "examples_per_step": 31.9},  # a mean of unequal batches
        {"layer_widths": None, "examples_per_step": None},
        {"layer_widths": [10, 64], "output_widths": [10]},  # as many as there are classes
        {"layer_widths": [10], "dtype_policy": "float32"},
        {"layer_widths": [10], "dtype_policy": None},
        {"layer_widths": [10], "training_gpus": gpu(6, 1)},
        {"layer_widths": [10], "training_gpus": []},
    ],
)
def test_widths_that_fit_or_meet_no_tensor_core_are_left_alone(context):
    assert on_a_gpu(multiples_of_8, **(MIXED | context)) is None


# -- larger-batch ------------------------------------------------------------------------


IDLE = {
    "gpu_memory_total_mib": 1000.0,
    "gpu_memory_peak_mib": 250.0,
    "examples_per_step": 32.0,
}


def test_a_gpu_that_is_mostly_idle_and_empty_is_told_of_a_larger_batch():
    advice = on_a_gpu(larger_batch, sensors={"gpu/0/sm_active_pct": 20.0}, **IDLE)
    assert_predicts(advice, 10.0, 7.0, 5.0)
    assert (advice.id, advice.title) == ("larger-batch", "Double the batch to 64")
    half = "\n# and steps_per_epoch, if set, divided by 2"
    assert advice.action == f"dataset = dataset.batch(64){half}"
    assert advice.reason.startswith(
        "SMs are active for 20% of the time and 75% of the memory was never used."
    )
    assert advice.evidence == {"sm_active_pct": 20.0, "memory_free_share": 0.75, "batch": 32.0}


@pytest.mark.parametrize(("gathered", "told"), [(1, False), (3, False), (4, True)])
def test_twice_the_batch_with_half_of_them_gathered_changes_no_update(gathered, told):
    known = IDLE | {"batches_per_update": gathered}
    advice = on_a_gpu(larger_batch, sensors={"gpu/0/sm_active_pct": 20.0}, **known)
    assert advice.action.endswith("updates stay as they are") is told
    assert ("the learning rate may have to follow" in advice.reason) is not told


def test_a_smaller_last_batch_makes_no_odd_size_and_arrays_are_not_batched_by_the_user():
    # 5000 examples in 79 batches, the last of 8.
    mean = IDLE | {"examples_per_step": 5000 / 79, "epoch_steps": 79, "input_kind": "arrays"}
    advice = on_a_gpu(larger_batch, sensors={"gpu/0/sm_active_pct": 20.0}, **mean)
    assert advice.title == "Double the batch to 128"
    assert advice.action.startswith("model.fit(..., batch_size=128)")


@pytest.mark.parametrize(
    ("active", "context"),
    [
        (51.0, {}),
        (None, {}),
        (20.0, {"gpu_memory_peak_mib": 501.0}),
        (20.0, {"gpu_memory_peak_mib": None}),
        (20.0, {"gpu_memory_total_mib": None}),
        (20.0, {"examples_per_step": None}),
        (20.0, {"training_gpus": []}),
    ],
)
def test_a_gpu_that_is_busy_full_or_unknown_is_not_told_of_a_larger_batch(active, context):
    sensors = {} if active is None else {"gpu/0/sm_active_pct": active}
    assert on_a_gpu(larger_batch, sensors=sensors, **(IDLE | context)) is None


def test_a_gpu_that_is_watched_tells_what_the_host_takes_of_computing():
    """Of ten milliseconds kernels run for four: half precision leaves the host's six as they are.

    For two batches the host launches once, and kernels take up to twice the time.
    """
    sensors = {"gpu/0/sm_active_pct": 20.0, "gpu/0/graphics_active_pct": 40.0}
    float32 = {"dtype_policy": "float32"}
    assert_predicts(on_a_gpu(mixed_precision, sensors=sensors, **float32), 10.0, 8.8, 7.4)
    # The kernels of before fill half of the GPU.
    assert_predicts(on_a_gpu(larger_batch, sensors=sensors, **IDLE), 10.0, 6.0, 5.0)
    widths = {"dtype_policy": "mixed_bfloat16", "layer_widths": [100]}
    advice = on_a_gpu(multiples_of_8, sensors=sensors, **widths)
    assert_predicts(advice, 10.0, 10 - 0.4 * 0.8, 10 - 0.4 * 3)


def test_what_lies_beside_computing_is_none_of_its_kernels():
    """Of ten milliseconds five are computing, and four of them kernels."""
    sensors = {"gpu/0/utilization_pct": 40.0}
    context = H200 | {"dtype_policy": "float32"}
    found = situation(compute=5.0, callbacks=5.0, sensors=sensors, context=context)
    assert_predicts(mixed_precision(found), 10.0, 8.8, 7.4)


def test_how_other_batches_are_measured_is_told_with_a_larger_one():
    advice = on_a_gpu(larger_batch, sensors={"gpu/0/sm_active_pct": 20.0}, **IDLE)
    assert advice.reason.endswith("keras_perf.sweep_batch_size measures other sizes.")


def test_where_others_compute_on_the_gpu_too_its_kernels_are_not_ours():
    sensors = {"gpu/0/graphics_active_pct": 40.0, "gpu/0/other_processes": 1.0}
    advice = on_a_gpu(mixed_precision, sensors=sensors, dtype_policy="float32")
    assert_predicts(advice, 10.0, 7.0, 3.5)


def test_of_a_gpu_that_was_watched_for_a_moment_nothing_follows():
    sensors = {"gpu/0/sm_active_pct": 20.0, "gpu/0/graphics_active_pct": 40.0}
    briefly = situation(20, compute=10.0, sensors=sensors, context=H200 | IDLE)
    assert larger_batch(briefly) is None


def on_an_older_gpu(utilization_pct: float, **parts: float):
    return by_sensor("utilization_pct", utilization_pct, **parts)


def by_sensor(sensor: str, pct: float, **parts: float):
    sensors = {f"gpu/0/{sensor}": pct}
    return larger_batch(situation(sensors=sensors, context=H200 | IDLE, **parts))


def test_a_gpu_that_counts_no_sms_is_told_by_its_utilization_unless_it_waits():
    advice = on_an_older_gpu(30.0, compute=9.5, input_wait=0.5)
    assert advice is not None
    assert advice.reason.startswith("Any kernel runs for 30% of the time and 75% of the memory")
    assert advice.evidence == {"utilization_pct": 30.0, "memory_free_share": 0.75, "batch": 32.0}
    assert on_an_older_gpu(30.0, compute=8.5, input_wait=1.5) is None
    assert on_an_older_gpu(30.0, compute=10.0) is None, "its wait is not known"
    assert on_an_older_gpu(51.0, compute=9.5, input_wait=0.5) is None


@pytest.mark.parametrize("part", ["input_wait", "callbacks", "other_host", "compile"])
@pytest.mark.parametrize("sensor", ["sm_active_pct", "utilization_pct"])
def test_a_gpu_that_idles_for_what_the_host_does_is_not_told_of_a_larger_batch(sensor, part):
    waits = {"input_wait": 0.2, "callbacks": 0.2, "other_host": 0.2, "compile": 0.2}
    assert by_sensor(sensor, 30.0, compute=9.2, **waits) is not None
    assert by_sensor(sensor, 30.0, compute=8.9, **waits | {part: 0.5}) is None, "all of them count"
    assert by_sensor(sensor, 30.0, compute=3.9, **waits | {part: 5.5}) is None


def test_active_sms_tell_more_than_utilization():
    sensors = {"gpu/0/sm_active_pct": 60.0, "gpu/0/utilization_pct": 30.0}
    assert on_a_gpu(larger_batch, sensors=sensors, **IDLE) is None


@pytest.mark.parametrize(
    ("active", "peak_mib", "advised"),
    [(20.0, 250.0, True), (60.0, 250.0, False), (20.0, 501.0, False)],
)
def test_the_most_active_and_the_fullest_of_several_gpus_decide(active, peak_mib, advised):
    memory = {"current_mib": 100.0, "limit_mib": 1000.0}
    devices = [
        memory | {"name": "GPU:0", "peak_mib": 200.0},
        memory | {"name": "GPU:1", "peak_mib": peak_mib},
    ]
    sensors = {"gpu/0/sm_active_pct": 10.0, "gpu/1/sm_active_pct": active}
    context = IDLE | {"device_memory": devices, "gpu_memory_peak_mib": None}
    advice = on_a_gpu(larger_batch, sensors=sensors, **context)
    assert (advice is not None) == advised


# -- gpu-thread-mode ---------------------------------------------------------------------


def test_busy_cpus_are_told_to_leave_the_gpu_its_threads():
    advice = on_a_gpu(gpu_thread_mode, sensors={"host/process_cpu_pct": 640.0})
    assert_predicts(advice, 10.0, 9.5, 8.5)
    assert (advice.id, advice.evidence) == ("gpu-thread-mode", {"cpu_pct": 80.0})
    assert advice.reason.startswith("The training keeps the CPUs 80% busy: the threads that launch")


@pytest.mark.parametrize(
    ("busy", "context"),
    [
        (79.9, {}),
        (None, {}),
        (80.0, {"gpu_thread_mode": "gpu_private"}),
        (80.0, {"versions": {"jax": "0.10.2"}}),
        (80.0, {"training_gpus": []}),
    ],
)
def test_threads_that_are_not_kept_waiting_are_left_alone(busy, context):
    sensors = {} if busy is None else {"host/process_cpu_pct": 8 * busy}
    assert on_a_gpu(gpu_thread_mode, sensors=sensors, **context) is None
