"""One line about the GPUs for each epoch."""

from __future__ import annotations

from collections.abc import Mapping

SHOWN = (
    ("utilization_pct", "utilization {:.0f}%"),
    ("sm_active_pct", "SMs active {:.0f}%"),
    ("memory_used_mib", "memory {:.0f} MiB"),
    ("mean_power_w", "{:.0f} W"),
    ("energy_per_step_j", "{:.3f} J/step"),
)


class EpochLine:
    """Means over the intervals that ended since the last line, weighted by their steps."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._steps: dict[str, int] = {}

    def add(self, values: Mapping[str, float], steps: int) -> None:
        """The scalars of one interval."""
        for tag, value in values.items():
            self._sums[tag] = self._sums.get(tag, 0.0) + value * steps
            self._steps[tag] = self._steps.get(tag, 0) + steps

    def take(self) -> str | None:
        """The line, and a new beginning; None where no GPU was sampled."""
        means = {tag: total / self._steps[tag] for tag, total in self._sums.items()}
        self._sums.clear()
        self._steps.clear()
        gpus = sorted({tag.split("/")[1] for tag in means if tag.startswith("gpu/")}, key=int)
        parts = []
        for gpu in gpus:
            told = [
                words.format(means[tag])
                for name, words in SHOWN
                if (tag := f"gpu/{gpu}/{name}") in means
            ]
            parts.append(f"GPU {gpu}: {', '.join(told)}")
        return "; ".join(parts) or None
