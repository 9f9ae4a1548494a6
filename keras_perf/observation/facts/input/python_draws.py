"""Whether a function of the user's draws random numbers in Python, where no graph shows it."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from keras_perf.observation.facts.reached_code import names_in, own_code, reached

DRAWS = frozenset(
    {"random", "rng", "rand", "randn", "randint", "choice", "shuffle", "permutation", "default_rng"}
)
"""Names that functions which draw have in their code; `random` is NumPy's and Python's module."""

AUGMENTERS = (
    "random",
    "numpy.random",
    "albumentations",
    "imgaug",
    "audiomentations",
    "torchvision",
)
"""Modules whose objects draw when they are called or asked."""


def draws_in_python(function: Any) -> bool:
    """A function, or one that it names, draws: by the names in its code, which is not run.

    A drawing that is hidden in a library or behind another name is not seen.
    """
    try:
        return any(_draws(each.value) for each in reached(function))
    except Exception:  # noqa: BLE001  the user's objects may answer as they like
        return False


def _draws(each: Any) -> bool:
    kind = each.__name__ if isinstance(each, ModuleType) else type(each).__module__
    if kind.startswith(AUGMENTERS):
        return True
    code = own_code(each)
    return code is not None and not DRAWS.isdisjoint(names_in(code))
