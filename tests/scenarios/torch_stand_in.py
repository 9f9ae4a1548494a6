"""As much of torch's `DataLoader` as Keras and we ask for; torch is not installed."""

from __future__ import annotations

import sys
import time
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from bottlenecks import measured


class Tensor(np.ndarray):
    """A `torch.Tensor`."""

    def cpu(self) -> Tensor:
        """Lies there."""
        return self


class DataLoader:
    """Makes one batch after the other in the thread that asks, and waits so long for each."""

    prefetch_factor = None
    persistent_workers = pin_memory = False

    def __init__(self, batches: int, ms: float, *, num_workers: int) -> None:
        self.dataset: list[Any] = [(np.ones((8, 8), "float32"), np.ones((8, 1), "float32"))]
        self.dataset *= batches
        self.ms, self.num_workers, self.batch_size = ms, num_workers, 8

    def __len__(self) -> int:
        return len(self.dataset)

    def __iter__(self) -> Iterator[Any]:
        for x, y in self.dataset:
            if self.ms:
                with measured():
                    time.sleep(self.ms / 1e3)
            yield x.view(Tensor), y.view(Tensor)


DataLoader.__module__ = "torch.utils.data.dataloader"


@contextmanager
def installed() -> Iterator[None]:
    """Keras asks `torch` whether it is a tensor."""
    data = types.SimpleNamespace(DataLoader=DataLoader)
    torch = types.SimpleNamespace(
        Tensor=Tensor, utils=types.SimpleNamespace(data=data), is_tensor=lambda x: False
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, "torch", torch)
        yield
