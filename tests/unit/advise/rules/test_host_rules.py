"""Rules on the host's work: when each speaks, what it predicts, when it is silent."""

from __future__ import annotations

from typing import Any

import pytest
from hand_built import assert_predicts, awake, between_epochs, situation, stage
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.rules.garbage import AFTER_SEARCHES, tune_gc
from keras_perf.advise.rules.host import (
    WORTH_AMORTIZING,
    amortize_callback,
)
from keras_perf.advise.rules.steps_per_execution import raise_steps_per_execution
from keras_perf.advise.step.step_model import INSIDE

TRIAL = {
    "recommended": 8,
    "predicted_speedup": 1.5,
    "low": 1.4,
    "high": 1.6,
    "present": 1,
    "applied": False,
    "in_graph_ms": 6.0,
    "per_execution_ms": 4.0,
}


# -- amortize-callback -------------------------------------------------------------------


HOOK = "Mine.on_train_batch_end"


def amortized(context: dict[str, Any] | None = None, **owners: float) -> Recommendation | None:
    named = {owner.replace("__", "."): spent for owner, spent in owners.items()}
    found = situation(compute=6.0, callbacks=4.0, owners=named, context=context)
    return amortize_callback(found)


def test_the_dearest_callback_is_told_to_work_every_20_steps():
    advice = amortized(Mine__on_train_batch_end=3.0, Other__on_train_batch_begin=1.0)
    # Its 3 ms shrink to a tenth, a twentieth or nothing, and with shorter pauses the rest too.
    computing = awake(6.0, [2.7, 2.85, 3.0])
    assert_predicts(advice, 1.3 + computing[0], 1.15 + computing[1], 1.0 + computing[2])
    assert advice.title == "Do the work of Mine.on_train_batch_end every 20 steps"
    assert advice.evidence["owner"] == "Mine.on_train_batch_end"
    compile(advice.action, "action", "exec")
    assert "def on_train_batch_end(self, batch, logs=None):" in advice.action


@pytest.mark.parametrize(
    ("owner", "words"),
    [
        ("Mine__on_train_batch_begin", "as a schedule of the learning rate does, leave it"),
        ("Mine__on_train_batch_end", "as an average of weights, leave it"),
        ("ModelCheckpoint__on_train_batch_end", ""),
    ],
)
def test_of_a_hook_that_training_may_need_it_is_said_that_it_is_to_stay(owner, words):
    reason = amortized(**{owner: 3.0}).reason
    assert words in reason
    assert ("leave it as it is" in reason) == bool(words)


def test_uneven_work_in_every_call_is_not_taken_for_rarer_work():
    uneven = {"hooks": {HOOK: {"times": 100, "working": 62.0}}}
    assert amortized(uneven, Mine__on_train_batch_end=4.0).evidence["present"] == 1
    second = {"hooks": {HOOK: {"times": 100, "working": 51.0}}}
    assert amortized(second, Mine__on_train_batch_end=4.0).evidence["present"] == 2


@pytest.mark.parametrize("spent", [1.0, 4.0, 19.0, 60.0])
def test_once_followed_too_little_is_left_to_be_advised_again(spent):
    parts, long = {"compute": 5.0, "callbacks": spent}, {"epoch_steps": 1000}
    advice = amortize_callback(situation(**parts, owners={HOOK: spent}, context=long))
    left = spent / advice.evidence["advised"]
    assert left < WORTH_AMORTIZING * (5.0 + left)
    owners = {HOOK: left}
    assert amortize_callback(situation(compute=5.0, callbacks=left, owners=owners)) is None
    assert advice.evidence["advised"] % 10 == 0


def test_the_progress_bar_is_told_to_be_quieter():
    assert amortized(ProgbarLogger__on_train_batch_end=4.0).action.startswith(
        "model.fit(..., verbose=2)"
    )


