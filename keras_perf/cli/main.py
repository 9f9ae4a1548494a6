"""The command keras-perf."""

from __future__ import annotations

import argparse
import contextlib
import math
import warnings
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any, NoReturn

from keras_perf.cli import commands
from keras_perf.cli.demo_folders import OWN
from keras_perf.cli.output import CLOSED_PIPE, complain, readable_output
from keras_perf.cli.run import add_run, run
from keras_perf.records.text.visible import visible
from keras_perf.records.text.without_tensorflow import NEEDED, lacks_tensorflow

ONE_RUN = "the directory given to the callbacks, or an event file"
LOGDIR = f"{ONE_RUN}, or a directory above several runs"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line; `--help` tells how it is used."""
        self.exit(2, visible(f"{self.prog}: error: {message}") + "\n")


_Commands = Any
"""What `add_subparsers` gives; argparse has no public name for it."""


def parser() -> argparse.ArgumentParser:
    """The arguments of every command."""
    main_parser = _Parser(
        prog="keras-perf",
        description="Where every millisecond of a Keras training step goes, and what to change.",
    )
    installed = f"%(prog)s {version('keras-perf')}"
    main_parser.add_argument("--version", action="version", version=installed)
    added = main_parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in (
        add_run,
        _add_demo,
        _add_report,
        _add_compare,
        _add_history,
        _add_template,
        _add_launch,
    ):
        add(added)
    return main_parser


def _add_demo(added: _Commands) -> None:
    demo = added.add_parser("demo", help="diagnose and mend a slow training on real digits")
    demo.add_argument(
        "logdir",
        metavar="LOGDIR",
        nargs="?",
        default=OWN,
        help="where the runs before and after are written, which must not be there yet; default: "
        "%(default)s, where the demo replaces its own",
    )
    demo.set_defaults(work=commands.demo)


def _add_report(added: _Commands) -> None:
    report = added.add_parser("report", help="show the diagnosis of a run, or several side by side")
    report.add_argument("logdirs", metavar="LOGDIR", nargs="+", help=LOGDIR)
    forms = report.add_mutually_exclusive_group()
    forms.add_argument("--markdown", action="store_true", help="as Markdown")
    forms.add_argument("--json", action="store_true", help="as JSON")
    forms.add_argument("--html", metavar="FILE", help="as one page with plots, without network")
    forms.add_argument("--fits", action="store_true", help="list everything that wrote there")
    report.add_argument(
        "--verbose", action="store_true", help="with notes on how the figures were measured"
    )
    report.add_argument(
        "--fit",
        metavar="ID",
        help="a fit by its id or sequence; default: the newest that measured steps",
    )
    for name, of in (
        ("--price-per-kwh", "price of electricity, to show what an epoch's GPU energy costs"),
        ("--price-per-hour", "price of everything that trains, to show what an epoch costs"),
        ("--matmul-flops-per-sec", "what benchmark_matmul measured on the machine that trained"),
    ):
        report.add_argument(name, metavar="NUMBER", type=float, help=of)
    report.set_defaults(work=commands.report)


def _add_compare(added: _Commands) -> None:
    compare = added.add_parser("compare", help="show what a change bought")
    compare.add_argument("before", metavar="BEFORE", help=f"the earlier run: {ONE_RUN}")
    compare.add_argument("after", metavar="AFTER", help="the later run, given in the same way")
    forms = compare.add_mutually_exclusive_group()
    forms.add_argument("--markdown", action="store_true", help="as Markdown")
    forms.add_argument("--json", action="store_true", help="as JSON")
    forms.add_argument("--html", metavar="FILE", help="as one page with plots, without network")
    compare.add_argument(
        "--fail-if-slower",
        metavar="PERCENT",
        type=_share,
        help="such as 5%%: exit with 1 if AFTER's steps are slower by more than this, beyond "
        "chance; with too little training to tell (less than about two seconds after warm-up), "
        "say so and exit with 0",
    )
    compare.set_defaults(work=commands.compare)


def _share(percent: str) -> float:
    share = float(percent.removesuffix("%")) / 100
    if not 0.0 <= share < math.inf:
        raise ValueError
    return share


_share.__name__ = "percentage"  # argparse names it where it refuses one.


def _add_history(added: _Commands) -> None:
    history = added.add_parser(
        "history", help="list all runs below a directory, by program and time"
    )
    history.add_argument("logdir", metavar="DIR", help="a directory above all these runs")
    forms = history.add_mutually_exclusive_group()
    forms.add_argument("--markdown", action="store_true", help="as Markdown")
    forms.add_argument("--json", action="store_true", help="as JSON")
    history.set_defaults(work=commands.history)


def _add_template(added: _Commands) -> None:
    template = added.add_parser(
        "template",
        help="write a custom training loop to copy and own",
        description="Writes a training loop for one device, several, or several workers.",
    )
    template.add_argument(
        "file", metavar="FILE", nargs="?", default="train.py", help="default: %(default)s"
    )
    template.set_defaults(work=commands.template)


def _add_launch(added: _Commands) -> None:
    launch = added.add_parser(
        "launch",
        help="run a script as several workers on this machine",
        description="Runs a script as several workers of one training on this machine, which find "
        "each other by TF_CONFIG. Each sees every GPU unless the script gives it its "
        "own. The exit code is the first failed worker's, which ends the others; it "
        "is 42 where a signal stopped them after a checkpoint.",
        epilog="TensorFlow's gRPC server in each worker listens on ALL interfaces of this machine "
        "and asks for no password, although TF_CONFIG names 127.0.0.1: do this only where nobody "
        "else can reach its ports.",
    )
    launch.add_argument("--workers", metavar="N", type=int, required=True, help="at least 2")
    launch.add_argument("script", metavar="SCRIPT", help="a Python file")
    launch.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER, help="the script's")
    launch.set_defaults(work=commands.launch)


@contextlib.contextmanager
def _warnings_in_one_line(command: str) -> Iterator[None]:
    """Python would print the line of code that warns, too."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        complain(f"keras-perf {command}: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; returns its exit code: 0 done, 1 the work failed, 2 wrong use.

    That of `run` is its program's, which may raise; that of `launch` is its workers', that of a
    command whose output nobody reads any more 141.
    """
    try:
        with readable_output():
            arguments = parser().parse_args(argv)
            if arguments.command != "run":
                return _done(arguments)
    except BrokenPipeError:
        return CLOSED_PIPE
    except OSError as error:
        complain(f"keras-perf: the output cannot be written ({error.strerror}).")
        return 1
    return run(arguments)


def _done(arguments: argparse.Namespace) -> int:
    # It imports NumPy, which a program that is run may want to set up first.
    from keras_perf.files.remote_path import NoPathError
    from keras_perf.read.event_files import NoRunError

    try:
        with _warnings_in_one_line(arguments.command):
            code: int | None = arguments.work(arguments)
    except (NoRunError, NoPathError, commands.WrongUseError) as error:
        complain(f"keras-perf {arguments.command}: {error}")
        return 2
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001  the command line's last word
        what = f"failed: {type(error).__name__}: {error}"
        if isinstance(error, ModuleNotFoundError) and lacks_tensorflow(error):
            what = NEEDED
        complain(f"keras-perf {arguments.command} {what}")
        return 1
    except KeyboardInterrupt:
        return 1
    return code or 0
