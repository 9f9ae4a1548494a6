"""CUDA is asked in a child process, on a stand-in for its library."""

from __future__ import annotations

import pytest
import stand_in

from keras_perf.observers.nvml import cuda_order
from keras_perf.observers.nvml.cuda_order import CudaError

ONE, TWO = "00000000-0000-0000-0000-00000000000a", "fedcba98-7654-3210-0123-456789abcdef"


@pytest.fixture
def answer(library, monkeypatch):
    """What is found where the stand-in's variable has a value."""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(library.parent))

    def ask(value: str) -> tuple[str, ...]:
        monkeypatch.setenv(stand_in.CUDA_VARIABLE, value)
        cuda_order.cuda_uuids.cache_clear()
        return cuda_order.cuda_uuids()

    yield ask
    cuda_order.cuda_uuids.cache_clear()


def test_uuids_come_in_cudas_order_and_mig_instances_have_their_own(answer):
    assert answer(f"{TWO},{ONE}".replace("-", "")) == (TWO, ONE)


def test_where_no_device_is_visible_there_is_none(answer):
    assert answer("") == ()


def test_it_is_asked_once_in_a_process(answer, monkeypatch):
    first = answer(ONE.replace("-", ""))
    monkeypatch.setenv(stand_in.CUDA_VARIABLE, "crash")
    assert cuda_order.cuda_uuids() == first


@pytest.mark.fault(2, "CUDA that fails, crashes or hangs when it is asked for its GPUs")
@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("error 804", "cuInit returns error 804"),
        ("crash", "SIGABRT"),
        ("asleep", "does not answer within 1 s"),
    ],
)
def test_a_cuda_that_does_not_answer_is_an_error_that_says_why(answer, monkeypatch, value, why):
    if value == "asleep":
        monkeypatch.setattr(cuda_order, "_PATIENCE_S", 1.0)
    with pytest.raises(CudaError, match=why):
        answer(value)


def test_a_packaged_program_is_not_started_again_to_ask(answer, monkeypatch, tmp_path):
    monkeypatch.setattr(cuda_order.sys, "frozen", True, raising=False)
    monkeypatch.setattr(cuda_order.subprocess, "run", lambda *_, **__: pytest.fail("started"))
    with pytest.raises(CudaError, match="in a packaged program no Python can be started"):
        answer("")


def test_without_libcuda_or_a_python_to_ask_it_the_error_says_so(answer, monkeypatch, tmp_path):
    monkeypatch.setattr(cuda_order.sys, "executable", str(tmp_path / "none"))
    with pytest.raises(CudaError, match="No such file"):
        answer("")
    monkeypatch.undo()
    cuda_order.cuda_uuids.cache_clear()
    with pytest.raises(CudaError, match=r"libcuda\.so\.1: cannot open"):
        cuda_order.cuda_uuids()