@pytest.mark.parametrize(
    ("owner", "action"),
    [
        ("ModelCheckpoint", "keras.callbacks.ModelCheckpoint(..., save_freq=20)"),
    ],
)
def test_kerass_own_callbacks_are_told_by_the_argument_that_they_have(owner, action):
    assert amortized(**{f"{owner}__on_train_batch_end": 4.0}).action == action


def test_tensorboard_is_told_its_default_which_leaves_nearly_a_half():
    advice = amortized(TensorBoard__on_train_batch_end=4.0)
    assert advice.title == "Let TensorBoard write once an epoch"
    assert 'update_freq="epoch"' in advice.action
    computing = awake(6.0, [0.0, 4 * 0.55, 0.0])[1]
    assert advice.predicted_speedup == pytest.approx(10 / (4 * 0.45 + computing))


def works_in(calls: float, *, of: int = 200, **context: Any) -> Recommendation | None:
    """In so many of its calls the callback took nearly all of its time."""
    hooks = {HOOK: {"times": of, "working": calls}}
    return amortized({"hooks": hooks, **context}, **{HOOK.replace(".", "__"): 4.0})


def test_a_callback_that_works_every_tenth_step_already_is_told_every_200():
    advice = works_in(20)
    assert advice.evidence["advised"] == 200
    # One step in ten follows a pause, of 40 ms.
    computing = awake(6.0, [3.6, 3.8, 4.0], every=10)
    assert_predicts(advice, 0.4 + computing[0], 0.2 + computing[1], computing[2])


def test_a_callback_that_works_in_every_step_is_not_taken_for_one_that_seldom_does():
    assert works_in(150.0).evidence["advised"] == 20


def test_no_interval_is_longer_than_an_epoch():
    advice = works_in(10, epoch_steps=50)
    assert (advice.evidence["present"], advice.evidence["advised"]) == (20, 50)
    # Two fifths of it are left.
    assert advice.predicted_speedup < 10 / (10 - 4 * 0.6) * 1.2
    assert works_in(4, epoch_steps=50) is None


def test_a_callback_of_less_than_a_twentieth_of_the_step_is_left_alone():
    def spends(ms: float) -> Recommendation | None:
        found = situation(input_wait=0.0, compute=10.0 - ms, callbacks=ms, owners={HOOK: ms})
        return amortize_callback(found)

    assert spends(0.49) is None
    assert spends(0.51) is not None


def test_where_the_dearest_works_rarely_enough_the_next_is_told():
    owners = {HOOK: 3.0, "Other.on_train_batch_end": 1.0}
    context = {"hooks": {HOOK: {"times": 200, "working": 4.0}}, "epoch_steps": 60}
    found = situation(compute=6.0, callbacks=4.0, owners=owners, context=context)
    assert amortize_callback(found).evidence["owner"] == "Other.on_train_batch_end"


def behind_a_hook(
    made_by: str, fill: float, wait_ms: float, makes_ms: float = 10.0
) -> Recommendation | None:
    """Of 10 ms a hook takes 2; batches are made ahead."""
    found = situation(
        input_wait=wait_ms,
        compute=8.0 - wait_ms,
        callbacks=2.0,
        owners={HOOK: 2.0},
        stages=[stage(made_by, makes_ms), stage("Prefetch", 0.0)],
        context={"prefetch_fill": fill},
    )
    return amortize_callback(found)


def test_a_pipeline_that_keeps_up_is_not_said_to_be_held_up():
    python, other = (behind_a_hook(made_by, 1.0, 0.0, 5.0) for made_by in ("Generator", "Map"))
    assert python.predicted_speedup == other.predicted_speedup


@pytest.mark.parametrize(("made_by", "held_up"), [("Generator", True), ("Map", False)])
def test_python_code_that_makes_batches_is_held_up_by_hooks(made_by, held_up):
    """Its pipeline runs ahead and does not keep up: a step takes the 10 ms of its batch."""
    advice = behind_a_hook(made_by, 0.0, 6.0)
    # Of what the hook no longer takes nothing, half or all is gained.
    assert_predicts(advice, 10.0, *((10.0 - 0.95, 10.0 - 2.0) if held_up else (10.0, 10.0)))


