"""The figures that one wants to know first, with the day and the command of each."""

from __future__ import annotations

from shown_figures.blocks import (
    AIM_ADDED_US,
    AIM_SAMPLER_PCT,
    ALL_FOUR,
    DEFAULT_RATE,
    added_by,
    adds_little,
    core_pct,
)
from shown_figures.of_follow_up import AIM_INSIDE_PCT
from shown_figures.parts import Found, of, reached


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
    lines = [
        f"| {what} | {figure} | `{every[name]['command']}`, {_day(every[name])} |"
        for what, figure, name in rows
    ]
    table = "\n".join(["| what | figure | measured by |", "|---|---|---|", *lines])
    aims = [_as_wall_time(every["overhead"]), _with_the_sampler(every["gpu_sampler"])]
    return "\n\n".join([table, *aims])


def _day(found: Found) -> str:
    """On which it was measured."""
    return str(found["at"][:10])


def _with_the_sampler(found: Found) -> str:
    """What `fit` loses by the default rate of sampling."""
    row = of(found["tables"]["slower"], samples_per_sec=DEFAULT_RATE)
    aim = (
        f"a `fit` whose GPU, a stand-in, is sampled five times a second is at most "
        f"{AIM_SAMPLER_PCT}% slower"
    )
    figure = (
        f"{row['slower_pct']:.2f}% (quartiles {row['lower_quartile_pct']:.2f} to "
        f"{row['upper_quartile_pct']:.2f}), by `{found['command']}`, {_day(found)}"
    )
    return reached(aim, figure, row["slower_pct"] <= AIM_SAMPLER_PCT)


def _as_wall_time(overhead: Found) -> str:
    """What all four callbacks add where their threads share the cores with the training."""
    added = of(overhead["tables"]["added"], variant=ALL_FOUR)
    aim = f"they add at most {AIM_ADDED_US:.0f} µs of wall time to a step, all threads counted"
    figure = f"{added_by(added)}, by `{overhead['command']}`, {_day(overhead)}"
    return reached(aim, figure, adds_little(added))
