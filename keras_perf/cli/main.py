"""The command keras-perf."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NoReturn

from keras_perf.cli.output import CLOSED_PIPE, readable_output
from keras_perf.read.event_files import NoRunError
from keras_perf.records.visible import visible


class _WrongUseError(Exception):
    """An argument that cannot be meant; the message names it."""


@contextlib.contextmanager
def _arguments_at_fault(*errors: type[Exception]) -> Iterator[None]:
    try:
        yield
    except errors as error:
        raise _WrongUseError(str(error)) from error


@contextlib.contextmanager
def _permitted() -> Iterator[None]:
    try:
        yield
    except PermissionError as error:
        raise _WrongUseError(
            f"LOGDIR must be readable, got {error.filename!r} (permission denied). "
            "Run as its owner, or have the permissions changed."
        ) from error


def _complain(text: str) -> None:
    """One line, whatever the names in it."""
    print(visible(text), file=sys.stderr)


def _report(arguments: argparse.Namespace) -> None:
    from keras_perf.analyse.training import UnknownFitError
    from keras_perf.report.run_report import run_reports
    from keras_perf.report.runs_table import runs_markdown, runs_text

    if arguments.fits:
        with _permitted():
            _list_fits(arguments.logdirs)
        return
    with _permitted(), _arguments_at_fault(UnknownFitError):
        reports = run_reports(arguments.logdirs, arguments.fit)
    if arguments.html is not None:
        from keras_perf.report.page.page import page_html

        _write(arguments.html, page_html(reports))
    elif arguments.json:
        from keras_perf.report.as_json import reports_json

        print(reports_json(reports), end="")
    elif len(reports) == 1:
        [diagnosis] = (report.diagnosis for report in reports)
        print(diagnosis.to_markdown() if arguments.markdown else diagnosis, end="")
    else:
        print(runs_markdown(reports) if arguments.markdown else runs_text(reports), end="")


def _list_fits(log_dirs: Sequence[str]) -> None:
    from keras_perf.report.text.fit_list import fits_text, list_fits

    for log_dir in log_dirs:
        if len(log_dirs) > 1:
            print(f"{visible(log_dir)}:")
        print(fits_text(list_fits(log_dir)), end="")


def _write(file: str, page: str) -> None:
    try:
        # A directory's name need not be valid Unicode.
        Path(file).write_text(page, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise _WrongUseError(
            f"FILE of --html must be writable, got {file!r} ({error.strerror}). "
            "Give a file in a directory that exists."
        ) from error
    print(f"Written: {visible(file)}")


def _template(arguments: argparse.Namespace) -> None:
    program = (files("keras_perf") / "loop" / "template.py").read_text(encoding="utf-8")
    try:
        with open(arguments.file, "x", encoding="utf-8") as file:
            file.write(program)
    except OSError as error:
        raise _WrongUseError(
            f"FILE must be a new file in a directory that is writable, got {arguments.file!r} "
            f"({error.strerror}). Give another name; nothing is overwritten."
        ) from error
    written = visible(arguments.file)
    print(f"Written: {written}. Try it: python {written}")


def _launch(arguments: argparse.Namespace) -> int:
    from keras_perf.cli.launch import LaunchError, launch

    with _arguments_at_fault(LaunchError):
        return launch(arguments.workers, arguments.script, arguments.arguments)


def _compare(arguments: argparse.Namespace) -> None:
    from keras_perf.report.comparison import compare

    with _permitted(), _arguments_at_fault(ValueError):
        comparison = compare(arguments.before, arguments.after)
    if arguments.html is not None:
        from keras_perf.report.page.page import page_html
        from keras_perf.report.run_report import run_reports

        _write(arguments.html, page_html(run_reports([arguments.before, arguments.after])))
        return
    print(comparison.to_markdown() if arguments.markdown else comparison, end="")


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


def _demo(arguments: argparse.Namespace) -> None:
    from rich.console import Console

    from keras_perf.write.log_dir import writable_log_dir

    with _arguments_at_fault(ValueError, OSError):
        log_dir = Path(writable_log_dir(arguments.logdir))
    with _quiet_stderr():
        from keras_perf.cli.demo import run

    run(log_dir, Console())


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        super().error(visible(message))


def parser() -> argparse.ArgumentParser:
    """The arguments of every command."""
    main_parser = _Parser(
        prog="keras-perf",
        description="Where every millisecond of a Keras training step goes, and what to change.",
    )
    commands = main_parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="diagnose and mend a slow training on real digits")
    demo.add_argument("logdir", nargs="?", default="logs/demo", help="default: %(default)s")
    demo.set_defaults(work=_demo)

    report = commands.add_parser("report", help="the diagnosis of a run, or several side by side")
    report.add_argument("logdirs", metavar="LOGDIR", nargs="+")
    forms = report.add_mutually_exclusive_group()
    forms.add_argument("--markdown", action="store_true", help="as Markdown")
    forms.add_argument("--json", action="store_true", help="as JSON")
    forms.add_argument("--html", metavar="FILE", help="as one page with plots, without network")
    forms.add_argument("--fits", action="store_true", help="list everything that wrote there")
    report.add_argument(
        "--fit",
        metavar="ID",
        help="a fit by its id or sequence; default: the newest that measured steps",
    )
    report.set_defaults(work=_report)

    compare = commands.add_parser("compare", help="what a change bought")
    compare.add_argument("before", metavar="BEFORE")
    compare.add_argument("after", metavar="AFTER")
    forms = compare.add_mutually_exclusive_group()
    forms.add_argument("--markdown", action="store_true", help="as Markdown")
    forms.add_argument("--html", metavar="FILE", help="as one page with plots, without network")
    compare.set_defaults(work=_compare)

    template = commands.add_parser(
        "template",
        help="write a custom training loop to copy and own",
        description="Writes a training loop for one device, several, or several workers.",
    )
    template.add_argument(
        "file", metavar="FILE", nargs="?", default="train.py", help="default: %(default)s"
    )
    template.set_defaults(work=_template)

    launch = commands.add_parser(
        "launch",
        help="a script as several workers on this machine",
        description="Runs a script as several workers of one training on this machine, which "
        "find each other by TF_CONFIG. Each sees every GPU unless the script gives it its own. "
        "Exit code: that of the worker that failed first, which ends the others; 42 where a "
        "signal stopped them after a checkpoint.",
        epilog="TensorFlow's gRPC server in each worker listens on ALL interfaces of this machine "
        "and asks for no password, although TF_CONFIG names 127.0.0.1: do this only where nobody "
        "else can reach its ports.",
    )
    launch.add_argument("--workers", metavar="N", type=int, required=True, help="at least 2")
    launch.add_argument("script", metavar="SCRIPT", help="a Python file")
    launch.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER, help="the script's")
    launch.set_defaults(work=_launch)
    return main_parser


@contextlib.contextmanager
def _warnings_in_one_line(command: str) -> Iterator[None]:
    """Python would print the line of code that warns, too."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        _complain(f"keras-perf {command}: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; returns its exit code: 0 done, 1 the work failed, 2 wrong use.

    That of `launch` is its workers', that of a command whose output nobody reads any more 141.
    """
    try:
        with readable_output():
            return _done(parser().parse_args(argv))
    except BrokenPipeError:
        return CLOSED_PIPE
    except OSError as error:
        _complain(f"keras-perf: the output cannot be written ({error.strerror}).")
        return 1


def _done(arguments: argparse.Namespace) -> int:
    try:
        with _warnings_in_one_line(arguments.command):
            code: int | None = arguments.work(arguments)
    except (NoRunError, _WrongUseError) as error:
        _complain(f"keras-perf {arguments.command}: {error}")
        return 2
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001  the command line's last word
        what = f"{type(error).__name__}: {error}"
        _complain(f"keras-perf {arguments.command} failed: {what}")
        return 1
    except KeyboardInterrupt:
        return 1
    return code or 0
