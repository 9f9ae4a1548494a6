"""What each command does. What it needs is imported when it runs, as most need no TensorFlow."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from importlib.resources import files

from keras_perf.cli.output import complain
from keras_perf.files.any_path import any_path
from keras_perf.files.remote_path import NoPathError
from keras_perf.records.text.visible import visible


class WrongUseError(Exception):
    """An argument that cannot be meant; the message names it."""


@contextlib.contextmanager
def _arguments_at_fault(*errors: type[Exception]) -> Iterator[None]:
    try:
        yield
    except errors as error:
        raise WrongUseError(str(error)) from error


@contextlib.contextmanager
def _permitted() -> Iterator[None]:
    try:
        yield
    except PermissionError as error:
        raise WrongUseError(
            f"LOGDIR must be readable, got {error.filename!r} (permission denied). "
            "Run as its owner, or have the permissions changed."
        ) from error


def report(arguments: argparse.Namespace) -> None:
    """Prints the diagnosis of runs, or writes it as a page."""
    from keras_perf.analyse.training import UnknownFitError
    from keras_perf.records.rates import Rates
    from keras_perf.report.run_report import run_reports
    from keras_perf.report.runs_table import RunsTable

    if arguments.fits:
        with _permitted():
            _list_fits(arguments.logdirs)
        return
    with _arguments_at_fault(ValueError):
        rates = Rates(
            arguments.price_per_kwh, arguments.price_per_hour, arguments.matmul_flops_per_sec
        )
    with _permitted(), _arguments_at_fault(UnknownFitError):
        reports = run_reports(arguments.logdirs, arguments.fit, rates)
    # All are compared with the first: a training, where calls have a directory of their own.
    reports = tuple(sorted(reports, key=lambda each: each.summary.facts.calls_only))
    if arguments.verbose:
        reports = tuple(report.with_details() for report in reports)
    if arguments.html is not None:
        from keras_perf.report.page.page import page_html

        print(write_page(arguments.html, page_html(reports)))
    elif arguments.json:
        from keras_perf.report.as_json import reports_json

        print(reports_json(reports), end="")
    else:
        trained = [each for each in reports if not each.summary.facts.calls_only] or reports
        shown = trained[0].diagnosis if len(trained) == 1 else RunsTable(reports)
        print(shown.to_markdown() if arguments.markdown else shown, end="")
        for each in reports if len(trained) == 1 else ():
            if each is not trained[0]:
                name = visible(shlex.quote(each.name))
                print(f"\nBeside it, evaluate and predict: keras-perf report {name}")


def _list_fits(log_dirs: Sequence[str]) -> None:
    from keras_perf.report.text.fit_list import fits_text, list_fits

    for log_dir in log_dirs:
        if len(log_dirs) > 1:
            print(f"{visible(log_dir)}:")
        print(fits_text(list_fits(log_dir)), end="")


def write_page(file: str, page: str) -> str:
    """Writes it; the line that says so.

    Raises:
        WrongUseError: the file cannot be written.
    """
    try:
        # A directory's name need not be valid Unicode.
        any_path(file).write_bytes(page.encode("utf-8", errors="backslashreplace"))
    except (OSError, NoPathError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise WrongUseError(
            f"FILE of --html must be writable, got {file!r} ({why}). "
            "Give a file in a directory that exists."
        ) from error
    return f"Written: {visible(file)}"


def template(arguments: argparse.Namespace) -> None:
    """Writes the training loop."""
    program = (files("keras_perf") / "loop" / "template.py").read_text(encoding="utf-8")
    try:
        with open(arguments.file, "x", encoding="utf-8") as file:
            file.write(program)
    except OSError as error:
        raise WrongUseError(
            f"FILE must be a new file in a directory that is writable, got {arguments.file!r} "
            f"({error.strerror}). Give another name; nothing is overwritten."
        ) from error
    command = f"python {shlex.quote(arguments.file)}"
    print(visible(f"Written: {arguments.file}. Try it: {command}"))


def launch(arguments: argparse.Namespace) -> int:
    """Runs a script as several workers; their exit code."""
    from keras_perf.cli import launch as workers

    with _arguments_at_fault(workers.LaunchError):
        return workers.launch(arguments.workers, arguments.script, arguments.arguments)


def compare(arguments: argparse.Namespace) -> int:
    """Prints what a change bought, or writes it as a page; 1 where it is too slow for the user."""
    from keras_perf.report.compared import comparison as comparing

    with _permitted(), _arguments_at_fault(ValueError):
        comparison = comparing.compare(arguments.before, arguments.after)
    if arguments.html is not None:
        from keras_perf.report.page.page import page_html
        from keras_perf.report.run_report import run_reports

        reports = run_reports([arguments.before, arguments.after])
        trained = tuple(each for each in reports if not each.summary.facts.calls_only)
        print(write_page(arguments.html, page_html(trained or reports)))
    elif arguments.json:
        from keras_perf.report.as_json import comparison_json

        print(comparison_json(comparison, arguments.fail_if_slower), end="")
    else:
        print(comparison.to_markdown() if arguments.markdown else comparison, end="")
    if arguments.fail_if_slower is None:
        return 0
    from keras_perf.report.compared.judgement import judged

    found = judged(comparison, arguments.fail_if_slower)
    complain(f"keras-perf compare: {found.told}")
    return int(bool(found.exceeded))


def history(arguments: argparse.Namespace) -> None:
    """Prints all runs below a directory in the order of time, each beside the one before."""
    from keras_perf.report.history import history_json, history_of

    with _permitted(), _arguments_at_fault(ValueError):
        found = history_of(arguments.logdir)
    if arguments.json:
        print(history_json(found), end="")
    else:
        print(found.to_markdown() if arguments.markdown else found, end="")


@contextlib.contextmanager
def _quiet_stderr() -> Iterator[None]:
    """Keeps what TensorFlow prints while it is imported; shown only if the import fails.

    It announces CPU features and the lack of CUDA, and no setting of its own prevents that.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    stderr = os.dup(2)
    with tempfile.TemporaryFile() as kept:
        os.dup2(kept.fileno(), 2)
        try:
            yield
        except BaseException:
            kept.seek(0)
            os.write(stderr, kept.read())
            raise
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)


def demo(arguments: argparse.Namespace) -> None:
    """Trains twice on real digits."""
    from rich.console import Console

    from keras_perf.cli.demo_folders import make_room
    from keras_perf.write.writable_log_dir import writable_log_dir

    with _arguments_at_fault(ValueError, OSError):
        log_dir = any_path(writable_log_dir(arguments.logdir))
        make_room(log_dir)
    with _quiet_stderr():
        from keras_perf.cli.demo import run

    run(log_dir, Console())
