"""The first promise: a training with our callbacks is the training without them."""

import os

import numpy as np
import pytest
from drawn_programs import ON_JAX, PROGRAMS, Program, trained
from hypothesis import HealthCheck, Phase, given, seed, settings

DRAWS = int(os.environ.get("KERAS_PERF_DRAWS", "8"))
"""Programs drawn; `make test-long` draws 500."""

SEED = int(os.environ.get("KERAS_PERF_SEED", "0"))
"""Another one draws others: several processes share a long run."""


@pytest.fixture(autouse=True)
def tracing_is_cheap(monkeypatch):
    """On a busy machine the first trace of a process may take seconds: no reason not to try."""
    monkeypatch.setattr("keras_perf.observers.steps_trial.steps_to_try.SMALL_COST_S", 100.0)


def assert_unchanged(program, folder):
    """Trains it with and without, and compares all that is left; returns the recommender."""
    (folder / "plain").mkdir(parents=True)
    (folder / "observed").mkdir()
    plain, _ = trained(program, folder / "plain", None)
    observed, recommender = trained(program, folder / "observed", folder / "log")
    for what, expected in plain.items():
        np.testing.assert_equal(observed[what], expected, err_msg=f"{what} of {program}")
    assert list((folder / "log").rglob("*.xplane.pb")), "a capture was taken"
    return recommender


@pytest.mark.fault(
    1,
    "any program: models, callbacks and data drawn at random, with a capture and trials",
)
@pytest.mark.timeout(60 * (5 + DRAWS))
def test_no_program_trains_otherwise_when_it_is_observed(tmp_path_factory):
    tried = []

    @seed(SEED)
    @settings(
        max_examples=DRAWS,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(PROGRAMS)
    def unchanged(program):
        recommender = assert_unchanged(program, tmp_path_factory.mktemp("drawn"))
        tried.append("trials" in recommender.recommendation.evidence)

    unchanged()
    # Other numbers of steps per execution are tried on TensorFlow.
    assert any(tried) is not ON_JAX


def program(model, *callbacks, **changed):
    drawn = {
        "model": model,
        "optimizer": "adam",
        "policy": "float32",
        "jit_compile": False,
        "steps_per_execution": 1,
        "data": "tf.data",
        "steps": 64,
        "epochs": 6,
        "validates": False,
        "callbacks": frozenset(callbacks),
        "apply": False,
        "ours_first": False,
    }
    return Program(**drawn | changed)


@pytest.mark.fault(
    1,
    "a layer, a dropout rate, a weight, a counter changed after the first epoch",
)
@pytest.mark.parametrize(
    ("model", "jit_compile", "apply"),
    [("dropout", False, True), ("annealed", False, False), ("annealed", True, True)],
)
def test_what_python_holds_by_then_is_not_read_by_trials(model, jit_compile, apply, tmp_path):
    """A layer frozen, a dropout rate, a weight and a counter in the train step: all changed."""
    changed = program(model, "changes Python", jit_compile=jit_compile, apply=apply)
    recommender = assert_unchanged(changed, tmp_path)
    assert recommender.recommendation.evidence["trial_executions"] > 3
