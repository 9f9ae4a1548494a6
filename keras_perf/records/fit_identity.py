"""Who wrote an event file: one `fit`, or one run of a custom loop."""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timezone

from keras_perf.records.text.visible import visible_record

FIT_TAG = "perf/fit"
"""Under this tag the record is the first one of its file."""

LATEST_S = 1e11
"""Seconds since the epoch; the year 5138."""

_SUFFIX = re.compile(r"\.fit-(\d{1,15})$")


def file_suffix(sequence: int) -> str:
    """What the file of a `fit` ends in, so that a listing tells the next sequence."""
    return f".fit-{sequence}"


def sequence_of(file_name: str) -> int:
    """The sequence in the name of an event file; 0 where it has none."""
    found = _SUFFIX.search(file_name)
    return int(found[1]) if found else 0


@dataclass(frozen=True)
class FitIdentity:
    """What tells one `fit` of a directory from the others.

    Attributes:
        id: a few hexadecimal digits that no other has.
        sequence: its place in its directory, from 1; 0 where the file is of an earlier version.
        started: seconds since the epoch, by the clock of its host; 0 if unknown.
        host: the machine's name; "" if unknown.
        process: its number there; 0 if unknown.
        program: the script's name, `-m module`, `notebook` or `interactive`; "" if unknown.
    """

    id: str
    sequence: int
    started: float = 0.0
    host: str = ""
    process: int = 0
    program: str = ""

    @property
    def name(self) -> str:
        """`fit 7 (3fa2c1)`."""
        return f"fit {self.sequence} ({self.id})" if self.sequence else f"fit {self.id}"

    @property
    def started_at(self) -> str:
        """Date and time, in UTC; `unknown` if they are."""
        if not self.started:
            return "unknown"
        return f"{datetime.fromtimestamp(self.started, tz=timezone.utc):%Y-%m-%d %H:%M} UTC"

    @property
    def writer(self) -> str:
        """`train.py, process 4711 on host`, as far as it is known."""
        where = f"process {self.process} on {self.host}" if self.process and self.host else ""
        return ", ".join(filter(None, (self.program, where))) or "an unknown program"

    def on_machine_of(self, other: FitIdentity) -> bool:
        """Both ran on one machine, as far as its name tells."""
        return self.host == other.host != ""

    def to_json(self) -> str:
        """The record as it is written."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | bytes) -> FitIdentity | None:
        """The record that `to_json` wrote, with visible names; None if that is damaged."""
        try:
            known = visible_record(json.loads(text))
            names = {each.name for each in fields(cls)}
            # A newer version may tell more.
            told = {name: known[name] for name in names & known.keys()}
            found = cls(**told)
        except (ValueError, TypeError, AttributeError, RecursionError):
            return None
        return found if found is not None and found._is_possible() else None

    def _is_possible(self) -> bool:
        texts = (self.id, self.host, self.program)
        numbers = (self.sequence, self.process, self.started)
        return (
            all(isinstance(each, str) for each in texts)
            and self.id != ""
            and all(isinstance(each, int) for each in numbers[:2])
            and isinstance(self.started, int | float)
            and all(math.isfinite(each) and 0 <= each < LATEST_S for each in numbers)
        )