def test_with_several_steps_per_execution_the_hook_counts_its_calls():
    advice = works_in(25, of=25, steps_per_execution=8)
    # It works once in 8 steps, that is in every call, and then in every twentieth.
    assert (advice.evidence["present"], advice.evidence["advised"]) == (8, 160)
    assert "if self.calls % 20:" in advice.action
    computing = awake(6.0, [3.6, 3.8, 4.0], every=8)
    assert_predicts(advice, 0.4 + computing[0], 0.2 + computing[1], computing[2])


def test_a_lambda_is_told_where_to_count():
    advice = amortized(LambdaCallback__on_train_batch_end=4.0)
    assert "LambdaCallback(on_train_batch_end=lambda batch, logs: next(calls) % 20" in advice.action


def test_pauses_of_the_garbage_collector_are_nobodys_hook():
    advice = amortized(gc__collect=3.0, Mine__on_train_batch_end=1.0)
    computing = awake(6.0, [0.9, 0.95, 1.0])
    assert_predicts(advice, 3.1 + computing[0], 3.05 + computing[1], 3.0 + computing[2])
    assert advice.evidence["owner"] == HOOK
    assert amortized(gc__collect=4.0) is None


def test_without_time_in_callbacks_nothing_is_said():
    assert amortized() is None
    idle = situation(compute=10.0, callbacks=0.0, owners={"Mine.on_train_batch_end": 0.0})
    assert amortize_callback(idle) is None


@given(pair=st.tuples(st.floats(0.01, 50), st.floats(0.01, 50)), compute=st.floats(0.01, 50))
@settings(max_examples=100, deadline=None)
def test_amortizing_more_never_buys_less(pair, compute):
    cheap, dear = (
        amortize_callback(
            situation(compute=compute, callbacks=ms, owners={"Mine.on_train_batch_end": ms})
        )
        for ms in sorted(pair)
    )
    if cheap is not None:
        assert cheap.predicted_speedup <= dear.predicted_speedup * (1 + 1e-9)


# -- raise-steps-per-execution -----------------------------------------------------------


def raised(**changed: Any) -> Recommendation | None:
    context = {"steps_per_execution": 1, "steps_per_execution_trial": TRIAL | changed}
    return raise_steps_per_execution(
        situation(compute=6.0, dispatch=2.0, callbacks=1.0, other_host=1.0, context=context)
    )


def test_a_trial_that_paid_is_recommended():
    advice = raised()
    # An eighth of 4 ms is left, and a tenth of the callbacks' and Keras's at worst. In the train
    # function that is 6.25 ms; by the trial's bounds 1.4/1.5 or 1.6/1.5 of the gain, and 15% more
    # or less; a batch is fetched in 0.3, 0.05 or no ms.
    worst, best = 6.25 * 1.5 / 1.4 * 1.15, 6.25 * 1.5 / 1.6 * 0.85
    assert_predicts(advice, worst + 2 * 0.225 + 0.3, 6.5 + 0.05, best + 2 * 0.125)
    assert advice.action == "model.compile(..., steps_per_execution=8)"
    assert advice.reason.startswith("Measured during training: a step costs 6 ms inside the graph")
    assert (advice.evidence["present"], advice.evidence["advised"]) == (1, 8)
    assert advice.evidence["in_graph_ms"] == 6.0


@pytest.mark.parametrize(
    ("steps", "told", "longer"),
    [
        (None, "", 1.0),
        (16, "", 1.0),
        (10, "of its 10 steps it makes 16 where its data last, and its metrics are of those.", 1.6),
        (3, "of its 3 steps it makes 8 where its data last, and its metrics are of those.", 8 / 3),
    ],
)
def test_a_validation_of_so_many_steps_gets_whole_executions_too(steps, told, longer):
    context = {"steps_per_execution": 1, "steps_per_execution_trial": TRIAL}
    context |= between_epochs(10.0) | {"validation_steps": steps}
    parts = {"compute": 6.0, "dispatch": 2.0, "callbacks": 1.0, "other_host": 1.0}
    found = situation(context=context, **parts)
    advice = raise_steps_per_execution(found)
    assert advice.reason.endswith(told)
    assert ("Validation" in advice.reason) == bool(told)
    outside = [advice.change(found.model, optimism).outside for optimism in (-1.0, 1.0)]
    assert [each["validation"] for each in outside] == pytest.approx([10 * longer, 10.0])


