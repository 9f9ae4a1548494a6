"""Events and what lies between epochs, in a real fit against what was put there."""

import gc
import time

import keras
import numpy as np
import programs
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.read.event_files import events as read_events
from keras_perf.read.fits import fits_of

pytestmark = pytest.mark.timing


def trained(log_dir, callbacks=(), *, data=None, model=None, **arguments):
    network = programs.model() if model is None else model
    network.fit(
        programs.dataset(60) if data is None else data,
        verbose=0,
        shuffle=False,
        callbacks=[kp.StepGapDetector(log_dir), *callbacks],
        **arguments,
    )
    newest = fits_of(log_dir)["perf"][-1]
    return newest.scalars, newest.facts.to_json()


def events(context, cause):
    return [event for event in context["events"] if event["cause"] == cause]


class Now(keras.callbacks.Callback):
    """Does something once, in one epoch: at this batch or the next of which Keras tells."""

    def __init__(self, batch, epoch, what):
        super().__init__()
        self.when, self.what, self.epoch = (epoch, batch), what, 0

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        if self.when and (self.epoch, batch) >= self.when:
            self.when = None
            self.what()


def test_a_callback_that_is_slow_once_is_named_with_its_step(tmp_path):
    slow = programs.Stalls(30, 1)
    scalars, context = trained(tmp_path, [slow], epochs=2)
    found = [e for e in events(context, "callback") if e["excess_ms"] > 0.8 * slow.slept_ms]
    assert [event["owner"] for event in found] == ["Stalls.on_train_batch_end"]
    assert found[0]["step"] == 90
    logged = scalars[(scalars["tag"] == "perf_outliers/callback_ms") & (scalars["step"] == 90)]
    assert logged["value"].iloc[0] == pytest.approx(found[0]["excess_ms"], rel=1e-3)


def test_a_hook_in_a_list_inside_the_list_is_named(tmp_path):
    slow = programs.Stalls(30, 1)
    network = programs.model()
    inner = keras.callbacks.CallbackList([slow], model=network)
    _, context = trained(tmp_path, [inner], model=network, epochs=2)
    assert "Stalls.on_train_batch_end" in {event["owner"] for event in context["events"]}


