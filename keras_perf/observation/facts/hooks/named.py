"""What a callback's hooks name, and whether that is known to do nothing that lasts."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from dataclasses import dataclass
from inspect import getattr_static
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import keras

from keras_perf.observation.facts.hooks.allowed import (
    CHANGES,
    OF_THE_MODEL,
    OF_THE_OPTIMIZER,
    READS,
    is_allowed,
)
from keras_perf.observation.facts.hooks.chains import Chain, Root, chains_in
from keras_perf.observation.facts.hooks.held_data import is_constant, is_data
from keras_perf.observation.facts.reached_code import own_code

_MISSING = object()

MOST = 200
"""Functions that are looked at; of hooks that call more nothing is known."""


@dataclass(frozen=True)
class Against:
    """A name that speaks against it.

    Attributes:
        name: in the code.
        acts: it sets or calls something; else it is an object of which nothing is known.
    """

    name: str
    acts: bool


class _NotKnownError(Exception):
    def __init__(self, name: str, *, acts: bool) -> None:
        super().__init__(name)
        self.found = Against(name, acts)


class Judge:
    """Reads hooks of a callback, and all functions of the user's that they name.

    Attributes:
        held: names of the data that they reach through the callback.
    """

    def __init__(self, callback: keras.callbacks.Callback) -> None:
        self._callback = callback
        self._pending: list[Any] = []
        self.held = set[str]()

    def first_against(self, hook: Any) -> Against | None:
        """The first name that is not known to do no harm; None where all are."""
        self._pending, seen = [hook], list[Any]()
        try:
            while self._pending:
                function = self._pending.pop(0)
                if function in seen:
                    continue
                code = self._code_of(function)
                if len(seen) >= MOST:
                    raise _NotKnownError(function.__name__, acts=False)
                seen.append(function)
                self._look_into(function, code)
        except _NotKnownError as error:
            return error.found
        return None

    def _code_of(self, function: Any) -> CodeType:
        """Raises _NotKnownError unless it is a plain function of the user's, or bound to this."""
        plain = function
        if isinstance(function, MethodType) and function.__self__ is self._callback:
            plain = function.__func__
        name = getattr(function, "__name__", type(function).__name__)
        if not isinstance(plain, FunctionType) or hasattr(plain, "__wrapped__"):
            raise _NotKnownError(name, acts=False)
        kept = [*(plain.__defaults__ or ()), *(plain.__kwdefaults__ or {}).values()]
        if own_code(plain) is None or not all(map(is_constant, kept)):
            raise _NotKnownError(name, acts=False)
        return plain.__code__

    def _look_into(self, function: Any, code: CodeType) -> None:
        is_method = isinstance(function, MethodType)
        plain = function.__func__ if is_method else function
        if is_method and not code.co_argcount:
            raise _NotKnownError(code.co_name, acts=False)
        own = code.co_varnames[0] if is_method else ""
        around = dict(zip(code.co_freevars, plain.__closure__ or (), strict=True))
        for chain in chains_in(code, own, frozenset(around)):
            if chain.root is Root.OTHER or (chain.sets and chain.root is not Root.OWN):
                raise _NotKnownError(chain.sets or chain.name, acts=True)
            if chain.root is Root.OWN:
                self._of_the_callback(chain)
                continue
            if chain.sets_element and (chain.root is not Root.VALUE or chain.names):
                raise _NotKnownError(chain.name, acts=True)
            if chain.root is Root.AROUND:
                self._from_outside(chain, around[chain.name].cell_contents)
            elif chain.root is Root.GLOBAL:
                built_in = vars(builtins).get(chain.name, _MISSING)
                self._from_outside(chain, plain.__globals__.get(chain.name, built_in))
            else:
                _only(chain.names, READS)

    def _of_the_callback(self, chain: Chain) -> None:
        if chain.sets:
            self._sets(chain)
            return
        if not chain.names:
            # Whoever is given the callback itself may do anything with it.
            raise _NotKnownError(chain.name, acts=False)
        name, *rest = chain.names
        held, kind = vars(self._callback), getattr_static(type(self._callback), name, _MISSING)
        described = hasattr(type(kind), "__set__")
        its_model = not described and isinstance(held.get(name), keras.Model)
        if name == "model" or (its_model and held[name] is self._callback.model):
            self._of_the_model(name, rest, sets_element=chain.sets_element)
        elif name in held and not described and is_data(held[name]):
            self.held.add(name)
            _only(rest, READS | CHANGES)
            if chain.sets_element and rest:
                raise _NotKnownError(rest[-1], acts=True)
        elif chain.sets_element:
            raise _NotKnownError(name, acts=True)
        else:
            self._of_the_class(name, rest, held, kind, described=described)

    def _of_the_class(
        self, name: str, rest: list[str], held: dict[str, Any], kind: Any, *, described: bool
    ) -> None:
        if name in held and not described:
            # A function is looked into, another object is refused there.
            self._follows(held[name], name, rest)
        elif isinstance(kind, property) and kind.fget is not None:
            self._follows(MethodType(kind.fget, self._callback), name, [])
            _only(rest, READS)
        elif isinstance(kind, FunctionType):
            self._follows(MethodType(kind, self._callback), name, rest)
        elif isinstance(kind, staticmethod):
            self._follows(kind.__func__, name, rest)
        elif is_constant(kind):
            _only(rest, READS)
        else:
            raise _NotKnownError(name, acts=False)

    def _sets(self, chain: Chain) -> None:
        """An attribute of the copy, which has it in its dictionary."""
        held, kind = vars(self._callback), getattr_static(type(self._callback), chain.sets, None)
        if chain.names or chain.sets not in held or hasattr(type(kind), "__set__"):
            raise _NotKnownError(chain.sets, acts=True)
        if not is_data(held[chain.sets]):
            raise _NotKnownError(chain.sets, acts=False)
        self.held.add(chain.sets)

    def _of_the_model(self, name: str, rest: list[str], *, sets_element: bool) -> None:
        """Its weights, and the optimizer's numbers; none of the user's own methods."""
        owner: Any = self._callback.model
        if sets_element or not rest:
            raise _NotKnownError(name, acts=sets_element)
        first, allowed = rest.pop(0), OF_THE_MODEL
        if first == "optimizer" and rest and _is_kerass(owner, first):
            owner, allowed = owner.optimizer, OF_THE_OPTIMIZER
            first = rest.pop(0)
            if not all(map(_is_no_schedule_of_the_users, vars(owner).values())):
                raise _NotKnownError(first, acts=False)
        if first not in allowed or not _is_kerass(owner, first):
            raise _NotKnownError(first, acts=True)
        _only(rest, READS)

    def _from_outside(self, chain: Chain, value: Any) -> None:
        """A global, or a variable of a function around: others hold it too."""
        last, rest = chain.name, [*chain.names]
        while isinstance(value, ModuleType) and rest:
            last = rest.pop(0)
            value = vars(value).get(last, _MISSING)
        if is_constant(value):
            _only(rest, READS)
        elif is_allowed(value):
            _only(rest, frozenset())
        elif isinstance(value, FunctionType) and own_code(value) is not None:
            self._follows(value, last, rest)
        else:
            acts = isinstance(value, type | FunctionType | BuiltinFunctionType | MethodType)
            unknown = rest[-1] if isinstance(value, type) and rest else last
            raise _NotKnownError(unknown, acts=acts or value is _MISSING)

    def _follows(self, function: Any, name: str, rest: list[str]) -> None:
        bound_here = getattr(function, "__self__", self._callback) is self._callback
        if rest or not isinstance(function, FunctionType | MethodType) or not bound_here:
            raise _NotKnownError(name, acts=False)
        if isinstance(function, FunctionType) and own_code(function) is None:
            raise _NotKnownError(name, acts=True)
        self._pending.append(function)


def _only(names: Iterable[str], allowed: frozenset[str]) -> None:
    for name in names:
        if name not in allowed:
            raise _NotKnownError(name, acts=True)


def _is_kerass(owner: Any, name: str) -> bool:
    """Keras's method or property of this name, or an attribute that is no code."""
    of_the_class = getattr_static(type(owner), name, None)
    if isinstance(of_the_class, property):
        return _of_keras(of_the_class.fget)
    found = vars(owner).get(name, of_the_class)
    return not callable(found) or _of_keras(found)


def _is_no_schedule_of_the_users(each: Any) -> bool:
    """To read the learning rate calls it."""
    schedules = keras.optimizers.schedules.LearningRateSchedule
    return not isinstance(each, schedules) or _of_keras(type(each))


def _of_keras(each: Any) -> bool:
    return str(getattr(each, "__module__", "")).partition(".")[0] == "keras"
