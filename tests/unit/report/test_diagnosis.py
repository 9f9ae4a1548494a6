"""What a person reads of one run, to the letter, on hand-built summaries."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from hand_built import between_epochs, situation, stage, summary, write_fit

from keras_perf.advise.gains.prediction_bounds import uncertainty, widened
from keras_perf.read.event_files import NoRunError
from keras_perf.records.interval import PARTS
from keras_perf.records.run.times.outlier import Cause
from keras_perf.report.diagnosis import diagnose, diagnosis_of
from keras_perf.write.run_writer import RunWriter

SLOW_INPUT = {
    "input_wait": 8.0,
    "compute": 1.0,
    "callbacks": 0.4,
    "other_host": 0.6,
    "compile": 0.0,
    "owners": {"Mine.on_train_batch_end": 0.4},
    "stages": [stage("TensorSlice", 1.0), stage("Map", 6.0), stage("Batch", 1.0)],
}

FAST = {
    "input_wait": 0.0,
    "compute": 9.9,
    "dispatch": 0.05,
    "callbacks": 0.03,
    "other_host": 0.02,
    "compile": 0.0,
}

SLOW_INPUT_TEXT = """\
input-bound: input wait: 8 ms of each step; without, training would be 5.00× as fast; a step \
7.14× if that also speeds up computing. With parallel-map 2.75 ms of that remain, hence its 2.11×: \
the map's work stays, shared by threads.

1. Run the map in parallel: stage Map (2) [parallel-map]  \
a step 2.11× (1.77–2.43) as fast, predicted
   The sequential stage Map (2) takes 6 ms of the 8 ms that a batch needs (75%); \
8 logical CPUs are there to share it.
       dataset = dataset.map(your_function, num_parallel_calls=tf.data.AUTOTUNE)

2. Prepare the next batch while the current one trains [prefetch]  \
a step 1.22× (1.03–1.45) as fast, predicted
   Each step waits 8 ms for input and then works 2 ms; \
with prefetching the shorter of the two disappears behind the longer.
       dataset = dataset.prefetch(tf.data.AUTOTUNE)  # last in the pipeline

3. Do the work of Mine.on_train_batch_end every 20 steps [amortize-callback]  \
a step 1.04× (1.00–1.20) as fast, predicted
   Mine.on_train_batch_end takes 0.4 ms of every step of 10 ms; done every 20 steps, it takes \
0.02 ms. If training uses what it makes, as an average of weights, leave it as it is. \
It may also gain nothing: compare before and after.
       class Mine(keras.callbacks.Callback):
           calls = 0

           def on_train_batch_end(self, batch, logs=None):
               self.calls += 1
               if self.calls % 20:
                   return
               ...  # as before

All together: a step 3.89× (2.96–4.92), which is not the product of the single gains. \
Change it, train again, and compare: keras-perf compare BEFORE AFTER.

Where the time of a step goes
part of a step           ms  share
---------------  ----------  -----
input wait            8.000    80%
compute               1.000    10%
dispatch         in compute
callbacks             0.400     4%
other host work       0.600     6%
compile               0.000     0%
step                 10.000   100%

Host time by owner, per step
owner                       ms  share
-----------------------  -----  -----
Mine.on_train_batch_end  0.400     4%

Input pipeline, per batch
stage                       ms  threads  buffer  share
-----------------------  -----  -------  ------  -----
TensorSlice (1)          1.000        1            12%
Map (2) ← sets the pace  6.000        1            75%
Batch (3)                1.000        1            12%

* Means over 200 steps after warm-up; profiled and trial steps, \
validation and epoch boundaries are left out.
* Dispatch was not measured and is inside compute.
"""

SLOW_CALLBACK_MARKDOWN = """\
## callback-bound

Callbacks: 4 ms of each step; without, training would be 1.67× as fast; a step \
1.91× if that also speeds up computing.

### 1. Do the work of Mine.on_train_batch_end every 20 steps (`amortize-callback`): \
a step 1.82× (1.40–2.45) as fast, predicted

Mine.on_train_batch_end takes 4 ms of every step of 10 ms; done every 20 steps, it takes 0.2 ms. \
If training uses what it makes, as an average of weights, leave it as it is. \
Computing, which then no longer follows a long pause, is expected to take 0.715 ms less.

