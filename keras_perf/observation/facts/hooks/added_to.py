"""Whether a function's code adds to a dict that it was given."""

from __future__ import annotations

import dis
from collections.abc import Sequence
from types import CodeType

from keras_perf.observation.facts.hooks.chains import LOADS, NOTHING, SETS_ELEMENTS

ADDING = ("update", "setdefault")
COPYING = {"dict", "copy", "deepcopy", "DICT_UPDATE", "BINARY_OR"}
"""Names and operations by which another dict is made of one; from Python 3.11 on `|`, too."""

IN_PLACE = ("INPLACE_OR", "|=")

Steps = Sequence[dis.Instruction]


def adds_to(code: CodeType, name: str) -> bool:
    """By any key, `update` or `setdefault`, and not to a copy that has its name since.

    What it cannot see: another name for the dict, and a key that depends on a condition.

    Arguments:
        code: of the function.
        name: of its variable that holds the dict.
    """
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    if any(name in each.co_freevars and adds_to(each, name) for each in inner):
        return True
    steps = [each for each in dis.get_instructions(code) if each.opname not in NOTHING]
    for at, step in enumerate(steps):
        if _gets_its_name(step, name):
            if at and {steps[at - 1].opname, steps[at - 1].argrepr} & {*IN_PLACE}:
                return True
            if _is_a_copy(steps, at, name):
                return False
        by_method = step.opname in LOADS and step.argval in ADDING
        if by_method and _on_top(steps, at - 1) == name:
            return True
        if _sets_an_element(steps, at) and _below(steps, at) == name:
            return True
    return False


def _sets_an_element(steps: Steps, at: int) -> bool:
    """Or is about to, as `+=` does, which keeps dict and key while it adds."""
    op = steps[at].opname
    adds = op == "COPY" and at + 1 < len(steps) and steps[at + 1].opname == "COPY"
    return adds or op == "DUP_TOP_TWO" or op in SETS_ELEMENTS


def _gets_its_name(step: dis.Instruction, name: str) -> bool:
    return step.opname in ("STORE_FAST", "STORE_DEREF") and step.argval == name


def _is_a_copy(steps: Steps, at: int, name: str) -> bool:
    """What is made of the dict and gets its name here, whatever way the code takes."""
    step = steps[at]
    if step.is_jump_target or any(_leads_around(each, step) for each in steps[:at]):
        # The dict itself, or what stands for it: `logs = logs or {}`.
        return False
    value = range(_beginning(steps, at)[0], at)
    of_it = any(_on_top(steps, k) == name for k in value)
    return of_it and any(_copies(steps[k]) for k in value)


def _leads_around(jump: dis.Instruction, step: dis.Instruction) -> bool:
    jumps = jump.opcode in dis.hasjrel or jump.opcode in dis.hasjabs
    return jumps and jump.argval > step.offset


def _copies(step: dis.Instruction) -> bool:
    by_operator = step.opname == "BINARY_OP" and step.argrepr == "|"
    return by_operator or step.opname in COPYING or step.argval in COPYING


def _beginning(steps: Steps, at: int) -> tuple[int, bool]:
    """Where what lies on top of the stack begins to be made, and whether with what is below it."""
    missing = 1
    while missing > 0 and at > 0:
        at -= 1
        missing -= dis.stack_effect(steps[at].opcode, steps[at].arg, jump=False)
    return at, missing < 0


def _below(steps: Steps, at: int) -> object:
    """The variable below what lies on top of the stack; None where it is none."""
    begins, with_it = _beginning(steps, at)
    return steps[begins].argval[0] if with_it else _on_top(steps, begins - 1)


def _on_top(steps: Steps, at: int) -> object:
    """The variable that this instruction leaves on top; None where it is none."""
    if at < 0 or not steps[at].opname.startswith(("LOAD_FAST", "LOAD_DEREF")):
        return None
    argument = steps[at].argval
    return argument[-1] if isinstance(argument, tuple) else argument
