"""What is asked of those who observe a program's fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Options:
    """As a user sets them.

    Attributes:
        log_dir: each `fit` gets a directory below it.
        try_advice: half a minute of trials after each `fit`.
        profile_steps: the steps of each `fit` to capture, `[first, end)`; None for those that
            `WindowedProfiler` chooses.
        gpu: GPUs and host are sampled.
        quiet: nothing is printed.
    """

    log_dir: str
    try_advice: bool = False
    profile_steps: tuple[int, int] | None = None
    gpu: bool = True
    quiet: bool = False

    @property
    def of_callbacks(self) -> dict[str, Any]:
        """The arguments of `perf_callbacks`."""
        chosen: dict[str, Any] = {"gpu": self.gpu, "try_advice": self.try_advice}
        if self.profile_steps is not None:
            first, end = self.profile_steps
            chosen["profiler"] = {
                "skip_first": first,
                "warmup_steps": 0,
                "active_steps": end - first,
            }
        return {**chosen, "summary": not self.quiet}


def steps_of(text: str) -> tuple[int, int]:
    """The steps `[first, end)` that `A:B` names.

    Raises:
        ValueError: it names none.
    """
    first, colon, end = text.partition(":")
    if not colon or not first.strip().isdecimal() or not end.strip().isdecimal():
        raise ValueError(f"steps must be A:B, such as 100:120, got {text!r}.")
    if int(end) <= int(first):
        raise ValueError(f"steps A:B must have A below B, got {text!r}.")
    return int(first), int(end)
