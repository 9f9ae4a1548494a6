"""What `fit` was given to train on, and what that tells of itself."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import keras

from keras_perf.observation.facts.input.loaders import TORCH, kind_of_loader, loader_of
from keras_perf.observation.facts.input.tf_data import is_of_tensorflow
from keras_perf.observation.facts.source_lines import source_of
from keras_perf.records.run.source_line import SourceLine


def kind_of_input(x: Any) -> str | None:
    """What `fit` was given, in a word."""
    if x is None:
        return None
    if is_of_tensorflow(x):
        return "tf.data"
    if isinstance(x, keras.utils.PyDataset):
        return "PyDataset"
    if isinstance(x, Generator):
        return "generator"
    return kind_of_loader(x) or "arrays"


def workers_of(x: Any) -> tuple[int | None, bool]:
    """How many workers make the batches of what has such, and whether they are processes."""
    if isinstance(x, keras.utils.PyDataset):
        # Without workers Keras makes no processes either.
        return int(x.workers), bool(x.use_multiprocessing and x.workers)
    loader = loader_of(x)
    workers = None if loader is None else loader.workers
    return workers, bool(workers)


def source_of_input(x: Any) -> SourceLine | None:
    """Where the Python code is written that makes batches or examples; None where none is seen."""
    if isinstance(x, Generator):
        return source_of(x)
    if kind_of_loader(x) == TORCH:
        x = getattr(x, "dataset", None)
    elif not isinstance(x, keras.utils.PyDataset):
        return None
    kind = type(x)
    made = getattr(kind, "__getitem__", None) or getattr(kind, "__iter__", None)
    return source_of(made, kind.__name__)
