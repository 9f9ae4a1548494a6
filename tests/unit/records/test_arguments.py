"""Arguments are checked by rule, and NumPy's numbers are numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from keras_perf.cluster.worker_number import require_workers
from keras_perf.files.any_path import any_path
from keras_perf.observers.capture_windows.schedule import CaptureSchedule
from keras_perf.records.arguments import (
    require_count,
    require_counts,
    require_int,
    require_number,
)
from keras_perf.records.rates import Rates


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint16, int])
def test_whole_numbers_of_numpy_are_given_back_as_pythons(kind):
    assert type(require_int("steps", kind(3), 1, "")) is int
    assert type(require_count("steps", kind(3))) is int
    assert require_counts("sizes", np.array([4, 8]).astype(kind), "") == [4, 8]
    assert require_workers(np.array([0, 3]).astype(kind)) == (0, 3)
    assert type(CaptureSchedule(skip_first=kind(3)).skip_first) is int


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int32, float])
def test_numbers_of_numpy_are_given_back_as_pythons(kind):
    found = require_number("seconds", kind(2), above=0, remedy="")
    assert (type(found), found) == (float, 2.0)
    assert type(Rates(price_per_hour=kind(2)).price_per_hour) is float


@pytest.mark.parametrize("value", [True, np.True_, "3", None, 3.0, np.float64(3), [3]])
def test_what_is_no_whole_number_is_refused(value: Any):
    with pytest.raises(TypeError, match=r"^steps must be an int, got "):
        require_int("steps", value, 1, "")
    with pytest.raises(ValueError, match=r"^steps must be at least 1, got .*whole numbers\.$"):
        require_count("steps", value)


@pytest.mark.parametrize("value", [True, np.True_, "3", None, 3j, [3]])
def test_what_is_no_number_is_refused(value: Any):
    with pytest.raises(TypeError, match=r"^seconds must be a number, got "):
        require_number("seconds", value, above=0, remedy="")


@pytest.mark.parametrize("values", [32, None, "32", np.array(4), {4: 8}])
def test_one_number_in_place_of_a_list_is_refused_in_a_line(values: Any):
    with pytest.raises(TypeError, match=r"^sizes must be a list of whole numbers, got .*\. Ask\.$"):
        require_counts("sizes", values, "Ask.")
    with pytest.raises(ValueError, match=r"^sizes must hold a number, got none\. Ask\.$"):
        require_counts("sizes", [], "Ask.")


@pytest.mark.parametrize("path", [None, b"logs", 3])
def test_what_is_no_path_is_refused_in_a_line(path: Any):
    with pytest.raises(TypeError, match=r"^a path must be a str or os\.PathLike, got "):
        any_path(path)
