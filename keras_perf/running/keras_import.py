"""Keras is changed when a program imports it, and not imported before."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_KERAS = "keras"


class WhenKerasIsImported:
    """A finder that finds nothing itself: it has `then` called once Keras has been imported.

    It leaves `sys.meta_path` as soon as it is done.

    Arguments:
        then: gets the module `keras`; at once, where it is there already.
    """

    def __init__(self, then: Callable[[ModuleType], None]) -> None:
        self._then = then
        if (keras := sys.modules.get(_KERAS)) is not None:
            then(keras)
        else:
            sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Keras is not waited for any longer."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """As Python asks each finder; what the others find is told of its end."""
        if name != _KERAS:
            return None
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            if finder is not self and find is not None:
                found: ModuleSpec | None = find(name, path, target)
                if found is not None:
                    self._tell_of_its_end(found)
                    return found
        return None

    def _tell_of_its_end(self, spec: ModuleSpec) -> None:
        loader: Any = spec.loader
        runs = getattr(loader, "exec_module", None)
        if runs is None or "exec_module" in vars(loader):
            return

        def exec_module(module: ModuleType) -> None:
            runs(module)
            if module.__name__ == _KERAS:
                del loader.exec_module
                self.remove()
                self._then(module)

        # Of this object alone; Python makes one for each import, or one for a zip file.
        loader.exec_module = exec_module
