"""What must be the same on all replicas, and what must not."""

import numpy as np
import pytest

REPLICAS = [
    "an_infinity_in_each_replica_in_turn",
    "dropout_masks",
    "moving_statistics",
    "one_example_left",
]
TRAININGS = ["other_types", "files_of_its_own"]
AMONG_WORKERS = ["a_chief_that_saves", "collectives", "disagreement", "other_settings"]
KINDS = {
    "mirrored": (1, REPLICAS),
    "mirrored, the rest": (1, TRAININGS),
    # The types come first: they need the template's own model, which the others replace.
    "multi-worker": (2, ["other_types", *REPLICAS, "files_of_its_own", *AMONG_WORKERS]),
}
"""Several workers hold what is a whole training; replicas in one process run the same code."""


def of_kind(kind):
    """A parameter of `looked`; who waits for the same workers does so in one process."""
    marks = [pytest.mark.xdist_group(f"looks, {kind}")]
    if "rest" in kind:
        marks.append(pytest.mark.long)
    if kind == "multi-worker":
        marks.append(pytest.mark.whole)
    return pytest.param(kind, marks=marks)


of_whole_trainings = pytest.mark.parametrize(
    "looked", [of_kind("mirrored, the rest"), of_kind("multi-worker")], indirect=True
)


@pytest.fixture(params=[of_kind("mirrored"), of_kind("multi-worker")])
def looked(request, once):
    """The result of each worker."""
    count, names = KINDS[request.param]
    kind = request.param.partition(",")[0]
    name = f"looks_{request.param}".replace(" ", "_")
    return once(name, count, "jobs.in_loop:looks", kind=kind, names=names)


def by_worker(group, name):
    return [result[name] for result in group.results()]


def test_an_infinity_in_any_replica_is_skipped_by_all_and_halves_the_scale(looked):
    found = by_worker(looked, "an_infinity_in_each_replica_in_turn")
    assert len(found[0]) == 2
    for turns in zip(*found, strict=True):
        before, skipped, later = ([worker[k] for worker in turns] for k in range(3))
        expected = before[0]["weights"][0]
        for seen in before, skipped:
            assert all(w == expected for worker in seen for w in worker["weights"])
        assert all(worker["scale"] == before[0]["scale"] for worker in before)
        assert all(worker["scale"] == before[0]["scale"] / 2 for worker in skipped)
        goes_on = later[0]["weights"][0]
        assert all(w == goes_on for worker in later for w in worker["weights"])
        assert np.isfinite(goes_on).all()
        assert goes_on != expected


def test_dropout_masks_differ_between_all_replicas(looked):
    uninterrupted = [worker[0] for worker in by_worker(looked, "dropout_masks")]
    masks = [mask for worker in uninterrupted for draw in worker for mask in draw]
    assert len(masks) == 6
    assert len({tuple(mask) for mask in masks}) == 6


def test_dropout_masks_go_on_after_a_restart_as_if_there_had_been_none(looked):
    for uninterrupted, resumed in by_worker(looked, "dropout_masks"):
        assert resumed == uninterrupted


def test_a_save_makes_the_moving_statistics_of_all_replicas_their_mean(looked):
    found = by_worker(looked, "moving_statistics")
    before, after, resumed = (
        [copy for worker in found for copy in worker[when]]
        for when in ("before", "after", "resumed")
    )
    assert len(before) == len(after) == len(resumed) == 2
    assert before[0] != before[1]
    assert after[0] == after[1] == resumed[0] == resumed[1]
    np.testing.assert_allclose(after[0], np.mean(before, axis=0), rtol=1e-6)


def test_averages_keep_the_bits_of_what_is_equal(nursery):
    [found] = nursery.run(1, "jobs.in_loop:frozen_weights").results()
    assert found["after"] == found["before"]
    assert found["means"] == [[1.0] * 64] * 3


@of_whole_trainings
def test_a_training_on_files_of_its_own_goes_on_where_it_stopped(looked):
    found = by_worker(looked, "files_of_its_own")
    assert all(worker["equal"] for worker in found)
    assert all(worker["begun_at"] == [0, 0, 4] for worker in found)
    assert all(worker["end"] == found[0]["end"] for worker in found)


def test_a_replica_without_an_example_of_its_own_stays_finite(looked):
    assert all(all(finite) for finite in by_worker(looked, "one_example_left"))


@of_whole_trainings
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_trains_in_other_types(policy, looked):
    for worker in by_worker(looked, "other_types"):
        assert worker[policy]["finite"]
        [(_, training), (_, validation)] = worker[policy]["logged"]
        assert 0 < training["loss"] < 3
        assert 0 < validation["loss"] < 3


@pytest.mark.parametrize("looked", [of_kind("multi-worker")], indirect=True)
def test_a_step_exchanges_once(looked):
    for flags, counts in looked.result()["collectives"].items():
        twice = "--reduce-dtype" in flags
        assert counts == {"CollectiveReduceV2": 2 if twice else 1}, flags


@pytest.mark.parametrize("looked", [of_kind("multi-worker")], indirect=True)
def test_what_only_the_chief_does_between_calls_is_no_exchange_of_the_others(looked):
    chief, other = by_worker(looked, "a_chief_that_saves")
    assert chief["steps"] == other["steps"] == 17
    assert chief["interrupted"] == other["interrupted"] == 3
    assert other["own_s"] > 0
    assert chief["slept_s"] < 2 * other["interrupted_s"]


@pytest.mark.parametrize("looked", [of_kind("multi-worker")], indirect=True)
def test_workers_that_would_go_on_from_other_steps_are_told_so(looked):
    words = "All workers must have the same step in their newest checkpoint, got [30, 0]"
    assert all(said.startswith(words) for said in by_worker(looked, "disagreement"))


@pytest.mark.parametrize("looked", [of_kind("multi-worker")], indirect=True)
def test_workers_that_were_not_started_alike_are_told_so(looked):
    words = "All workers must have the same model, optimizer and settings (shown as a checksum)"
    assert all(said.startswith(words) for said in by_worker(looked, "other_settings"))
