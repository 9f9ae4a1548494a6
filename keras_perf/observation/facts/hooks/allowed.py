"""What hooks may name to be called again: what computes, waits or reads, and nothing else."""

from __future__ import annotations

import builtins
import functools
import gc
import math
import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

BUILTINS = """abs all any bool bytes complex dict divmod enumerate filter float frozenset int
    isinstance len list map max min pow range repr reversed round set slice sorted str sum tuple
    zip ArithmeticError AttributeError Exception IndexError KeyError TypeError ValueError
    ZeroDivisionError"""
NUMPY = """all allclose any arange argmax argmin argsort array array_equal asarray average bincount
    bool_ clip concatenate copy corrcoef cov cumprod cumsum diff dot dtype einsum empty expand_dims
    float16 float32 float64 full histogram hstack inner int32 int64 isclose linspace matmul max
    mean median min nanmax nanmean nanmedian nanmin nanstd nansum nanvar ndarray ndim ones
    ones_like outer percentile prod ptp quantile ravel reshape round shape size sort squeeze stack
    std sum tensordot transpose unique var vdot vstack where zeros zeros_like"""
KERAS = """abs add all any arange argmax argmin argsort array average cast ceil clip concatenate
    convert_to_numpy convert_to_tensor cos cumsum divide dot einsum equal exp expand_dims floor
    greater isfinite isinf isnan less log log10 log1p logical_and logical_not logical_or matmul max
    maximum mean median min minimum mod multiply negative norm not_equal ones power prod reshape
    round shape sigmoid sign sin softmax sort sqrt square squeeze stack std subtract sum tanh
    tensordot transpose var where zeros"""
TENSORFLOW = """abs add argmax argmin cast clip_by_value concat convert_to_tensor divide equal exp
    expand_dims floor greater less logical_and logical_not logical_or matmul maximum minimum
    multiply norm not_equal ones pow rank reduce_all reduce_any reduce_max reduce_mean reduce_min
    reduce_prod reduce_sum reshape round shape sigmoid sign size sqrt square squeeze stack subtract
    tanh tensordot transpose where zeros"""
TENSORFLOWS_MATH = "is_finite is_inf is_nan log log1p reduce_std reduce_variance"
TIME = "monotonic monotonic_ns perf_counter perf_counter_ns process_time sleep time time_ns"
STATISTICS = "fmean mean median pstdev pvariance stdev variance"


def _words(names: str) -> frozenset[str]:
    return frozenset(names.split())


READS = _words(
    """T all any argmax argmin astype copy count cumsum dot dtype endswith flatten format get
    imag index is_integer item items join keys lower max mean min name nbytes ndim numpy path prod
    ravel real replace reshape round shape size split squeeze startswith std strip sum tolist
    transpose upper value values var"""
)
"""Attributes and methods of numbers, texts, arrays, tensors and weights that change nothing."""

CHANGES = _words(
    """add append appendleft clear discard extend fill insert pop popleft remove reverse
    setdefault sort update"""
)
"""Methods of lists, dictionaries and arrays that change them, which a copy has of its own."""

OF_THE_MODEL = _words(
    """built count_params get_weights name non_trainable_variables non_trainable_weights
    stop_training trainable_variables trainable_weights variables weights"""
)
OF_THE_OPTIMIZER = frozenset({"iterations", "learning_rate", "name"})


def is_allowed(value: Any) -> bool:
    """One of those functions and classes itself, whatever the program calls it."""
    return id(value) in _allowed(sys.modules.get("tensorflow") is not None)


@functools.cache
def _allowed(with_tensorflow: bool) -> dict[int, Any]:
    """Held here, so that an id stays theirs."""
    return {id(each): each for each in _all_allowed(with_tensorflow)}


def _all_allowed(with_tensorflow: bool) -> Iterator[Any]:
    places = [
        (builtins, BUILTINS),
        (np, NUMPY),
        (np.linalg, "norm"),
        (keras.ops, KERAS),
        (time, TIME),
        (statistics, STATISTICS),
        (gc, "collect get_count get_stats"),
    ]
    if with_tensorflow:
        tensorflow = sys.modules["tensorflow"]
        places += [(tensorflow, TENSORFLOW), (tensorflow.math, TENSORFLOWS_MATH)]
    for place, names in places:
        found = (getattr(place, name, None) for name in names.split())
        yield from (each for each in found if each is not None)
    yield from (each for each in vars(np).values() if isinstance(each, np.ufunc))
    yield from (each for each in vars(math).values() if callable(each))
