"""Which GPUs a process has, beside what CUDA's documentation says."""

from __future__ import annotations

import pytest

from keras_perf.observers.nvml.cuda_order import SILENT, UNKNOWN_ORDER, Gpu, Seen, select

A, B, C = (Gpu("H200", f"GPU-{letter}") for letter in ("a1-1", "a2-2", "c3-3"))
SMALL, BIG, OTHER = Gpu("T4", "GPU-t"), Gpu("H200", "GPU-h"), Gpu("T4", "GPU-u")
ONE, TWO = Gpu("H200 MIG", "MIG-1"), Gpu("H200 MIG", "MIG-2")
CUT = Gpu("H200", "GPU-cut", (ONE, TWO))
EMPTY = Gpu("H200", "GPU-empty", ())


def chosen(visible, gpus=(A, B, C), seen=None, **environ):
    if visible is not None:
        environ["CUDA_VISIBLE_DEVICES"] = visible
    return list(select(gpus, environ, seen).gpus)


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        (None, [A, B, C]),
        ("1", [B]),
        ("2,0", [C, A]),
        (" 2 , 0 ", [C, A]),
        ("+1", [B]),
        ("1x,0", [B, A]),
        ("1,-1,0", [B]),
        ("1,7,0", [B]),
        ("0,,1", [A]),
        ("0,GPU-c", [A]),
        ("", []),
        ("-1", []),
        ("NoDevFiles", []),
        ("0,1,0", []),
    ],
)
def test_indices_are_read_as_cuda_reads_them(visible, expected):
    assert chosen(visible) == expected


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        ("GPU-c3-3,GPU-a1-1", [C, A]),
        ("GPU-c", [C]),
        ("GPU-a2, GPU-c3", [B, C]),
        ("GPU-c,GPU-a,GPU-a2", [C]),  # GPU-a could be two
        ("GPU-c,GPU-x,GPU-a1", [C]),
        ("GPU-c,0", [C]),
        ("GPU-c,GPU-c3", []),
    ],
)
def test_uuids_may_be_shortened_as_long_as_they_name_one(visible, expected):
    assert chosen(visible) == expected


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        (None, [ONE]),
        ("0", [A]),
        ("1", [ONE]),
        ("MIG-2", [TWO]),
        ("MIG-2,MIG-1", [TWO]),
        ("MIG-2,GPU-a", [TWO]),
        ("GPU-cut", []),
    ],
)
def test_a_gpu_in_mig_mode_is_reached_through_its_instances(visible, expected):
    assert chosen(visible, (A, CUT, EMPTY)) == expected


def test_a_framework_to_which_cuda_shows_several_instances_is_believed():
    seen = Seen(("H200 MIG", "H200 MIG"), (0, 1))
    assert chosen("MIG-2,MIG-1", (A, CUT), seen) == [TWO, ONE]
    assert chosen("MIG-2,MIG-1", (A, CUT), Seen(("H200 MIG",), (0,))) == [TWO]
    assert select((A, CUT), {}, Seen(("H200 MIG",), (0,))) == ((ONE,), "")


# -- order -------------------------------------------------------------------------------


def test_gpus_of_one_model_are_in_the_order_of_their_addresses():
    assert select((A, B), {}).doubt == ""


def test_different_models_are_doubted_unless_the_order_is_set():
    assert select((SMALL, BIG), {}).doubt == UNKNOWN_ORDER
    assert select((SMALL, BIG), {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}).doubt == ""
    assert select((SMALL, BIG), {"CUDA_VISIBLE_DEVICES": "GPU-h"}).doubt == ""


def test_a_gpu_that_does_not_answer_leaves_the_numbers_in_doubt():
    assert select((A, B), {}, silent=1).doubt == SILENT
    assert select((A, B), {"CUDA_VISIBLE_DEVICES": "1"}, silent=1).doubt == SILENT
    assert select((A, B), {"CUDA_VISIBLE_DEVICES": "GPU-a1"}, silent=1).doubt == ""
    # The framework counts as many as answer, so CUDA leaves the silent one out, too.
    assert select((A, B), {}, Seen(("H200", "H200"), (0, 1)), silent=1).doubt == ""


def test_the_frameworks_names_settle_the_order_of_different_models():
    found = select((SMALL, BIG, OTHER), {}, Seen(("H200", "T4", "T4"), (0, 1, 2)))
    assert found == ((BIG, SMALL, OTHER), "")


def test_names_that_leave_a_choice_do_not():
    environ = {"CUDA_VISIBLE_DEVICES": "1"}
    assert select((SMALL, BIG, OTHER), environ, Seen(("T4",), (0,))).doubt == UNKNOWN_ORDER
    assert select((SMALL, BIG, OTHER), environ, Seen(("H200",), (0,))) == ((BIG,), "")


# -- the framework's own choice ----------------------------------------------------------


def test_the_frameworks_choice_is_of_what_cuda_shows_it():
    seen = Seen(("H200", "H200"), (1,))
    assert chosen("2,0", seen=seen) == [A]
    assert chosen("2,0", seen=Seen(("H200", "H200"), ())) == []


def test_a_framework_that_sees_fewer_gpus_than_nvml_is_doubted():
    found = select((A, B), {}, Seen(("H200",), (0,)))
    assert found.gpus == (A,)
    assert "sees 1 GPUs where NVML shows 2" in found.doubt
