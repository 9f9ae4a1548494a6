"""Records as JSON has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from keras_perf.records.reasons.reason import Reason


def plain(value: Any, of_reason: Callable[[Reason], Any] = str) -> Any:
    """A value as JSON has it.

    Arguments:
        value: of a record.
        of_reason: what stands for a sentence, its text for readers.
    """
    if isinstance(value, Reason):
        return of_reason(value)
    if is_dataclass(value) and not isinstance(value, type):
        facts = {f.metadata.get("key") or f.name: getattr(value, f.name) for f in fields(value)}
        return {key: plain(each, of_reason) for key, each in facts.items() if each is not None}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): plain(each, of_reason) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each, of_reason) for each in value]
    return value


def stored(value: Any) -> Any:
    """A value as it is kept, its sentences as words and figures."""
    return plain(value, Reason.to_json)


def written(facts: Any) -> dict[str, Any]:
    """Key → value of a group of facts that are known."""
    known: dict[str, Any] = {}
    for each_field in fields(facts):
        value = getattr(facts, each_field.name)
        if "shape" not in each_field.metadata:
            known |= written(value)
        elif value is not None:
            known[each_field.metadata["key"] or each_field.name] = stored(value)
    return known


def keys_of(facts: Any) -> Iterator[str]:
    """By which all facts of a group are written."""
    for each_field in fields(facts):
        if "shape" in each_field.metadata:
            yield each_field.metadata["key"] or each_field.name
        else:
            yield from keys_of(getattr(facts, each_field.name))
