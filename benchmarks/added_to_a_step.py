"""What callbacks add to a step, from epochs of interleaved runs, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import result

SAMPLES = 2000
WITHIN = 2.5, 97.5
"""Percentiles: the interval in which the figure lies in 95% of the samples."""


def table(
    runs: Mapping[str, Sequence[Sequence[float]]], base: str, **told: Mapping[str, result.Cell]
) -> result.Table:
    """A row a variant: the median of all its epochs, and that less the one of `base`.

    Where a host does other things, too, epochs of one training differ by more than any callback
    adds: the interval is that of a bootstrap of repeats, in each of which every variant ran once.

    Arguments:
        runs: by variant, a run a repeat, microseconds per step of each of its epochs.
        base: the variant that the others are compared with.
        told: columns beside, by variant.
    """
    epochs = {name: np.array(times) for name, times in runs.items()}
    repeats = len(epochs[base])
    drawn = np.random.default_rng(0).integers(repeats, size=(SAMPLES, repeats))
    medians = {name: np.median(us[drawn], axis=(1, 2)) for name, us in epochs.items()}
    rows = result.Table()
    for name, us in epochs.items():
        least, most = np.percentile(medians[name] - medians[base], WITHIN)
        rows.add(
            variant=name,
            step_us=np.median(us),
            added_us=np.median(us) - np.median(epochs[base]),
            least_us=least,
            most_us=most,
            epochs=us.size,
            **{column: values[name] for column, values in told.items()},
        )
    return rows
