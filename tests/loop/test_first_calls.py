"""What the first calls of a custom loop tell: where it fetches, and who runs its operations."""

import os
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
import watched_loops
from programs import needs_gap_times

import keras_perf as kp
from keras_perf.records.run.ending import How
from keras_perf.records.run.step_work import NotCounted

STEPS = 60


class OfBatches(watched_loops.Loop):
    """Its step is given a batch, in a `tf.function` or not."""

    def __init__(self, *, compiled=True):
        super().__init__()
        self.function = tf.function(self.step) if compiled else None
        self.run = self.function or self.step

    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.model(x, training=True) - y) ** 2)
        variables = self.model.trainable_variables
        self.optimizer.apply(tape.gradient(loss, variables), variables)
        return loss


def trained(loop, log_dir, *, outside=False, **arguments):
    iterator = iter(watched_loops.dataset())
    with loop.monitor(log_dir, STEPS, **arguments) as monitor:
        for _ in range(STEPS):
            if outside:
                x, y = next(iterator)
                with monitor.execution(iterator, 1):
                    loop.run(x, y).numpy()
            else:
                with monitor.execution(iterator, 1):
                    loop.run(*next(iterator)).numpy()
    return kp.diagnose(log_dir)


@needs_gap_times
def test_batches_that_are_fetched_between_the_calls_are_told_with_the_remedy(tmp_path, said):
    found = trained(OfBatches(), tmp_path, outside=True)
    [line] = said()
    assert "steps fetch nothing inside of `with monitor.execution(...)`" in line
    assert "train_step(*next(iterator))" in line
    assert found.summary.facts.settings.fetches_outside
    assert np.isnan(found.breakdown["input_wait"])
    assert found.verdict == "inconclusive"
    assert "fetched outside of `with monitor.execution(...)`" in str(found)
    assert any("is in other host work" in note for note in found.notes)


@needs_gap_times
@pytest.mark.parametrize("arguments", [{}, {"fetches_per_step": 0.25}])
def test_of_those_fetched_within_nothing_is_said(arguments, tmp_path, said):
    found = trained(OfBatches(), tmp_path, **arguments)
    assert said() == []
    assert not found.summary.facts.settings.fetches_outside
    assert found.breakdown["input_wait"] >= 0


def test_an_element_for_several_calls_is_not_taken_for_fetching_outside(tmp_path, said):
    loop = OfBatches()
    iterator = iter(watched_loops.dataset())
    with loop.monitor(tmp_path, STEPS, fetches_per_step=0.25) as monitor:
        for step in range(STEPS):
            with monitor.execution(iterator, 1):
                if step % 4 == 0:
                    batch = next(iterator)
                loop.run(*batch).numpy()
    assert said() == []
    assert not kp.diagnose(tmp_path).summary.facts.settings.fetches_outside


@needs_gap_times
@pytest.mark.parametrize("arguments", [{}, {"fetches_per_step": 0.25}])
def test_what_calls_that_share_a_batch_wait_for_is_not_known(arguments, tmp_path, said):
    """The times between two fetches are of four of them."""
    loop = OfBatches()
    iterator = iter(watched_loops.dataset())
    with loop.monitor(tmp_path, STEPS, **arguments) as monitor:
        for step in range(STEPS):
            with monitor.execution(iterator, 1):
                if step % 4 == 0:
                    batch = next(iterator)
                loop.run(*batch).numpy()
    found = kp.diagnose(tmp_path)
    assert found.summary.facts.settings.fetches_rarely
    assert np.isnan(found.breakdown["input_wait"])
    assert found.verdict == "inconclusive"
    assert "not each call fetches a batch" in str(found)
    assert said() == []


@needs_gap_times
@pytest.mark.parametrize("outside", [True, False])
def test_nor_is_it_where_calls_of_four_steps_do(outside, tmp_path):
    """Their warm-up is shorter than the calls that are looked at."""
    loop = OfBatches()
    iterator = iter(watched_loops.dataset())
    with loop.monitor(tmp_path, 4 * STEPS) as monitor:
        for call in range(STEPS):
            if outside:
                batch = next(iterator)
            with monitor.execution(iterator, 4):
                if not outside and call % 2 == 0:
                    batch = next(iterator)
                for _ in range(4):
                    loop.run(*batch).numpy()
    found = kp.diagnose(tmp_path)
    assert found.summary.facts.settings.fetches_outside is outside
    assert np.isnan(found.breakdown["input_wait"])


def test_a_step_outside_of_a_tf_function_is_eager(tmp_path):
    found = trained(OfBatches(compiled=False), tmp_path)
    assert found.summary.facts.settings.run_eagerly
    [advice] = [each for each in found.recommendations if each.id == "disable-run-eagerly"]
    assert "@tf.function(reduce_retracing=True)" in advice.action
    assert "run_functions_eagerly" not in advice.action
    assert sys.getprofile() is None