```python
class Mine(keras.callbacks.Callback):
    calls = 0

    def on_train_batch_end(self, batch, logs=None):
        self.calls += 1
        if self.calls % 20:
            return
        ...  # as before
```

Change it, train again, and compare: keras-perf compare BEFORE AFTER.

### Where the time of a step goes

| part of a step | ms | share |
| --- | ---: | ---: |
| input wait | 0.000 | 0% |
| compute | 6.000 | 60% |
| dispatch | in compute |  |
| callbacks | 4.000 | 40% |
| other host work | 0.000 | 0% |
| compile | 0.000 | 0% |
| step | 10.000 | 100% |

### Host time by owner, per step

| owner | ms | share |
| --- | ---: | ---: |
| Mine.on_train_batch_end | 4.000 | 40% |

- Means over 200 steps after warm-up; profiled and trial steps, \
validation and epoch boundaries are left out.
- Dispatch was not measured and is inside compute; not tried: run_eagerly=True runs every \
step from Python.
"""

FAST_TEXT = """\
compute-bound: no other part's removal would make a step 5% faster: what remains is the \
model's own computation.

No change is predicted to gain 2% or more.

Where the time of a step goes
part of a step       ms  share
---------------  ------  -----
input wait        0.000     0%
compute           9.900    99%
dispatch          0.050     0%
callbacks         0.030     0%
other host work   0.020     0%
compile           0.000     0%
step             10.000   100%

