"""Scripted evaluations and predictions: where the time of a call goes, to the nanosecond."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from keras_perf.observers.steps.calls.call_scalars import call_scalars
from keras_perf.observers.steps.calls.call_split import CallSplit
from keras_perf.records.execution import Execution, Kind
from keras_perf.records.metrics.call_metrics import CALL_METRICS
from keras_perf.records.run.inference import CALL_PARTS, Inference

MS = 1_000_000


class Call:
    """Starts for 3 ms; each execution waits, computes, reads its logs for 1 ms, calls hooks."""

    def __init__(self) -> None:
        self.now = 7 * MS
        self.split = CallSplit(self.now)
        self.now += 3 * MS
        self.gaps_us: list[int] = []
        self._got_next: int | None = None
        self._done = 0

    def run(
        self, *, wait: int = 0, compute: int = 2, hooks: int = 0, kind: Kind = Kind.STEADY
    ) -> None:
        begin = self.now
        if self._got_next is not None:
            self.gaps_us.append((begin - self._got_next) // 1000)
        self._got_next = begin + wait * MS
        returned = self._got_next + compute * MS
        ready = returned + MS
        self.now = ready + hooks * MS
        owners = (("on_test_batch_end", hooks * MS),) if hooks else ()
        times = begin, returned, ready, self.now
        self.split.add([Execution(self._done, 1, kind, *times, owners)])
        self._done += 1

    def end(self, *, ends: int = 4, waited: int | None = None, hooks: int = 0) -> dict[str, float]:
        self.split.close_stretch(self.gaps_us or None, 0)
        waited_ns = None if waited is None else waited * MS
        found = self.split.end(self.now + ends * MS, waited_ns=waited_ns, hooks_ns=hooks * MS)
        return {part: ns / MS for part, ns in found.items()}


def test_an_evaluation_s_wait_is_told_by_the_gaps():
    call = Call()
    for _ in range(10):
        call.run(wait=5, hooks=2)
    assert call.end() == {
        "starting": 3,
        "input_wait": 50,
        "compute": 30,
        "callbacks": 20,
        "other_host": 4,
        "compile": 0,
    }


def test_without_gaps_the_wait_is_not_known_and_lies_in_compute():
    call = Call()
    call.run(wait=5)
    assert call.end() == {
        "starting": 3, "compute": 8, "callbacks": 0, "other_host": 4, "compile": 0,
    }  # fmt: skip


def test_a_prediction_s_wait_is_measured_beside_it():
    call = Call()
    for _ in range(4):
        call.run(wait=5)
    call.gaps_us = []
    found = call.end(waited=20)
    assert (found["input_wait"], found["compute"]) == (20, 12)


def test_what_the_first_execution_takes_longer_is_compiling():
    call = Call()
    call.run(compute=100, kind=Kind.TRACED)
    for _ in range(9):
        call.run(compute=2)
    found = call.end(waited=0)
    assert (found["compile"], found["compute"]) == (98, 30)


def test_a_wait_in_the_execution_that_compiles_is_no_compiling():
    call = Call()
    call.run(wait=40, compute=58, kind=Kind.TRACED)
    for _ in range(9):
        call.run(compute=2)
    call.gaps_us = []
    found = call.end(waited=40)
    assert (found["input_wait"], found["compute"], found["compile"]) == (40, 0, 86)
    assert sum(found.values()) == call.now / MS + 4 - 7


def test_hooks_outside_of_the_executions_are_callbacks_too():
    call = Call()
    call.run()
    found = call.end(ends=9, hooks=5)
    assert (found["callbacks"], found["other_host"]) == (5, 4)


def test_a_call_without_an_execution_is_the_host_s():
    assert Call().end(ends=4, hooks=1) == {"callbacks": 1, "other_host": 6}


RUNS = st.lists(
    st.fixed_dictionaries(
        {
            "wait": st.integers(0, 9),
            "compute": st.integers(0, 9),
            "hooks": st.integers(0, 9),
            "kind": st.sampled_from([Kind.STEADY, Kind.TRACED]),
        }
    ),
    max_size=20,
)


@given(RUNS, st.booleans())
def test_the_parts_add_up_to_the_call(runs, predicts):
    call = Call()
    for run in runs:
        call.run(**run)
    begin = 7
    waited = sum(run["wait"] for run in runs) if predicts else None
    found = call.end(waited=waited)
    # To the nanosecond: of fractions of milliseconds the sum is rounded.
    assert sum(round(ms * MS) for ms in found.values()) == call.now + (4 - begin) * MS
    assert min(found.values()) >= 0
    assert set(found) <= set(CALL_PARTS)


ONE = Inference(
    calls=1, executions=5, steps=10, spent_s=0.1, parts_s={"compute": 0.08, "starting": 0.02},
    first_s=0.1, examples=50.0,
)  # fmt: skip


def test_calls_are_added_up():
    two = ONE.after(Inference(2, 10, 20, 0.5, {"compute": 0.5}, first_s=0.4, examples=100.0))
    assert (two.calls, two.executions, two.steps, two.first_s) == (3, 15, 30, 0.4)
    assert two.parts_s == {"starting": 0.02, "compute": 0.58}
    assert two.examples_per_sec == 150 / 0.6
    assert ONE.after(None) is ONE


def test_examples_that_are_not_known_once_are_not_known():
    assert ONE.after(Inference(1, 1, 1, 0.1, {})).examples is None


def test_scalars_are_those_of_the_table():
    values = call_scalars("predict", ONE)
    assert values == {
        "predict/step_time_ms": 10.0,
        "predict/compute_ms": 8.0,
        "predict/starting_ms": 2.0,
        "predict/examples_per_sec": 500.0,
    }
    tags = {metric.tag for metric in CALL_METRICS}
    assert {
        tag.replace("predict", "<call>").replace("compute", "<part>").replace("starting", "<part>")
        for tag in values
    } == tags
