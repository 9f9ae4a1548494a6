"""Scripted executions and gap times in, the injected times out to the nanosecond."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_perf.observers.steps.computing import computing_ms
from keras_perf.observers.steps.input.gap_times import GAP_HISTORY
from keras_perf.observers.steps.input.measured_waits import timed_waits
from keras_perf.observers.steps.known_dispatch import KnownDispatch
from keras_perf.observers.steps.split import Splitter
from keras_perf.records.execution import Execution, Kind
from keras_perf.records.interval import PARTS, Interval

US = 1000
"""Nanoseconds."""


class ScriptedLoop:
    """A training loop on one iterator, and the gaps that tf.data would keep of it.

    Times are in microseconds, because tf.data's are. Of an execution: `entry`, then for each
    step `wait` in GetNext and `compute`, then `leave`; then the `device`, then the `host`, of
    which `callback` is a callback's.
    """

    def __init__(self) -> None:
        self._now = 5_000 * US
        self._step = 0
        self._got_next: int | None = None
        self._gaps: list[int] = []

    def run(
        self,
        steps: int = 1,
        *,
        kind: Kind = Kind.STEADY,
        entry: int = 0,
        wait: int = 0,
        compute: int = 100,
        leave: int = 0,
        device: int = 0,
        host: int = 0,
        callback: int = 0,
    ) -> Execution:
        begin = self._now
        now = begin + entry * US
        for _ in range(steps):
            self._get_next(now)
            self._got_next = now = now + wait * US
            now += compute * US
        returned = now + leave * US
        ready = returned + device * US
        self._now = ready + host * US
        first, self._step = self._step, self._step + steps
        owners = (("Mine.on_train_batch_end", callback * US),) if callback else ()
        own = (entry + leave) * US if steps > 1 else 0
        return Execution(first, steps, kind, begin, returned, ready, self._now, owners, own_ns=own)

    def find_no_data(self) -> None:
        """The call of GetNext that ends an epoch."""
        self._get_next(self._now)

    def _get_next(self, now: int) -> None:
        if self._got_next is not None:
            self._gaps.append((now - self._got_next) // US)

    @property
    def gaps(self) -> list[int]:
        """What tf.data remembers."""
        return self._gaps[-GAP_HISTORY:]


def compiled(execution: Execution, compiling: int) -> Execution:
    """As it is told when it was found to have compiled for so many microseconds."""
    return execution._replace(kind=Kind.RECOMPILED, compile_ns=compiling * US)


def parts_of(interval: Interval | None) -> dict[str, int | None]:
    """The parts in microseconds."""
    assert interval is not None
    times = {part: getattr(interval, f"{part}_ns") for part in PARTS}
    return {part: None if ns is None else ns / US for part, ns in times.items()}


def split(splitter: Splitter, loop: ScriptedLoop, *, pending: int = 0) -> dict[str, int | None]:
    splitter.close_stretch(loop.gaps, pending)
    return parts_of(splitter.take())


STEP = {"entry": 30, "wait": 10, "compute": 100, "leave": 20, "device": 7, "host": 40}


# -- single steps ------------------------------------------------------------------------


def test_single_steps_show_the_wait_and_leave_dispatch_inside_compute():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(10):
        splitter.add(loop.run(1, **STEP, callback=25))
    assert split(splitter, loop) == {
        "input_wait": 10 * 10,
        "compute": 10 * (30 + 100 + 20 + 7),
        "dispatch": None,
        "callbacks": 10 * 25,
        "other_host": 10 * 15,
        "compile": 0,
    }


def test_a_dispatch_known_from_trials_comes_out_of_compute():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(10):
        splitter.add(loop.run(1, **STEP))
    splitter.close_stretch(loop.gaps)
    parts = parts_of(splitter.take(KnownDispatch(50 / 167, 0.05)))
    assert (parts["dispatch"], parts["compute"]) == (10 * 50, 10 * 107)


def test_an_execution_that_fills_a_shuffle_has_no_more_dispatch_than_others():
    loop, splitter = ScriptedLoop(), Splitter()
    splitter.add(loop.run(1, **STEP | {"wait": 10_000}))
    for _ in range(9):
        splitter.add(loop.run(1, **STEP))
    splitter.close_stretch(loop.gaps)
    assert parts_of(splitter.take(KnownDispatch(50 / 167, 0.05)))["dispatch"] == 10 * 50


def test_dispatch_never_takes_more_than_what_the_wait_has_left():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(10):
        splitter.add(loop.run(1, wait=60, compute=40))
    splitter.close_stretch(loop.gaps)
    parts = parts_of(splitter.take(KnownDispatch(0.7, 0.07)))
    assert (parts["input_wait"], parts["dispatch"], parts["compute"]) == (600, 400, 0)


# -- several steps per execution ---------------------------------------------------------


def test_eight_steps_per_execution_show_wait_and_dispatch():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(6):
        splitter.add(loop.run(8, **STEP, callback=25))
    assert split(splitter, loop) == {
        "input_wait": 6 * 8 * 10,
        "compute": 6 * (8 * 100 + 7),
        "dispatch": 6 * (30 + 20),
        "callbacks": 6 * 25,
        "other_host": 6 * 15,
        "compile": 0,
    }


def test_two_steps_per_execution_are_enough_to_see_dispatch():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(6):
        splitter.add(loop.run(2, **STEP))
    parts = split(splitter, loop)
    assert (parts["input_wait"], parts["dispatch"]) == (6 * 2 * 10, 6 * 50)


def fetching_ahead(steps: int, compute: int, executions: int = 6) -> dict[str, int | None]:
    """Keras's loop asks for the next batch as a step begins, as tf.data's gaps of it show."""
    splitter, inside = Splitter(), steps * compute + 50
    gaps = [0, *[compute] * (steps - 2), 2 * compute + 50 + 40]
    for number in range(executions):
        begin = number * (inside + 40) * US
        end = begin + inside * US
        times = begin, end, end, end + 40 * US
        splitter.add(Execution(number * steps, steps, Kind.STEADY, *times))
    splitter.close_stretch((gaps * executions)[:-1], 0)
    return parts_of(splitter.take())


@pytest.mark.parametrize("steps", [3, 4, 8])
def test_a_batch_that_is_asked_for_ahead_is_no_dispatch(steps):
    # The first gap is empty, and the last holds two steps.
    parts = fetching_ahead(steps, 1000)
    assert (parts["dispatch"], parts["compute"]) == (6 * 50, 6 * steps * 1000)


def test_two_steps_of_which_the_second_was_asked_for_ahead_do_not_show_dispatch():
    assert fetching_ahead(2, 1000)["dispatch"] is None


def test_a_few_executions_of_two_steps_that_seem_to_show_it_do_not():
    loop, splitter = ScriptedLoop(), Splitter()
    for number in range(9):
        # Of most the second step is the longer one, with what leaving costs.
        splitter.add(loop.run(2, **STEP | {"leave": 20 if number % 4 == 3 else 2000}))
    assert split(splitter, loop)["dispatch"] is None


@pytest.mark.parametrize(("wait", "told"), [(20, True), (60, False)])
def test_where_steps_wait_for_long_their_gaps_do_not_show_dispatch(wait, told):
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(6):
        splitter.add(loop.run(8, **STEP | {"wait": wait}))
    assert (split(splitter, loop)["dispatch"] is not None) is told


@pytest.mark.parametrize(("waits", "told"), [((60, 60, 10), False), ((10, 60, 10), True)])
def test_one_stretch_does_not_tell_the_dispatch_of_most_that_wait(waits, told):
    loop, splitter = ScriptedLoop(), Splitter()
    for wait in waits:
        for _ in range(3):
            splitter.add(loop.run(8, **STEP | {"wait": wait}))
        splitter.close_stretch(loop.gaps)
        loop.run(8, kind=Kind.TRACED)
    assert (parts_of(splitter.take())["dispatch"] is not None) is told


def test_the_dispatch_of_long_steps_is_not_measured():
    assert fetching_ahead(4, 19_000)["dispatch"] == 6 * 50
    assert fetching_ahead(4, 21_000)["dispatch"] is None


def test_gaps_of_the_executions_own_beat_a_dispatch_known_from_trials():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(6):
        splitter.add(loop.run(8, **STEP))
    splitter.close_stretch(loop.gaps)
    assert parts_of(splitter.take(KnownDispatch(0.9, 1.0)))["dispatch"] == 6 * 50


def test_the_host_time_between_executions_is_no_dispatch():
    loop, splitter = ScriptedLoop(), Splitter()
    for place in range(6):
        splitter.add(loop.run(8, **(STEP | {"host": 1000 * place})))
    assert split(splitter, loop)["dispatch"] == 6 * 50


# -- which gaps belong to which execution ------------------------------------------------


@pytest.mark.parametrize("steps", [1, 8])
def test_gaps_of_an_execution_not_told_yet_are_passed_over(steps):
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(6):
        splitter.add(loop.run(steps, **STEP))
    loop.run(steps, **(STEP | {"wait": 5000, "compute": 3}))
    assert split(splitter, loop, pending=steps)["input_wait"] == 6 * steps * 10


def test_the_gap_before_the_end_of_the_data_is_passed_over():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(6):
        splitter.add(loop.run(1, **STEP))
    loop.find_no_data()
    assert split(splitter, loop, pending=1)["input_wait"] == 6 * 10


def test_a_trial_in_the_middle_is_counted_neither_as_wait_nor_as_compute():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(5):
        splitter.add(loop.run(1, **STEP))
    loop.run(16, kind=Kind.TRIAL, wait=3000, compute=7)
    for _ in range(5):
        splitter.add(loop.run(1, **STEP))
    parts = split(splitter, loop)
    assert parts["input_wait"] == 10 * 10
    assert parts["compute"] == 10 * 157


def test_before_a_trial_in_the_middle_the_share_after_it_is_assumed():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(5):
        splitter.add(loop.run(1, wait=90, compute=10))
    loop.run(16, kind=Kind.TRIAL)
    for _ in range(5):
        splitter.add(loop.run(1, wait=20, compute=80))
    assert split(splitter, loop)["input_wait"] == 10 * 20


@pytest.mark.parametrize("trial_steps", [1, 8])
def test_the_first_execution_of_an_epoch_is_measured_though_a_trial_follows_it(trial_steps):
    """It waits for the buffer of a shuffle; nothing else of the epoch shows that."""
    splitter, loop = Splitter(), ScriptedLoop()
    splitter.add(loop.run(wait=70_000, compute=100))
    trial = loop.run(trial_steps, kind=Kind.TRIAL)
    splitter.close_stretch(loop.gaps, trial_steps, trial.begin_ns)
    assert splitter.waits == {0: 70_000 * US}
    assert splitter.take() is not None


def test_the_wait_of_the_last_one_is_known_by_the_begin_of_the_next():
    splitter, loop = Splitter(), ScriptedLoop()
    for wait in (10, 0, 400):
        splitter.add(loop.run(wait=wait))
    following = loop.run()
    splitter.close_stretch(loop.gaps, 1, following.begin_ns)
    assert splitter.waits == {0: 10 * US, 1: 0, 2: 400 * US}
    assert parts_of(splitter.take())["input_wait"] == 410


def test_before_one_that_traced_the_begin_of_the_next_tells_nothing_of_the_last():
    splitter, loop = Splitter(), ScriptedLoop()
    for wait in (10, 20, 400):
        splitter.add(loop.run(wait=wait))
    splitter.add(loop.run(kind=Kind.TRACED))
    following = loop.run()
    splitter.close_stretch(loop.gaps, 1, following.begin_ns)
    assert splitter.waits == {0: 10 * US, 1: 20 * US}


def test_a_stretch_longer_than_tf_datas_memory_takes_the_share_that_is_remembered():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(199):
        splitter.add(loop.run(1, wait=60, compute=40))
    for _ in range(101):
        splitter.add(loop.run(1, wait=20, compute=80))
    assert split(splitter, loop)["input_wait"] == 300 * 20


def test_a_new_iterator_remembers_nothing_of_the_one_before():
    splitter = Splitter()
    for wait in (10, 30):
        loop = ScriptedLoop()
        for _ in range(5):
            splitter.add(loop.run(1, wait=wait, compute=100 - wait))
        splitter.close_stretch(loop.gaps)
    assert parts_of(splitter.take())["input_wait"] == 5 * 10 + 5 * 30


def test_gaps_longer_than_the_time_there_was_make_no_negative_wait():
    splitter, loop = Splitter(), ScriptedLoop()
    for _ in range(5):
        splitter.add(loop.run(1, compute=100))
    splitter.close_stretch([500] * 10)
    assert parts_of(splitter.take())["input_wait"] == 0


def test_a_gap_history_that_is_all_pending_measures_nothing():
    splitter, loop = Splitter(), ScriptedLoop()
    for _ in range(5):
        splitter.add(loop.run(1, **STEP))
    splitter.close_stretch(loop.gaps, pending_gaps=GAP_HISTORY)
    assert splitter.take() is None


# -- executions longer than tf.data's memory ---------------------------------------------


@pytest.mark.parametrize("pending", [True, False])
def test_an_execution_of_more_than_100_steps_is_measured_from_inside(pending):
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(3):
        splitter.add(loop.run(128, wait=10, compute=90, host=40))
    if pending:
        loop.run(128, wait=10, compute=90)
    parts = split(splitter, loop, pending=128 if pending else 0)
    assert parts["input_wait"] == 3 * 128 * 10
    assert parts["compute"] == 3 * 128 * 90
    assert parts["dispatch"] is None


def test_executions_too_long_for_two_in_memory_are_measured_from_inside():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(3):
        splitter.add(loop.run(64, wait=10, compute=90, host=40))
    loop.run(64, wait=10, compute=90)
    assert split(splitter, loop, pending=64)["input_wait"] == 3 * 64 * 10


def test_the_way_out_of_a_long_execution_is_not_taken_for_a_step_inside_it():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(3):
        splitter.add(loop.run(128, wait=10, compute=90, host=50_000))
    loop.find_no_data()
    assert split(splitter, loop, pending=1)["input_wait"] == 3 * 128 * 10


# -- what cannot be measured -------------------------------------------------------------


def test_without_gap_times_the_wait_is_missing_and_inside_compute():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(10):
        splitter.add(loop.run(1, **STEP))
    splitter.close_stretch(None)
    parts = parts_of(splitter.take())
    assert (parts["input_wait"], parts["compute"]) == (None, 10 * 167)


def test_a_stretch_too_short_waits_for_the_next_one():
    loop, splitter = ScriptedLoop(), Splitter()
    splitter.add(loop.run(1, **STEP))
    splitter.close_stretch(loop.gaps)
    assert splitter.take() is None
    assert splitter.steps == 1
    loop.run(16, kind=Kind.TRIAL)
    for _ in range(4):
        splitter.add(loop.run(1, **STEP))
    assert split(splitter, loop)["input_wait"] == 5 * 10


def test_a_stretch_too_short_takes_the_share_of_the_others_in_its_interval():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(5):
        splitter.add(loop.run(1, wait=20, compute=80))
    splitter.close_stretch(loop.gaps)
    splitter.add(loop.run(1, wait=70, compute=30))
    assert split(splitter, loop)["input_wait"] == 6 * 20


def test_the_last_interval_takes_the_last_share_that_is_known():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(5):
        splitter.add(loop.run(1, wait=20, compute=80))
    split(splitter, loop)
    splitter.add(loop.run(1, wait=70, compute=30))
    splitter.close_stretch(loop.gaps)
    assert parts_of(splitter.take(final=True))["input_wait"] == 20


def test_a_last_interval_of_which_nothing_is_known_says_so():
    loop, splitter = ScriptedLoop(), Splitter()
    splitter.add(loop.run(1, wait=20, compute=80))
    splitter.close_stretch(loop.gaps)
    parts = parts_of(splitter.take(final=True))
    assert (parts["input_wait"], parts["compute"]) == (None, 100)


def test_where_all_stretches_are_too_short_none_waits_for_ever():
    """As where an epoch is one batch of all data."""
    splitter = Splitter()
    for stretch in range(20):
        assert splitter.take() is None, stretch
        loop = ScriptedLoop()
        splitter.add(loop.run(1, wait=20, compute=80))
        splitter.close_stretch(loop.gaps)
    parts = parts_of(splitter.take())
    assert (parts["input_wait"], parts["compute"]) == (None, 20 * 100)
    loop = ScriptedLoop()
    for _ in range(5):
        splitter.add(loop.run(1, wait=20, compute=80))
    assert split(splitter, loop)["input_wait"] == 5 * 20


def test_there_is_no_interval_without_steps():
    splitter = Splitter()
    splitter.close_stretch([100] * 100)
    assert splitter.take() is None
    assert splitter.take(final=True) is None


# -- retracing ---------------------------------------------------------------------------


def test_what_a_retraced_execution_takes_longer_than_usual_is_compiling():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(9):
        splitter.add(loop.run(1, compute=100))
    splitter.add(loop.run(1, kind=Kind.TRACED, compute=5100, host=3))
    splitter.close_stretch(None)
    parts = parts_of(splitter.take())
    assert (parts["compile"], parts["compute"], parts["other_host"]) == (5000, 1000, 3)


def test_where_all_trace_compiling_is_what_each_says_that_it_traced():
    loop, splitter = ScriptedLoop(), Splitter()
    for told_us in (4000, 7000, None):
        traced = loop.run(1, kind=Kind.TRACED, compute=5100)
        splitter.add(traced._replace(traced_ns=None if told_us is None else told_us * US))
    splitter.close_stretch(None)
    parts = parts_of(splitter.take())
    # No more than there is, and nothing where nobody told.
    assert (parts["compile"], parts["compute"]) == (4000 + 5100, 1100 + 5100)
    splitter.add(loop.run(1, compute=100))
    splitter.add(loop.run(1, kind=Kind.TRACED, compute=5100)._replace(traced_ns=4000 * US))
    splitter.close_stretch(None)
    assert parts_of(splitter.take())["compile"] == 5000


def test_where_an_execution_says_for_how_long_it_compiled_its_wait_is_known_too():
    # As on JAX, where nearly all may compile.
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(3):
        traced = loop.run(1, kind=Kind.TRACED, compute=5100)
        splitter.add(traced._replace(compile_ns=5000 * US, input_wait_ns=60 * US))
    splitter.close_stretch(None)
    parts = parts_of(splitter.take())
    assert (parts["compile"], parts["input_wait"], parts["compute"]) == (15000, 180, 120)


def test_what_is_usual_is_remembered_from_the_stretch_before():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(9):
        splitter.add(loop.run(1, compute=100))
    splitter.close_stretch(None)
    splitter.take()
    splitter.add(loop.run(1, kind=Kind.TRACED, compute=5100))
    splitter.close_stretch(None)
    parts = parts_of(splitter.take())
    assert (parts["compile"], parts["compute"]) == (5000, 100)


def test_a_retrace_of_a_shorter_execution_is_measured_by_its_steps():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(9):
        splitter.add(loop.run(8, compute=100))
    splitter.add(loop.run(3, kind=Kind.TRACED, compute=1000))
    splitter.close_stretch(None)
    assert parts_of(splitter.take())["compile"] == 3000 - 300


def test_a_retrace_faster_than_usual_is_no_negative_compiling():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(9):
        splitter.add(loop.run(1, compute=100))
    splitter.add(loop.run(1, kind=Kind.TRACED, compute=60))
    splitter.close_stretch(None)
    assert parts_of(splitter.take())["compile"] == 0


# -- waits, one by one -------------------------------------------------------------------


def test_the_wait_of_each_execution_is_known_but_for_the_last():
    loop, splitter = ScriptedLoop(), Splitter()
    for wait in (10, 70, 20, 40):
        splitter.add(loop.run(1, **(STEP | {"wait": wait})))
    splitter.close_stretch(loop.gaps)
    assert splitter.waits == {0: 10 * US, 1: 70 * US, 2: 20 * US}


def test_the_wait_of_an_execution_is_that_of_all_its_steps():
    loop, splitter = ScriptedLoop(), Splitter()
    for wait in (10, 70, 20):
        splitter.add(loop.run(8, **(STEP | {"wait": wait})))
    splitter.close_stretch(loop.gaps)
    assert splitter.waits == {0: 80 * US, 8: 560 * US}


def test_only_the_waits_that_tf_data_remembers_are_known():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(GAP_HISTORY + 50):
        splitter.add(loop.run(1, **STEP))
    splitter.close_stretch(loop.gaps)
    assert set(splitter.waits) == set(range(50 - 1, GAP_HISTORY + 49))


def test_waits_are_those_of_the_stretch_closed_last():
    splitter = Splitter()
    loop = ScriptedLoop()
    for _ in range(5):
        splitter.add(loop.run(1, **STEP))
    splitter.close_stretch(loop.gaps)
    assert len(splitter.waits) == 4
    splitter.close_stretch(None)
    assert splitter.waits == {}


@given(waits=st.lists(st.integers(0, 500), min_size=2, max_size=20), steps=st.integers(1, 4))
@settings(max_examples=100, deadline=None)
def test_every_wait_that_was_is_found(waits, steps):
    loop, splitter = ScriptedLoop(), Splitter()
    for wait in waits:
        splitter.add(loop.run(steps, **(STEP | {"wait": wait})))
    splitter.close_stretch(loop.gaps)
    expected = {steps * i: steps * wait * US for i, wait in enumerate(waits[:-1])}
    assert splitter.waits == expected


# -- recompiling -------------------------------------------------------------------------


def test_what_a_recompiled_execution_takes_longer_than_usual_is_compiling():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(9):
        splitter.add(loop.run(1, compute=100))
    splitter.add(loop.run(1, kind=Kind.RECOMPILED, compute=5100))
    splitter.close_stretch(None)
    parts = parts_of(splitter.take())
    assert (parts["compile"], parts["compute"]) == (5000, 1000)


@pytest.mark.parametrize("kind", [Kind.TRACED, Kind.RECOMPILED])
@pytest.mark.parametrize("steps", [1, 8])
def test_the_gaps_of_a_last_execution_that_compiled_are_passed_over(kind, steps):
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(6):
        splitter.add(loop.run(steps, **STEP))
    splitter.add(loop.run(steps, kind=kind, wait=3000, compute=5000))
    splitter.close_stretch(loop.gaps)
    assert splitter.waits == {steps * place: steps * 10 * US for place in range(5)}


def test_what_was_found_to_be_compiling_is_not_compute():
    loop, splitter = ScriptedLoop(), Splitter()
    for compiling in (0, 0, 5000, 0, 0):
        splitter.add(compiled(loop.run(1, compute=100 + compiling), compiling))
    splitter.close_stretch(loop.gaps)
    parts = parts_of(splitter.take())
    assert (parts["compile"], parts["compute"], parts["input_wait"]) == (5000, 500, 0)


def test_the_input_wait_stays_what_it_was_when_some_of_the_rest_was_compiling():
    loop, splitter = ScriptedLoop(), Splitter()
    # Two executions that are alike: what is measured of the first holds for both.
    for _ in range(2):
        splitter.add(compiled(loop.run(1, wait=20, compute=2080), 2000))
    splitter.close_stretch(loop.gaps)
    parts = parts_of(splitter.take())
    assert (parts["compile"], parts["compute"], parts["input_wait"]) == (4000, 160, 40)


def test_the_share_of_waiting_is_that_of_steps_that_do_not_compile():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(2):
        splitter.add(compiled(loop.run(1, wait=20, compute=2080), 2000))
    splitter.close_stretch(loop.gaps)
    splitter.take()
    splitter.add(loop.run(1, wait=70, compute=30))
    splitter.close_stretch(None)
    # Too short to be measured: a fifth of 100, as without compiling before.
    assert parts_of(splitter.take(final=True))["input_wait"] == 20


def test_without_gap_times_compiling_is_no_compute_all_the_same():
    loop, splitter = ScriptedLoop(), Splitter()
    splitter.add(compiled(loop.run(1, compute=5100), 5000))
    splitter.close_stretch(None)
    parts = parts_of(splitter.take())
    assert (parts["compile"], parts["compute"], parts["input_wait"]) == (5000, 100, None)


def test_compiling_in_a_stretch_too_short_to_be_measured_leaves_the_share_of_the_others():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(3):
        splitter.add(loop.run(1, wait=20, compute=80))
    splitter.close_stretch(loop.gaps)
    splitter.add(compiled(loop.run(1, wait=20, compute=5080), 5000))
    splitter.close_stretch(loop.gaps)
    parts = parts_of(splitter.take())
    assert (parts["compile"], parts["input_wait"], parts["compute"]) == (5000, 80, 320)


def test_compiling_in_the_last_execution_is_not_taken_for_waiting():
    loop, splitter = ScriptedLoop(), Splitter()
    # Nobody follows the last one: its wait is not known, and a fifth like that of the others.
    for compiling in (0, 0, 5000):
        splitter.add(compiled(loop.run(1, wait=20, compute=80 + compiling), compiling))
    splitter.close_stretch(loop.gaps)
    parts = parts_of(splitter.take())
    assert (parts["compile"], parts["input_wait"], parts["compute"]) == (5000, 60, 240)


@given(
    stretches=st.lists(
        st.lists(
            st.tuples(st.integers(0, 500), st.integers(1, 500), st.integers(0, 9000)),
            min_size=1,
            max_size=8,
        ),
        min_size=1,
        max_size=5,
    ),
    pending=st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_the_parts_tile_also_where_some_of_the_steps_compiled(stretches, pending):
    loop, splitter = ScriptedLoop(), Splitter()
    for steps in stretches:
        for wait, compute, compiling in steps:
            splitter.add(compiled(loop.run(1, wait=wait, compute=compute + compiling), compiling))
        if pending:
            loop.run(1)
        splitter.close_stretch(loop.gaps, int(pending))
    interval = splitter.take(final=True)
    parts = [getattr(interval, f"{part}_ns") or 0 for part in PARTS]
    assert sum(parts) == interval.total_ns
    assert min(parts) >= 0
    assert interval.compile_ns == sum(each[2] for steps in stretches for each in steps) * US


# -- the garbage collector ---------------------------------------------------------------


def test_pauses_of_the_collector_are_summed_beside_the_parts():
    loop, splitter = ScriptedLoop(), Splitter()
    for pause in (0, 30, 5):
        splitter.add(loop.run(1, compute=100)._replace(collector_ns=pause * US))
    splitter.close_stretch(None)
    interval = splitter.take()
    assert interval.collector_ns == 35 * US
    assert sum(getattr(interval, f"{part}_ns") or 0 for part in PARTS) == 300 * US


def test_pauses_of_one_interval_are_not_counted_for_the_next():
    loop, splitter = ScriptedLoop(), Splitter()
    for pause in (30, 0):
        splitter.add(loop.run(1, compute=100)._replace(collector_ns=pause * US))
        splitter.close_stretch(None)
        interval = splitter.take()
        assert interval.collector_ns == pause * US


# -- the interval ------------------------------------------------------------------------


def test_an_interval_tells_its_steps_and_owners():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(3):
        splitter.add(loop.run(8, compute=100, host=40, callback=25))
    splitter.close_stretch(None)
    interval = splitter.take()
    assert (interval.last_step, interval.steps, interval.executions) == (24, 24, 3)
    assert interval.owners == {"Mine.on_train_batch_end": 3 * 25 * US}
    assert interval.total_ns == 3 * 840 * US
    assert interval.step_ms == 0.105


def test_per_step_times_leave_out_what_was_not_measured():
    interval = Interval(
        last_step=20,
        steps=10,
        executions=10,
        total_ns=50_000_000,
        input_wait_ns=None,
        compute_ns=30_000_000,
        dispatch_ns=None,
        callbacks_ns=10_000_000,
        other_host_ns=10_000_000,
        compile_ns=0,
    )
    expected = {"compute": 3.0, "callbacks": 1.0, "other_host": 1.0, "compile": 0.0}
    assert interval.per_step_ms() == expected
    assert interval.step_ms == 5.0


def test_nothing_of_an_interval_is_left_for_the_next():
    loop, splitter = ScriptedLoop(), Splitter()
    splitter.add(loop.run(1, compute=900, host=40, callback=25))
    splitter.close_stretch(None)
    splitter.take()
    splitter.add(loop.run(1, compute=100))
    splitter.close_stretch(None)
    interval = splitter.take()
    assert (interval.steps, interval.total_ns, interval.owners) == (1, 100 * US, {})


@st.composite
def stretches(draw: st.DrawFn) -> list[tuple[list[Execution], list[int] | None, int]]:
    """Executions in their order, with gap times that need not fit to them."""
    now, step = draw(st.integers(1, 10**12)), 0
    short = st.integers(0, 10**7)
    found = []
    for _ in range(draw(st.integers(1, 4))):
        executions = []
        for _ in range(draw(st.integers(0, 8))):
            kind = draw(st.sampled_from([Kind.STEADY, Kind.STEADY, Kind.TRACED]))
            steps = draw(st.sampled_from([1, 1, 2, 8, 128]))
            step += draw(st.sampled_from([0, 0, 0, 16]))
            returned = now + draw(short)
            ready = returned + draw(short)
            owners = tuple((f"A.{i}", draw(st.integers(0, 1000))) for i in range(draw(short) % 3))
            end = ready + sum(spent for _, spent in owners) + draw(short)
            executions.append(Execution(step, steps, kind, now, returned, ready, end, owners))
            now, step = end, step + steps
        gaps = draw(st.none() | st.lists(st.integers(0, 20_000), max_size=GAP_HISTORY))
        found.append((executions, gaps, draw(st.integers(0, 130))))
    return found


@given(
    stretches=stretches(),
    known=st.none() | st.builds(KnownDispatch, st.floats(0, 1), st.floats(0, 1e3)),
    take_often=st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_the_parts_tile_whatever_was_executed(stretches, known, take_often):
    splitter = Splitter()
    intervals = []
    for executions, gaps, pending in stretches:
        for execution in executions:
            splitter.add(execution)
        splitter.close_stretch(gaps, pending)
        if take_often:
            intervals.append(splitter.take(known))
    intervals.append(splitter.take(known, final=True))
    taken = [interval for interval in intervals if interval is not None]
    for interval in taken:
        parts = [getattr(interval, f"{part}_ns") or 0 for part in PARTS]
        assert sum(parts) == interval.total_ns
        assert min(parts) >= 0
        assert sum(interval.owners.values()) == interval.callbacks_ns
    executed = [execution for executions, _, _ in stretches for execution in executions]
    assert sum(i.steps for i in taken) == sum(e.steps for e in executed)
    assert sum(i.total_ns for i in taken) == sum(e.cycle_ns for e in executed)


def test_an_element_that_holds_several_steps_is_fetched_once_for_them():
    loop, splitter = ScriptedLoop(), Splitter(fetches_per_step=1 / 4)
    for _ in range(10):
        # One fetch, then the four steps that its element holds.
        execution = loop.run(wait=60, compute=100, leave=20, host=20)
        splitter.add(execution._replace(first_step=4 * execution.first_step, steps=4))
    found = split(splitter, loop)
    assert found["input_wait"] == pytest.approx(10 * 60)
    assert found["dispatch"] is None
    assert found["compute"] == pytest.approx(10 * 120)


def test_a_step_that_fetches_several_elements_waits_for_each():
    loop, splitter = ScriptedLoop(), Splitter(fetches_per_step=4)
    for _ in range(10):
        execution = loop.run(4, wait=15, compute=30, host=20)
        splitter.add(execution._replace(first_step=execution.first_step // 4, steps=1))
    found = split(splitter, loop)
    assert found["input_wait"] == pytest.approx(10 * 60)
    assert found["compute"] == pytest.approx(10 * 120)


def test_where_nobody_saw_the_function_return_dispatch_is_not_measured():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(10):
        execution = loop.run(4, wait=10, compute=90, device=400, host=20)
        splitter.add(execution._replace(returned_ns=execution.begin_ns))
    found = split(splitter, loop)
    assert found["dispatch"] is None
    assert found["input_wait"] == pytest.approx(10 * 40)


# -- the quickest executions -------------------------------------------------------------


def test_the_quickest_tenth_tells_what_a_step_takes_undisturbed():
    loop, splitter = ScriptedLoop(), Splitter()
    for place in range(41):
        # Waiting for input is not in it; every fifth execution is kept from nothing.
        disturbed = 300 if place % 5 else 0
        splitter.add(loop.run(2, wait=1000, compute=100 + disturbed, host=1))
    assert splitter.undisturbed_ms is None
    splitter.close_stretch(loop.gaps)
    assert splitter.undisturbed_ms == pytest.approx(0.1)


def test_of_executions_that_are_found_done_together_none_is_the_quickest():
    """The host runs ahead, and another thread notices late that the device is done."""
    executions = []
    for place in range(32):
        # Each takes 100; of four the first is noticed with the last.
        begin = 400 * (place // 4) + (400 if place % 4 else 0)
        ready = 400 * (place // 4) + 400
        executions.append(Execution(place, 1, Kind.STEADY, 1000 * begin, 0, 1000 * ready, 0))
    assert [*computing_ms(executions, dict.fromkeys(range(32), 0))] == [0.1] * 32
    # Those that are left over are no group of their own.
    late = executions[:31] + [executions[31]._replace(begin_ns=executions[31].ready_ns)] * 4
    assert len({*computing_ms(late, dict.fromkeys(range(32), 0))}) == 1
    apart = [each._replace(begin_ns=each.begin_ns - 1) for each in executions]
    assert min(computing_ms(apart, dict.fromkeys(range(32), 0))) < 0.001


def test_of_few_executions_the_quickest_say_nothing():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(20):
        splitter.add(loop.run(1, wait=10))
    splitter.close_stretch(loop.gaps)
    # Nobody follows the last one, whose wait is not known.
    assert splitter.undisturbed_ms is None


# -- compiling among steps that wait -------------------------------------------------------


def test_a_stretch_in_which_some_compiled_waits_as_the_others_do():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(10):
        splitter.add(loop.run(1, wait=10))
    splitter.close_stretch(loop.gaps)
    splitter.add(compiled(loop.run(1, wait=10, compute=50_000), 49_900))
    assert splitter.take() is None
    splitter.add(loop.run(1, wait=10))
    splitter.close_stretch(loop.gaps)
    parts = parts_of(splitter.take())
    assert parts["compile"] == 49_900
    assert parts["input_wait"] == pytest.approx(12 * 10, rel=0.1)
    assert parts["compute"] == pytest.approx(12 * 100, rel=0.1)


def test_compiling_in_a_stretch_that_is_never_closed_leaves_the_last_ones_wait_alone():
    loop, splitter = ScriptedLoop(), Splitter()
    for _ in range(10):
        splitter.add(loop.run(1, wait=10))
    splitter.close_stretch(loop.gaps)
    splitter.add(compiled(loop.run(1, compute=50_000), 49_900))
    parts = parts_of(splitter.take(final=True))
    assert parts["compile"] == 49_900
    assert parts["compute"] + parts["input_wait"] == 10 * 110 + 100
    assert parts["input_wait"] == pytest.approx(11 * 10, rel=0.1)


def test_executions_that_took_no_time_wait_for_the_next_interval():
    splitter = Splitter()
    splitter.add(Execution(0, 1, Kind.STEADY, 5 * US, 5 * US, 5 * US, 5 * US))
    splitter.close_stretch(None)
    assert splitter.take() is None
    assert splitter.take(final=True) is None
    splitter.add(Execution(1, 1, Kind.STEADY, 5 * US, 9 * US, 9 * US, 9 * US))
    splitter.close_stretch(None)
    interval = splitter.take()
    assert interval is not None
    assert (interval.steps, interval.total_ns) == (2, 4 * US)


def test_what_was_timed_of_single_steps_says_nothing_of_long_executions():
    """As where a number of steps per execution is applied in the middle of a training."""
    splitter, at = Splitter(), 0

    def waits_of(executions: int, steps: int, wait: int | None) -> int | None:
        nonlocal at
        for _ in range(executions):
            times = (at * 100, at * 100 + 90, at * 100 + 90, at * 100 + 100)
            execution = Execution(at, steps, Kind.STEADY, *times, input_wait_ns=wait)
            splitter.add(execution)
            at += steps
        splitter.close_stretch(None)
        interval = splitter.take()
        assert interval is not None
        return interval.input_wait_ns

    assert waits_of(5, 1, 20) == 100
    assert waits_of(3, 8, None) is None
    assert waits_of(5, 1, 20) == 100


def test_a_few_that_were_timed_say_nothing_of_the_others():
    def execution(first: int, steps: int, wait: int | None) -> Execution:
        times = (100 * first, 100 * (first + steps), 100 * (first + steps), 100 * (first + steps))
        return Execution(first, steps, Kind.STEADY, *times, input_wait_ns=wait)

    single, long = execution(8, 1, 20), execution(0, 8, None)
    assert timed_waits([long, single]) == ({8: 20}, None)
    assert timed_waits([single]) == ({8: 20}, 0.2)
    assert timed_waits([]) == ({}, None)
