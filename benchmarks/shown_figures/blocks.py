"""How each benchmark's figures are shown in the documentation, and whether they reach the aim."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from shown_figures.of_follow_up import follow_up
from shown_figures.of_gpus import checks
from shown_figures.of_pauses import pauses
from shown_figures.parts import Found, of, reached, source, table, tables

ALL_FOUR = "perf_callbacks, all four"
AIM_ADDED_US = 20.0
AIM_SAMPLER_PCT = 0.5
AIM_CLOSE_PCT = 95
AIM_SCREENS_S = {"first screen": 2.0, "next screen": 0.5}
DEFAULT_RATE = 5


def overhead(found: Found) -> str:
    """Wall time of a step."""
    titles = {
        "variant": "callback",
        "step_us": "µs a step",
        "added_us": "added, µs",
        "least_us": "at least",
        "most_us": "at most",
        "epochs": "epochs",
        "same_weights": "same weights",
    }
    rows = found["tables"]["added"]
    titles = {key: title for key, title in titles.items() if key in rows[0]}
    return _with_aim(found, "added", titles, "of wall time to a step")


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
    added = of(found["tables"][table], variant=ALL_FOUR)
    aim = f"all four add at most {AIM_ADDED_US:.0f} µs {of_what}"
    told = reached(aim, added_by(added), adds_little(added))
    return f"{tables({table: titles}, found)}\n\n{told}"


def added_by(added: dict[str, Any]) -> str:
    """With its interval of 95%, if it has one."""
    if "least_us" not in added:
        return f"{added['added_us']:.1f} µs"
    interval = f"{added['least_us']:.0f} to {added['most_us']:.0f}"
    return f"{added['added_us']:.0f} µs (95% interval: {interval})"


def adds_little(added: dict[str, Any]) -> bool:
    """The whole interval does; one from below nothing is one of the noise, and reaches no aim."""
    least, most = (added.get(key, added["added_us"]) for key in ("least_us", "most_us"))
    return bool(least >= 0 and most <= AIM_ADDED_US)


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
    told = reached(aim, f"{pct:.2f}%", pct <= AIM_SAMPLER_PCT)
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


def tab(found: Found) -> str:
    """Seconds until something is seen."""
    rows = found["tables"]["waits"]
    titles = {"what": "what", "s": "s, median", "most_s": "s, longest", "repeats": "repeats"}
    told = [tables({"waits": titles}, found)]
    for screen, aim in AIM_SCREENS_S.items():
        longest = max(row["s"] for row in rows if row["aim"] == screen)
        told.append(reached(f"a {screen} within {aim:g} s", f"{longest:.2f} s", longest <= aim))
    return "\n\n".join(told)


def tried(found: Found) -> str:
    """How near trials are to `fit`, how near predictions are, and what more could be had."""
    [sums] = found["tables"]["sums"]
    put, close = sums["put_together"], sums["within_5_pct"]
    # Results from before these were counted do not have them.
    known = ""
    if "fit_known" in sums:
        known = f", which itself is known to ±5% in {sums['fit_known']} of them"
    aim = f"{AIM_CLOSE_PCT}% of the trials within ±5% of what `fit` gains"
    told = [
        f"{source(found)}: {sums['programs']} programs without a hint; for {put} of them "
        f"changes were put together; {sums['interval_holds']} intervals hold the "
        f"gain in `fit`{known}.",
        reached(aim, f"{close} of {put}", 100 * close >= AIM_CLOSE_PCT * put),
    ]
    if "reach_best" in sums:
        told += [_predictions(sums), _best(sums)]
    return "\n\n".join(told)


def _predictions(sums: dict[str, int]) -> str:
    return (
        f"Within ±15% lie {sums['within_15_pct']} of {sums['put_together']} trials. The model of a "
        f"step predicted all that was put together for {sums['predicted']} programs: "
        f"{sums['predicted_within_5_pct']} predictions within ±5%, "
        f"{sums['predicted_within_15_pct']} within ±15%."
    )


def _best(sums: dict[str, int]) -> str:
    aim = "what `try_advice` makes has 0.95 of the speed of the best mended program"
    figure = (
        f"{sums['reach_best']} of {sums['programs']}, {sums['below_best']} surely not (the whole "
        "interval lies below)"
    )
    return reached(aim, figure, sums["reach_best"] == sums["programs"])


BLOCKS: dict[str, Callable[[Found], str]] = {
    "overhead": overhead,
    "overhead_on_jax": overhead,
    "reading_the_model_on_jax": partial(as_it_is, "models"),
    "hot_path": hot_path,
    "split": split,
    "gpu_sampler": gpu_sampler,
    "gpu_readings": partial(checks, "checks"),
    "gpu_training on JAX": partial(checks, "checks_on_jax"),
    "gpu_training on TensorFlow": partial(checks, "checks_on_tensorflow"),
    "scalars": partial(as_it_is, "values"),
    "tab": tab,
    "trace": trace,
    "steps_per_execution": partial(as_it_is, "models"),
    "loops": loops,
    "scaling": partial(as_it_is, "workers"),
    "iterator_ends": partial(as_it_is, "epochs"),
    "shuffle_refill": partial(as_it_is, "parts"),
    "pauses": pauses,
    "making_batches": partial(as_it_is, "gains"),
    "making_batches moved": partial(as_it_is, "moved"),
    "tuning": partial(as_it_is, "pipelines"),
    "tried": tried,
    "tried programs": partial(as_it_is, "programs"),
    "follow_up": follow_up,
    "follow_up turns": partial(as_it_is, "turns"),
}
"""By name, whose first word is the benchmark's."""
