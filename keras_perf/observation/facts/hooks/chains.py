"""Dotted names in a function's code, with what they begin at and what is set by them."""

from __future__ import annotations

import dis
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from types import CodeType

LOADS = ("LOAD_ATTR", "LOAD_METHOD")
SETS = ("STORE_ATTR", "DELETE_ATTR")
SETS_ELEMENTS = ("STORE_SUBSCR", "DELETE_SUBSCR")
GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME")
SIMPLE_KEYS = ("LOAD_CONST", "LOAD_FAST", "LOAD_SMALL_INT")
NOTHING = ("EXTENDED_ARG", "NOP", "CACHE", "NOT_TAKEN")
BEFORE_3_11 = {
    "DUP_TOP": ("COPY",),
    "DUP_TOP_TWO": ("COPY", "COPY"),
    "ROT_TWO": ("SWAP",),
    "ROT_THREE": ("SWAP",),
}
OTHERWISE = (
    "STORE_GLOBAL",
    "DELETE_GLOBAL",
    "IMPORT_NAME",
    "IMPORT_STAR",
    "STORE_SLICE",
    "LOAD_BUILD_CLASS",
    "LOAD_SUPER_ATTR",
    "LOAD_FROM_DICT_OR_GLOBALS",
)
"""What sets or reaches something in another way."""


class Root(Enum):
    """What a dotted name begins at."""

    OWN = "the object whose method it is"
    GLOBAL = "a global or built-in name"
    AROUND = "a variable of a function around"
    VALUE = "what a local variable holds, or an expression gives"
    OTHER = "what is set, imported or made by an instruction of its own"


@dataclass(frozen=True)
class Chain:
    """`root.name.name`, read; or set, where `sets` is the name, or has an element set."""

    root: Root
    name: str
    names: tuple[str, ...] = ()
    sets: str = ""
    sets_element: bool = False


@dataclass(frozen=True)
class _Step:
    op: str
    value: object
    joined: bool
    """Jumps come here: what lies on the stack may be something else."""


def chains_in(code: CodeType, own: str, around: frozenset[str]) -> Iterator[Chain]:
    """All of a function, and of the functions inside.

    Arguments:
        code: of the function.
        own: what it calls the object whose method it is; "" where it is no method.
        around: its variables that belong to functions around it.
    """
    yield from _Code(code, own, around).chains()
    for each in code.co_consts:
        if isinstance(each, CodeType):
            # A parameter of the same name is another object.
            yield from chains_in(each, own if own in each.co_freevars else "", around)


class _Code:
    def __init__(self, code: CodeType, own: str, around: frozenset[str]) -> None:
        self._own, self._around = own, around
        self._steps = list(_steps(code))

    def chains(self) -> Iterator[Chain]:
        at = 0
        while at < len(self._steps):
            step = self._steps[at]
            if (root := self._root(step)) is not None:
                chain, at = self._followed(root, at + 1)
                yield chain
            elif step.op in LOADS:
                chain, at = self._followed(Chain(Root.VALUE, str(step.value)), at, first=True)
                yield chain
            else:
                yield from self._set_by(at)
                at += 1

    def _root(self, step: _Step) -> Chain | None:
        name = str(step.value)
        if step.op in GLOBALS:
            return Chain(Root.GLOBAL, name)
        local, cell = step.op == "LOAD_FAST", step.op in ("LOAD_DEREF", "LOAD_CLASSDEREF")
        if not local and not cell:
            return None
        if name == self._own:
            return Chain(Root.OWN, name)
        return Chain(Root.AROUND if cell and name in self._around else Root.VALUE, name)

    def _followed(self, chain: Chain, at: int, first: bool = False) -> tuple[Chain, int]:
        """The attributes behind it, or the one that is set; and where the code goes on."""
        names: list[str] = []
        while at < len(self._steps) and (first or not self._steps[at].joined):
            step, first = self._steps[at], False
            # `a.b += 1` keeps `a` beside `a.b`.
            copied = step.op == "COPY" and self._op(at + 1) in LOADS
            if step.op in LOADS:
                names.append(str(step.value))
            elif step.op in SETS:
                return replace(chain, names=tuple(names), sets=str(step.value)), at + 1
            elif not copied:
                break
            at += 1
        chain = replace(chain, names=tuple(names))
        if self._op(at) in SIMPLE_KEYS and self._sets_element(at + 1):
            chain = replace(chain, sets_element=True)
        return chain, at

    def _sets_element(self, at: int) -> bool:
        """Here the element under the key before is set, also by `+=`."""
        if any(each.joined for each in self._steps[at - 1 : at + 1]):
            return False
        return self._op(at) in SETS_ELEMENTS or (self._op(at), self._op(at + 1)) == ("COPY", "COPY")

    def _set_by(self, at: int) -> Iterator[Chain]:
        """What an instruction sets that is not behind its own dotted name."""
        step, before = self._steps[at], self._op(at - 1)
        name = str(step.value)
        unknown = Chain(Root.OTHER, name)
        if step.op in OTHERWISE:
            yield unknown
        elif step.op in ("STORE_FAST", "DELETE_FAST", "STORE_DEREF", "DELETE_DEREF"):
            if name == self._own or (step.op.endswith("DEREF") and name in self._around):
                yield unknown
        elif step.op in SETS:
            yield (self._added_to(at) if before == "SWAP" else None) or unknown
        elif step.op in SETS_ELEMENTS and not self._element_is_known(at):
            yield Chain(Root.OTHER, "an element")

    def _added_to(self, at: int) -> Chain | None:
        """`a.b += 1` of an `a` that is the object itself."""
        name = self._steps[at].value
        for k in range(at - 1, 0, -1):
            read = self._steps[k + 1]
            if self._op(k) == "COPY" and read.op in LOADS and read.value == name:
                root = self._root(self._steps[k - 1])
                known = root is not None and not self._steps[k].joined and not read.joined
                return replace(root, sets=str(name)) if root is not None and known else None
        return None

    def _element_is_known(self, at: int) -> bool:
        """Of a dotted name right before, for which `_followed` has told it."""
        key = at - 1
        if self._op(key) == "SWAP":
            pairs = (k for k in range(at - 1, 1, -1) if self._op(k) == self._op(k - 1) == "COPY")
            key = next(pairs, 1) - 2
        behind_a_name = self._op(key - 1) in LOADS or self._op(key - 1).startswith("LOAD_FAST")
        if self._op(key) not in SIMPLE_KEYS or not behind_a_name:
            return False
        return self._sets_element(key + 1) and not self._steps[key].joined

    def _op(self, at: int) -> str:
        return self._steps[at].op if 0 <= at < len(self._steps) else ""


def _steps(code: CodeType) -> Iterator[_Step]:
    """Instructions as of Python 3.11: others have other names, or two of them in one."""
    joined = False
    for each in dis.get_instructions(code):
        joined = joined or each.is_jump_target
        if each.opname in NOTHING:
            continue
        pair: Sequence[object] = each.argval if isinstance(each.argval, tuple) else ()
        ops = each.opname.replace("_BORROW", "").replace("_CHECK", "").split("_FAST_")
        if each.opname in BEFORE_3_11:
            for op in BEFORE_3_11[each.opname]:
                yield _Step(op, each.argval, joined)
                joined = False
        elif len(pair) == 2 and len(ops) == 2:
            yield _Step(f"{ops[0]}_FAST", pair[0], joined)
            yield _Step(ops[1], pair[1], False)
        else:
            op = "LOAD_FAST" if each.opname.startswith("LOAD_FAST") else each.opname
            yield _Step(op, each.argval, joined)
        joined = False
