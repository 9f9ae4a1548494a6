"""What is known of the machine and of Python on it, whatever Keras computes with."""

from __future__ import annotations

import gc
import platform
from importlib.metadata import version

import keras
import psutil

from keras_perf.observers.asking import Questions
from keras_perf.observers.container.limits import (
    container_cpus,
    container_memory,
    memory_available_mib,
)
from keras_perf.observers.cpu_formats import cpu_has_bfloat16
from keras_perf.observers.usable_cores import usable_cores


def host_facts(*libraries: tuple[str, str]) -> Questions:
    """Name → what is asked.

    Arguments:
        libraries: name and version of what Keras computes with.
    """
    own = {"keras_perf": version("keras-perf"), "keras": keras.__version__}
    versions = {**own, **dict(libraries), "python": platform.python_version()}
    return {
        "versions": lambda: versions,
        "cpu_count": usable_cores,
        "container_cpus": container_cpus,
        "cpu_bfloat16": cpu_has_bfloat16,
        "memory_available_mib": memory_available_mib,
        "memory_total_mib": lambda: psutil.virtual_memory().total / 2**20,
        "container_memory_mib": _container_memory_mib,
        "collector_threshold": _collector_threshold,
    }


def _container_memory_mib() -> float | None:
    container = container_memory()
    return None if container is None else container.limit_mib


def _collector_threshold() -> int:
    """New objects that Python's garbage collector waits for; 0 where it is off."""
    return gc.get_threshold()[0] if gc.isenabled() else 0
