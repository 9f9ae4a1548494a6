"""For tests that a single training does not decide: others may have taken the machine from it."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any


def two_of_three(test: Callable[..., None]) -> Callable[..., None]:
    """If what the test asserts was wrong the first time, it must be right two more times."""

    @wraps(test)
    def run(*, tmp_path: Path, **arguments: Any) -> None:
        def right(place: int) -> None:
            own = tmp_path / str(place)
            own.mkdir()
            test(tmp_path=own, **arguments)

        try:
            right(1)
        except Exception as wrong:  # noqa: BLE001  what is missing shows as any of them
            print(f"wrong the first time: {wrong!r}")
        else:
            return
        right(2)
        right(3)

    return run