@programs.needs_gap_times
@pytest.mark.parametrize("n", [1, 4])
def test_one_slow_batch_is_an_input_stall(n, tmp_path):
    stall_s = max(0.06, 0.03 * programs.usual_step_ms(steps_per_execution=n))
    slept_ms = []

    def wait(place):
        if place == 44:
            begin = time.perf_counter()
            time.sleep(stall_s)
            slept_ms.append(1e3 * (time.perf_counter() - begin))
        return place

    places = tf.data.Dataset.range(60).map(lambda i: tf.numpy_function(wait, [i], tf.int64))
    data = tf.data.Dataset.zip(programs.dataset(60), places).map(lambda batch, _: batch)
    model = programs.model(steps_per_execution=n)
    _, context = trained(tmp_path, data=programs.unbuffered(data), model=model, epochs=2)
    found = {e["step"]: e["excess_ms"] for e in events(context, "input-stall")}
    stalled = [found.get(epoch * 60 + 44 // n * n, 0.0) for epoch in range(2)]
    assert any(ms > 0.7 * slept for ms, slept in zip(stalled, slept_ms, strict=True))


@programs.needs_gap_times
def test_filling_the_shuffle_buffer_is_told_from_a_stall(tmp_path):
    wait_s = max(2.0, programs.usual_step_ms()) / 1e3

    def wait(x):
        time.sleep(wait_s)
        return x

    slow = programs.dataset(40).map(
        lambda x, y: (tf.ensure_shape(tf.numpy_function(wait, [x], tf.float32), x.shape), y)
    )
    data = programs.unbuffered(slow.shuffle(40))
    _, context = trained(tmp_path, data=data, epochs=3)
    assert {40, 80} <= {event["step"] for event in events(context, "shuffle-refill")}


def test_the_collector_is_named_where_it_stops_training(tmp_path):
    living = [[] for _ in range(2_000_000)]
    _, context = trained(tmp_path, [Now(30, 1, gc.collect)], epochs=2)
    assert living
    assert 90 in {event["step"] for event in events(context, "garbage-collection")}


@programs.needs_gap_times
def test_compiling_for_the_last_smaller_batch_is_an_event(tmp_path):
    x, y = programs.arrays(60)
    data = tf.data.Dataset.from_tensor_slices((x[:-3], y[:-3])).batch(8)
    _, context = trained(tmp_path, data=data, model=programs.model(jit_compile=True), epochs=2)
    cause = "retrace" if programs.STEPS_ON_BATCHES else "xla-recompile"
    assert [event["step"] for event in events(context, cause)] == [59]


def test_validation_checkpoints_and_callbacks_between_epochs_have_owners(tmp_path):
    class Pause(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            time.sleep(0.03)

    checkpoint = keras.callbacks.ModelCheckpoint(tmp_path / "model.keras")
    scalars, context = trained(
        tmp_path,
        [Pause(), checkpoint],
        epochs=3,
        validation_data=programs.dataset(20),
        validation_freq=2,
    )
    outside = context["outside"]
    assert outside["epoch_gaps"] == 3
    assert outside["epoch_callbacks_s"]["Pause.on_epoch_end"] >= 0.09
    assert outside["epoch_callbacks_s"]["ModelCheckpoint.on_epoch_end"] > 0
    assert outside["validation_s"] > 0
    assert {"validation", "checkpoint", "callback"} <= {e["cause"] for e in context["events"]}
    validated = scalars[scalars["tag"] == "perf_between_epochs/validation_ms"].set_index("step")
    assert (validated["value"] > 0).tolist() == [False, True, False]


def test_what_lies_between_epochs_and_the_steps_is_the_whole_training(tmp_path):
    class Whole(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            self.begin = time.perf_counter()

        def on_train_end(self, logs=None):
            self.took_s = time.perf_counter() - self.begin

    whole = Whole()
    data = programs.dataset(20)
    trained(tmp_path, [programs.Sleeper(2.0), whole], epochs=3, validation_data=data)
    summary = kp.diagnose(tmp_path).summary
    outside = summary.facts.to_json()["outside"]
    told_s = summary.step_ms * summary.steps / 1e3 + outside["warmup_s"] + outside["validation_s"]
    told_s += outside["epoch_rest_s"] + sum(outside["epoch_callbacks_s"].values())
    assert summary.steps == 180 - outside["warmup_steps"]
    assert 0.6 * whole.took_s < told_s < whole.took_s


@pytest.mark.parametrize("kept", [False, True])
def test_an_iterator_that_keras_keeps_is_made_by_no_epoch(kept, tmp_path, monkeypatch):
    gaps, detector = [], kp.StepGapDetector(tmp_path)
    monkeypatch.setattr(detector, "epoch_gap_ends", gaps.append)
    data, how = programs.dataset(20), {"epochs": 3, "verbose": 0, "shuffle": False}
    if kept:
        data, how["steps_per_epoch"] = data.repeat(), 20
    programs.model().fit(data, callbacks=[detector], **how)
    assert [(gap.step, gap.renewed) for gap in gaps if gap.followed] == [
        (20, not kept),
        (40, not kept),
    ]


def test_training_that_stops_early_keeps_its_events(tmp_path):
    stop = keras.callbacks.EarlyStopping("loss", patience=0, min_delta=np.inf, mode="min")
    slow = programs.Stalls(30, 0)
    _, context = trained(tmp_path, [slow, stop], epochs=5)
    assert 30 in {event["step"] for event in context["events"]}
    assert context["outside"]["epoch_gaps"] == 2
    assert (context["epochs"], context["epochs_run"]) == (5, 2)


def test_an_exception_keeps_the_events_before_it(tmp_path):
    class StoppedError(Exception):
        pass

    def stop():
        raise StoppedError

    slow = programs.Stalls(30, 0)
    with pytest.raises(StoppedError):
        trained(tmp_path, [slow, Now(50, 0, stop)])
    context = fits_of(tmp_path)["perf"][-1].facts.to_json()
    assert 30 in {event["step"] for event in context["events"]}


def test_the_progress_bar_has_its_own_time(tmp_path):
    network = programs.model()
    network.fit(
        programs.dataset(60),
        verbose=1,
        shuffle=False,
        callbacks=[kp.StepGapDetector(tmp_path)],
    )
    assert kp.diagnose(tmp_path).summary.owners["ProgbarLogger.on_train_batch_end"] > 0


@pytest.mark.parametrize(
    ("policy", "arguments"),
    [
        ("mixed_float16", {}),
        ("mixed_bfloat16", {"steps_per_execution": 4}),
        ("float32", {"run_eagerly": True}),
        ("float32", {"jit_compile": True, "steps_per_execution": 4}),
    ],
)
def test_parts_tile_the_step_and_events_are_found_whatever_the_settings(
    policy, arguments, tmp_path
):
    slow = programs.Stalls(35, 1)
    keras.mixed_precision.set_global_policy(policy)
    try:
        network = programs.model(optimizer="sgd", **arguments)
    finally:
        keras.mixed_precision.set_global_policy("float32")
    network.compile("sgd", "binary_crossentropy", **{"jit_compile": False, **arguments})
    network.fit(
        programs.labelled(60),
        epochs=2,
        verbose=0,
        shuffle=False,
        class_weight={0: 1.0, 1: 3.0},
        callbacks=[kp.StepGapDetector(tmp_path), slow],
    )
    found = kp.diagnose(tmp_path)
    parts = [ms for part, ms in found.breakdown.items() if part != "step"]
    assert np.nansum(parts) == pytest.approx(found.breakdown["step"])
    assert "Stalls.on_train_batch_end" in {event.owner for event in found.events}


def test_the_worst_are_a_table_in_the_text_tab(tmp_path):
    trained(tmp_path, [programs.Stalls(30, 1)], epochs=2)
    [path] = (tmp_path / "perf").glob("events.out.tfevents.*")
    texts = {
        value.tag: value.tensor.string_val[0].decode()
        for event in read_events(path)
        for value in event.summary.value
        if value.metadata.plugin_data.plugin_name == "text"
    }
    assert (
        "| One callback's hook took most of it. Stalls.on_train_batch_end | 90 |"
        in (texts["perf/events"])
    )
