"""%%keras_perf: what a cell trains, evaluates and predicts, and its diagnosis below the cell."""

from __future__ import annotations

import argparse
import ast
import shlex
from dataclasses import replace
from typing import Any, NoReturn

from keras_perf.records.text.visible import visible
from keras_perf.running.keras_import import WhenKerasIsImported
from keras_perf.running.observed import Observed
from keras_perf.running.options import add_options, options_of
from keras_perf.running.why_nothing import why_nothing


class _Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(f"%%keras_perf: {visible(message)}")


def register(shell: Any) -> None:
    """Adds the magic to IPython's shell; called by `%load_ext keras_perf`."""

    def keras_perf(line: str, cell: str) -> Any:
        return run_cell(shell, line, cell)

    keras_perf.__doc__ = _arguments().format_help()
    # A semicolon at the cell's end hides its value, as elsewhere; older IPythons ask for nothing.
    vars(keras_perf)["_ipython_magic_output_can_be_silenced"] = True
    shell.register_magic_function(keras_perf, magic_kind="cell", magic_name="keras_perf")


def _arguments() -> _Arguments:
    arguments = _Arguments(
        prog="%%keras_perf",
        description="Runs the cell with keras_perf's callbacks added to each model.fit, evaluate "
        "and predict, and shows the diagnosis below it.",
        add_help=False,
        allow_abbrev=False,
    )
    add_options(arguments)
    return arguments


def run_cell(shell: Any, line: str, cell: str) -> Any:
    """Runs a cell, observes it, and shows what was found; what the cell's last line gives.

    Arguments:
        shell: IPython's.
        line: the options.
        cell: the code.

    Raises:
        ValueError: an option is wrong.
        BaseException: what the cell raises, after the diagnosis was shown.
    """
    options = options_of(_arguments().parse_args(shlex.split(line)), "notebook")
    # The diagnosis below the cell has it all.
    options = replace(options, summary=False)
    observed = Observed(options, _say)
    waiting = WhenKerasIsImported(observed.install)
    try:
        return _value_of(shell, cell)
    finally:
        try:
            waiting.remove()
            observed.remove()
            if not options.quiet:
                _show(observed)
        except Exception as error:  # noqa: BLE001  what the cell raises or tells stands
            _say(f"the diagnosis cannot be shown: {type(error).__name__}: {error}")


def _value_of(shell: Any, cell: str) -> Any:
    """Runs the cell in the notebook's names, as `%%time` does."""
    code, names = shell.transform_cell(cell), shell.user_ns
    # So that tracebacks, and AutoGraph, find the source.
    name = shell.compile.cache(code, shell.execution_count, cell)
    tree = shell.compile.ast_parse(code, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(shell.compile(tree, name, "exec"), names)
    if last is None:
        return None
    return eval(shell.compile(ast.Expression(last.value), name, "eval"), names)


def _say(line: str) -> None:
    print(f"keras_perf: {line}")


def _show(observed: Observed) -> None:
    """The diagnosis; of several fits that of the longest, below a line for each."""
    from IPython.display import display

    from keras_perf.running.last_words import longest, reports_of

    reports = reports_of(observed)
    if not (reports.fits or reports.calls):
        _say(f"{why_nothing(observed)}.")
        return
    shown = longest(reports.fits) if reports.fits else None
    for each in reports.fits if len(reports.fits) > 1 else ():
        mark = " ← shown below" if each is shown else ""
        print(f"{each.name}: {each.diagnosis.verdict}{mark}")
    for found in (shown, reports.longest_calls):
        if found is not None:
            display(found.diagnosis)  # type: ignore[no-untyped-call]