@pytest.mark.parametrize("told", [True, False])
def test_a_compiled_one_is_not_also_where_the_monitor_is_not_told_of_it(told, tmp_path):
    loop = OfBatches()
    found = trained(loop, tmp_path, **({} if told else {"function": None}))
    assert not found.summary.facts.settings.run_eagerly
    assert not [each for each in found.recommendations if each.id == "disable-run-eagerly"]


def test_a_model_that_python_calls_beside_a_compiled_step_does_not_make_it_eager(tmp_path):
    loop = OfBatches()
    compiled = loop.run

    def run(x, y):
        loop.model(x)
        return compiled(x, y)

    loop.run = run
    assert not trained(loop, tmp_path).summary.facts.settings.run_eagerly


def test_another_profiler_keeps_the_thread(tmp_path):
    def theirs(*event):
        pass

    sys.setprofile(theirs)
    try:
        found = trained(OfBatches(compiled=False), tmp_path)
        assert sys.getprofile() is theirs
    finally:
        sys.setprofile(None)
    assert not found.summary.facts.settings.run_eagerly


def test_a_call_that_raises_leaves_no_profiler(tmp_path):
    loop = OfBatches(compiled=False)
    iterator = iter(watched_loops.dataset())

    def calls(monitor):
        with monitor.execution(iterator, 1):
            loop.run(*next(iterator))
        with monitor.execution(iterator, 1):
            assert sys.getprofile() is not None
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), loop.monitor(tmp_path, STEPS) as monitor:
        calls(monitor)
    assert sys.getprofile() is None


def test_an_observation_that_fails_within_a_call_leaves_none(tmp_path, monkeypatch):
    loop = OfBatches(compiled=False)
    iterator = iter(watched_loops.dataset())
    with loop.monitor(tmp_path, STEPS) as monitor:
        for step in range(4):
            with monitor.execution(iterator, 1) as call:
                if step == 1:
                    where = "keras_perf.observation.of_loop.loop.LoopObservation.returned"
                    monkeypatch.setattr(where, lambda *_, **__: 1 / 0)
                call.returned(loop.run(*next(iterator)))
            assert sys.getprofile() is None
    assert int(loop.optimizer.iterations.numpy()) == 4


def forks_within_a_call(rank, folder):
    """Whether the child is looked at."""
    loop = OfBatches(compiled=False)
    iterator = iter(watched_loops.dataset())
    with loop.monitor(folder / "perf", STEPS) as monitor:
        for step in range(3):
            with monitor.execution(iterator, 1):
                loop.run(*next(iterator))
                if step == 1:
                    assert sys.getprofile() is not None
                    if (child := os.fork()) == 0:
                        len([])
                        os._exit(sys.getprofile() is not None)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_child_that_a_call_forks_is_not_looked_at(processes):
    # In a process of its own: JAX, which another test may have started here, warns of forks.
    processes.run(1, "test_first_calls:forks_within_a_call")


def test_a_step_whose_model_is_compiled_is_not_taken_for_eager(tmp_path):
    loop = OfBatches(compiled=False)
    loop.model.call = tf.function(loop.model.call)
    assert not trained(loop, tmp_path).summary.facts.settings.run_eagerly


