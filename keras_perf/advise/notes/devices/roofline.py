"""What limits the multiplications: the arithmetic itself, or device memory."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.advise.notes.diagnosed import listed
from keras_perf.analyse.hardware.efficiency import Efficiency
from keras_perf.records.figures import figure, in_percent
from keras_perf.records.run.run_facts import RunFacts

NEAR_ITS_LIMIT = 0.6
"""Memory or arithmetic that is used for more than this share of its peak sets the pace: few
programs come nearer."""

MOSTLY_NEITHER = 0.5
"""Sum of both shares: for no more of a step can the one or the other work at its peak. Below half,
most of a step goes elsewhere; between this and `NEAR_ITS_LIMIT` nobody can tell."""


def roofline_notes(found: Efficiency, facts: RunFacts) -> Iterator[str]:
    """Where the traffic of device memory was measured: which of the two is near its peak, if any.

    Arguments:
        found: how well the training uses its GPUs.
        facts: what is set already, which is not recommended.

    What it cannot see: single kernels, of which some may be limited by the one, some by the other.
    """
    memory, arithmetic = found.memory_bandwidth_share, found.model_flops_utilization
    if memory is None or arithmetic is None:
        return
    if memory + arithmetic < MOSTLY_NEITHER:
        yield (
            f"The steps are bound neither by device memory, used at {in_percent(memory)} of its "
            f"bandwidth, nor by arithmetic, at {in_percent(arithmetic)} of the peak: the rest of "
            "the time the GPU waits (for input, the host or other GPUs), or runs kernels that are "
            f"too short or too small to fill it. Against such kernels {remedies(facts)} help."
            f"{_first_limit(found)}"
        )
    elif max(memory, arithmetic) < NEAR_ITS_LIMIT:
        return
    elif memory > arithmetic:
        yield (
            f"The steps are bound by device memory: it is used at {in_percent(memory)} of its "
            f"bandwidth, the multiplications at {in_percent(arithmetic)} of the peak. What reads "
            f"and writes less helps{_of_less_traffic(facts)}; faster multiplication does not."
        )
    else:
        yield (
            "The steps are bound by arithmetic: the multiplications reach "
            f"{in_percent(arithmetic)} of the GPU's peak, device memory {in_percent(memory)} of "
            "its bandwidth. Only fewer operations, or a number format that is multiplied faster, "
            "make them shorter."
        )


def _of_less_traffic(facts: RunFacts) -> str:
    """In parentheses, what is not set already; "" where nothing is left."""
    settings = facts.settings
    helpful = ["half precision"] if settings.dtype_policy == "float32" else []
    if settings.jit_compile is False and facts.xla_may_help:
        helpful.append("XLA's fused operations")
    return f" ({', '.join(helpful)})" if helpful else ""


def remedies(facts: RunFacts) -> str:
    """What is not set already, and is to be had, for kernels that are too short or too small."""
    settings = facts.settings
    shares = settings.tries_steps or settings.compiles_executions
    # Where Python runs the steps, longer executions come after that.
    shares = shares and not (settings.run_eagerly or settings.eager_functions)
    shares = shares and not settings.several_in_fit
    helpful = ["larger batches"]
    if settings.jit_compile is False and facts.xla_may_help:
        helpful.append("XLA")
    if shares and settings.steps_per_execution == 1:
        helpful.append(f"more steps per {'call' if settings.in_a_loop else 'execution'}")
    return listed(helpful)


def _first_limit(found: Efficiency) -> str:
    """Which peak comes first when the GPU is kept busy; "" where that is not known."""
    intensity, ridge = found.flops_per_byte, found.ridge_flops_per_byte
    if intensity is None or ridge is None:
        return ""
    first = "device memory" if intensity < ridge else "arithmetic"
    return (
        f" Beyond that {first} is the first limit: {figure(intensity)} FLOPs a byte, where both "
        f"peaks meet at {figure(ridge)}."
    )
