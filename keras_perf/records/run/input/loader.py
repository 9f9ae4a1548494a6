"""A Grain dataset or a torch `DataLoader` that `fit` trains on."""

from __future__ import annotations

from dataclasses import dataclass

from keras_perf.records.shapes import count, fact, flag, needed, text


@dataclass(frozen=True, slots=True)
class Loader:
    """Its settings; None where they are not known, or where it has no such setting.

    `kind` is Grain's or torch's class, without what they put in front of it. `ahead` is how many
    batches each of its worker processes prepares ahead; `read_threads` how many threads read
    examples in each process (Grain); `persistent` workers live from epoch to epoch, and batches are
    `pinned` in memory that a GPU can read (torch), whose `IterableDataset` a loader `iterates`.
    """

    kind: str = needed(text)
    workers: int | None = fact(count(0, 1e6))
    ahead: int | None = fact(count(0, 1e6))
    read_threads: int | None = fact(count(0, 1e6))
    persistent: bool | None = fact(flag)
    pinned: bool | None = fact(flag)
    iterates: bool = fact(flag, default=False)
