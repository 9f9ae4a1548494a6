"""Several hosts' steps beside each other."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from statistics import fmean

import pandas as pd

from keras_perf.trace.step_frame import PARTS, mean_parts


@dataclass(frozen=True)
class Slowest:
    """The host that the others wait for, in milliseconds per step outside of collectives.

    `part` is the one by which it exceeds the mean of the others most, and `more_ms` by how much.
    """

    host: str
    own_ms: float
    others_ms: float
    part: str
    more_ms: float


def join_hosts(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """A row per step and host.

    Arguments:
        frames: as `trace_frame` returns them, by host.

    Returns:
        The frame itself of a single host; else all of them, one after the other, with the
        column `host` before the others. `begin_ms` goes on counting from each host's own begin.
    """
    if len(frames) == 1:
        [single] = frames.values()
        return single
    joined = pd.concat(
        [frame.assign(host=host) for host, frame in frames.items()], ignore_index=True
    )
    origins = {frame.attrs["steps_from"] for frame in frames.values()}
    joined.attrs["steps_from"] = "functions" if "functions" in origins else "markers"
    return joined[["host", *joined.columns.drop("host")]]


def host_means(frame: pd.DataFrame) -> pd.DataFrame:
    """`mean_parts` of each host: a row a host.

    Arguments:
        frame: of several hosts, as `join_hosts` returns it.
    """
    hosts = frame.groupby("host", sort=False)
    means = {host: mean_parts(rows.drop(columns="host")) for host, rows in hosts}
    return pd.DataFrame.from_dict(means, orient="index")


def slowest_host(means: pd.DataFrame) -> Slowest:
    """The host with the longest step, less its collectives.

    Where hosts exchange gradients each step, all steps are as long as the slowest host's, and
    the others spend the difference waiting in the collective. What it cannot see: waiting for
    other hosts anywhere else.

    Arguments:
        means: of at least two hosts, as `host_means` returns them.
    """
    rows = {str(host): row for host, row in means.fillna(0.0).to_dict("index").items()}
    parts = {host: _outside_of_collectives(row) for host, row in rows.items()}
    host = max(parts, key=lambda name: sum(parts[name].values()))
    others = [own for name, own in parts.items() if name != host]
    mean = {part: fmean(own[part] for own in others) for part in PARTS}
    part = max(PARTS, key=lambda name: parts[host][name] - mean[name])
    return Slowest(
        host,
        sum(parts[host].values()),
        sum(mean.values()),
        part,
        parts[host][part] - mean[part],
    )


def _outside_of_collectives(row: Mapping[Hashable, float]) -> dict[str, float]:
    """The parts of a step; the runtime waits for the other hosts while it executes."""
    parts = {part: row.get(part, 0.0) for part in PARTS}
    parts["execution_ms"] -= row.get("collective_ms", 0.0)
    return parts
