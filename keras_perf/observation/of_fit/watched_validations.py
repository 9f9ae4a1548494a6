"""The validations of a `fit`, as its callbacks' hooks know of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import keras


class ValidationHooks(Protocol):
    """Calls the hooks of callbacks in one validation."""

    @property
    def batch_begins(self) -> Callable[[str, int, Any], None]:
        """Before an execution."""

    @property
    def batch_ends(self) -> Callable[[str, int, Any], None]:
        """After one."""

    @property
    def ends(self) -> Callable[[str, Any], Any]:
        """The last hook; what is known of the validation."""


class WatchedValidations(Protocol):
    """The validations of one `fit`."""

    def begins(self, callbacks: Sequence[keras.callbacks.Callback]) -> ValidationHooks | None:
        """Keras evaluates from now on; None where that is not watched."""

    def ended(self, call: Any) -> None:
        """It has."""
