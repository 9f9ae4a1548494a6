"""More threads for Python code: it holds the interpreter, unless it waits."""

from __future__ import annotations

from typing import Any

import pytest
from hand_built import assert_predicts, situation, stage

from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.rules.best_first import recommendations
from keras_perf.advise.rules.input.files_and_order import interleave
from keras_perf.advise.rules.input.handing_over import HANDED_OVER_MS
from keras_perf.advise.rules.input.threads_and_buffers import parallel_map, prefetch

SLICES = {"kind": "tensor_slice"}
LOAD = {"kind": "map", "function": "load", "python": True}


def slow(
    kind: str = "Map", *, written: dict[str, Any] = LOAD, cores: int = 2, **measured: Any
) -> Any:
    """A stage of 6 ms, and 2 ms of computing."""
    context = {"dataset": {"chains": [[SLICES, written]]}, "cpu_count": cores}
    stages = [stage("TensorSlice", 2.0), stage(kind, 6.0)]
    return situation(input_wait=8.0, compute=2.0, stages=stages, context=context, **measured)


def only(found: Any) -> Recommendation:
    [advice] = [each for each in recommendations(found) if each.id == "parallel-map"]
    return advice


def test_python_code_may_gain_nothing_from_threads_and_the_text_says_why():
    advice = only(slow())
    # At best half of the 6 ms goes, half of that is expected, and nothing at worst.
    assert advice.predicted_speedup == pytest.approx(10 / 8.5)
    assert advice.low == 1.0
    assert advice.high >= 10 / 7
    assert "a function that computes holds the interpreter" in advice.reason
    assert "Which of these it does was not measured; try_advice measures" in advice.reason


def test_the_same_map_of_tensorflow_s_operations_shares_the_cores():
    advice = parallel_map(slow(written=LOAD | {"python": False}))
    # Of two cores 0.85 times as many at worst, of 2 × 0.85 to 2.
    assert_predicts(advice, 4 + 6 / 1.7, 4 + 6 / 2, 4 + 6 / 2)
    assert "interpreter" not in advice.reason


def test_where_the_cpu_time_says_that_it_computes_processes_are_advised_and_no_threads():
    # 9.5 ms of CPU time, of which computing takes 2: the map computes as long as it runs.
    found = {each.id: each for each in recommendations(slow(process_cpu_pct=95.0))}
    assert "parallel-map" not in found
    advice = found["parallel-input"]
    # Two cores share the 9.5 ms, some of the half of a millisecond that 8 and 2 are more, as busy
    # as they are, what handing batches over takes, and what computing loses.
    in_all_ms = 9.5 + 0.5 * 9.5 / 20 * 0.5 + HANDED_OVER_MS + 0.25 * 2 * 2
    assert advice.predicted_speedup == pytest.approx(10 / (in_all_ms / 2))
    assert "map of Python code" in advice.reason
    assert "Try first to write the same in TensorFlow's operations" in advice.reason
    assert "use_multiprocessing=True" in advice.action


def test_where_the_cpu_time_does_not_say_that_it_waits_threads_are_not_advised():
    # 6 ms of CPU time, of which computing takes 2: the map may wait for a third of its time.
    ids = {each.id for each in recommendations(slow(process_cpu_pct=60.0))}
    assert not ids & {"parallel-map", "parallel-input"}
    # Beside others, what waits for a core looks like what waits for a file.
    advice = only(slow(process_cpu_pct=60.0, sensors={"host/cpu_pct": 100.0}))
    assert advice.low == 1.0
    assert "Which of these it does was not measured" in advice.reason
    assert "TensorFlow's operations" in advice.reason
    plain = slow(written=LOAD | {"python": False}, process_cpu_pct=60.0)
    assert "parallel-map" in {each.id for each in recommendations(plain)}


