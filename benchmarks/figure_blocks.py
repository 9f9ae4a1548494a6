"""How each benchmark's figures are shown in the documentation, and whether they reach the aim."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from figure_follow_up import AIM_INSIDE_PCT, follow_up
from figure_parts import Found, of, reached, source, table, tables

ALL_FOUR = "perf_callbacks, all four"
AIM_ADDED_US = 20.0
AIM_SAMPLER_PCT = 0.5
AIM_CLOSE_PCT = 95
DEFAULT_RATE = 5


def overhead(found: Found) -> str:
    """Wall time of a step."""
    titles = {
        "variant": "callback",
        "step_us": "µs a step",
        "added_us": "added, µs",
        "lower_quartile_us": "lower quartile",
        "upper_quartile_us": "upper quartile",
        "repeats": "repeats",
    }
    return _with_aim(found, "added", titles, "to a step")


def hot_path(found: Found) -> str:
    """CPU time of the training thread."""
    titles = {
        "variant": "callback",
        "execution_us": "µs an execution",
        "added_us": "added, µs",
    }
    return _with_aim(found, "cpu_time", titles, "of the training thread's CPU time")


def _with_aim(found: Found, table: str, titles: dict[str, str], of_what: str) -> str:
    """The table, and whether all four callbacks add as little as they should."""
    added = of(found["tables"][table], variant=ALL_FOUR)["added_us"]
    aim = f"all four add at most {AIM_ADDED_US:.0f} µs {of_what}"
    told = reached(aim, f"{added:.1f} µs", added <= AIM_ADDED_US)
    return f"{tables({table: titles}, found)}\n\n{told}"


def split(found: Found) -> str:
    """Errors against sleeps."""
    [errors] = found["tables"]["errors"]
    return (
        f"{source(found)}: sleeps of 0 to 40 ms in the input or a batch hook are found within "
        f"{errors['median_ms']:.2f} ms (median; at most {errors['largest_ms']:.2f} ms, which "
        "includes what `numpy_function` costs around a sleep in the input)."
    )


def core_pct(found: Found) -> float:
    """What sampling one GPU at the default rate takes of one core."""
    cpu_us = of(found["tables"]["samples"], gpus=1)["cpu_us"]
    return float(100 * cpu_us * DEFAULT_RATE / 1e6)


def gpu_sampler(found: Found) -> str:
    """CPU time of a sample, and what `fit` loses."""
    samples = {"gpus": "GPUs", "cpu_us": "CPU time of a sample, µs"}
    slower = {
        "samples_per_sec": "samples a second",
        "step_us": "µs a step",
        "slower_pct": "slower, %",
        "lower_quartile_pct": "lower quartile",
        "upper_quartile_pct": "upper quartile",
    }
    pct = of(found["tables"]["slower"], samples_per_sec=DEFAULT_RATE)["slower_pct"]
    aim = f"at the default of {DEFAULT_RATE} a second a `fit` is at most {AIM_SAMPLER_PCT}% slower"
    told = reached(aim, f"{pct:.1f}%", pct <= AIM_SAMPLER_PCT)
    share = f"Sampling one GPU at that rate takes {core_pct(found):.2f}% of one core."
    return f"{tables({'samples': samples, 'slower': slower}, found)}\n\n{share} {told}"


def loops(found: Found) -> str:
    """Steps per second, and where the template is slower than Keras's loop and a tutorial's."""
    rows = found["tables"]["steps_per_sec"]
    titles = {key: key for key in rows[0]}
    single = [row for row in rows if row["N"] == 1]
    to_fit = min(row["template/fit"] for row in single)
    to_tutorial = min(row["template"] / row["tutorial"] for row in single)
    aims = [
        reached(
            f"at N = 1 the template is no slower than {name}",
            f"{ratio:.2f}× where it is slowest",
            ok,
        )
        for name, ratio, ok in (
            ("`fit`", to_fit, to_fit >= 1),
            ("a tutorial's loop, which observes nothing", to_tutorial, to_tutorial >= 1),
        )
    ]
    return "\n\n".join([tables({"steps_per_sec": titles}, found), *aims])


def as_it_is(name: str, found: Found) -> str:
    """A table with its own keys as titles."""
    keys = {key: key.replace("_", " ") for key in found["tables"][name][0]}
    return tables({name: keys}, found)


def trace(found: Found) -> str:
    """What capturing costs, and reading."""
    capture = {
        "tracers": "tracers",
        "step_us": "µs a step",
        "added_us": "added, µs",
        "stop_ms": "stop, ms",
        "kib_per_step": "KiB a step",
    }
    readers = {"reader": "reader", "s": "s", "peak_mib": "peak MiB"}
    [saved] = found["tables"]["saved"]
    read = f"Reading a trace of {saved['steps']:,} steps, {saved['size_mib']:.1f} MiB:"
    off = found["tables"]["errors"]
    waits, gaps = ([row[key] for row in off] for key in ("wait_off_by_ms", "gap_off_by_ms"))
    exact = (
        "Against sleeps of 5 ms in the input and 3 ms in a callback, the median wait is off by "
        f"{min(waits):.2f} to {max(waits):.2f} ms (which includes what `numpy_function` costs "
        f"around the sleep) and the median gap by {min(gaps):.2f} to {max(gaps):.2f} ms, with four "
        "and with one step per execution."
    )
    read_in = table(found["tables"]["readers"], **readers)
    return "\n\n".join([tables({"capture": capture}, found), read, read_in, exact])


def tried(found: Found) -> str:
    """How near trials are to `fit`."""
    [sums] = found["tables"]["sums"]
    put, close = sums["put_together"], sums["within_5_pct"]
    aim = f"{AIM_CLOSE_PCT}% of the trials within ±5% of what `fit` gains"
    told = reached(aim, f"{close} of {put}", 100 * close >= AIM_CLOSE_PCT * put)
    return (
        f"{source(found)}: {sums['programs']} programs without a hint; for {put} of them "
        f"changes were put together; {sums['interval_holds']} intervals hold the "
        f"gain in `fit`.\n\n{told}"
    )


def in_five(every: dict[str, Found]) -> str:
    """What one wants to know first."""
    sums = every["follow_up"]["tables"]["sums"]

    def total(*keys: str) -> str:
        return " of ".join(str(sum(each[key] for each in sums)) for key in keys)

    [errors] = every["split"]["tables"]["errors"]
    added = of(every["hot_path"]["tables"]["cpu_time"], variant=ALL_FOUR)["added_us"]
    rows = [
        (
            "right verdicts, programs with a known bottleneck and Keras's published examples",
            total("right_verdicts", "programs"),
            "follow_up",
        ),
        (
            f"measured gains inside the predicted interval (it states 80%; aim: {AIM_INSIDE_PCT}%)",
            total("inside_interval", "gains"),
            "follow_up",
        ),
        (
            "error of the split for injected sleeps of 0 to 40 ms",
            f"{errors['median_ms']:.2f} ms median, {errors['largest_ms']:.2f} ms at most",
            "split",
        ),
        (
            f"CPU time that all four callbacks add to an execution (aim: {AIM_ADDED_US:.0f} µs)",
            f"{added:.0f} µs",
            "hot_path",
        ),
        (
            "one core's time for sampling a GPU five times a second, on a stand-in for the driver",
            f"{core_pct(every['gpu_sampler']):.2f}%",
            "gpu_sampler",
        ),
    ]
    lines = [f"| {what} | {figure} | `{every[name]['command']}` |" for what, figure, name in rows]
    table = "\n".join(["| what | figure | measured by |", "|---|---|---|", *lines])
    return f"{table}\n\n{_as_wall_time(every['overhead'])}"


def _as_wall_time(overhead: Found) -> str:
    """What all four callbacks add where their threads share the cores with the training."""
    added = of(overhead["tables"]["added"], variant=ALL_FOUR)
    aim = f"they add at most {AIM_ADDED_US:.0f} µs of wall time to a step, all threads counted"
    figure = (
        f"{added['added_us']:.0f} µs (quartiles {added['lower_quartile_us']:.0f} to "
        f"{added['upper_quartile_us']:.0f}), by `{overhead['command']}`"
    )
    return reached(aim, figure, added["added_us"] <= AIM_ADDED_US)


BLOCKS: dict[str, Callable[[Found], str]] = {
    "overhead": overhead,
    "hot_path": hot_path,
    "split": split,
    "gpu_sampler": gpu_sampler,
    "scalars": partial(as_it_is, "values"),
    "trace": trace,
    "steps_per_execution": partial(as_it_is, "models"),
    "loops": loops,
    "scaling": partial(as_it_is, "workers"),
    "tuning": partial(as_it_is, "pipelines"),
    "tried": tried,
    "tried programs": partial(as_it_is, "programs"),
    "follow_up": follow_up,
    "follow_up turns": partial(as_it_is, "turns"),
}
"""By name, whose first word is the benchmark's."""
