"""Which functions and objects of the user's a function reaches, by the names in its code."""

from __future__ import annotations

import dis
import functools
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import getattr_static, unwrap
from types import CodeType, FunctionType, MethodType
from typing import Any

from keras_perf.observation.facts.source_lines import LIBRARIES, code_of

MOST = 50
"""Functions and objects that are looked at."""

LOOKS_UP = ("LOAD_GLOBAL", "LOAD_NAME")
"""Instructions for global names; others are of attributes."""

_INSTALLED = (*LIBRARIES, *(sysconfig.get_path(each) for each in ("stdlib", "purelib", "platlib")))


@dataclass(frozen=True)
class Reached:
    """What a name in the code stands for.

    Attributes:
        name: in the code.
        value: a function, a module, an object.
    """

    name: str
    value: Any


def reached(function: Any) -> Iterator[Reached]:
    """The function and all that it names, and so on, through the user's own code.

    The code is not run. What is hidden in a library, or behind `getattr`, is not seen.
    """
    pending, seen = [Reached(getattr(function, "__name__", ""), function)], set[int]()
    while pending and len(seen) < MOST:
        each = pending.pop(0)
        if id(each.value) in seen:
            continue
        seen.add(id(each.value))
        yield each
        code = own_code(each.value)
        if code is not None:
            pending += _named(each.value, code)


def own_code(each: Any) -> CodeType | None:
    """Of the user's functions; None of all else."""
    callables = (FunctionType, MethodType, functools.partial)
    if not isinstance(each, callables) and not hasattr(each, "python_function"):
        return None
    code = code_of(each)
    return None if code is None or code.co_filename.startswith(_INSTALLED) else code


def names_in(code: CodeType) -> set[str]:
    """Global names and attributes, also of the functions inside."""
    return {name for each in _with_inner(code) for name in each.co_names}


def instructions_in(code: CodeType) -> Iterator[dis.Instruction]:
    """Of a function, and of the functions inside."""
    for each in _with_inner(code):
        yield from dis.get_instructions(each)


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _with_inner(each)


def _named(function: Any, code: CodeType) -> list[Reached]:
    names, found = sorted(names_in(code)), []
    if isinstance(function, MethodType):
        found += [Reached(name, _held(function.__self__, name)) for name in names]
    inner = unwrap(getattr(function, "__func__", function))
    spaces = getattr(inner, "__globals__", {})
    around = zip(code.co_freevars, getattr(inner, "__closure__", None) or (), strict=False)
    found += [Reached(name, cell.cell_contents) for name, cell in around]
    looked_up = {each.argval for each in instructions_in(code) if each.opname in LOOKS_UP}
    return [*found, *(Reached(name, spaces[name]) for name in sorted(looked_up & spaces.keys()))]


def _held(owner: Any, name: str) -> Any:
    """An attribute or a method; a property is not asked, for it could do anything."""
    found = getattr_static(owner, name, None)
    if isinstance(found, property):
        found = found.fget
    return MethodType(found, owner) if isinstance(found, FunctionType) else found
