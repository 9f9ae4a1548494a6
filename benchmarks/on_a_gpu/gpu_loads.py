"""What keeps a GPU busy, made by the first framework that finds one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

SIZES = (8192, 4096, 2048, 1024)
PERIOD_S = 0.13
"""Not the sampling interval, nor a part of it: each sample would see the same moment of it."""
FINE_S = PERIOD_S / 20
"""A share of a period is kept that exactly, so a product may take no longer."""

PRODUCTS = 20
"""Timed together, after as many that are not."""

Work = Callable[[], object]
Works = tuple[Work, Work, Work, Work, Work]


def pytorch(size: int) -> Works:
    """A product of matrices, elementwise work, copies within it, to it and from it: waited for."""
    import torch

    x = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
    host = x.cpu()

    def waited(work: Work) -> Work:
        return lambda: (work(), torch.cuda.synchronize())

    product, elementwise = waited(lambda: x @ x), waited(lambda: torch.sin(x) * 2 + 1)
    return product, elementwise, waited(x.clone), waited(lambda: host.to("cuda")), x.cpu


def jax(size: int) -> Works:
    """The same."""
    import jax
    import jax.numpy as jnp

    gpu = jax.devices("gpu")[0]
    x = jax.device_put(jnp.ones((size, size), jnp.bfloat16), gpu)
    host = jax.device_get(x)
    works = (lambda x: x @ x), (lambda x: jnp.sin(x) * 2 + 1), (lambda x: x + 1)
    product, elementwise, copy = map(jax.jit, works)
    return (
        lambda: product(x).block_until_ready(),
        lambda: elementwise(x).block_until_ready(),
        lambda: copy(x).block_until_ready(),
        lambda: jax.device_put(host, gpu).block_until_ready(),
        # Of an array, what was handed back once is kept.
        lambda: jax.device_get(copy(x)),
    )


def tensorflow(size: int) -> Works:
    """The same."""
    import tensorflow as tf

    if not tf.config.list_physical_devices("GPU"):
        raise RuntimeError("TensorFlow finds no GPU")
    x = tf.cast(tf.random.normal((size, size)), tf.bfloat16)
    host = x.numpy()

    def waited(work: Work) -> Work:
        return lambda: (work(), tf.test.experimental.sync_devices())

    works = (lambda: tf.matmul(x, x)), (lambda: tf.sin(x) * 2 + 1), (lambda: x + 1)
    product, elementwise, copy = map(waited, works)
    # Of an array, what was handed back once is kept.
    return product, elementwise, copy, waited(lambda: tf.constant(host)), lambda: (x + 1).numpy()


FRAMEWORKS = {pytorch: "torch", jax: "jax", tensorflow: "tensorflow"}
"""What makes a load, and the module that it needs."""


class Load(NamedTuple):
    """What keeps the GPU busy."""

    made_with: str
    size: int
    """Of a square of bfloat16 numbers, which it multiplies by itself, or reads and writes."""
    product: Work
    elementwise: Work
    copy: Work
    """Reads the whole array and writes it, and computes next to nothing."""
    upload: Work
    download: Work
    """From the host's memory, and back to it."""
    skipped: list[str]
    """Of each framework that cannot make one, why."""


def load() -> Load:
    """By the first framework that finds a GPU, of a size that a duty cycle can be cut from.

    Raises:
        RuntimeError: none does; it says of each why.
    """
    reasons: list[str] = []
    for make in FRAMEWORKS:
        try:
            for size in SIZES:
                works = make(size)
                if max(map(warmed_s, works[:2])) < FINE_S:
                    break
        except Exception as error:  # noqa: BLE001  each fails in a way of its own
            [why, *_] = [*str(error).splitlines(), repr(error)]
            reasons.append(f"{make.__name__}: {why}")
        else:
            made_with = f"{make.__name__}, {size} x {size} bfloat16"
            skipped = [*reasons, *not_installed(make)]
            return Load(made_with, size, *works, skipped)
    raise RuntimeError("; ".join(reasons))


def not_installed(used: Callable[[int], Works]) -> Iterator[str]:
    """Of the frameworks after this one, which nobody has tried to import."""
    makers = list(FRAMEWORKS)
    for make in makers[makers.index(used) + 1 :]:
        if find_spec(FRAMEWORKS[make]) is None:
            yield f"{make.__name__}: it is not installed"


def warmed_s(work: Work) -> float:
    """Seconds that it takes, after compiling and choosing of kernels are over."""
    for _ in range(3):
        work()
    begin = time.monotonic()
    work()
    return time.monotonic() - begin


def run(work: Work, share: float, seconds: float) -> int:
    """Busy for that share of each period; how often it was done."""
    end, times = time.monotonic() + seconds, 0
    while (begin := time.monotonic()) < end:
        while time.monotonic() < begin + share * PERIOD_S:
            work()
            times += 1
        time.sleep(max(0.0, begin + PERIOD_S - time.monotonic()))
    return times


class NoEventsError(Exception):
    """CUDA's events cannot be had here; it says why."""


def product_ms(size: int) -> float:
    """Of one bfloat16 matrix product, by CUDA's events, which PyTorch has.

    In a process of its own, by the Python that `PYTORCH_PYTHON` names, or this one: PyTorch brings
    its own versions of CUDA's libraries.

    Raises:
        NoEventsError: PyTorch is not installed there, or finds no GPU.
        CalledProcessError: anything else; what it said stands on standard error.
    """
    script = f"import gpu_loads; print(gpu_loads.product_by_events({size}))"
    command = [os.environ.get("PYTORCH_PYTHON", sys.executable), "-c", script]
    here = Path(__file__).parent
    try:
        told = subprocess.check_output(command, cwd=here, text=True).strip()
    except FileNotFoundError:
        told = "is not installed"
    try:
        return float(told)
    except ValueError:
        raise NoEventsError(f"PyTorch, by whose CUDA events one is timed, {told}") from None


def product_by_events(size: int) -> float | str:
    """The same, here; or why not."""
    try:
        import torch
    except ModuleNotFoundError:
        return "is not installed"
    if not torch.cuda.is_available():
        return "finds no GPU"
    x = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(PRODUCTS):
        x @ x
    begin.record()
    for _ in range(PRODUCTS):
        x @ x
    end.record()
    torch.cuda.synchronize()
    return float(begin.elapsed_time(end)) / PRODUCTS
