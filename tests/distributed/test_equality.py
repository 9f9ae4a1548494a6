"""The template trains to the weights of plain Keras on one device, however many train."""

import numpy as np
import pytest
from jobs.cases import CASES, HALVED

TOLERANCE = 1e-6
"""Of a weight after 20 steps; sums in another order differ by about 1e-7."""

XLA_TOLERANCE = 3e-6
"""XLA's exponentials and sums differ a little more: about 7e-7."""
DRIFT = {"float16 exchange": 3e-3, "bfloat16 exchange": 3e-2}
"""Found: 8e-4, which the advice tells, and 7e-3."""

REST = [
    "sgd",
    "momentum",
    "adam",
    "adamw",
    "global-norm clipping",
    "clipnorm",
    "regularization",
    "jit compile",
]
"""What other cases hold too: an optimizer, a clipping, a penalty, XLA."""
SEVERAL = [name for name in CASES if not name.startswith("compiled") and name not in REST]
AMONG_WORKERS = ["moving average", "loss scale"]
"""Several workers hold these; replicas in one process run the same code."""
KINDS = {
    "none": (1, [name for name in CASES if name not in REST]),
    "none, the rest": (1, REST),
    "one-device": (1, ["one example left", "loss scale"]),
    "mirrored": (1, [name for name in SEVERAL if name not in AMONG_WORKERS]),
    "mirrored, the rest": (1, [*REST, *AMONG_WORKERS]),
    "two workers": (2, [*SEVERAL, *HALVED]),
    "two workers, the rest": (2, REST),
    "three workers": (3, ["one example left"]),
    "three workers, the rest": (3, ["sgd", "momentum", "adam", "global-norm clipping"]),
}


def of_kind(kind, *more):
    """Parameters of a test; those of a kind wait for the same workers, in one process."""
    marks = [pytest.mark.xdist_group(kind)]
    return pytest.param(kind, *more, marks=[*marks, *[pytest.mark.long] * ("rest" in kind)])


TRAININGS = [
    of_kind(kind, name) for kind, (_, names) in KINDS.items() for name in names if name in CASES
]
SEVERAL_WORKERS = [of_kind(kind) for kind, (count, _) in KINDS.items() if count > 1]
MIRRORED = [of_kind(kind) for kind in KINDS if kind.startswith("mirrored")]


@pytest.fixture(scope="session")
def plain(once):
    """What plain Keras makes of the cases; of the rest only where that is asked for."""

    def rest(name):
        # What is exchanged in half the bytes is compared with `adam`.
        return name in REST and name != "adam"

    def of(name):
        names = [each for each in CASES if rest(each) == rest(name)]
        group = "plain_keras, the rest" if rest(name) else "plain_keras"
        ran = once(group.replace(" ", "_"), 1, "jobs.plain_keras:reference", names=names)
        found = np.load(ran.folder / "trained_0.npz")
        return found[name], found[f"{name}, optimizer"]

    return of


@pytest.fixture(scope="session")
def trained(once):
    def of(kind):
        count, names = KINDS[kind]
        strategy = kind.partition(",")[0] if count == 1 else "multi-worker"
        name = kind.replace(" ", "_")
        return once(name, count, "jobs.in_loop:train_cases", kind=strategy, names=names)

    return of


def weights(group, rank=0):
    return np.load(group.folder / f"trained_{rank}.npz")


@pytest.mark.whole
@pytest.mark.parametrize(("kind", "name"), TRAININGS)
def test_trains_to_the_weights_of_plain_keras_on_one_device(kind, name, trained, plain):
    found = weights(trained(kind))
    tolerance = XLA_TOLERANCE if "compile" in name else TOLERANCE
    weights_of_plain, state_of_plain = plain(name)
    np.testing.assert_allclose(found[name], weights_of_plain, rtol=0, atol=tolerance)
    state = found[f"{name}, optimizer"]
    np.testing.assert_allclose(state, state_of_plain, rtol=1e-5, atol=tolerance)


@pytest.mark.whole
@pytest.mark.xdist_group("two workers")
@pytest.mark.parametrize("name", HALVED)
def test_an_exchange_in_half_the_bytes_drifts_a_little(name, trained, plain):
    drift = np.abs(weights(trained("two workers"))[name] - plain("adam")[0]).max()
    assert 0 < drift < DRIFT[name]


@pytest.mark.parametrize("kind", SEVERAL_WORKERS)
def test_all_workers_end_with_the_same_bits(kind, trained):
    group = trained(kind)
    chief = weights(group)
    for rank in range(1, group.count):
        for name in KINDS[kind][1]:
            np.testing.assert_array_equal(weights(group, rank)[name], chief[name])


@pytest.mark.whole
@pytest.mark.parametrize("kind", [*MIRRORED, *SEVERAL_WORKERS])
def test_metrics_are_those_of_one_device(kind, trained):
    alone = trained("none, the rest" if "rest" in kind else "none").result()
    group = trained(kind)
    common = set(KINDS[kind][1]) & set(alone)
    assert common
    for found in group.results():
        for name in common:
            assert [run for run, _ in found[name]] == [run for run, _ in alone[name]]
            assert {run for run, _ in found[name]} == {"train", "validation"}
            for (run, values), (_, expected) in zip(found[name], alone[name], strict=True):
                assert values == pytest.approx(expected, abs=1e-5), (name, run)
