"""More threads for Python code: it holds the interpreter, unless it waits."""

from __future__ import annotations

from typing import Any

import pytest
from hand_built import assert_predicts, situation, stage

from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.rules.all_rules import recommendations
from keras_perf.advise.rules.input.files_and_order import interleave
from keras_perf.advise.rules.input.threads_and_buffers import parallel_map

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


def test_where_the_cpu_time_says_that_it_computes_less_is_expected():
    advice = only(slow(process_cpu_pct=95.0))
    # 9.5 ms of CPU time, of which computing takes 2: the map computes as long as it runs.
    threads = 2 * (0.8 + 0.2 * (1 - 0.95 / 2))
    assert advice.predicted_speedup == pytest.approx(10 / (4 + 6 * (1 - 0.25 * (1 - 1 / threads))))
    assert advice.low == 1.0
    assert "The CPU time of the process says that it computes" in advice.reason


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