def test_with_several_replicas_it_is_applied_as_it_was_tried():
    context = {"steps_per_execution": 1, "steps_per_execution_trial": TRIAL}
    parts = {"compute": 6.0, "dispatch": 4.0}
    several = raise_steps_per_execution(situation(context=context | {"replicas": 2}, **parts))
    single = raise_steps_per_execution(situation(context=context, **parts))
    assert several.action == "kp.StepsPerExecutionRecommender(LOGDIR, apply=True, limit=8)"
    assert "With several replicas Keras's own steps_per_execution failed" in several.reason
    assert "replicas" not in single.reason
    assert several.predicted_speedup == single.predicted_speedup


def test_the_spread_of_the_trial_widens_the_bounds():
    advice = raised(low=1.0, high=2.0)
    # At worst nothing is gained in the train function.
    assert_predicts(advice, 8 + 2 * 0.225 + 0.3, 6.55, 6.25 * 0.75 * 0.85 + 2 * 0.125)


@pytest.mark.parametrize(
    ("measured", "trial", "gain", "bounds"),
    [
        (  # a tiny model, of which the split made 0.54 ms computing
            {"input_wait": 0.03, "compute": 0.54, "dispatch": 1.074, "other_host": 0.013},
            {"recommended": 256, "in_graph_ms": 0.207, "per_execution_ms": 1.249}
            | {"predicted_speedup": 6.88, "low": 5.86, "high": 10.31},
            5.84,
            (4, 14),
        ),
        (  # the same, of which it made all dispatch
            {"input_wait": 0.048, "compute": 0.0, "dispatch": 1.863, "other_host": 0.013},
            {"recommended": 256, "in_graph_ms": 0.171, "per_execution_ms": 0.576}
            | {"predicted_speedup": 4.26, "low": 3.12, "high": 6.26},
            6.23,
            (3, 10),
        ),
        (  # speaker recognition, whose pipeline works for 1.3 ms
            {"input_wait": 0.43, "compute": 2.2, "dispatch": 0.64, "other_host": 0.01},
            {"recommended": 40, "in_graph_ms": 1.635, "per_execution_ms": 0.535}
            | {"predicted_speedup": 1.31, "low": 1.21, "high": 1.6},
            1.37,
            (1.1, 2.5),
        ),
    ],
)
def test_what_the_trial_gained_bounds_what_noise_in_the_split_would_promise(
    measured, trial, gain, bounds
):
    # Runs on two cores beside others. Each part reckoned by itself, 2.65 (1.55-8.5), 11.2
    # (3.5-37) and 1.54 (1.0-3.2) were predicted.
    context = {"steps_per_execution_trial": TRIAL | trial, "cpu_count": 2, "prefetch_fill": 1.0}
    stages = [stage("Batch", 0.032), stage("Prefetch", 0.0)]
    found = situation(**measured, stages=stages, process_cpu_pct=50.0, context=context)
    advice = raise_steps_per_execution(found)
    least, most = bounds
    assert least < advice.low < gain < advice.high < most
    assert advice.low < advice.predicted_speedup < advice.high


def test_the_trials_waits_for_input_are_in_both_of_its_times():
    trial = {"recommended": 32, "in_graph_ms": 2.0, "per_execution_ms": 0.5}
    context = {"steps_per_execution_trial": TRIAL | trial}
    parts = {"input_wait": 1.0, "compute": 1.0, "dispatch": 0.5}
    advice = raise_steps_per_execution(situation(**parts, context=context))
    # Without the wait 1.5 ms become 1.016, as the split has it.
    assert advice.predicted_speedup == pytest.approx(2.5 / (1.0 + 0.5 / 32 + 1.0 + 0.05), rel=0.03)


