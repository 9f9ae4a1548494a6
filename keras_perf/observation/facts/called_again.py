"""Whether a callback's hooks of batches do no harm when they are called again, on a copy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import keras
import numpy as np

from keras_perf.observation.facts.input.python_draws import draws_in_python
from keras_perf.observation.facts.reached_code import (
    Reached,
    instructions_in,
    names_in,
    own_code,
    reached,
)
from keras_perf.records.owners import owner_of
from keras_perf.records.reasons.reason import Reason
from keras_perf.records.reasons.why_not_tried import WhyNotTried

HOOKS = ("on_train_batch_begin", "on_batch_begin", "on_train_batch_end", "on_batch_end")

MOST = 200
"""Functions and objects that are looked at; of hooks that name more nothing is known."""

MODULES = frozenset(
    {
        "builtins",
        "collections",
        "copy",
        "datetime",
        "functools",
        "gc",
        "itertools",
        "keras",
        "math",
        "numpy",
        "operator",
        "psutil",
        "statistics",
        "tensorflow",
        "threading",
        "time",
    }
)
"""Functions of theirs do nothing that lasts, but for those that `WORDS` name."""

WRITES = frozenset(
    {
        "open",
        "write",
        "writelines",
        "writerow",
        "writerows",
        "write_file",
        "print",
        "save",
        "save_weights",
        "save_model",
        "savez",
        "savetxt",
        "savefig",
        "tofile",
        "export",
        "summary",
    }
)
"""Names of what writes or shows."""

STEERS = frozenset(
    {
        "set_weights",
        "load_weights",
        "assign",
        "assign_add",
        "assign_sub",
        "compile",
        "fit",
        "evaluate",
        "predict",
        "train_on_batch",
        "test_on_batch",
        "make_train_function",
        "reset_state",
        "reset_states",
        "reset_metrics",
        "clear_session",
        "set_random_seed",
        "set_seed",
        "set_dtype_policy",
        "freeze",
        "unfreeze",
        "set_threshold",
        "disable",
        "enable",
    }
)
"""Names of what changes the training, or how others go on."""

HIDES = frozenset(
    {
        "getattr",
        "setattr",
        "delattr",
        "vars",
        "globals",
        "__dict__",
        "__class__",
        "type",
        "exec",
        "eval",
        "Thread",
        "Timer",
        "__import__",
    }
)
"""Names by which anything may be done."""

WORDS = WRITES | STEERS | HIDES

KERAS_OWN = ("LambdaCallback", "TerminateOnNaN")
"""Callbacks of Keras's that do in batches what others say, or nothing that lasts."""

_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)
_ARRAYS = (np.ndarray, keras.Variable)
SETS_GLOBAL = ("STORE_GLOBAL", "DELETE_GLOBAL")
SETS_ATTRIBUTE = ("STORE_ATTR", "DELETE_ATTR")


def why_not_again(callback: keras.callbacks.Callback) -> Reason | None:
    """What its hooks of batches may do beside changing the callback, the model and its training.

    They are told by the names in their code, which is not run. None where nothing of that is named,
    and all that is named is known.
    """
    for name in HOOKS:
        hook = getattr(callback, name)
        if getattr(hook, "__func__", None) is getattr(keras.callbacks.Callback, name):
            continue
        if (why := _against(hook, callback, owner_of(callback, name))) is not None:
            return why
    return None


def named_attributes(callback: keras.callbacks.Callback) -> Mapping[str, Any]:
    """What the callback holds and its hooks of batches name: all that they can change of it."""
    found: dict[str, Any] = {}
    for hook in HOOKS:
        for each in reached(getattr(callback, hook), MOST):
            code = own_code(each.value)
            names = names_in(code) if code is not None else ()
            found |= {name: callback.__dict__[name] for name in names if name in callback.__dict__}
    return found


def _against(hook: Any, callback: keras.callbacks.Callback, owner: str) -> Reason | None:
    if own_code(hook) is None:
        known = type(callback).__module__.startswith("keras.")
        if known and type(callback).__name__ in KERAS_OWN:
            return None
        return WhyNotTried.CALLED_AGAIN_LIBRARY.of(hook=owner)
    if draws_in_python(hook):
        return WhyNotTried.CALLED_AGAIN_DRAWS.of(hook=owner)
    found = [*reached(hook, MOST)]
    if len(found) >= MOST:
        return WhyNotTried.CALLED_AGAIN_UNKNOWN.of(hook=owner, name=found[-1].name)
    for each in found:
        code = own_code(each.value)
        if code is not None and (words := sorted(_that_last(code, callback))):
            return WhyNotTried.CALLED_AGAIN_NAMES.of(hook=owner, name=words[0])
        if code is None and not _is_harmless(each):
            return WhyNotTried.CALLED_AGAIN_UNKNOWN.of(hook=owner, name=each.name)
    return None


def _that_last(code: CodeType, callback: keras.callbacks.Callback) -> Iterator[str]:
    """Names of what lasts, and of what is set or imported outside of the callback."""
    yield from WORDS & names_in(code)
    for each in instructions_in(code):
        name = str(each.argval)
        of_another = each.opname in SETS_ATTRIBUTE and name not in callback.__dict__
        around = each.opname == "STORE_DEREF" and name in code.co_freevars
        imported = each.opname == "IMPORT_NAME" and not _is_known(name)
        if each.opname in SETS_GLOBAL or of_another or around or imported:
            yield name


def _is_harmless(each: Reached) -> bool:
    value = each.value
    if isinstance(value, ModuleType):
        return _is_known(value.__name__)
    if isinstance(value, type | FunctionType | BuiltinFunctionType | MethodType):
        return _is_known(getattr(value, "__module__", None) or "")
    if isinstance(value, _PLAIN):
        return True
    # What others hold too would keep what a trial makes of it.
    return each.held and (isinstance(value, keras.Model) or _is_data(value))


def _is_data(value: Any) -> bool:
    """Numbers, texts, arrays, and lists of them."""
    if isinstance(value, dict):
        return all(map(_is_data, [*value, *value.values()]))
    if isinstance(value, list | tuple | set | frozenset):
        return all(map(_is_data, value))
    return isinstance(value, (*_PLAIN, *_ARRAYS)) or bool(keras.ops.is_tensor(value))


def _is_known(module: str) -> bool:
    return module.partition(".")[0] in MODULES
