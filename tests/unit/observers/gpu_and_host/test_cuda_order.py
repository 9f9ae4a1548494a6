"""Which GPUs a process has, by what CUDA and the framework say."""

from __future__ import annotations

from keras_perf.observers.nvml.cuda_order import CudaError, Seen, select

LISTED = ("GPU-a", "GPU-b", "MIG-c")


def shows(*uuids: str):
    """CUDA, as it answers."""
    return lambda: uuids


def test_all_that_cuda_shows_are_taken_in_cudas_order():
    assert select(LISTED, None, shows("c", "a")) == ({0: "MIG-c", 1: "GPU-a"}, "")


def test_where_cuda_shows_none_there_is_none():
    assert select(LISTED, None, shows()) == ({}, "")


def test_the_frameworks_choice_is_of_what_cuda_shows_it():
    shown = shows("c", "b", "a")
    assert select(LISTED, Seen(3, (2, 0)), shown) == ({0: "GPU-a", 1: "MIG-c"}, "")
    assert select(LISTED, Seen(3, ()), shown) == ({}, "")
    assert select(LISTED, Seen(None, (1,)), shown) == ({0: "GPU-b"}, "")


def test_a_gpu_that_nvml_does_not_list_keeps_its_number_and_is_named():
    found = select(("GPU-a", "MIG-c"), None, shows("a", "b", "c"))
    assert found.uuids == {0: "GPU-a", 2: "MIG-c"}
    assert found.doubt == "NVML does not list gpu/1: its figures are missing"


def test_a_framework_to_which_cuda_showed_other_gpus_leaves_the_numbers_in_doubt():
    found = select(LISTED, Seen(2, (0, 1)), shows("b"))
    assert found.uuids == {0: "GPU-b"}
    assert "the framework sees 2 GPUs where CUDA now shows 1" in found.doubt


def test_where_cuda_cannot_be_asked_all_gpus_are_taken_and_one_line_says_so():
    def fails():
        raise CudaError("libcuda.so.1: cannot open shared object file")

    found = select(LISTED, Seen(1, (0,)), fails)
    assert list(found.uuids.items()) == list(enumerate(LISTED))
    assert found.doubt == (
        "CUDA cannot be asked which GPUs this process has (libcuda.so.1: cannot open shared "
        "object file): all GPUs of the machine are sampled, numbered in NVML's order"
    )
