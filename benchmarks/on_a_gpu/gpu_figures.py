"""What is told of a training on a GPU, held against something else that was measured of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from gpu_checks import Checked

import keras_perf as kp
from keras_perf.records.run.run_facts import RunFacts
from keras_perf.trace.file.xprof import table, xprof_tool
from keras_perf.trace.step_frame import complete_steps

KERNEL_SHARE = 0.1
"""xprof counts what a window cuts off at its ends, too."""
POINTS = 5.0
STEP_SHARE = 0.15
"""Of a step: captured ones carry the profiler's cost."""
CLOCK_SHARE = 0.05
"""Of the same steps; the trace's begin where the hook's end."""
EVENT_SHARE = 0.25
"""A product alone and one in a training step find caches and clocks in another state."""
IDLE_MS, SLEPT_SHARE = 1.0, 0.1
PEAK, ROOM_MIB = 2.5, 512.0
"""Compilers and libraries keep copies and room to work in: so many times what a step needs may be
allocated, and so much more."""
OVERHEAD_SHARE, OVERHEAD_US = 0.01, 50.0
"""Of a step; of a short one so much is what is known of a CPU."""
GAIN_SHARE = 0.1
LOSS_SHARE = 1e-3

COLLECTIVES = "deviceCollectivesTimeMs"
OF_DEVICE = "deviceComputeTimeMs", COLLECTIVES
"""xprof's names, in its table of steps, of the time in which a device computes."""


def apart(ours: float, theirs: float) -> float:
    """The difference as a share of theirs."""
    return abs(ours / theirs - 1) if theirs else math.inf


def device_means(trace: kp.Trace) -> Mapping[str, float]:
    """What a trace tells of a step, the GPU's part too.

    Raises:
        RuntimeError: it holds no kernel.
    """
    if "kernel_ms" not in trace.means:
        raise RuntimeError("the trace holds no kernels")
    return trace.means


def kernels_as_xprof(trace: kp.Trace) -> Checked:
    """Number and length of kernels, and the share on tensor cores, against xprof's own table."""
    means = device_means(trace)
    frame, theirs = trace.to_frame(), trace.kernels()
    count, counted = frame["kernels"].sum(), theirs["occurrences"].astype(float).sum()
    line = f"kernels of {trace.steps} steps: {count:.0f}, xprof {counted:.0f} in the whole trace"
    yield line, apart(count, counted) <= KERNEL_SHARE
    ms = (frame["kernels"] * frame["kernel_mean_ms"]).sum()
    lengths = theirs["total_duration_us"].astype(float)
    line = f"time in kernels: {ms:.2f} ms, xprof {lengths.sum() / 1e3:.2f} ms"
    yield line, apart(ms, lengths.sum() / 1e3) <= KERNEL_SHARE
    used = lengths[theirs["is_kernel_using_tensor_core"].astype(bool)].sum()
    ours, told = means["tensor_core_pct"], 100.0 * used / lengths.sum()
    line = f"on tensor cores: {ours:.1f}% of kernels' time, xprof {told:.1f}%"
    # Newer kernels than those that xprof knows, it counts as users of none.
    yield line, None if not used else ours >= told - POINTS


def steps_as_clocked(trace: kp.Trace, ended_s: Sequence[float]) -> Checked:
    """A traced step, from its begin to the next one's, against a clock in a hook.

    Without the first one, before whose begin the hook's clock counts the start of the profiler.

    Arguments:
        trace: of some steps of a training.
        ended_s: when each step of that training had ended, by the hook.
    """
    traced = complete_steps(trace.to_frame()).iloc[1:]
    clocked = 1e3 * np.diff(ended_s)[traced["step"].astype(int) - 1]
    ours, mean = float(traced["step_ms"].mean()), float(clocked.mean())
    yield (
        f"a step: {ours:.3f} ms traced, {mean:.3f} ms by a clock",
        apart(ours, mean) <= CLOCK_SHARE,
    )


def device_as_xprof(trace: kp.Trace) -> Checked:
    """The device's part of a step against xprof's table of steps.

    A step itself is another there: it ends with what it last did on the device, and what Keras
    does until the next one begins belongs to none.
    """
    means, told = device_means(trace), by_xprof(trace, *OF_DEVICE)
    if not told:
        yield "the device's part of a step: xprof tells none", None
        return
    line = f"the device's part of a step: {means['kernel_ms']:.3f} ms, xprof {told:.3f} ms"
    yield line, apart(means["kernel_ms"], told) <= STEP_SHARE


def by_xprof(trace: kp.Trace, *names: str) -> float:
    """Milliseconds of a step, by these columns of xprof's table of steps; 0 where it has none."""
    theirs = next(
        (
            table(described)
            for described in xprof_tool(trace.paths, "overview_page")
            if any(column["id"] == "stepnum" for column in described.get("cols", []))
        ),
        None,
    )
    known = [name for name in names if theirs is not None and len(theirs) and name in theirs]
    return float(theirs[known].astype(float).sum(axis=1).mean()) if known else 0.0


def split_as_traced(trace: kp.Trace, found: kp.Diagnosis) -> Checked:
    """The always-on split, of other steps of the same training, against the trace's."""
    ours, traced = found.breakdown["step"], trace.means["step_ms"]
    line = f"a step: {ours:.3f} ms by the split, {traced:.3f} ms traced"
    yield line, apart(ours, traced) <= STEP_SHARE
    # Not measured is NaN.
    compute = float(np.nansum([found.breakdown[part] for part in ("compute", "dispatch")]))
    kernel_ms = device_means(trace)["kernel_ms"]
    line = f"computing: {compute:.3f} ms by the split, {kernel_ms:.3f} ms in which kernels ran"
    yield line, compute >= (1 - STEP_SHARE) * kernel_ms


