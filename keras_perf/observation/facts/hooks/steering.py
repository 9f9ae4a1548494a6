"""What a hook sets of the training, as its code tells."""

from __future__ import annotations

from collections.abc import Iterator
from types import MethodType
from typing import Any

from keras_perf.observation.facts.hooks.chains import Chain, Root, chains_in
from keras_perf.observation.facts.reached_code import own_code, reached
from keras_perf.records.run.settings import LEARNING_RATE

RATES = frozenset({LEARNING_RATE, "lr"})
ASSIGNS = frozenset({"assign", "assign_add", "assign_sub", "set_value", "set_weights"})
"""Methods of variables and weights, and a function, that set them."""

STEERS = RATES | {"trainable"}
OF_THE_TRAINING = frozenset({"model", "optimizer"})
ENDS = "stop_training"


def steered_by(hook: Any) -> str | None:
    """What later steps depend on and the hook sets, such as the learning rate; None of none.

    It is called with each batch, and done less often it would train another model.

    What it cannot see: what code of a library sets, and names that are put together as it runs.
    """
    chains = list(_chains(hook))
    sets = [name for chain in chains if (name := _sets(chain)) is not None]
    if not sets:
        return None
    return LEARNING_RATE if any(RATES & {*_names(each)} for each in chains) else sets[0]


def _chains(hook: Any) -> Iterator[Chain]:
    for each in reached(hook):
        if (code := own_code(each.value)) is not None:
            is_method = isinstance(each.value, MethodType) and code.co_argcount
            own = code.co_varnames[0] if is_method else ""
            yield from chains_in(code, own, frozenset(code.co_freevars))


def _sets(chain: Chain) -> str | None:
    names = [name for name in _names(chain) if name not in ASSIGNS]
    if ASSIGNS & {*chain.names}:
        return names[-1] if names else ""
    # What is set of an expression, such as a layer from a list, has no name before it.
    sets = chain.name if chain.root is Root.OTHER else chain.sets
    of_the_training = sets in STEERS or OF_THE_TRAINING & {*names[:-1]}
    return sets if sets and sets != ENDS and of_the_training else None


def _names(chain: Chain) -> tuple[str, ...]:
    root = () if chain.root is Root.OWN else (chain.name,)
    return *root, *chain.names, *([chain.sets] if chain.sets else [])
