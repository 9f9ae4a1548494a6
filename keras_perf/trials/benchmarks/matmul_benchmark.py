"""How fast the machine multiplies matrices."""

from __future__ import annotations

import time

import tensorflow as tf

from keras_perf.records.arguments import require_number

FORMATS = ("bfloat16", "float16", "float32", "float64")
SMALLEST, LARGEST = 128, 16384
"""Rows of the square matrices."""


def benchmark_matmul(dtype: str = "float32", *, seconds: float = 0.2) -> float:
    """Floating-point operations per second of a product of two square matrices, the best of many.

    What a training's multiplications can reach on this machine: on a CPU there is no vendor's
    figure to compare them with. Give it to `diagnose` as `matmul_flops_per_sec`. Run it while
    nothing else computes, never within `fit`.

    Returns:
        FLOP/s: 2 n³ by the time of the fastest product of matrices of n rows, on the device that
        TensorFlow chooses.

    Arguments:
        dtype: `bfloat16`, `float16`, `float32` or `float64`: what the model multiplies in.
        seconds: for which it multiplies, about; matrices are as large as an eighth of it allows.

    Raises:
        TypeError, ValueError: a wrong argument.

    What it cannot see: what products of other shapes reach, which may be less or, rarely, more.

    >>> benchmark_matmul(seconds=0.01) > 0
    True
    """
    if dtype not in FORMATS:
        raise ValueError(f"dtype must be one of {', '.join(FORMATS)}, got {dtype!r}.")
    seconds = require_number("seconds", seconds, above=0, remedy="0.2 is enough for a CPU.")
    end = time.perf_counter() + seconds
    rows, factor = SMALLEST, _factor(SMALLEST, dtype)
    rates = [_rate(factor)]
    while time.perf_counter() < end:
        # A product of twice the rows takes eight times as long.
        grows = rows < LARGEST and 8 * _flops(rows) / rates[-1] < seconds / 8
        if grows:
            rows *= 2
            factor = _factor(rows, dtype)
            _rate(factor)
        rates.append(_rate(factor))
    return max(rates)


def _factor(rows: int, dtype: str) -> tf.Tensor:
    return tf.ones([rows, rows], dtype)


def _flops(rows: int) -> float:
    return 2.0 * rows**3


def _rate(factor: tf.Tensor) -> float:
    begin = time.perf_counter()
    # Reading a number waits for the device.
    float(tf.linalg.matmul(factor, factor)[0, 0])
    return _flops(int(factor.shape[0])) / (time.perf_counter() - begin)
