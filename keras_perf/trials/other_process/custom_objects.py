"""Classes and functions of the user's own that a saved model is made of."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import keras


def modules_of_custom_objects() -> list[str]:
    """Modules that registered something with Keras in this process."""
    registered = keras.saving.get_custom_objects().values()
    found = {getattr(each, "__module__", None) for each in registered}
    return sorted(name for name in found if name is not None and _is_own(name))


def custom_objects(model: Path, modules: list[str]) -> dict[str, Any]:
    """Classes that a `.keras` file names with their module, by the name that Keras looks up.

    Keras looks among what is registered only, so the modules are imported, those given, too. What
    cannot be imported is left out; reading the model then says what is missing.
    """
    for module in modules:
        _imported(module)
    with ZipFile(model) as file:
        config = json.loads(file.read("config.json"))
    found = {}
    for part in _parts(config):
        name, known_as = part.get("class_name"), part.get("registered_name")
        if known_as and isinstance(part.get("module"), str) and _is_own(part["module"]):
            value = getattr(_imported(part["module"]), str(name), None)
            if value is not None:
                found[known_as] = value
    return found


def _is_own(module: str) -> bool:
    return module.partition(".")[0] not in {"keras", "builtins", "__main__"}


def _imported(module: str) -> Any:
    with contextlib.suppress(ImportError):
        import_module(module)
    return sys.modules.get(module)


def _parts(config: Any) -> Iterator[dict[str, Any]]:
    """All dictionaries in it."""
    if isinstance(config, dict):
        yield config
    inside = config.values() if isinstance(config, dict) else config
    if isinstance(config, dict | list):
        for each in inside:
            yield from _parts(each)
