"""What a binding of NVML calls its errors; an older one does not have all that is asked here."""

from __future__ import annotations

from typing import Any


def known(nvml: Any, *names: str) -> tuple[Any, ...]:
    """Those of these errors, or of their numbers, that the binding has."""
    return tuple(getattr(nvml, name) for name in names if hasattr(nvml, name))


def absent(nvml: Any) -> tuple[type[Exception], ...]:
    """Raised where the device, the driver or the binding has no such figure."""
    names = "NVMLError_NotSupported", "NVMLError_FunctionNotFound", "NVMLLibraryMismatchError"
    return *known(nvml, *names), AttributeError


def number_of(error: Exception) -> int | None:
    """NVML's number of an error (`NVML_ERROR_…`)."""
    return getattr(error, "value", None)
