"""How long a slice of work has to be."""

from collections import deque

import pytest

from keras_perf.trials.measuring.slices import LONGEST_WAVE_S, Stretch, unit_ms

SLICE_S = 0.15


class Simulated:
    """A parallel map in virtual time, and steps that take its batches.

    Arguments:
        batch_s: seconds in which a batch is made.
        at_once: how many are made at the same time; as soon as one is taken another one begins.
        step_s: seconds of a step once it has its batch.
        opening_s: seconds before the first ones begin, as in which a buffer is filled.
        growing: batches are taken alone, twice as many in each call that was quick.
    """

    def __init__(self, batch_s, at_once, step_s=0.0, opening_s=0.0, growing=False):
        self._batch_s, self._step_s, self._growing = batch_s, step_s, growing
        self.now, self._each = 0.0, 1
        self._ready = deque([opening_s + batch_s] * at_once)

    def _take(self):
        self.now = max(self.now + 1e-5, self._ready.popleft())
        self._ready.append(self.now + self._batch_s)
        self.now += self._step_s

    def run_for(self, seconds):
        begin, lasted, units = self.now, [], 0
        while not lasted or self.now - begin < seconds:
            began = self.now
            for _ in range(self._each):
                self._take()
            units += self._each
            lasted.append(self.now - began)
            if self._growing and lasted[-1] < seconds / 16:
                self._each *= 2
            elif self._growing and lasted[-1] > seconds and self._each > 1:
                self._each //= 2
        return Stretch(units, self.now - begin, len(lasted), max(lasted))


@pytest.mark.parametrize("growing", [False, True])
@pytest.mark.parametrize("step_s", [0.0, 0.002, 0.01, 0.03, 0.1])
@pytest.mark.parametrize("at_once", [1, 2, 3, 4, 6, 8, 12, 16])
@pytest.mark.parametrize("batch_s", [0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8])
def test_batches_that_come_at_once_are_not_taken_for_quicker_ones(
    batch_s, at_once, step_s, growing
):
    if growing:
        step_s = 0.0
    usual_s = max(batch_s / at_once, step_s + 1e-5)
    simulated = Simulated(batch_s, at_once, step_s, growing=growing)
    assert unit_ms(simulated.run_for, SLICE_S) == pytest.approx(1e3 * usual_s, rel=0.25)


@pytest.mark.parametrize("opening_s", [0.0, 0.1, 0.5, 3.0])
def test_what_is_even_is_measured_no_longer_than_its_pipeline_took_to_begin(opening_s):
    simulated = Simulated(0.01, 1, 0.02, opening_s)
    assert unit_ms(simulated.run_for, SLICE_S) == pytest.approx(20, rel=0.01)
    longest_s = max(SLICE_S, min(opening_s, LONGEST_WAVE_S))
    assert simulated.now < max(SLICE_S, opening_s) + longest_s + 0.1


def test_a_slow_call_is_measured_as_often_as_a_slice_has_room():
    simulated = Simulated(0.4, 1)
    assert unit_ms(simulated.run_for, SLICE_S) == pytest.approx(400)
    assert simulated.now == pytest.approx(0.8)
