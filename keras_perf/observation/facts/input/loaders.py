"""What Grain datasets and torch `DataLoader`s tell of themselves; neither is imported.

They are known as Keras knows them: by the name and the module of a class that they derive from.
"""

from __future__ import annotations

import sys
from typing import Any

from keras_perf.records.run.input.loader import Loader

GRAIN, TORCH = "Grain", "DataLoader"
"""Kinds of input."""

_CLASSES = {
    GRAIN: ("grain", ("MapDataset", "IterDataset", "DataLoader")),
    TORCH: ("torch.utils.data", ("DataLoader",)),
}

MOST_NODES = 1000


def kind_of_loader(x: Any) -> str | None:
    """`Grain`, `DataLoader` of torch, or None of anything else."""
    found = _class_of(x)
    return None if found is None else found[0]


def loader_of(x: Any) -> Loader | None:
    """Its settings; None of anything else.

    Those of a Grain dataset are private (`_parents`, `_datasets`, `_read_options` and what
    `mp_prefetch` makes), those of a Grain `DataLoader` too: where they have other names, the
    settings are not known, and advice says how to set them, not what they are.
    """
    found = _class_of(x)
    if found is None:
        return None
    kind, name = found
    settings = _of_torch if kind == TORCH else _of_grains if name == "DataLoader" else _of_grain
    try:
        return Loader(name, **settings(x))
    except Exception:  # noqa: BLE001  mostly private
        return Loader(name)


def _class_of(x: Any) -> tuple[str, str] | None:
    for parent in type(x).__mro__:
        for kind, (module, names) in _CLASSES.items():
            if parent.__name__ in names and module in str(parent.__module__):
                return kind, parent.__name__
    return None


def _of_torch(loader: Any) -> dict[str, Any]:
    return {
        "workers": int(loader.num_workers),
        "ahead": loader.prefetch_factor,
        "persistent": bool(loader.persistent_workers),
        "pinned": bool(loader.pin_memory),
        "iterates": any(map(_is_iterable, type(loader.dataset).__mro__)),
    }


def _is_iterable(kind: type) -> bool:
    return kind.__name__ == "IterableDataset" and kind.__module__.startswith("torch.")


def _of_grains(loader: Any) -> dict[str, Any]:
    """Of a Grain `DataLoader`; Keras makes another one with the same settings for each `fit`."""
    processes = loader._multiprocessing_options
    return {
        "workers": int(processes.num_workers),
        "ahead": int(processes.per_worker_buffer_size),
        "read_threads": int(loader._read_options.num_threads),
    }


def _of_grain(dataset: Any) -> dict[str, Any]:
    """Of a Grain dataset: what the datasets that it is made of tell."""
    found: dict[str, Any] = {"workers": 0, "read_threads": 0}
    pending, seen = [dataset], 0
    if _class_of(dataset) == (GRAIN, "MapDataset"):
        # Whoever iterates over it reads with Grain's own settings.
        found["read_threads"] = int(sys.modules["grain"].ReadOptions().num_threads)
    while pending and seen < MOST_NODES:
        node, seen = pending.pop(), seen + 1
        if (options := getattr(node, "_read_options", None)) is not None:
            found["read_threads"] = int(options.num_threads)
        if (processes := getattr(node, "_multiprocessing_options", None)) is not None:
            # In Grain 0.2.12 and before, one dataset stands for all processes.
            found["workers"] = int(processes.num_workers)
            found["ahead"] = int(processes.per_worker_buffer_size)
        elif type(node).__name__ == "ProcessPrefetchIterDataset":
            found["workers"] += 1
            found["ahead"] = int(node._buffer_size)
        parts = getattr(node, "_datasets", ())
        pending += [*node._parents, *(parts if isinstance(parts, list | tuple) else ())]
    return found
