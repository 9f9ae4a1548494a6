"""For tests that a single training does not decide: others may have taken the machine from it."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any


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
        else:
            return
        right(2)
        right(3)

    return run
