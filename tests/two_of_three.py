"""For tests that a single training does not decide: others may have taken the machine from it."""

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

NOTED_IN = "KERAS_PERF_WRONG_ONCE"
"""A variable with the file's name to which each test is added that was wrong the first time."""


class Shared:
    """What several tests look at; it is made anew for one of them that was wrong."""

    def __init__(self, make: Callable[[], Any]) -> None:
        """Made right away."""
        self._make = make
        self._made = make()

    def __getitem__(self, place: Any) -> Any:
        """As in what was made."""
        return self._made[place]

    def anew(self) -> None:
        """Made once more."""
        self._made = self._make()


def note(test: str) -> None:
    """Tells whoever asked for it; a failure that is made good shows nowhere else."""
    if path := os.environ.get(NOTED_IN):
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{test}\n")


def two_of_three(test: Callable[..., None]) -> Callable[..., None]:
    """If what the test asserts was wrong the first time, it must be right two more times."""

    @wraps(test)
    def run(**arguments: Any) -> None:
        def right(place: int) -> None:
            if place > 1:
                for each in arguments.values():
                    if isinstance(each, Shared):
                        each.anew()
            if "tmp_path" not in arguments:
                test(**arguments)
                return
            own: Path = arguments["tmp_path"] / str(place)
            own.mkdir()
            test(**{**arguments, "tmp_path": own})

        try:
            right(1)
        except Exception as wrong:  # noqa: BLE001  what is missing shows as any of them
            print(f"wrong the first time: {wrong!r}")
            note(os.environ["PYTEST_CURRENT_TEST"].removesuffix(" (call)"))
        else:
            return
        right(2)
        right(3)

    return run
