"""keras-perf run: a program as it is, its fits, evaluations and predictions observed."""

from __future__ import annotations

import argparse
import atexit
import contextlib
import logging
import os
import sys
import warnings
from typing import TYPE_CHECKING, Any

from keras_perf.cli.commands import WrongUseError, write_page
from keras_perf.cli.output import complain, told_on
from keras_perf.files.remote_path import is_remote
from keras_perf.running import program
from keras_perf.running.keras_import import WhenKerasIsImported
from keras_perf.running.observed import Observed
from keras_perf.running.options import add_options, options_of
from keras_perf.running.why_nothing import why_nothing
from keras_perf.write.writable_log_dir import writable_log_dir

if TYPE_CHECKING:
    from keras_perf.running.last_words import Reports


def add_run(added: Any) -> None:
    """The arguments of `keras-perf run`; what stands behind the program is its own."""
    run = added.add_parser(
        "run",
        help="run a program as it is, and diagnose each of its fits",
        usage="keras-perf run [OPTIONS] SCRIPT [ARGS ...] | [OPTIONS] -m MODULE [ARGS ...]",
        description="Runs a program that knows nothing of keras_perf, adds the callbacks to each "
        "model.fit, evaluate and predict that it makes, and prints the diagnosis on standard error "
        "when it ends. "
        "Exit code, arguments and standard streams are the program's.",
        allow_abbrev=False,
    )
    add_options(run)
    run.add_argument("--html", metavar="FILE", help="write the report as a page, too")
    run.add_argument(
        "-m", dest="module", nargs=argparse.REMAINDER, help="run a module, as python -m does"
    )
    run.add_argument("program", nargs=argparse.REMAINDER, metavar="SCRIPT", help="a Python file")


def run(arguments: argparse.Namespace) -> int:
    """Runs the program; raises what it raises. 2 where there is none, or an option is wrong."""
    try:
        found, words = _program_of(arguments)
        options = options_of(arguments, found.name)
        page = _page_of(arguments.html)
        if arguments.log_dir is not None and not is_remote(arguments.log_dir):
            # Before the program has trained for hours.
            writable_log_dir(arguments.log_dir)
    except (WrongUseError, ValueError, OSError) as error:
        complain(f"keras-perf run: {error}")
        return 2
    say = _Voice(quiet=options.quiet)
    if options.quiet:
        logging.getLogger("keras_perf").setLevel(logging.ERROR)
    observed = Observed(options, say.line)
    # Before any handler of the program's, so that it is called after all of them.
    end = _End(observed, say, page)
    atexit.register(end)
    WhenKerasIsImported(observed.install)
    try:
        program.run(found, words)
    except KeyboardInterrupt:
        end.interrupted = True
        raise
    except program.NoProgramError as error:
        atexit.unregister(end)
        complain(f"keras-perf run: {error}")
        return 2
    return 0


def _program_of(arguments: argparse.Namespace) -> tuple[program.Program, list[str]]:
    words = arguments.program
    if arguments.module is not None:
        if not arguments.module:
            raise WrongUseError("-m needs a MODULE, such as package.train.")
        name, *first = arguments.module
        return program.module(name), [*first, *words]
    if words[:1] == ["--"]:
        words = words[1:]
    if not words:
        raise WrongUseError("a SCRIPT or -m MODULE must be given, such as train.py.")
    return program.script(words[0]), words[1:]


def _page_of(file: str | None) -> str | None:
    """Where the page is written; refused before the program has trained for hours."""
    if file is None or is_remote(file):
        return file
    path = os.path.abspath(file)
    if not os.access(os.path.dirname(path), os.W_OK) or os.path.isdir(path):
        raise WrongUseError(
            f"FILE of --html must be writable, got {file!r}. "
            "Give a file in a directory that exists."
        )
    return path


class _Voice:
    """Speaks where standard error led when the program began."""

    def __init__(self, *, quiet: bool) -> None:
        self._stream = None if quiet else sys.stderr

    def line(self, text: str) -> None:
        """A line that begins with our name."""
        self.text(f"keras-perf run: {text}\n")

    def text(self, text: str) -> None:
        """Lines; where they cannot be written nothing happens."""
        if self._stream is not None:
            told_on(self._stream, text)


class _End:
    """Tells what was found, after everything that the program does at its end."""

    def __init__(self, observed: Observed, say: _Voice, page: str | None) -> None:
        self._observed, self._say, self._page = observed, say, page
        self._process = os.getpid()
        self.interrupted = False

    def __call__(self) -> None:
        """For `atexit`."""
        if os.getpid() != self._process:
            return
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._tell()
        except KeyboardInterrupt:
            self.interrupted = True
        except Exception as error:  # noqa: BLE001  the exit code is the program's
            self._say.line(f"the diagnosis failed ({type(error).__name__}: {error}).")
        if self.interrupted:
            _end_as_interrupted()

    def _tell(self) -> None:
        reports: Reports | None = None
        self._observed.remove()
        if self._observed.anything:
            from keras_perf.running.last_words import reports_of, told

            reports = reports_of(self._observed)
        if reports is None or not (reports.fits or reports.calls):
            self._say.line(f"{why_nothing(self._observed)}.")
            return
        self._say.text(f"\n{told(reports)}")
        if self._page is not None:
            from keras_perf.report.page.page import page_html

            self._say.text(
                write_page(self._page, page_html((*reports.fits, *reports.calls))) + "\n"
            )


def _end_as_interrupted() -> None:
    """Python ends as by SIGINT after a KeyboardInterrupt that nobody caught.

    It forgets that where a string is evaluated meanwhile, as imports do, and notes it again where
    one raises it.
    """
    with contextlib.suppress(KeyboardInterrupt):
        exec("raise KeyboardInterrupt")