def test_work_that_a_callback_would_only_do_less_often_is_not_counted_as_saved():
    hooks = ["Mine.on_train_batch_end"]
    found = situation(
        compute=6.0,
        dispatch=2.0,
        callbacks=2.0,
        owners={"Mine.on_train_batch_end": 1.5, "Other.on_train_batch_end": 0.5},
        context={
            "steps_per_execution": 1,
            "steps_per_execution_trial": TRIAL | {"called_less_often": hooks},
        },
    )
    # Of dispatch and the other callback, 2.5 ms, an eighth is left, and a tenth of them at worst.
    advice = raise_steps_per_execution(found)
    worst, best = 6.25 * 1.5 / 1.4 * 1.15, 6.25 * 1.5 / 1.6 * 0.85
    callbacks = 1.5 + 0.5 * 0.125
    assert_predicts(advice, worst + callbacks + 0.35, 6.3 + callbacks, best + callbacks)


def test_where_the_cores_are_busy_what_is_saved_may_be_filled_by_others():
    context = {"steps_per_execution": 1, "steps_per_execution_trial": TRIAL, "cpu_count": 2}
    found = situation(compute=6.0, dispatch=4.0, process_cpu_pct=200.0, context=context)
    advice = raise_steps_per_execution(found)
    # Of 20 ms of CPU time the train function had at most 2 × 6 and 4; what else works stays, and
    # at worst that is half as much again. The rest goes with what the step saves.
    assert advice.predicted_speedup == pytest.approx(10 / ((4 + 16 * 0.65) / 2), rel=0.02)
    worst = (6 + 14 * 0.65 * 1.5 / 1.4 * 1.15) / 2
    assert advice.low == pytest.approx(10 / worst, rel=0.02)


def of_calls_that_wait(fill: float | None, **context: Any) -> Recommendation | None:
    """A call waits for 0.5 ms, and computes for 0.1 ms; in the graph a step took 0.15 ms."""
    trial = TRIAL | {"recommended": 100, "in_graph_ms": 0.15, "per_execution_ms": 0.8}
    context |= {"steps_per_execution_trial": trial}
    stages = [stage("Batch", 0.02)]
    if fill is not None:
        context["prefetch_fill"] = fill
        stages.append(stage("Prefetch", 0.0))
    parts = {"input_wait": 0.5, "compute": 0.1, "dispatch": 0.9}
    return raise_steps_per_execution(situation(stages=stages, context=context, **parts))


@pytest.mark.parametrize("fill", [1.0, None])
def test_what_a_call_waits_for_a_ready_batch_is_not_waited_for_in_each_step(fill):
    advice = of_calls_that_wait(fill)
    fetch_ms = {None: (0.06, 0.03, 0.0), 1.0: (0.0, 0.0, 0.0)}[fill]
    # All of it at worst; beside computing 0.05 ms; at best the pipeline's own 0.02 ms, which a
    # prefetch hides behind computing. Fetching takes 3 or 1.5 times that work, or none.
    low = 0.5 + 0.109 * 1.5 / 1.4 * 1.15 + fetch_ms[0]
    high = 0.109 * 1.5 / 1.6 * 0.85 + (0.02 if fill is None else 0.0)
    assert advice is not None
    assert advice.low == pytest.approx(1.5 / low, rel=1e-6)
    assert advice.predicted_speedup == pytest.approx(1.5 / (0.15 + 0.009 + fetch_ms[1]), rel=1e-6)
    assert advice.high == pytest.approx(1.5 / high, rel=1e-6)


def test_a_slow_pipeline_is_waited_for_in_long_executions_too():
    trial = TRIAL | {"in_graph_ms": 9.0, "per_execution_ms": 0.8}
    context = {"steps_per_execution_trial": trial}
    parts = {"input_wait": 8.5, "compute": 0.6, "dispatch": 0.9}
    slow = situation(stages=[stage("Map", 2.0)], context=context, **parts)
    # Tf.data knows two of 8.5 ms; 1 ms of them at most was waking.
    assert raise_steps_per_execution(slow).high < 10 / 7.5


