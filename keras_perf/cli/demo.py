"""keras-perf demo: find out why a training is slow, change it, and see that it was true."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import keras
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from keras_perf.callbacks.perf_callbacks import perf_callbacks
from keras_perf.cli.digits import Choices, train, write_images
from keras_perf.files.any_path import AnyPath, from_here
from keras_perf.records.text.visible import visible
from keras_perf.report.compared.comparison import Comparison, compare
from keras_perf.report.diagnosis import Diagnosis, diagnose, diagnosis_of
from keras_perf.report.text.forms import Terminal

EPOCHS = 8
TRYING_S = 15.0


class _EpochProgress(keras.callbacks.Callback):
    """Moves a progress bar once an epoch."""

    def __init__(self, progress: Progress, title: str, epochs: int) -> None:
        super().__init__()
        self._progress = progress
        self._task = progress.add_task(title, total=epochs)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._progress.update(self._task, completed=epoch + 1)


def run(log_dir: AnyPath, console: Console) -> Comparison:
    """Trains twice and compares; prints as it goes."""
    before, after = log_dir / "before", log_dir / "after"
    with tempfile.TemporaryDirectory(prefix="keras_perf_demo_") as folder:
        _say(console, "Writing 1,797 handwritten digits as PNG files …")
        paths = write_images(Path(folder))
        log = Path(folder) / "weights.csv"
        tries = {"budget_s": TRYING_S}
        accuracy = [_train("as a beginner does", paths, Choices(), before, log, console, tries)]
        diagnosis = diagnose(before)
        _say(console, f"\n{diagnosis}")
        _say(console, "Following these recommendations, with the same seed …")
        choices = Choices.following(diagnosis.recommendations)
        accuracy.append(_train("as recommended", paths, choices, after, log, console))
    comparison = compare(before, after)
    _say(console, f"\n{_summary(comparison, accuracy)}")
    _say(console, f"See it: tensorboard --logdir {visible(shlex.quote(from_here(str(log_dir))))}")
    _say(console, "The Performance tab needs no network; the charts of the Profile tab do.")
    return comparison


def _say(console: Console, text: str) -> None:
    """The text as it is: no markup of rich's, no colours, no lines broken."""
    console.print(escape(text), highlight=False, soft_wrap=True)


def _train(
    title: str,
    paths: list[str],
    choices: Choices,
    log_dir: AnyPath,
    log: Path,
    console: Console,
    tries: Mapping[str, Any] | bool = False,
) -> float:
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        watching = _EpochProgress(progress, f"Training {title}", EPOCHS)
        ours = perf_callbacks(log_dir, try_advice=tries, summary=False)
        return train(paths, choices, EPOCHS, [watching, *ours], log)


def _summary(comparison: Comparison, accuracy: list[float]) -> str:
    before, after = (d.summary.step_ms for d in (comparison.before, comparison.after))
    predicted, tried = _predicted(comparison.before), comparison.before.combined_speedup
    steps = [before, before / predicted[0], before / tried[0], after]
    gains = [f"{gain:.2f}× ({low:.2f}–{high:.2f})" for gain, low, high in (predicted, tried)]
    rows = [
        ["step, ms", *(f"{step:.2f}" for step in steps)],
        ["speed-up", "", *gains, f"{comparison.speedup:.2f}×"],
        ["test accuracy", f"{accuracy[0]:.1%}", "the same", "the same", f"{accuracy[1]:.1%}"],
        ["verdict", comparison.before.verdict, "", "", comparison.after.verdict],
    ]
    form = Terminal()
    form.title(comparison.headline)
    form.table(["", "before", "predicted", "with trials", "after"], rows)
    return str(form)


def _predicted(diagnosis: Diagnosis) -> tuple[float, float, float]:
    """What the model alone would have predicted, had nothing been tried."""
    summary = diagnosis.summary
    facts = replace(summary.facts, advice_trials=None)
    return diagnosis_of(replace(summary, facts=facts)).combined_speedup