@pytest.mark.parametrize("compiled", [True, False])
def test_looking_changes_no_weight(compiled, tmp_path):
    watched, alone = OfBatches(compiled=compiled), OfBatches(compiled=compiled)
    trained(watched, tmp_path)
    iterator = iter(watched_loops.dataset())
    keras.utils.set_random_seed(1)
    for _ in range(STEPS):
        alone.run(*next(iterator))
    for ours, theirs in zip(watched.model.weights, alone.model.weights, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize("to_the_end", [True, False])
def test_a_loop_s_passes_are_counted_where_each_was_read_to_its_end(to_the_end, tmp_path):
    loop = OfBatches()
    data = watched_loops.dataset().take(25)
    with loop.monitor(tmp_path, STEPS) as monitor:
        for _ in range(3):
            iterator = iter(data)
            try:
                for _ in range(100 if to_the_end else 20):
                    with monitor.execution(iterator, 1):
                        loop.run(*next(iterator)).numpy()
            except StopIteration:
                continue
    length = kp.diagnose(tmp_path).summary.facts.length
    assert length.pass_steps == (25 if to_the_end else None)
    assert length.passes == (3 if to_the_end else None)


def test_an_exception_that_the_loop_catches_ends_nothing(tmp_path, said):
    loop, iterator = OfBatches(), iter(watched_loops.dataset())
    with loop.monitor(tmp_path, STEPS) as monitor:
        for step in range(STEPS + 1):
            try:
                with monitor.execution(iterator, 1):
                    if step == 30:
                        raise tf.errors.DataLossError(None, None, "on purpose")
                    loop.run(*next(iterator)).numpy()
            except tf.errors.DataLossError:
                continue
    facts = kp.diagnose(tmp_path).summary.facts
    assert facts.length.last_step == STEPS
    assert facts.ending is None or facts.ending.how is not How.RAISED
    assert said() == []


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_loop_that_catches_the_lack_of_memory_has_run_out_of_it_if_it_ends_there(
    goes_on, tmp_path
):
    loop, iterator = watched_loops.Loop(), iter(watched_loops.dataset())
    with loop.monitor(tmp_path, STEPS) as monitor:
        for step in range(STEPS):
            try:
                with monitor.execution(iterator, 1):
                    loop.function(iterator, tf.constant(1)).numpy()
                    if step == STEPS // 2:
                        raise tf.errors.ResourceExhaustedError(None, None, "OOM when allocating")
            except tf.errors.ResourceExhaustedError:
                if not goes_on:
                    break
    ending = kp.diagnose(tmp_path).summary.facts.ending
    assert ending.how is (How.DONE if goes_on else How.RAISED)
    assert ending.out_of_memory != goes_on


@pytest.mark.parametrize("error", [StopIteration(), tf.errors.OutOfRangeError(None, None, "")])
def test_data_at_their_end_that_end_the_loop_are_no_failure_of_it(error, tmp_path):
    loop, iterator = OfBatches(), iter(watched_loops.dataset())

    def calls(monitor):
        for step in range(STEPS):
            with monitor.execution(iterator, 1):
                if step == 40:
                    raise error
                loop.run(*next(iterator)).numpy()

    with pytest.raises(type(error)), loop.monitor(tmp_path, STEPS) as monitor:
        calls(monitor)
    ending = kp.diagnose(tmp_path).summary.facts.ending
    assert ending is None or ending.how is not How.RAISED


def test_without_the_function_nothing_is_claimed_of_it(tmp_path):
    facts = trained(OfBatches(), tmp_path, function=None).summary.facts
    assert facts.settings.function_traces is None
    assert facts.step_work.not_counted is NotCounted.NO_FUNCTION


def test_what_is_called_several_times_in_a_step_is_not_counted_as_once(tmp_path):
    loop, iterator = OfBatches(), iter(watched_loops.dataset())
    with loop.monitor(tmp_path, STEPS, fetches_per_step=4) as monitor:
        for _ in range(STEPS):
            with monitor.execution(iterator, 1):
                for _ in range(4):
                    loop.run(*next(iterator)).numpy()
    assert kp.diagnose(tmp_path).summary.facts.step_work.not_counted is NotCounted.CALLS


def test_the_replicas_are_those_of_the_model(tmp_path):
    two = tf.distribute.MirroredStrategy(["CPU:0"])
    with two.scope():
        loop = OfBatches()
    assert trained(loop, tmp_path).summary.facts.settings.strategy == "MirroredStrategy"


@pytest.mark.parametrize("marked", [True, False])
def test_a_call_that_raises_counts_no_step_also_where_its_return_was_marked(marked, told, tmp_path):
    loop, iterator = OfBatches(), iter(watched_loops.dataset())
    with loop.monitor(tmp_path, STEPS) as monitor:
        for step in range(STEPS + 5):
            try:
                with monitor.execution(iterator, 1) as call:
                    result = loop.run(*next(iterator))
                    if marked:
                        call.returned(result)
                    if step % 10 == 5 and step < 50:
                        raise ZeroDivisionError
            except ZeroDivisionError:
                continue
    assert [each.first_step for each in told] == list(range(STEPS))
    assert kp.diagnose(tmp_path).summary.facts.length.last_step == STEPS


def test_what_lies_behind_a_call_that_raised_is_still_between_epochs(tmp_path):
    loop, iterator = OfBatches(), iter(watched_loops.dataset())

    with loop.monitor(tmp_path, STEPS) as monitor:
        for _ in range(3):
            try:
                for step in range(21):
                    with monitor.execution(iterator, 1):
                        if step == 20:
                            raise ZeroDivisionError
                        loop.run(*next(iterator)).numpy()
            except ZeroDivisionError:
                ended = True
            assert ended
            test = iter(watched_loops.dataset().take(3))
            try:
                with monitor.outside("evaluation"):
                    while True:
                        loop.model(next(test)[0])
            except StopIteration:
                continue
    outside = kp.diagnose(tmp_path).summary.facts.outside
    assert outside.validations == 3
    assert outside.validation_s > 0
