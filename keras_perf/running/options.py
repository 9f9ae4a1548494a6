"""What is asked of those who observe a program's fits."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from typing import Any

from keras_perf.files.remote_path import is_remote


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
        summary: some lines are printed when each `fit` ends.
    """

    log_dir: str
    try_advice: bool = False
    profile_steps: tuple[int, int] | None = None
    gpu: bool = True
    quiet: bool = False
    summary: bool = True

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
        return {**chosen, "summary": self.summary and not self.quiet}


def steps_of(text: str) -> tuple[int, int]:
    """The steps `[first, end)` that `A:B` names.

    Raises:
        ValueError: it names none.
    """
    first, colon, end = text.partition(":")
    if not colon or not first.strip().isdecimal() or not end.strip().isdecimal():
        raise ValueError(f"--profile-steps must be A:B, such as 100:120, got {text!r}.")
    if int(end) <= int(first):
        raise ValueError(f"A must be below B in --profile-steps A:B, got {text!r}.")
    return int(first), int(end)


def add_options(parser: argparse.ArgumentParser) -> None:
    """What can be asked."""
    parser.add_argument(
        "--log-dir", metavar="DIR", help="each fit gets a directory below it; default: below logs/"
    )
    parser.add_argument(
        "--try-advice", action="store_true", help="try the advice, half a minute after each fit"
    )
    parser.add_argument(
        "--profile-steps", metavar="A:B", help="the steps of each fit to trace, from A to below B"
    )
    parser.add_argument("--no-gpu", action="store_true", help="sample neither GPUs nor host")
    parser.add_argument("--quiet", action="store_true", help="print nothing, only write")


def options_of(arguments: argparse.Namespace, name: str) -> Options:
    """What was asked, for a program of this name.

    Raises:
        ValueError: the steps to trace cannot be meant.
    """
    steps = arguments.profile_steps
    log_dir = arguments.log_dir or os.path.join("logs", name)
    return Options(
        log_dir if is_remote(log_dir) else os.path.abspath(log_dir),
        try_advice=arguments.try_advice,
        profile_steps=None if steps is None else steps_of(steps),
        gpu=not arguments.no_gpu,
        quiet=arguments.quiet,
    )
