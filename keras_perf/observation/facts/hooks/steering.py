"""What a hook sets of the training, as its code tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import MethodType
from typing import Any

from keras_perf.observation.facts.hooks.added_to import adds_to
from keras_perf.observation.facts.hooks.chains import Chain, Root, chains_in
from keras_perf.observation.facts.reached_code import own_code, reached
from keras_perf.records.run.settings import LEARNING_RATE, LOGS

RATES = frozenset({LEARNING_RATE, "lr"})
BY_LOGS = f"{LEARNING_RATE}, from logs"

SET_VALUE, SETATTR = "set_value", "setattr"
ASSIGNS = frozenset({"assign", "assign_add", "assign_sub", "set_weights", SET_VALUE})
"""Methods of variables and weights, and a function, that set them."""

STEERS = RATES | {"trainable", "rate", "momentum", "weight_decay"}
OF_THE_TRAINING = frozenset({"model", "optimizer"})
ENDS = "stop_training"


def steered_by(hook: Any) -> str | None:
    """What later steps depend on and the hook sets, such as the learning rate; None of none.

    It is called with each batch or epoch, and done less often it would train another model. So do
    `logs`, which other callbacks stop and save by. The rate is named where nothing else is set, and
    a schedule could set it, which knows of no logs.

    What it cannot see: what code of a library sets, and names that are put together as it runs.
    """
    chains = list(_chains(hook))
    sets = [name for chain in chains if (name := _sets(chain, chains)) is not None]
    if not sets:
        return LOGS if _adds_to_logs(hook) else None
    others = [name for name in sets if name not in RATES]
    if others:
        return others[0]
    return BY_LOGS if _reads_logs(hook, chains) else LEARNING_RATE


def _chains(hook: Any) -> Iterator[Chain]:
    for each in reached(hook):
        if (code := own_code(each.value)) is not None:
            is_method = isinstance(each.value, MethodType) and code.co_argcount
            own = code.co_varnames[0] if is_method else ""
            yield from chains_in(code, own, frozenset(code.co_freevars))


def _sets(chain: Chain, chains: Sequence[Chain]) -> str | None:
    """The name of what is set; None where nothing is, but an attribute of the callback itself."""
    names = _names(chain)
    if SET_VALUE in names:
        return LEARNING_RATE if any(RATES & {*each.names} for each in chains) else SET_VALUE
    if ASSIGNS & {*chain.names}:
        return next((name for name in reversed(names) if name not in ASSIGNS), "weights")
    if (chain.root, chain.name) == (Root.GLOBAL, SETATTR):
        return SETATTR
    # What is set of an expression, such as a layer from a list, has no name before it.
    sets = chain.name if chain.root is Root.OTHER else chain.sets
    if not sets or sets == ENDS or (chain.root is Root.OWN and not chain.names):
        return None
    return sets if sets in STEERS or OF_THE_TRAINING & {*names[:-1]} else None


def _names(chain: Chain) -> tuple[str, ...]:
    root = () if chain.root is Root.OWN else (chain.name,)
    return *root, *chain.names, *([chain.sets] if chain.sets else [])


def _reads_logs(hook: Any, chains: Sequence[Chain]) -> bool:
    return any(_is_value(each, _logs_of(hook)) for each in chains)


def _adds_to_logs(hook: Any) -> bool:
    name = _logs_of(hook)
    codes = (own_code(each.value) for each in reached(hook))
    return any(code is not None and adds_to(code, name) for code in codes)


def _logs_of(hook: Any) -> str:
    """Its last parameter is what a step, or an epoch, gave."""
    code = own_code(hook)
    return code.co_varnames[code.co_argcount - 1] if code is not None and code.co_argcount else ""


def _is_value(chain: Chain, name: str) -> bool:
    return chain.root is Root.VALUE and chain.name == name