@pytest.mark.parametrize(("made_by", "held_up"), [("Generator", True), ("Map", False)])
def test_python_code_that_makes_batches_is_held_up_by_what_enters_an_execution(made_by, held_up):
    """It does not keep up: a step takes the 10 ms of its batch."""
    context = {"steps_per_execution": 1, "steps_per_execution_trial": TRIAL}
    stages = [stage(made_by, 10.0), stage("Prefetch", 0.0)]
    found = situation(input_wait=2.0, compute=8.0, stages=stages, context=context)
    advice = raise_steps_per_execution(found)
    left = {o: advice.change(found.model, o).produce_ms for o in (-1.0, 0.0, 1.0)}
    assert left[-1.0] == pytest.approx(10.0)
    if not held_up:
        assert left[1.0] == pytest.approx(10.0)
        return
    saved_ms = 8.0 - sum(advice.change(found.model, 1.0).rest.get(p, 0.0) for p in INSIDE)
    assert 10.0 - left[1.0] == pytest.approx(saved_ms)
    assert left[1.0] < left[0.0] < 10.0


@pytest.mark.parametrize("changed", [{"recommended": 1}, {"applied": True}])
def test_a_trial_that_did_not_pay_or_is_applied_is_not_recommended(changed):
    assert raised(**changed) is None


@pytest.mark.parametrize("context", [{}, {"steps_per_execution_trial": None}])
def test_without_a_trial_no_number_is_recommended(context):
    assert raise_steps_per_execution(situation(compute=6.0, dispatch=4.0, context=context)) is None


# -- tune-gc -----------------------------------------------------------------------------


def test_pauses_of_the_garbage_collector_are_told_to_be_rarer():
    advice = tune_gc(situation(compute=8.0, callbacks=2.0, garbage_ms=2.0))
    # Of 2 ms 90, 99 or 100% are gone, a fifth of each part; hooks work faster by a share, and
    # computing follows no pause.
    gone = [0.18, 0.198, 0.2]
    hooks = [1 - AFTER_SEARCHES * g * o for g, o in zip(gone, (0.5, 1.0, 1.5), strict=True)]
    computing = awake(8.0, [10 * each for each in gone])
    parts = zip(gone, computing, hooks, strict=True)
    times = [(1 - each) * (ms + 2 * faster) for each, ms, faster in parts]
    assert_predicts(advice, *times)
    assert advice.id == "tune-gc"
    assert advice.evidence == {"garbage_collection_ms": 2.0}
    assert advice.reason == (
        "Its pauses take 2 ms of every step of 10 ms: "
        "it searches all living objects again and again. Computing, which then no longer follows "
        "a long pause, is expected to take 0.321 ms less."
    )
    compile(advice.action, "action", "exec")


def test_pauses_that_hide_behind_a_slow_pipeline_cost_nothing():
    taking_turns = {"input_wait": 8.0, "compute": 2.0, "garbage_ms": 1.0}
    gone = [0.45, 0.495, 0.5]
    computing = awake(2.0, [2 * each for each in gone])
    times = [8 + (1 - each) * ms for each, ms in zip(gone, computing, strict=True)]
    assert_predicts(tune_gc(situation(**taking_turns)), *times)
    overlapped = [stage("Map", 10.0), stage("Prefetch", 0.0)]
    assert_predicts(tune_gc(situation(**taking_turns, stages=overlapped)), 10.0, 10.0, 10.0)


def test_a_single_long_pause_of_the_collector_is_no_habit():
    once = {"cause": "garbage-collection", "owner": "", "count": 1, "total_ms": 390.0}
    paused = {"compute": 8.0, "callbacks": 2.0, "garbage_ms": 2.0}
    assert tune_gc(situation(**paused, context={"event_totals": [once]})) is None
    often = once | {"count": 3}
    assert tune_gc(situation(**paused, context={"event_totals": [often]})) is not None