def test_a_function_that_rather_waits_gets_threads_with_a_wide_interval():
    # As a map that sleeps for 2 ms of a step of 2.3: 1.2 ms of CPU time, 0.8 of them computing's.
    context = {"dataset": {"chains": [[SLICES, LOAD]]}, "cpu_count": 2, "prefetch_fill": 0.1}
    stages = [stage("TensorSlice", 0.02), stage("Map", 2.1), stage("Prefetch", 0.05)]
    parts = {"input_wait": 1.45, "compute": 0.85, "stages": stages, "context": context}
    advice = only(situation(**parts, process_cpu_pct=52.0))
    assert 1.3 < advice.predicted_speedup < 2.0 < advice.high
    assert advice.low == 1.0
    assert "is 16% of its time, so it rather waits; try_advice measures" in advice.reason
    at_work = situation(**parts, process_cpu_pct=90.0)
    assert "parallel-map" not in {each.id for each in recommendations(at_work)}
    beside = only(situation(**parts, process_cpu_pct=52.0, sensors={"host/cpu_pct": 80.0}))
    assert "rather waits" not in beside.reason
    assert "Which of these it does was not measured" in beside.reason


def test_where_no_thread_computed_the_function_waits_and_threads_gain():
    advice = only(slow(process_cpu_pct=22.0))
    # 2.2 ms of CPU time for 6 ms of the map: it waits for 63% of them at least.
    assert advice.low > 1.1
    assert 1.38 < advice.predicted_speedup <= 10 / 7
    assert "for at least 63% of its time no thread computed" in advice.reason


def test_a_python_function_that_reads_files_is_bounded_as_a_map_is():
    read = {"kind": "flat_map", "function": "read"}
    advice = interleave(slow("FlatMap", written=read | {"python": True}, cores=8))
    assert advice.low == 1.0
    assert "holds the interpreter" in advice.reason
    plain = interleave(slow("FlatMap", written=read, cores=8))
    assert plain.low > 1.2
    assert "interpreter" not in plain.reason


def test_a_reader_beside_a_python_map_runs_none():
    found = slow("Map", written=LOAD)
    stages = [stage("TFRecord", 6.0), stage("Map", 1.0)]
    context = {"dataset": {"chains": [[{"kind": "t_f_record"}, LOAD]]}, "cpu_count": 2}
    reads = situation(input_wait=7.0, compute=3.0, stages=stages, context=context)
    assert "interpreter" not in interleave(reads).reason
    assert "interpreter" in parallel_map(found).reason


def test_python_code_beside_the_steps_may_be_why_most_of_them_are_slower_than_the_quickest():
    quick = {"dataset": {"chains": [[SLICES, LOAD]]}, "cpu_count": 2, "undisturbed_ms": 1.0}
    stages = [stage("TensorSlice", 0.1), stage("Map", 6.0)]
    known = {"input_wait": 3.0, "compute": 4.0, "stages": stages, "process_cpu_pct": 140.0}
    found = {each.id: each for each in recommendations(situation(**known, context=quick))}
    plain = {**quick, "undisturbed_ms": 4.0}
    alike = {each.id: each for each in recommendations(situation(**known, context=plain))}
    advice, without = found["parallel-input"], alike["parallel-input"]
    assert advice.predicted_speedup == without.predicted_speedup
    assert advice.high > 1.3 * without.high
    assert advice.low == without.low
    told = "takes 4 ms on average and 1 ms in the quickest executions"
    assert told in advice.reason
    assert told not in without.reason


def test_a_map_and_batch_in_one_stage_run_ahead_as_a_prefetch_does():
    stages = [stage("TensorSlice", 0.1), stage("MapAndBatch", 8.0)]
    context = {"cpu_count": 2}
    fused = situation(input_wait=4.0, compute=4.0, stages=stages, context=context)
    assert fused.model.prefetched
    assert prefetch(fused) is None
    behind = [*stages, stage("Map", 1.0)]
    assert prefetch(situation(input_wait=5.0, compute=4.0, stages=behind, context=context))
