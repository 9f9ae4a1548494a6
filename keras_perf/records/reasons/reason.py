"""Sentences stored as a word and what stands in them, and worded where they are read."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from string import Formatter
from typing import Any

from keras_perf.records.figures import in_mib, in_ms
from keras_perf.records.shapes import MOST, Shape, WrongShapeError, number, text

_UNITS = {"_ms": in_ms, "_mib": in_mib}
"""How a value is shown whose name ends so, unless the sentence says how."""

_any_number = number(-MOST)


class Reason(str):
    """A sentence of ours: wherever it is shown it is a text.

    Attributes:
        word: which sentence; "" for a text that is none of ours.
        values: name → what stands in it, a text, a number or another sentence.
    """

    word: str
    values: Mapping[str, Any]

    def __new__(cls, text: str, word: str = "", values: Mapping[str, Any] | None = None) -> Reason:
        """Made by `Words.of`."""
        made = super().__new__(cls, text)
        made.word, made.values = word, values or {}
        return made

    def to_json(self) -> Any:
        """As it is stored: without a word, the text itself."""
        if not self.word:
            return str(self)
        of_others = {k: v.to_json() if isinstance(v, Reason) else v for k, v in self.values.items()}
        return {"word": self.word, **of_others}


class Words(Enum):
    """Sentences by their words: `{name}` in one stands for a value, in the unit of its name.

    A word is the member's name, as `too-long` for `TOO_LONG`; it is stored, so it stays.
    """

    @property
    def word(self) -> str:
        """As it is stored."""
        return self.name.lower().replace("_", "-")

    @property
    def names(self) -> set[str]:
        """Of the values that stand in it."""
        return {name for _, name, _, _ in Formatter().parse(self.value) if name}

    def of(self, **values: Any) -> Reason:
        """The sentence with these values, one for each of its names."""
        shown = {name: _shown(name, value) for name, value in values.items()}
        return Reason(self.value.format(**shown), self.word, values)


class _Figure(float):
    """A number that says itself how it is shown, where a sentence does not."""

    unit: str

    def __format__(self, spec: str) -> str:
        return super().__format__(spec) if spec else _UNITS[self.unit](self)


def _shown(name: str, value: Any) -> Any:
    unit = next((unit for unit in _UNITS if name.endswith(unit)), None)
    if unit is None or isinstance(value, str):
        return value
    figure = _Figure(value)
    figure.unit = unit
    return figure


def worded(kind: type[Words]) -> Shape:
    """A sentence with one of these words, or a text, as older versions and exceptions have it."""
    by_word = {each.word: each for each in kind}

    def shaped(value: Any) -> Reason:
        if isinstance(value, Reason):
            return value
        if not isinstance(value, Mapping):
            return Reason(text(value))
        word = text(value.get("word"))
        if word not in by_word:
            # Of a newer version.
            return Reason(word.replace("-", " "))
        try:
            names = by_word[word].names
            return by_word[word].of(**{name: inside(value[name]) for name in names})
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise WrongShapeError from error

    def inside(value: Any) -> Any:
        if isinstance(value, str | Mapping):
            return text(value) if isinstance(value, str) else shaped(value)
        return value if isinstance(value, int) else _any_number(value)

    return shaped
