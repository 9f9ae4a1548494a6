"""What an exception tells of memory that could not be had."""

from __future__ import annotations

import pytest

from keras_perf.observation.facts.ending_facts import ended_by
from keras_perf.records.run.ending import Ending, How, Lack


class ResourceExhaustedError(Exception):
    """By its name TensorFlow's own."""


ON_GPU = (
    "Graph execution error:\n\nDetected at node dense/MatMul defined at (most recent call last):\n"
    '  File "train.py", line 3, in <module>\n\n'
    "OOM when allocating tensor with shape[256,1024,1024] and type float on "
    "/job:localhost/replica:0/task:0/device:GPU:1 by allocator GPU_1_bfc\n"
    "\t [[{{node dense/MatMul}}]]"
)
FROM_XLA = "Out of memory while trying to allocate 17179869184 bytes."
REQUESTED = "Failed to allocate request for 1.00GiB (1073741824B) on device ordinal 1"
OF_A_BATCH = "Failed to allocate memory for the batch of component 0"
FROM_NUMPY = (
    "Unable to allocate 512. MiB for an array with shape (8192, 8192) and data type float64"
)


@pytest.mark.parametrize(
    ("error", "shape", "mib", "device"),
    [
        (ResourceExhaustedError(ON_GPU), (256, 1024, 1024), 1024.0, "GPU:1"),
        (ResourceExhaustedError(ON_GPU.replace("float", "half")), (256, 1024, 1024), 512, "GPU:1"),
        (ResourceExhaustedError(ON_GPU.replace("float", "odd")), (256, 1024, 1024), None, "GPU:1"),
        (RuntimeError(f"RESOURCE_EXHAUSTED: {FROM_XLA}"), (), 16384.0, ""),
        (ResourceExhaustedError(FROM_XLA), (), 16384.0, ""),
        (ResourceExhaustedError("Out of memory while trying to allocate 16.00GiB."), (), 16384, ""),
        (ResourceExhaustedError(f"RESOURCE_EXHAUSTED: {REQUESTED}"), (), 1024.0, "GPU:1"),
        (ResourceExhaustedError("failed to allocate memory [Op:AddV2]"), (), None, ""),
        (ResourceExhaustedError(OF_A_BATCH), (), None, "CPU:0"),
        (MemoryError(FROM_NUMPY), (8192, 8192), 512.0, ""),
        (MemoryError(), (), None, ""),
    ],
)
def test_shape_size_and_device_are_found(error, shape, mib, device):
    found = ended_by(error)
    assert found.out_of_memory
    assert (found.shape, found.requested_mib, found.device) == (shape, mib, device)


def test_its_line_that_says_most_is_kept():
    assert ended_by(ResourceExhaustedError(ON_GPU)).message.startswith("OOM when allocating tensor")


@pytest.mark.parametrize("error", [ValueError("bad record"), KeyboardInterrupt(), SystemExit(3)])
def test_another_exception_is_not_of_memory(error):
    found = ended_by(error)
    assert not found.out_of_memory
    assert found.error == type(error).__name__


@pytest.mark.parametrize(
    ("error", "lack"),
    [
        (ResourceExhaustedError("/tmp/c_0.data; No space left on device"), Lack.DISK),
        (OSError(28, "No space left on device", "model.keras"), Lack.DISK),
        (ResourceExhaustedError("/home/c_0.lockfile; Disk quota exceeded"), Lack.QUOTA),
        (ResourceExhaustedError("/data/1.tfrecord; Too many open files"), Lack.FILES),
    ],
)
def test_what_tensorflow_calls_exhausted_too_is_no_memory(error, lack):
    found = ended_by(error)
    assert found.lack is lack
    assert not found.out_of_memory


def test_what_only_keras_saw_and_what_has_no_text_cost_nothing():
    class OddError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    assert ended_by(None) == Ending(How.RAISED)
    assert ended_by(OddError()) == Ending(How.RAISED, "OddError")
