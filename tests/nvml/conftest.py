"""The stand-in libraries, compiled once."""

from __future__ import annotations

import os

import pytest
import stand_in


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """The path of NVML's, with CUDA's beside it; skipped, and in CI failed, without a compiler."""
    if stand_in.compiler() is None:
        why = "no C compiler (cc) to build the stand-in for NVML with"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    return stand_in.build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def nvml(library):
    """No GPU yet; the test adds them, and CUDA shows them all."""
    with stand_in.under_pynvml(library) as scripted:
        yield scripted
        assert scripted.users == 0, "NVML was not shut down"
        assert scripted.open_samples == 0, "a GPM sample was not freed"