def idle_as_slept(awake: kp.Trace, asleep: kp.Trace, slept_ms: Sequence[float]) -> Checked:
    """A hook slept after each step, and nothing was left to compute meanwhile.

    Arguments:
        awake: of the same training without sleep.
        asleep: with it.
        slept_ms: in each step of the training, by the hook's own clock.
    """
    usual, idle = idle_ms(awake), idle_ms(asleep)
    traced = complete_steps(asleep.to_frame())["step"]
    slept = float(np.mean([slept_ms[int(step)] for step in traced]))
    line = f"the device is idle for {usual:.2f} ms a step; with {slept:.2f} ms slept, {idle:.2f} ms"
    yield line, abs(idle - usual - slept) <= max(IDLE_MS, SLEPT_SHARE * slept)


def idle_ms(trace: kp.Trace) -> float:
    """In a step, and between it and the next."""
    means = device_means(trace)
    return means["device_idle_in_step_ms"] + means["device_idle_between_steps_ms"]


def products_as_events(trace: kp.Trace, products: int, product_ms: float) -> Checked:
    """Time on tensor cores of a step of so many matrix products, against one by CUDA's events."""
    means = device_means(trace)
    ours = means["kernel_ms"] * means["tensor_core_pct"] / 100.0
    line = f"{products} products: {ours:.3f} ms traced, {products * product_ms:.3f} ms by events"
    yield line, apart(ours, products * product_ms) <= EVENT_SHARE


def split_as_events(found: kp.Diagnosis, products: int, product_ms: float) -> Checked:
    """The always-on split of steps of so many matrix products, against one by CUDA's events."""
    compute = float(np.nansum([found.breakdown[part] for part in ("compute", "dispatch")]))
    events = products * product_ms
    line = f"computing: {compute:.2f} ms by the split, {events:.2f} ms of {products} products "
    yield f"{line}by events", apart(compute, events) <= EVENT_SHARE


def peak_as_counted(facts: RunFacts, needed_mib: float) -> Checked:
    """Memory at its highest, against the sizes of what a step must keep."""
    gpus = [device for device in facts.gpu.device_memory if device.name.startswith("GPU")]
    if not gpus:
        yield "memory: this framework tells none of the GPU", False
        return
    peak, limit = gpus[0].peak_mib, gpus[0].limit_mib
    line = (
        f"memory: {peak:.0f} MiB at most, {needed_mib:.0f} MiB are needed, {limit or 0:.0f} allowed"
    )
    most = min(PEAK * needed_mib + ROOM_MIB, limit or math.inf)
    yield line, needed_mib <= peak <= most


def overhead_of(whose: str, plain_ms: Sequence[float], watched_ms: Sequence[float]) -> Checked:
    """A step with callbacks of ours and without, by turns; both have a hook that waits for it."""
    low, middle, high = np.percentile(np.array(watched_ms) - np.array(plain_ms), [25, 50, 75])
    step = float(np.median(plain_ms))
    line = (
        f"{whose}: {1e3 * middle:.0f} µs more ({1e3 * low:.0f} to {1e3 * high:.0f}) "
        f"in a step of {step:.2f} ms"
    )
    most = max(OVERHEAD_SHARE * step, OVERHEAD_US / 1e3)
    yield line, None if low < 0 < high else middle <= most


class Clocked(NamedTuple):
    """How many times as fast a step is by a clock of our own, in each of several rounds."""

    name: str
    gains: Sequence[float]


def gain_as_clocked(tried: tuple[float, float] | None, clocked: Clocked) -> Checked:
    """The interval of a trial against what a clock finds; None where it was not tried."""
    if tried is None:
        middle = float(np.median(clocked.gains))
        yield f"{clocked.name}: was not tried; by the clock {middle:.2f}×", None
        return
    yield from _inside(tried, "on trial", clocked)


def gain_as_predicted(interval: tuple[float, float], clocked: Clocked) -> Checked:
    """The interval of a prediction against what a clock finds."""
    yield from _inside(interval, "predicted", clocked)


def _inside(interval: tuple[float, float], by: str, clocked: Clocked) -> Checked:
    (low, high), middle = interval, float(np.median(clocked.gains))
    line = f"{clocked.name}: {low:.2f} to {high:.2f}× {by}, {middle:.2f}× by the clock"
    yield line, low * (1 - GAIN_SHARE) <= middle <= high * (1 + GAIN_SHARE)


def losses_alike(several: float, one: float) -> Checked:
    """The same training on all GPUs and on one: sums are added in another order."""
    line = f"the template's loss: {several:.5f} on all GPUs, {one:.5f} on one"
    yield line, apart(several, one) <= LOSS_SHARE


def exchange_in_step(trace: kp.Trace) -> Checked:
    """Gradients are exchanged in every step, for as long as xprof says, and not all the time."""
    exchange = trace.means.get("exchange_ms", 0.0)
    line = f"exchange: {exchange:.3f} of {trace.means['step_ms']:.3f} ms a step"
    yield line, 0.0 < exchange < trace.means["step_ms"]
    ours, theirs = trace.means.get("collective_ms", 0.0), by_xprof(trace, COLLECTIVES)
    if not theirs:
        yield "collectives: xprof tells none", None
        return
    yield f"collectives: {ours:.3f} ms, xprof {theirs:.3f} ms", apart(ours, theirs) <= STEP_SHARE
