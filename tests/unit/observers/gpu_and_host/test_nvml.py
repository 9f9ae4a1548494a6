"""Where `pynvml` is not installed. What it reads is tested on a stand-in library."""

from __future__ import annotations

import sys

import pytest

from keras_perf.observers.nvml.reader import NvmlReader
from keras_perf.observers.sensors.sensor import SensorError


def test_without_the_package_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(SensorError, match="nvidia-ml-py is not installed"):
        NvmlReader(print)
