"""Runs a program in this process as Python itself would: a script, a directory or a module."""

from __future__ import annotations

import builtins
import importlib.util
import io
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from keras_perf.running.own_frames import hide_our_frames


class NoProgramError(ValueError):
    """What is to be run cannot be found; one line that names it."""


@dataclass(frozen=True)
class Program:
    """What is run.

    Attributes:
        name: the script's name without its ending, or the module's.
        argv0: `sys.argv[0]`.
        folder: what `sys.path` begins with.
        module: None for a script.
    """

    name: str
    argv0: str
    folder: str
    module: str | None = None


def script(path: str) -> Program:
    """A Python file, or a directory or zip file with a `__main__.py`.

    Raises:
        NoProgramError: there is none.
    """
    # Of `.` and `..` too, which say nothing.
    whole = os.path.realpath(path) if os.path.isdir(path) else os.path.normpath(path)
    name = os.path.splitext(os.path.basename(whole))[0] or "program"
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        if PathFinder.find_spec("__main__", [path]) is None:
            raise NoProgramError(f"SCRIPT must hold a __main__.py, {path!r} holds none.")
        return Program(name, path, _absolute(path), "__main__")
    if not os.path.isfile(path):
        raise NoProgramError(f"SCRIPT must be an existing file, got {path!r}.")
    # As Python does, which follows a link to the folder where the program is.
    return Program(name, path, os.path.dirname(os.path.realpath(path)))


def module(name: str) -> Program:
    """A module, or a package with a `__main__`, as after `python -m`."""
    return Program(name, "-m", os.getcwd(), name)


def run(program: Program, arguments: Sequence[str]) -> None:
    """Runs it as `__main__`, which it remains when this returns.

    Arguments:
        program: what is run.
        arguments: its own.

    Raises:
        NoProgramError: there is no such module.
        BaseException: what the program raises; Python then prints it without our frames.
    """
    sys.argv[:] = [program.argv0, *arguments]
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = program.folder
    try:
        code, names = _code_of_script(program) if program.module is None else _of_module(program)
        main = ModuleType("__main__")
        vars(main).update(names, __builtins__=builtins, __annotations__={})
        sys.modules["__main__"] = main
        exec(code, vars(main))
    except NoProgramError:
        raise
    except BaseException:
        hide_our_frames()
        raise


def _absolute(path: str) -> str:
    """As Python makes it: `..` in it stays."""
    return os.path.join(os.getcwd(), path)


def _code_of_script(program: Program) -> tuple[CodeType, dict[str, Any]]:
    path = _absolute(program.argv0)
    with io.open_code(path) as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    loader = SourceFileLoader("__main__", path)
    return code, {"__file__": path, "__cached__": None, "__loader__": loader}


def _of_module(program: Program) -> tuple[CodeType, dict[str, Any]]:
    assert program.module is not None
    spec, code = _found(program)
    if program.argv0 == "-m":
        sys.argv[0] = str(spec.origin)
    return code, {
        "__file__": spec.origin,
        "__cached__": spec.cached,
        "__loader__": spec.loader,
        "__package__": spec.parent,
        "__spec__": spec,
    }


def _found(program: Program) -> tuple[ModuleSpec, CodeType]:
    assert program.module is not None
    if program.module == "__main__":
        spec = PathFinder.find_spec("__main__", [program.folder])
    else:
        spec = _spec(program.module)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = _spec(f"{program.module}.__main__")
    get_code = getattr(spec.loader, "get_code", None) if spec is not None else None
    code: CodeType | None = get_code(spec.name) if spec and get_code else None
    if spec is None or code is None:
        raise NoProgramError(
            f"MODULE of -m must be a module or a package with a __main__, got {program.module!r}."
        )
    return spec, code


def _spec(name: str) -> ModuleSpec | None:
    """None also where a package that it should be in does not exist, and of a relative name."""
    if name.startswith("."):
        return None
    try:
        return importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            return None
        raise
    except ValueError:
        return None