def test_without_pauses_the_garbage_collector_is_left_alone():
    assert tune_gc(situation(compute=10.0)) is None


@pytest.mark.parametrize(("threshold", "told"), [(700, True), (0, False), (100_000, False)])
def test_a_collector_that_is_off_is_not_told_to_wait_for_longer(threshold, told):
    known = {"collector_threshold": threshold}
    advice = tune_gc(situation(compute=8.0, callbacks=2.0, garbage_ms=2.0, context=known))
    assert (advice is not None) is told


@given(pair=st.tuples(st.floats(0.01, 9.0), st.floats(0.01, 9.0)))
@settings(max_examples=100, deadline=None)
def test_longer_pauses_never_buy_less(pair):
    short, long = (tune_gc(situation(compute=10.0, garbage_ms=ms)) for ms in sorted(pair))
    assert short.predicted_speedup <= long.predicted_speedup * (1 + 1e-9)


def test_of_what_is_set_to_work_once_an_epoch_nothing_is_advised():
    once = {"once_an_epoch": ["TensorBoard.on_train_batch_end"]}
    assert amortized(once, TensorBoard__on_train_batch_end=4.0) is None
    advice = amortized(once, TensorBoard__on_train_batch_end=3.0, Mine__on_train_batch_end=1.0)
    assert advice.evidence["owner"] == HOOK


def test_a_hook_that_sets_the_rate_is_replaced_by_a_schedule_with_the_same_gain():
    settings = {"steering_hooks": {HOOK: "learning_rate"}, "optimizer": "SGD"}
    advice = amortized(settings, Mine__on_train_batch_end=4.0)
    rarer = amortized({}, Mine__on_train_batch_end=4.0)
    assert advice.predicted_speedup == rarer.predicted_speedup
    assert advice.title == f"Let the optimizer compute the learning rate, not {HOOK}"
    assert "keras.optimizers.SGD(learning_rate=Schedule())" in advice.action
    assert "calls" not in advice.action
    compile(advice.action, "pasted", "exec")
    scaled = settings | {"optimizer": "LossScaleOptimizer"}
    assert "YourOptimizer(learning" in amortized(scaled, Mine__on_train_batch_end=4.0).action


@pytest.mark.parametrize(
    "others",
    [
        {"steering_hooks": {HOOK: "learning_rate", "Warm.on_epoch_begin": "learning_rate"}},
        {"hooks": {"ReduceLROnPlateau.on_epoch_end": {"times": 4, "working": 4}}},
        between_epochs(callbacks={"LearningRateScheduler.on_epoch_begin": 0.1}),
    ],
)
def test_where_another_hook_sets_the_rate_too_no_schedule_takes_its_place(others):
    """Of an optimizer with a schedule the rate cannot be set: the other hook would raise."""
    settings = {"steering_hooks": {HOOK: "learning_rate"}, "optimizer": "SGD"}
    assert amortized(settings | others, Mine__on_train_batch_end=4.0) is None
    assert amortized(settings, Mine__on_train_batch_end=4.0) is not None


def test_a_hook_that_sets_what_else_later_steps_depend_on_is_left_alone():
    settings = {"steering_hooks": {HOOK: "trainable"}}
    assert amortized(settings, Mine__on_train_batch_end=4.0) is None
    advice = amortized(settings, Mine__on_train_batch_end=3.0, Other__on_train_batch_end=1.0)
    assert advice.evidence["owner"] == "Other.on_train_batch_end"


def test_a_hook_s_own_interval_is_left_out_of_the_code_with_a_longer_one():
    hooks = {"hooks": {HOOK: {"times": 400, "working": 40}}}
    rare = amortized(hooks, Mine__on_train_batch_end=4.0)
    assert rare.evidence["present"] == 10
    last = rare.action.splitlines()[-1]
    assert last == "# and without the hook's own condition, by which it works in one of 10 calls"
    assert "own condition" not in amortized(Mine__on_train_batch_end=4.0).action
