"""Methods of `keras.Model` are replaced by ours, which call them."""

from __future__ import annotations

import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, ClassVar


class ReplacedMethods(ABC):
    """Stands in place of methods of `keras.Model`, until it is removed.

    Arguments:
        say: gets a line for the user.

    Attributes:
        names: of the methods.
        one: a call of them, for the user.
        not_observed: how many calls were not, by the reason.
    """

    names: ClassVar[tuple[str, ...]]
    one: ClassVar[str]

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say, self._process = say, os.getpid()
        self._keras: Any = None
        self._wrappers: dict[str, Any] = {}
        self._before: dict[str, Any] = {}
        self.not_observed: dict[str, int] = {}

    def install(self, keras: ModuleType) -> None:
        """Takes their places."""
        try:
            for name in self.names:
                original = getattr(keras.Model, name)
                self._wrappers[name] = self._around(original, inspect.signature(original))
            own = vars(keras.Model)
            self._before = {name: own[name] for name in self.names if name in own}
            for name, wrapper in self._wrappers.items():
                setattr(keras.Model, name, wrapper)
            self._keras = keras
        except Exception as error:  # noqa: BLE001  the program goes on
            self._say(f"no {' or '.join(self.names)} is observed: {type(error).__name__}: {error}")

    def remove(self) -> None:
        """Leaves each as it was, unless somebody else has put theirs there."""
        for name, wrapper in self._wrappers.items():
            if self._keras is not None and vars(self._keras.Model).get(name) is wrapper:
                if name in self._before:
                    setattr(self._keras.Model, name, self._before[name])
                else:
                    # Keras's own is inherited.
                    delattr(self._keras.Model, name)
        self._keras = None

    @abstractmethod
    def _around(self, original: Callable[..., Any], signature: inspect.Signature) -> Any:
        """What is called in place of a method."""

    def _bound(
        self,
        signature: inspect.Signature,
        model: Any,
        args: tuple[Any, ...],
        named: Mapping[str, Any],
    ) -> inspect.BoundArguments | None:
        """What Keras is to be given; None where its method is to run as it is."""
        # Removed, and called still by whoever has wrapped it; or in a child that was forked.
        if self._keras is None or os.getpid() != self._process:
            return None
        try:
            return signature.bind(model, *args, **named)
        except TypeError:
            # Not what Keras takes, which says so.
            return None

    def _not(self, why: str) -> None:
        """One line for each reason."""
        if why not in self.not_observed:
            self._say(f"{self.one} is not observed: {why}.")
        self.not_observed[why] = self.not_observed.get(why, 0) + 1
