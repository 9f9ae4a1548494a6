"""Prints the UUIDs of the GPUs that CUDA shows a process, in CUDA's order, as one line of JSON.

A program of its own, with the standard library alone. `cuda_order` runs it, because CUDA's driver
would otherwise be initialised in the process that trains: before the framework has set it up as it
wants it, and for good, so that no forked child could use CUDA any more.
"""

from __future__ import annotations

import ctypes
import json

_NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE


def uuids() -> list[str]:
    """Of all GPUs or, where they are cut, of the MIG instances; as 32 hexadecimal digits.

    Raises:
        OSError: there is no libcuda.
        RuntimeError: CUDA returns an error.
    """
    cuda = ctypes.CDLL("libcuda.so.1")
    code = cuda.cuInit(0)
    if code == _NO_DEVICE:
        return []
    _check("cuInit", code)
    count = ctypes.c_int()
    _check("cuDeviceGetCount", cuda.cuDeviceGetCount(ctypes.byref(count)))
    return [_uuid(cuda, number) for number in range(count.value)]


def _uuid(cuda: ctypes.CDLL, number: int) -> str:
    device, uuid = ctypes.c_int(), (ctypes.c_ubyte * 16)()
    _check("cuDeviceGet", cuda.cuDeviceGet(ctypes.byref(device), number))
    # The first one gives a MIG instance's own UUID; a driver without it knows the second.
    ask = getattr(cuda, "cuDeviceGetUuid_v2", None) or cuda.cuDeviceGetUuid
    _check("cuDeviceGetUuid", ask(ctypes.byref(uuid), device))
    return bytes(uuid).hex()


def _check(function: str, code: int) -> None:
    if code:
        raise RuntimeError(f"{function} returns error {code}")


if __name__ == "__main__":
    try:
        answer: dict[str, object] = {"uuids": uuids()}
    except (OSError, AttributeError, RuntimeError) as error:
        answer = {"error": str(error)}
    print(json.dumps(answer))