* Means over 200 steps after warm-up; profiled and trial steps, \
validation and epoch boundaries are left out.
"""


# -- to the letter -----------------------------------------------------------------------


def test_an_input_bound_run_reads_like_this_in_a_terminal():
    assert str(diagnosis_of(summary(**SLOW_INPUT))) == SLOW_INPUT_TEXT


def test_a_callback_bound_run_reads_like_this_in_the_text_tab():
    trial = {"reason": "not tried: run_eagerly=True runs every step from Python."}
    found = diagnosis_of(
        summary(
            input_wait=0.0,
            compute=6.0,
            callbacks=4.0,
            other_host=0.0,
            compile=0.0,
            owners={"Mine.on_train_batch_end": 4.0},
            context={"steps_per_execution_trial": trial},
        )
    )
    assert found.to_markdown() == SLOW_CALLBACK_MARKDOWN


def test_a_compute_bound_run_reads_like_this_in_a_terminal():
    assert str(diagnosis_of(summary(**FAST))) == FAST_TEXT


def test_what_pays_only_after_another_change_says_so():
    found = diagnosis_of(
        summary(
            input_wait=3.0,
            compute=3.0,
            callbacks=4.0,
            owners={"Mine.on_train_batch_end": 4.0},
            stages=[stage("Map", 7.5), stage("Batch", 2.5), stage("Prefetch", 0.0)],
        )
    )
    line = next(line for line in str(found).splitlines() if "[amortize-callback]" in line)
    assert line.endswith(
        "[amortize-callback]  a step 2.04× as fast after those above, nothing without them, "
        "predicted"
    )


# -- figures -----------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [SLOW_INPUT, FAST, {"compute": 10.0}])
def test_the_breakdown_adds_up_to_the_step(arguments):
    breakdown = diagnosis_of(summary(**arguments)).breakdown
    assert tuple(breakdown) == (*PARTS, "step")
    measured = [breakdown[part] for part in PARTS if not math.isnan(breakdown[part])]
    assert sum(measured) == breakdown["step"] == pytest.approx(10.0)


def test_a_part_that_was_not_measured_is_nan_never_0():
    parts = {part: ms for part, ms in FAST.items() if part not in ("input_wait", "dispatch")}
    breakdown = diagnosis_of(summary(**parts)).breakdown
    assert {part for part, ms in breakdown.items() if math.isnan(ms)} == {"input_wait", "dispatch"}


def test_the_frame_has_a_row_a_part_with_its_share():
    frame = diagnosis_of(summary(**SLOW_INPUT)).to_frame()
    expected = pd.DataFrame(
        {
            "part": PARTS,
            "ms_per_step": [8.0, 1.0, math.nan, 0.4, 0.6, 0.0],
            "share": [0.8, 0.1, math.nan, 0.04, 0.06, 0.0],
        }
    )
    pd.testing.assert_frame_equal(frame, expected)


def test_what_all_recommendations_buy_is_told_with_bounds():
    expected, low, high = diagnosis_of(summary(**SLOW_INPUT)).combined_speedup
    by = uncertainty(situation(**SLOW_INPUT))
    # Map over 6.8, 8, 8 cores; 80, 90, 100% overlap; a tenth, a twentieth, none of 0.4 ms.
    assert low == pytest.approx(10 / ((2 + 6 / 6.8 - 1.6) + 1.64) / (1 + by))
    assert expected == pytest.approx(10 / ((2 + 6 / 8 - 1.8) + 1.62))
    assert high == pytest.approx(10 / ((2 + 6 / 8 - 2.0) + 1.6) * (1 + by))


# -- between epochs ----------------------------------------------------------------------

SLOW_VALIDATION = FAST | {"context": between_epochs(6.0, {"Mine.on_epoch_end": 3.0}, 1.0)}


def test_what_lies_between_epochs_is_told_in_shares_of_the_training():
    notes = diagnosis_of(summary(**SLOW_VALIDATION)).notes
    assert notes[1] == (
        "Between epochs the training spends: validation 30% of its time, callbacks 15%, "
        "Keras's own work 5%."
    )


def test_a_speedup_of_the_whole_training_says_so():
    found = diagnosis_of(summary(**SLOW_VALIDATION))
    assert found.recommendations[0].id == "rarer-validation"
    # From 20 ms to 15.2, at worst to 20, at best to 14.96; and what differs from run to run.
    line = next(line for line in str(found).splitlines() if "[rarer-validation]" in line)
    gain = "the whole training 1.32× (1.00–1.50) as fast, predicted"
    assert line.endswith(f"[rarer-validation]  {gain}")
    assert f"(`rarer-validation`): {gain}" in found.to_markdown()


def test_all_together_are_told_of_the_step_and_of_the_whole_training():
    found = diagnosis_of(summary(**SLOW_VALIDATION))
    # 3 ms shrink to a fifth, and a fifth of that more or less; 6 at worst not at all; 1 stays.
    together = tuple(20 / (11 + ms) for ms in (9 * 0.2, 6 + 3 * 0.24, 9 * 0.16))
    assert found.combined_whole_speedup == pytest.approx(
        widened(together, uncertainty(situation(**SLOW_VALIDATION)))
    )
    assert found.combined_speedup == (1.0, 1.0, 1.0)
    assert ("All together: the whole training 1.56× (1.01–1.80), which is not the product") in str(
        found
    )


def test_without_advice_on_it_the_whole_training_is_not_spoken_of():
    text = str(diagnosis_of(summary(**SLOW_INPUT)))
    assert "whole training" not in text
    assert "between epochs" not in text


def test_events_come_back_from_what_was_recorded():
    event = {
        "step": 40,
        "cause": "checkpoint",
        "owner": "ModelCheckpoint.on_epoch_end",
        "excess_ms": 90.0,
        "usual_ms": 0.0,
    }
    [found] = diagnosis_of(summary(**FAST, context={"events": [event]})).events
    assert (found.cause, found.excess_ms) == (Cause.CHECKPOINT, 90.0)


# -- what is not known -------------------------------------------------------------------


def test_what_processes_would_buy_is_not_called_unpredictable_beside_its_prediction():
    found = diagnosis_of(summary(input_wait=8.0, compute=2.0, context={"input_kind": "generator"}))
    assert [advice.id for advice in found.recommendations] == ["parallel-input"]
    assert not any("cannot be predicted" in note for note in found.notes)


def test_what_processes_would_hardly_buy_is_not_called_unpredictable():
    """They gain for a step, and starting them for each epoch of 20 takes more."""
    context = {"input_kind": "PyDataset", "cpu_count": 2, "epoch_steps": 20}
    found = diagnosis_of(
        summary(input_wait=5.0, compute=5.0, process_cpu_pct=100.0, context=context)
    )
    assert not any(advice.id == "parallel-input" for advice in found.recommendations)
    [told] = [note for note in found.notes if "cannot be predicted" in note]
    assert told.startswith('"Make batches in several processes" is not advised: ')


def test_where_shapes_differ_the_notes_say_how_compiling_is_told():
    notes = diagnosis_of(summary(**FAST, context={"shapes_differ": True})).notes
    assert any("XLA compiles for each new shape" in note for note in notes)
    assert not any("XLA" in note for note in diagnosis_of(summary(**FAST)).notes)


def test_where_compiling_is_to_go_no_gain_of_a_step_is_told():
    measured = summary(**SLOW_INPUT | {"compile": 20.0})
    found = diagnosis_of(measured)
    assert {advice.of for advice in found.recommendations} == {"step", "whole"}
    assert list(found.predicted_together) == ["the whole training"]


def test_thin_data_give_figures_but_no_advice():
    found = diagnosis_of(summary(10, **SLOW_INPUT))
    assert found.verdict == "inconclusive"
    assert found.recommendations == ()
    assert found.breakdown["input_wait"] == 8.0


def test_without_a_measured_wait_the_notes_say_where_it_is():
    notes = diagnosis_of(summary(compute=6.0, callbacks=4.0)).notes
    assert "Input wait could not be measured and is inside compute." in notes


def test_a_run_without_steps_is_inconclusive_and_says_why():
    found = diagnosis_of(summary(0))
    assert found.verdict == "inconclusive"
    assert "no step was measured" in found.explanation
    assert all(map(math.isnan, found.breakdown.values()))
    assert found.to_frame()[["ms_per_step", "share"]].isna().all(axis=None)
    assert "step             –" in str(found)
    assert "0.000" not in str(found)


@pytest.mark.parametrize("steps", [0, 10])
def test_an_inconclusive_run_does_not_say_that_no_change_would_pay(steps):
    found = diagnosis_of(summary(steps, input_wait=8.0, compute=2.0))
    assert found.verdict == "inconclusive"
    assert "No change is predicted" not in str(found)
    assert "No change is predicted" not in found.to_markdown()


def test_a_run_without_steps_does_not_say_that_its_parts_are_in_compute():
    assert "in compute" not in str(diagnosis_of(summary(0)))


# -- from a directory --------------------------------------------------------------------


def test_a_log_directory_is_diagnosed_from_what_was_logged(tmp_path):
    write_fit(tmp_path, step_ms=4.0, context={"cpu_count": 8})
    found = diagnose(tmp_path)
    assert found.verdict == "input-bound"
    assert found.summary.steps == 100
    assert math.isnan(found.breakdown["dispatch"])
    assert {**found.breakdown, "dispatch": None} == {
        "input_wait": 2.0,
        "compute": 2.0,
        "dispatch": None,
        "callbacks": 0.0,
        "other_host": 0.0,
        "compile": 0.0,
        "step": 4.0,
    }


def test_of_several_fits_the_newest_is_diagnosed(tmp_path):
    write_fit(tmp_path, step_ms=4.0)
    write_fit(tmp_path, step_ms=2.0)
    assert diagnose(tmp_path).breakdown["step"] == 2.0


def test_a_run_is_diagnosed_from_its_own_directory_too(tmp_path):
    write_fit(tmp_path, step_ms=4.0)
    assert diagnose(tmp_path / "perf").breakdown["step"] == 4.0


def test_the_only_run_below_a_directory_is_diagnosed_from_above(tmp_path):
    write_fit(tmp_path / "run1", step_ms=4.0)
    assert diagnose(tmp_path).breakdown["step"] == 4.0


def test_of_several_runs_one_must_be_named(tmp_path):
    write_fit(tmp_path / "run2", step_ms=4.0)
    write_fit(tmp_path / "run1", step_ms=2.0)
    with pytest.raises(ValueError, match=r"holds 2: run1/perf, run2/perf\. Give the directory"):
        diagnose(tmp_path)


@pytest.mark.parametrize("values", [{}, {"host/cpu_pct": 20.0}])
def test_a_run_that_ended_within_its_warmup_is_inconclusive(tmp_path, values):
    writer = RunWriter(str(tmp_path))
    writer.scalars(3, values, wall_time=1.0)
    writer.context(3, {"epochs": 1})
    writer.close()
    found = diagnose(tmp_path)
    assert found.verdict == "inconclusive"
    assert "no step was measured" in found.explanation


def test_a_directory_without_a_run_is_no_diagnosis(tmp_path):
    with pytest.raises(NoRunError):
        diagnose(tmp_path)


def test_the_model_that_advice_rests_on_is_as_long_as_the_step():
    assert situation(**SLOW_INPUT).model.step_ms == pytest.approx(10.0)
