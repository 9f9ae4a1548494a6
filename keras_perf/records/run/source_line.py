"""Where a function of the user's stands."""

from __future__ import annotations

from dataclasses import dataclass

from keras_perf.records.shapes import count, fact, needed, text


@dataclass(frozen=True, slots=True)
class SourceLine:
    """The line of a program where a function or class begins.

    `file` is relative to the working directory, if it lies below that, else its last two parts; of
    a notebook its cell. `name` is that of the function, or "" of a lambda.
    """

    file: str = needed(text)
    line: int = needed(count(1))
    name: str = fact(text, "")

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}"
