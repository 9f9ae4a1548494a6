"""What is observed of a program: its fits, and its calls outside of them."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from keras_perf.running.calls import ObservedCalls
from keras_perf.running.fits import ObservedFits
from keras_perf.running.options import Options


class Observed:
    """Stands in place of Keras's methods, until it is removed.

    Arguments:
        options: what is asked.
        say: gets a line for the user.
    """

    def __init__(self, options: Options, say: Callable[[str], None]) -> None:
        self.fits = ObservedFits(options, say)
        self.calls = ObservedCalls(options, say, lambda: self.fits.any_runs)

    def install(self, keras: ModuleType) -> None:
        """Takes their places."""
        self.fits.install(keras)
        self.calls.install(keras)

    def remove(self) -> None:
        """Leaves them as they were, and writes what is not written yet."""
        self.fits.remove()
        self.calls.remove()
        self.calls.finish()

    @property
    def anything(self) -> bool:
        """There may be something to read."""
        return bool(self.fits.ended or self.calls.log_dirs)
