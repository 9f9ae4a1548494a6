"""The programs with a known bottleneck, through the same checks as on TensorFlow."""

import os
import subprocess
import sys
from importlib.util import find_spec

import bottlenecks
import pytest
import test_scenarios

pytestmark = [
    # They judge times, in a process of their own, which asks them again itself.
    pytest.mark.xdist_group("timing"),
    pytest.mark.timeout(1200),
    pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed"),
]

ONE_OF_A_KIND = [
    "slow_sequential_map",
    "parallel_map_that_waits",
    "no_prefetch",
    "python_generator",
    "slow_batch_callback",
    "slow_epoch_callback",
    "every_batch_of_another_length",
    "large_validation",
    "eager",
    "healthy",
]
"""Of input, callbacks, compiling, what lies between epochs, and nothing to mend."""

OTHERS = [
    each.name
    for each in bottlenecks.SCENARIOS
    if each.name not in (*ONE_OF_A_KIND, *test_scenarios.NOT_ON_JAX)
]


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(ONE_OF_A_KIND, marks=pytest.mark.whole, id="one of a kind"),
        pytest.param(OTHERS, marks=pytest.mark.long, id="the others"),
    ],
)
def test_their_bottlenecks_are_found(names):
    test = f"{test_scenarios.__file__}::{test_scenarios.test_the_bottleneck_is_found.__name__}"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "timing"]
    done = subprocess.run(
        [*command, *(f"{test}[{name}]" for name in names)],
        capture_output=True,
        text=True,
        env=os.environ | {"KERAS_BACKEND": "jax", "CUDA_VISIBLE_DEVICES": ""},
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert f"{len(names)} passed" in done.stdout
